//! Who takes the connections to an address, and where a process listens.

use std::collections::HashSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};

use procfs::ProcResult;
use procfs::net::TcpState;
use procfs::process::{FDInfo, FDTarget, Process, all_processes};
use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::inet_diag::{BY_FAMILY, End, FIXED, Transport, address_of, question_of};
use crate::namespace;
use crate::netlink::{Netlink, attribute, u32_at};

/// Who listens at an address, as far as can be seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listens {
    /// One of the processes does.
    Yes,
    /// Somebody does, and none of the processes.
    No,
    /// Nobody on this machine does, or the processes' descriptors may not be read.
    Unknown,
}

/// A process that has a socket.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Holder {
    pub name: String,
    /// Its number; `None` where it may not be looked into.
    pub pid: Option<u32>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(f, "{} (process {pid})", self.name),
            None => f.write_str(&self.name),
        }
    }
}

/// Whether one of the processes `pids` holds a socket that gets connections to `address` (sock_diag(7),
/// proc_pid_fd(5)).
pub fn listens(
    pids: impl IntoIterator<Item = u32>,
    transport: Transport,
    address: SocketAddr,
) -> Listens {
    let sockets = receivers(transport, address).unwrap_or_default();
    if sockets.is_empty() {
        return Listens::Unknown;
    }
    let (held, are_all_seen) = held_by(pids, &sockets);
    match (held.is_empty(), are_all_seen) {
        (false, _) => Listens::Yes,
        (true, true) => Listens::No,
        (true, false) => Listens::Unknown,
    }
}

/// Who has sockets that get a part of the connections to `address`, beside those of a server whose processes are
/// `pids`: the kernel spreads connections over all that listen at one address (`SO_REUSEPORT`, socket(7)). None where
/// the server has none of these sockets itself.
pub fn sharers(pids: &[u32], transport: Transport, address: SocketAddr) -> Fact<Vec<Holder>> {
    let Some(&first) = pids.first() else { return Fact::Known(Vec::new()) };
    let sockets = match namespace::within(first, move || receivers(transport, address)) {
        Ok(sockets) => sockets,
        Err(error) => {
            return Fact::unknown(format_args!("the kernel does not show sockets: {error}"));
        }
    };
    // One that is alone is the server's, or the server is elsewhere.
    if sockets.len() < 2 {
        return Fact::Known(Vec::new());
    }
    let (held, are_all_seen) = held_by(pids.iter().copied(), &sockets);
    let others: Vec<u64> = sockets.into_iter().filter(|socket| !held.contains(socket)).collect();
    if !others.is_empty() && !are_all_seen {
        return Fact::unknown(
            "the descriptors of the server's processes may not be read; run toll as root",
        );
    }
    if held.is_empty() {
        return Fact::Known(Vec::new());
    }
    let unseen = || Holder { name: "a process that may not be looked into".to_owned(), pid: None };
    let mut holders: Vec<Holder> =
        others.iter().map(|socket| holder(&[*socket]).unwrap_or_else(unseen)).collect();
    holders.sort();
    holders.dedup();
    Fact::Known(holders)
}

/// Where processes listen for TCP, each in its network namespace; those left out that may not be looked into.
pub fn listening(pids: impl IntoIterator<Item = u32>) -> Vec<SocketAddr> {
    let mut addresses = Vec::new();
    for pid in pids {
        let Ok(process) = Process::new(pid.cast_signed()) else { continue };
        let Ok(own) = sockets_of(&process) else { continue };
        let tables = [process.tcp(), process.tcp6()].into_iter().flatten().flatten();
        let listeners = tables.filter(|entry| entry.state == TcpState::Listen);
        let listeners = listeners.filter(|entry| own.contains(&entry.inode));
        addresses.extend(listeners.map(|entry| entry.local_address));
    }
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

/// The first process that gets connections to an address of this network namespace; `None` where there is none that
/// may be looked into.
pub fn listener(transport: Transport, address: SocketAddr) -> Option<Holder> {
    holder(&receivers(transport, address).ok()?)
}

/// The first process that holds one of these sockets.
fn holder(sockets: &[u64]) -> Option<Holder> {
    let processes = all_processes().ok()?.flatten();
    let has = |own: HashSet<u64>| sockets.iter().any(|socket| own.contains(socket));
    let found = processes.filter(|process| sockets_of(process).is_ok_and(has));
    let first = found.min_by_key(|process| process.pid)?;
    Some(Holder { name: first.stat().ok()?.comm, pid: Some(first.pid.cast_unsigned()) })
}

/// Whether a process has a network namespace of its own, as in a container; no, where that may not be seen.
pub fn is_in_other_namespace(pid: u32) -> bool {
    namespace::is_shared_with(pid).is_ok_and(|is_shared| !is_shared)
}

/// A socket that gets connections, or datagrams.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Receiver {
    pub(crate) inode: u64,
    /// The number of the user whose it is.
    pub(crate) user: u32,
}

