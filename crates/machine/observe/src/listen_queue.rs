//! How many connections the listeners of an address have dropped (sock_diag(7), tcp(7)).
//!
//! `ListenDrops` of `/proc/net/netstat` counts all listeners of a network namespace, those of other
//! programs too. The kernel also counts what each listening socket dropped, with its memory.

use std::io;
use std::net::SocketAddr;

use crate::inet_diag::{BY_FAMILY, End, FIXED, address_of, question};
use crate::namespace;
use crate::netlink::{Netlink, attribute, u32_at};

/// The listeners of an address, in the network namespace where they are.
#[derive(Debug)]
pub struct ListenQueue {
    netlink: Netlink,
    address: SocketAddr,
}

const LISTEN: u32 = 10;
/// INET_DIAG_SKMEMINFO, and in it SK_MEMINFO_DROPS (linux/sock_diag.h).
const MEMORY: u16 = 7;
const DROPS: usize = 8;

impl ListenQueue {
    /// Of the listeners at `address` in the network namespace of the process `pid`.
    ///
    /// # Errors
    /// The process is in a namespace of its own, which only root may look into, or is gone; or the kernel
    /// tells nothing of sockets.
    pub fn of_process(pid: u32, address: SocketAddr) -> io::Result<Self> {
        let netlink = namespace::within(pid, Netlink::of_sockets)?;
        Ok(Self { netlink, address: SocketAddr::new(address.ip().to_canonical(), address.port()) })
    }

    /// What all of them have dropped since they began to listen, for a full queue or another reason;
    /// `None` where nobody listens there, or the kernel does not count that.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn drops(&self) -> io::Result<Option<u64>> {
        let mut sum = None;
        // A socket of IPv6 may listen for IPv4 too.
        for family in [libc::AF_INET, libc::AF_INET6] {
            for message in
                self.netlink.ask(BY_FAMILY, &question(family, LISTEN, None, &[MEMORY]))?
            {
                if let Some(drops) = drops_of(&message, self.address) {
                    sum = Some(sum.unwrap_or(0) + u64::from(drops));
                }
            }
        }
        Ok(sum)
    }
}

/// What a listener dropped, if it listens at this address, or at all addresses with its port.
fn drops_of(message: &[u8], address: SocketAddr) -> Option<u32> {
    let own = address_of(message, End::Local)?;
    let is_there = own.ip().is_unspecified() || own.ip() == address.ip();
    let memory = attribute(message, FIXED, MEMORY)?;
    u32_at(memory, 4 * DROPS).filter(|_| is_there && own.port() == address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::time::{Duration, Instant};

    use super::*;

    /// Connects until the listener, which accepts nothing, drops one.
    fn overflow(address: SocketAddr, queue: &ListenQueue) -> Vec<socket2::Socket> {
        let deadline = Instant::now() + Duration::from_secs(30);
        let mut sockets = Vec::new();
        while queue.drops().unwrap() == Some(0) && Instant::now() < deadline {
            let socket = socket2::Socket::new(
                socket2::Domain::for_address(address),
                socket2::Type::STREAM.nonblocking(),
                None,
            );
            let socket = socket.unwrap();
            let _ = socket.connect(&address.into());
            sockets.push(socket);
        }
        sockets
    }

    fn listener(backlog: i32) -> socket2::Socket {
        let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
        let socket = socket.unwrap();
        socket.bind(&SocketAddr::from(([127, 0, 0, 1], 0)).into()).unwrap();
        socket.listen(backlog).unwrap();
        socket
    }

    #[test]
    fn what_a_listener_drops_is_its_own() {
        let (full, idle) = (listener(1), listener(1));
        let address = |socket: &socket2::Socket| socket.local_addr().unwrap().as_socket().unwrap();
        let of = |socket| ListenQueue::of_process(std::process::id(), address(socket)).unwrap();
        let (queue, other) = (of(&full), of(&idle));
        assert_eq!((queue.drops().unwrap(), other.drops().unwrap()), (Some(0), Some(0)));
        let _sockets = overflow(address(&full), &queue);
        assert!(queue.drops().unwrap() > Some(0));
        assert_eq!(other.drops().unwrap(), Some(0));
        drop(full);
        assert_eq!(queue.drops().unwrap(), None);
    }

    #[test]
    fn a_listener_at_all_addresses_is_found_by_each_of_them() {
        let listener = TcpListener::bind("[::]:0").unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], listener.local_addr().unwrap().port()));
        let queue = ListenQueue::of_process(std::process::id(), address).unwrap();
        assert_eq!(queue.drops().unwrap(), Some(0));
        // A connection is no listener.
        let _connection = TcpStream::connect(address).unwrap();
        assert_eq!(queue.drops().unwrap(), Some(0));
    }
}
