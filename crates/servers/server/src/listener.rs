//! Listening sockets: one a thread, on one port that is proven to be free.

use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use congestion::CongestionControl;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::process::{Resource, Rlimit};

use crate::error::ServerError;

/// Connections that may wait to be accepted; the kernel cuts this to `net.core.somaxconn`.
const BACKLOG: i32 = 16_384;

/// The listening sockets of one address, one for each thread.
pub(crate) struct Listeners {
    address: SocketAddr,
    sockets: Vec<OwnedFd>,
}

impl Listeners {
    /// Listens on `address` with `threads` sockets.
    ///
    /// `SO_REUSEPORT` would let two servers of one user share a port in silence, each getting a
    /// part of the connections. So the port is bound without it first, which fails if anyone
    /// listens there, and which chooses the port where 0 was asked for.
    pub(crate) fn bind(
        address: SocketAddr,
        threads: usize,
        congestion: Option<&CongestionControl>,
    ) -> Result<Self, ServerError> {
        let named = |error: Errno| match error {
            Errno::ADDRINUSE => ServerError::Busy(address),
            error => ServerError::Listen { address, source: error.into() },
        };
        let congestion = CongestionControl::to_set(congestion, address.ip());
        let socket = |address, shared| {
            let socket = bound(address, shared)?;
            if let Some(congestion) = &congestion {
                congestion
                    .set(&socket)
                    .map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
            }
            Ok(socket)
        };
        let proof = socket(address, false).map_err(named)?;
        if threads == 1 {
            rustix::net::listen(&proof, BACKLOG).map_err(named)?;
            let address = local_address(&proof).map_err(named)?;
            return Ok(Self { address, sockets: vec![proof] });
        }
        let address = local_address(&proof).map_err(named)?;
        drop(proof);
        let sockets: Vec<_> =
            (0..threads).map(|_| socket(address, true)).collect::<Result<_, _>>().map_err(named)?;
        for socket in &sockets {
            rustix::net::listen(socket, BACKLOG).map_err(named)?;
        }
        Ok(Self { address, sockets })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn into_iter(self) -> std::vec::IntoIter<OwnedFd> {
        self.sockets.into_iter()
    }
}

/// A socket for this address that does not wait.
pub(crate) fn socket(address: SocketAddr, kind: SocketType) -> Result<OwnedFd, Errno> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    rustix::net::socket_with(family, kind, flags, None)
}

fn bound(address: SocketAddr, shared: bool) -> Result<OwnedFd, Errno> {
    let socket = socket(address, SocketType::STREAM)?;
    // Connections of an earlier server in TIME_WAIT must not keep the port.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    // Connections inherit this: the server itself gathers what belongs together.
    sockopt::set_tcp_nodelay(&socket, true)?;
    if shared {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    rustix::net::bind(&socket, &address)?;
    Ok(socket)
}

fn local_address(socket: &OwnedFd) -> Result<SocketAddr, Errno> {
    rustix::net::getsockname(socket)?.try_into().map_err(|_| Errno::AFNOSUPPORT)
}

/// What came of an attempt to accept a connection.
pub(crate) enum Accepted {
    Connection(OwnedFd),
    /// Nobody waits.
    None,
    /// This process or the system has no descriptor or memory for it; it waits on.
    Exhausted,
    /// This connection is gone already, or the network to it; the next may not be.
    Broken,
    /// None can be accepted, for a reason that does not go away with the connection.
    Refused(Errno),
}

pub(crate) fn accept(listener: &OwnedFd) -> Accepted {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    match rustix::net::accept_with(listener, flags) {
        Ok(socket) => Accepted::Connection(socket),
        Err(Errno::AGAIN) => Accepted::None,
        Err(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Accepted::Exhausted,
        // Linux reports here what has become of the new connection (accept(2)).
        Err(
            Errno::CONNABORTED
            | Errno::INTR
            | Errno::NETDOWN
            | Errno::PROTO
            | Errno::NOPROTOOPT
            | Errno::HOSTDOWN
            | Errno::NONET
            | Errno::HOSTUNREACH
            | Errno::OPNOTSUPP
            | Errno::NETUNREACH,
        ) => Accepted::Broken,
        Err(error) => Accepted::Refused(error),
    }
}

/// Raises the soft limit of open descriptors to the hard one: the soft one, often 1,024, is there
/// for programs that call select(2). Where that is refused, the limit stays as it is.
pub(crate) fn raise_descriptor_limit() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    let _: io::Result<()> = rustix::process::setrlimit(
        Resource::Nofile,
        Rlimit { current: limit.maximum, maximum: limit.maximum },
    )
    .map_err(io::Error::from);
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANY_PORT: SocketAddr =
        SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

    #[test]
    fn a_port_is_never_shared_with_another_server() {
        for threads in [1, 2] {
            let first = Listeners::bind(ANY_PORT, threads, None).unwrap();
            assert_ne!(first.address().port(), 0);
            for others in [1, 2] {
                match Listeners::bind(first.address(), others, None) {
                    Err(ServerError::Busy(address)) => assert_eq!(address, first.address()),
                    _ => panic!("{threads} and {others} threads share a port"),
                }
            }
        }
    }

    #[test]
    fn an_address_of_another_machine_is_refused() {
        let foreign = SocketAddr::from(([192, 0, 2, 1], 0));
        assert!(matches!(Listeners::bind(foreign, 1, None), Err(ServerError::Listen { .. })));
    }
}