/// The inodes of those to an address of this network namespace.
fn receivers(transport: Transport, address: SocketAddr) -> io::Result<Vec<u64>> {
    Ok(receiving(transport, address)?.iter().map(|socket| socket.inode).collect())
}

/// The sockets that get connections, or datagrams, to an address of this network namespace: of those that listen there
/// the ones whose own address is nearest to it, as the kernel looks them up (`inet_lookup_listener`,
/// `udp4_lib_lookup`).
pub(crate) fn receiving(transport: Transport, address: SocketAddr) -> io::Result<Vec<Receiver>> {
    /// INET_DIAG_SKV6ONLY.
    const ONLY_IPV6: u16 = 11;
    let ip = address.ip().to_canonical();
    let mut found: Vec<(u32, Receiver)> = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let port = Some((End::Local, address.port()));
        let question = question_of(transport, family, transport.waiting(), port, &[]);
        for answer in Netlink::of_sockets()?.ask(BY_FAMILY, &question)? {
            let is_of_family = (family == libc::AF_INET) == ip.is_ipv4();
            let own = address_of(&answer, End::Local).map(|own| own.ip());
            let is_only_ipv6 = attribute(&answer, FIXED, ONLY_IPV6).is_some_and(|set| set != [0]);
            let nearness = match own {
                Some(own) if own == ip => 2,
                Some(own) if !own.is_unspecified() => continue,
                Some(_) if is_of_family => 1,
                // All of IPv6 may have those of IPv4 too.
                Some(IpAddr::V6(_)) if !is_only_ipv6 => 0,
                _ => continue,
            };
            let number = |at| u32_at(&answer, at).unwrap_or_default();
            found.push((nearness, Receiver { inode: number(INODE).into(), user: number(USER) }));
        }
    }
    let nearest = found.iter().map(|(nearness, _)| *nearness).max();
    let nearest = found.iter().filter(|(nearness, _)| Some(*nearness) == nearest);
    Ok(nearest.map(|(_, socket)| *socket).collect())
}

/// Of `struct inet_diag_msg`.
const USER: usize = 64;
const INODE: usize = 68;

/// Whether who listens at `listening` is reached at `address`: it is the same, or all addresses with its port.
pub fn is_reached_at(listening: SocketAddr, address: SocketAddr) -> bool {
    let (ip, port) = (listening.ip(), listening.port());
    let is_here = ip.is_unspecified() || ip.to_canonical() == address.ip().to_canonical();
    port == address.port() && is_here
}

/// Those of the sockets that processes hold, and whether the descriptors of all of them were seen.
fn held_by(pids: impl IntoIterator<Item = u32>, sockets: &[u64]) -> (HashSet<u64>, bool) {
    let (mut held, mut are_all_seen) = (HashSet::new(), true);
    for pid in pids {
        match Process::new(pid.cast_signed()).and_then(|process| sockets_of(&process)) {
            Ok(own) => held.extend(sockets.iter().filter(|socket| own.contains(socket))),
            Err(_) => are_all_seen = false,
        }
    }
    (held, are_all_seen)
}

