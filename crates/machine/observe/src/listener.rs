//! Who listens at an address, and where a process listens.

use std::collections::HashSet;
use std::net::SocketAddr;

use procfs::ProcResult;
use procfs::net::{TcpState, tcp, tcp6};
use procfs::process::{FDInfo, FDTarget, Process, all_processes};

use crate::namespace;

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

/// Whether one of the processes `pids` holds a socket that listens at `address`
/// (proc_pid_net(5), proc_pid_fd(5)).
pub fn listens(pids: impl IntoIterator<Item = u32>, address: SocketAddr) -> Listens {
    let sockets = sockets_at(address);
    if sockets.is_empty() {
        return Listens::Unknown;
    }
    let mut is_hidden = false;
    for pid in pids {
        match holds(pid, &sockets) {
            Ok(true) => return Listens::Yes,
            Ok(false) => {}
            Err(_) => is_hidden = true,
        }
    }
    if is_hidden { Listens::Unknown } else { Listens::No }
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

/// The first process that listens at an address of this network namespace, by its name and number; `None` where
/// there is none that may be looked into.
pub fn listener(address: SocketAddr) -> Option<(String, u32)> {
    let sockets = sockets_at(address);
    let processes = all_processes().ok()?.flatten();
    let has = |own: HashSet<u64>| sockets.iter().any(|socket| own.contains(socket));
    let found = processes.filter(|process| sockets_of(process).is_ok_and(has));
    let first = found.min_by_key(|process| process.pid)?;
    Some((first.stat().ok()?.comm, first.pid.cast_unsigned()))
}

/// Whether a process has a network namespace of its own, as in a container; no, where that may not be seen.
pub fn is_in_other_namespace(pid: u32) -> bool {
    namespace::is_shared_with(pid).is_ok_and(|is_shared| !is_shared)
}

/// The sockets that listen at an address of this network namespace.
fn sockets_at(address: SocketAddr) -> Vec<u64> {
    let tables = [tcp(), tcp6()].into_iter().flatten().flatten();
    let listeners = tables.filter(|entry| entry.state == TcpState::Listen);
    let at = listeners.filter(|entry| is_reached_at(entry.local_address, address));
    at.map(|entry| entry.inode).collect()
}

/// Whether who listens at `listening` is reached at `address`: it is the same, or all addresses with its port.
pub fn is_reached_at(listening: SocketAddr, address: SocketAddr) -> bool {
    let (ip, port) = (listening.ip(), listening.port());
    let is_here = ip.is_unspecified() || ip.to_canonical() == address.ip().to_canonical();
    port == address.port() && is_here
}

fn holds(pid: u32, sockets: &[u64]) -> ProcResult<bool> {
    let own = sockets_of(&Process::new(pid.cast_signed())?)?;
    Ok(sockets.iter().any(|socket| own.contains(socket)))
}

/// The sockets that a process has open, by their inodes.
fn sockets_of(process: &Process) -> ProcResult<HashSet<u64>> {
    // A descriptor that is closed meanwhile is none of a listener.
    let descriptors = process.fd()?.flatten();
    let socket = |descriptor: FDInfo| match descriptor.target {
        FDTarget::Socket(inode) => Some(inode),
        _ => None,
    };
    Ok(descriptors.filter_map(socket).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    #[test]
    fn the_listening_process_is_found_among_others() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = std::process::id();
        assert_eq!(listens([me], address), Listens::Yes);
        assert_eq!(listens([], address), Listens::No);
        assert_eq!(super::listener(address).map(|(_, pid)| pid), Some(me));
        assert!(listening([me]).contains(&address) && !is_in_other_namespace(me));
        drop(listener);
        assert_eq!(super::listener(address), None);
        assert!(!listening([me]).contains(&address));
        assert_eq!(listens([me], address), Listens::Unknown);

        // At all addresses, and of both families.
        let listener = TcpListener::bind("[::]:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listens([me], SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port)), Listens::Yes);
    }

    #[test]
    fn what_does_not_listen_there_does_not_count() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let me = std::process::id();
        let elsewhere = SocketAddr::new("127.0.0.2".parse().unwrap(), address.port());
        assert_eq!(listens([me], elsewhere), Listens::Unknown);
        // A connection of this process from an address is no listener at it.
        let client = TcpStream::connect(address).unwrap();
        assert_eq!(listens([me], client.local_addr().unwrap()), Listens::Unknown);
    }
}
