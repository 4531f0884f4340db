//! Free ports of loopback for servers that must be told one.

use std::net::{Ipv4Addr, SocketAddr};

use socket2::{Domain, Socket, Type};

use crate::TargetError;

/// A port of 127.0.0.1 that nobody else is given while this value lives.
///
/// The kernel chose the port for a socket that is bound and does not listen, with `SO_REUSEPORT`.
/// A server of the same user that sets `SO_REUSEPORT` too can listen on it, while the kernel gives
/// it to nobody who asks for any port, and to nobody else who asks for this one. So there is no
/// moment between choosing and listening in which another program could take the port; two servers
/// that share a port by `SO_REUSEPORT` would otherwise share the clients, without an error.
#[derive(Debug)]
pub(crate) struct ReservedPort {
    address: SocketAddr,
    _socket: Socket,
}

impl ReservedPort {
    pub(crate) fn new() -> Result<Self, TargetError> {
        let reserve = || {
            let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
            socket.set_reuse_port(true)?;
            socket.bind(&SocketAddr::from((Ipv4Addr::LOCALHOST, 0)).into())?;
            let address = socket.local_addr()?.as_socket();
            let address = address.ok_or(std::io::ErrorKind::AddrNotAvailable)?;
            Ok(Self { address, _socket: socket })
        };
        reserve().map_err(TargetError::Port)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn a_reserved_port_serves_one_that_reuses_it_and_nobody_else() {
        let port = ReservedPort::new().unwrap();
        assert_eq!(TcpListener::bind(port.address()).unwrap_err().kind(), ErrorKind::AddrInUse);
        assert!(TcpStream::connect(port.address()).is_err());

        let server = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        server.set_reuse_port(true).unwrap();
        server.bind(&port.address().into()).unwrap();
        server.listen(16).unwrap();
        for _ in 0..8 {
            TcpStream::connect(port.address()).unwrap();
            server.accept().unwrap();
        }
    }

    #[test]
    fn ports_differ() {
        let ports: Vec<_> = (0..200).map(|_| ReservedPort::new().unwrap()).collect();
        let different: HashSet<_> = ports.iter().map(ReservedPort::address).collect();
        assert_eq!(different.len(), ports.len());
    }
}
