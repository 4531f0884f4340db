//! Congestion control of TCP sockets (tcp(7), `TCP_CONGESTION`).
//!
//! A control such as BBR paces: the kernel holds packets back and sends them by timers. Over a link that is
//! how it works; on loopback there is nothing to hold back for, and the timers cost the sender more than
//! the sending does: nginx with `sendfile` needed eight times the CPU time for plain HTTP. So sockets at
//! loopback addresses get a control that does not pace, unless somebody asks for another; all others keep
//! that of the system.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::str::FromStr;

use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use serde_with::{DeserializeFromStr, SerializeDisplay};

/// A congestion control by the kernel's name, such as `cubic`.
#[derive(Debug, Clone, PartialEq, Eq, DeserializeFromStr, SerializeDisplay)]
pub struct CongestionControl(String);

/// `TCP_CA_NAME_MAX` of the kernel, without the zero.
const LONGEST_NAME: usize = 15;

/// Those that send as soon as the window allows it, the usual one first.
pub const UNPACED: [&str; 2] = ["cubic", "reno"];

impl CongestionControl {
    /// What a socket at this address must be given, before it listens or connects; `None` where it has
    /// that already. `asked` goes first; at a loopback address, instead of a control that paces, one
    /// that does not, where this process may choose one.
    pub fn to_set(asked: Option<&Self>, address: IpAddr) -> Option<Self> {
        let system = Self::of_system().ok();
        let wanted = match asked {
            Some(asked) => asked.clone(),
            None => {
                let is_loopback = address.to_canonical().is_loopback();
                system.as_ref().filter(|system| is_loopback && system.paces())?;
                let mut unpaced = UNPACED.iter().map(|name| Self((*name).to_owned()));
                unpaced.find(|control| control.check().is_ok())?
            }
        };
        (system.as_ref() != Some(&wanted)).then_some(wanted)
    }

    /// That of new sockets in this network namespace. The file says it where a socket does not: qemu's emulation of
    /// another processor gives a number.
    ///
    /// # Errors
    /// The system's.
    pub fn of_system() -> io::Result<Self> {
        let text = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control")?;
        Ok(Self(text.trim().to_owned()))
    }

    /// Gives it to a socket. Connections that a listening socket accepts have that of the socket.
    ///
    /// # Errors
    /// The kernel has no such control, or this process may not choose it.
    pub fn set(&self, socket: impl AsFd) -> io::Result<()> {
        Ok(sockopt::set_tcp_congestion(socket, &self.0)?)
    }

    /// Whether this process can give it to sockets.
    ///
    /// # Errors
    /// Why not, with those that there are.
    pub fn check(&self) -> Result<(), String> {
        let tried = new_socket().and_then(|socket| sockopt::set_tcp_congestion(socket, &self.0));
        tried.map_err(|error| match error {
            Errno::NOENT => format!(
                "this kernel has no congestion control {self}, but {}; write one of these",
                list("available")
            ),
            Errno::PERM => format!(
                "congestion control {self} is for root; write one of those for everybody ({}), or \
                 run as root",
                list("allowed")
            ),
            error => format!("no socket can have congestion control {self}: {error}"),
        })
    }

    /// Whether it sends by timers. Of the kernel's own, the versions of BBR do.
    pub fn paces(&self) -> bool {
        self.0.starts_with("bbr")
    }
}

/// Those that the kernel has now; it may load more for root.
pub fn available() -> Vec<String> {
    names("available")
}

fn names(kind: &str) -> Vec<String> {
    let file = format!("/proc/sys/net/ipv4/tcp_{kind}_congestion_control");
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().map(str::to_owned).collect()
}

fn list(kind: &str) -> String {
    let names = names(kind);
    if names.is_empty() { "reno".to_owned() } else { names.join(", ") }
}

/// One that is neither bound nor connected.
fn new_socket() -> Result<OwnedFd, Errno> {
    let (family, flags) = (AddressFamily::INET, SocketFlags::CLOEXEC);
    rustix::net::socket_with(family, SocketType::STREAM, flags, None)
}

impl FromStr for CongestionControl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_in_name =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
        match (1..=LONGEST_NAME).contains(&text.len()) && text.bytes().all(is_in_name) {
            true => Ok(Self(text.to_owned())),
            false => Err(format!(
                "`{}` is no name of a congestion control; this kernel has {}",
                text.escape_debug(),
                list("available")
            )),
        }
    }
}

impl fmt::Display for CongestionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    fn control(name: &str) -> CongestionControl {
        name.parse().unwrap()
    }

    #[test]
    fn only_names_are_taken() {
        assert!(control("bbr").paces() && control("bbr3").paces() && !control("cubic").paces());
        for wrong in ["", "Cubic", "a b", "sixteen-letters-", "../x"] {
            assert!(wrong.parse::<CongestionControl>().unwrap_err().contains("this kernel has"));
        }
    }

    #[test]
    fn one_that_the_kernel_lacks_is_refused_with_those_that_it_has() {
        assert_eq!(control("reno").check(), Ok(()));
        let error = control("nosuch").check().unwrap_err();
        for name in available() {
            assert!(error.contains(&name), "{error}");
        }
    }

    #[test]
    fn connections_have_what_the_listening_socket_was_given() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        control("reno").set(&listener).unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (connection, _) = listener.accept().unwrap();
        assert_eq!(sockopt::tcp_congestion(&connection).unwrap(), "reno");
        let system = CongestionControl::of_system().unwrap();
        assert_eq!(sockopt::tcp_congestion(&client).unwrap(), system.0);
    }

    #[test]
    fn a_socket_gets_only_what_it_does_not_have() {
        let system = CongestionControl::of_system().unwrap();
        let away = IpAddr::from([192, 0, 2, 1]);
        assert_eq!(CongestionControl::to_set(None, away), None);
        assert_eq!(CongestionControl::to_set(Some(&system), away), None);
        let asked = control(if system.0 == "reno" { "cubic" } else { "reno" });
        assert_eq!(CongestionControl::to_set(Some(&asked), away), Some(asked));
        for local in ["127.9.9.9", "::1", "::ffff:127.0.0.1"] {
            let set = CongestionControl::to_set(None, local.parse().unwrap());
            assert_eq!(set.is_some(), system.paces(), "{local}");
            assert!(set.is_none_or(|control| !control.paces()));
        }
    }
}
