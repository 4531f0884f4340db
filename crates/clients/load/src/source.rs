//! Where connections come from: an address of this machine, or an interface.

use std::borrow::Cow;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use serde_with::{DeserializeFromStr, SerializeDisplay};
use socket2::{Domain, Socket, Type};

/// An address that connections are bound to, or an interface that their packets leave by.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay, derive_more::Display)]
pub enum Source {
    /// The address is the connection's; the machine's routes choose the interface.
    Address(IpAddr),
    /// The interface is the connection's; the kernel chooses one of its addresses.
    Interface(String),
}

/// IFNAMSIZ of linux/if.h, without its zero.
const LONGEST_NAME: usize = 15;

impl Source {
    /// Binds a socket that is not connected yet.
    ///
    /// # Errors
    /// This machine lacks it, or does not let this process use it.
    pub fn bind(&self, socket: &Socket) -> io::Result<()> {
        match self {
            Self::Address(address) => socket.bind(&SocketAddr::new(*address, 0).into()),
            Self::Interface(name) => socket.bind_device(Some(name.as_bytes())),
        }
    }

    /// # Errors
    /// This machine lacks it, or does not let this process use it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let domain = match self {
            Self::Address(IpAddr::V6(_)) => Domain::IPV6,
            _ => Domain::IPV4,
        };
        let bound = Socket::new(domain, Type::DGRAM, None).and_then(|socket| self.bind(&socket));
        bound.map_err(|error| match (self, error.raw_os_error()) {
            (Self::Address(_), Some(libc::EADDRNOTAVAIL)) => {
                format!("this machine has no address {self}; `ip address` lists those it has")
            }
            (Self::Interface(_), Some(libc::ENODEV)) => {
                format!("this machine has no interface {self}; `ip link` lists those it has")
            }
            _ => format!("connections cannot come from {self}: {error}"),
        })
    }

    /// Whether connections to that address can come from it.
    pub fn reaches(&self, server: IpAddr) -> bool {
        match self {
            Self::Address(address) => address.is_ipv4() == server.is_ipv4(),
            Self::Interface(_) => true,
        }
    }
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return match address.is_unspecified() || address.is_multicast() {
                true => Err(format!("`{text}` is not an address that a connection can come from")),
                false => Ok(Self::Address(address)),
            };
        }
        let is_in_name = |byte: u8| byte.is_ascii_graphic() && byte != b'/';
        match (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_in_name) {
            true => Ok(Self::Interface(text.to_owned())),
            false => Err(format!(
                "`{}` is neither an address nor the name of an interface; write one such as \
                 10.1.1.2 or eth1",
                text.escape_debug()
            )),
        }
    }
}

/// That of the probe of a load from many loopback addresses; no load thread has it.
pub(crate) const OF_PROBE: Source = Source::Address(IpAddr::V4(Ipv4Addr::new(127, 251, 0, 1)));

/// Where a thread's connections come from, one after the other.
pub(crate) enum Sources<'a> {
    /// Addresses of 127.0.0.0/8, in turn. Each has its own 28,000 ports, so connections in TIME-WAIT
    /// (RFC 9293) do not use them up, and more connections can be open than one address has ports.
    /// 250 addresses per thread are enough for 100,000 connections per second. With many more, the
    /// kernel's table of peers (tcp_metrics) would evict other data from the CPU's caches.
    Loopback { thread: u8, count: u8 },
    /// Those that were asked for, in turn; wherever the kernel chooses where none was.
    Asked { sources: &'a [Source], next: usize },
}

impl<'a> Sources<'a> {
    /// Those of the load thread with this number.
    pub(crate) fn new(asked: &'a [Source], is_many_on_loopback: bool, thread: usize) -> Self {
        match (asked, is_many_on_loopback) {
            ([], true) => Self::Loopback { thread: 1 + (thread % 250) as u8, count: 0 },
            // Threads with few connections do not all begin with the first.
            (sources, _) => Self::Asked { sources, next: thread },
        }
    }

    /// That of the next connection.
    pub(crate) fn next(&mut self) -> Option<Cow<'a, Source>> {
        match self {
            Self::Loopback { thread, count } => {
                *count = (*count + 1) % 250;
                let address = Ipv4Addr::new(127, *thread, 0, *count + 1);
                Some(Cow::Owned(Source::Address(address.into())))
            }
            Self::Asked { sources, next } => {
                let source = sources.get(*next % sources.len().max(1))?;
                *next += 1;
                Some(Cow::Borrowed(source))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        text.parse().unwrap()
    }

    #[test]
    fn addresses_and_interfaces_are_told_apart() {
        assert_eq!(source("10.1.1.2"), Source::Address([10, 1, 1, 2].into()));
        assert_eq!(source("fd00::2"), Source::Address("fd00::2".parse().unwrap()));
        assert_eq!(source("eth1"), Source::Interface("eth1".to_owned()));
        for text in ["10.1.1.2", "fd00::2", "enp3s0f1np1"] {
            assert_eq!(source(text).to_string(), text);
        }
        for wrong in ["", "eth 1", "../lo", "an-interface-with-a-long-name", "0.0.0.0", "224.0.0.1"]
        {
            assert!(wrong.parse::<Source>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_this_machine_lacks_is_named() {
        assert_eq!(source("127.0.0.9").check(), Ok(()));
        for missing in ["192.0.2.1", "nosuch0"] {
            let why = source(missing).check().unwrap_err();
            assert!(why.contains(missing), "{why}");
        }
    }

    #[test]
    fn sources_take_turns_from_thread_to_thread() {
        let asked = ["127.0.0.2", "127.0.0.3", "lo"].map(source);
        let next = |sources: &mut Sources<'_>| sources.next().map(|source| source.to_string());
        let mut second = Sources::new(&asked, true, 1);
        let turns: Vec<_> = (0..4).filter_map(|_| next(&mut second)).collect();
        assert_eq!(turns, ["127.0.0.3", "lo", "127.0.0.2", "127.0.0.3"]);
        let mut many = Sources::new(&[], true, 6);
        assert_eq!(next(&mut many).as_deref(), Some("127.7.0.2"));
        assert_eq!(next(&mut many).as_deref(), Some("127.7.0.3"));
        assert_eq!(next(&mut Sources::new(&[], false, 0)), None);
    }
}