/// The sockets that a process has open, by their inodes.
pub(crate) fn sockets_of(process: &Process) -> ProcResult<HashSet<u64>> {
    // A descriptor that is closed meanwhile is none of a listener.
    let descriptors = process.fd()?.flatten();
    let socket = |descriptor: FDInfo| match descriptor.target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    };
    Ok(descriptors.filter_map(socket).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::OwnedFd;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command, Stdio};

    use Transport::{Tcp as TCP, Udp as UDP};

    #[test]
    fn the_listening_process_is_found_among_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = std::process::id();
        assert_eq!(listens([me], TCP, address), Listens::Yes);
        assert_eq!(listens([], TCP, address), Listens::No);
        assert_eq!(super::listener(TCP, address).unwrap().pid, Some(me));
        assert!(listening([me]).contains(&address) && !is_in_other_namespace(me));
        drop(listener);
        assert_eq!(super::listener(TCP, address), None);
        assert!(!listening([me]).contains(&address));
        assert_eq!(listens([me], TCP, address), Listens::Unknown);

        // At all addresses, and of both families.
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let local = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        assert_eq!(listens([me], TCP, local), Listens::Yes);
    }

    #[test]
    fn what_does_not_listen_there_does_not_count() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = std::process::id();
        let elsewhere = SocketAddr::new("127.0.0.2".parse().unwrap(), address.port());
        assert_eq!(listens([me], TCP, elsewhere), Listens::Unknown);
        // A connection of this process from an address is no listener at it.
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(listens([me], TCP, client.local_addr().unwrap()), Listens::Unknown);
    }

    /// Another process with this socket, and its children.
    pub(crate) struct Other(pub(crate) Child);

    impl Other {
        pub(crate) fn with(socket: socket2::Socket) -> Self {
            Self::running(Command::new("sleep").arg("1000"), socket)
        }

        /// The command has the socket as its input.
        pub(crate) fn running(command: &mut Command, socket: socket2::Socket) -> Self {
            let socket = Stdio::from(OwnedFd::from(socket));
            Self(command.stdin(socket).process_group(0).spawn().unwrap())
        }
    }

    impl Drop for Other {
        fn drop(&mut self) {
            let group = rustix::process::Pid::from_child(&self.0);
            rustix::process::kill_process_group(group, rustix::process::Signal::KILL).unwrap();
            self.0.wait().unwrap();
        }
    }

    pub(crate) fn socket(transport: Transport, address: &str) -> (socket2::Socket, SocketAddr) {
        let address: SocketAddr = address.parse().unwrap();
        let kind = if transport == TCP { socket2::Type::STREAM } else { socket2::Type::DGRAM };
        let socket =
            socket2::Socket::new(socket2::Domain::for_address(address), kind, None).unwrap();
        socket.set_reuse_port(true).unwrap();
        if address.is_ipv6() {
            socket.set_only_v6(false).unwrap();
        }
        socket.bind(&address.into()).unwrap();
        if transport == TCP {
            socket.listen(8).unwrap();
        }
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        (socket, address)
    }

    #[test]
    fn who_gets_a_part_of_a_servers_connections_is_named() {
        let me = std::process::id();
        for transport in [TCP, UDP] {
            let (own, address) = socket(transport, "127.0.0.1:0");
            let sharing = || sharers(&[me], transport, address);
            let at = |ip: &str| socket(transport, &format!("{ip}:{}", address.port())).0;
            assert_eq!(sharing(), Fact::Known(vec![]));
            let shared = Other::with(at("127.0.0.1"));
            let pid = shared.0.id();
            let other = Holder { name: "sleep".to_owned(), pid: Some(pid) };
            assert_eq!(sharing(), Fact::Known(vec![other.clone()]), "{transport:?}");
            // A process of the server's has it.
            assert_eq!(sharers(&[me, pid], transport, address), Fact::Known(vec![]));
            drop(shared);
            assert_eq!(sharing(), Fact::Known(vec![]));

            // All addresses and another one share nothing with this one.
            let wide = [at("0.0.0.0"), at("127.0.0.2"), at("[::]")].map(Other::with);
            assert_eq!(sharing(), Fact::Known(vec![]), "{transport:?}");
            // Nor does who has a duplicate of the server's own.
            let handed_over = Other::with(own.try_clone().unwrap());
            assert_eq!(sharing(), Fact::Known(vec![]));
            drop((wide, handed_over));

            // Of a server at all addresses: what another has nearer, it does not get.
            let (wide, at_all) = socket(transport, "0.0.0.0:0");
            let local = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), at_all.port());
            assert_eq!(listens([me], transport, local), Listens::Yes);
            let nearer = Other::with(socket(transport, &local.to_string()).0);
            assert_eq!(listens([me], transport, local), Listens::No, "{transport:?}");
            let there = SocketAddr::new("127.0.0.3".parse().unwrap(), at_all.port());
            assert_eq!(listens([me], transport, there), Listens::Yes);
            drop((nearer, wide));
        }
    }

    #[test]
    fn descriptors_that_cannot_be_read_leave_it_unknown() {
        let (_own, address) = socket(TCP, "127.0.0.1:0");
        let _other = Other::with(socket(TCP, &address.to_string()).0);
        // Nobody has that number; this process comes first for its namespace.
        let hidden = [std::process::id(), u32::MAX >> 1];
        assert!(matches!(sharers(&hidden, TCP, address), Fact::Unknown { .. }));
    }
}
