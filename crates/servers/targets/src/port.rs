//! Free ports for servers that need one in their configuration.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr};

use socket2::{Domain, Socket, Type};

use crate::TargetError;

/// How often a port of the first address is tried for the others.
const TRIES: usize = 16;

/// The ports of a server, for HTTPS and for plain HTTP, each the same at all of its addresses.
#[derive(Debug)]
pub struct Ports {
    https: Vec<ReservedPort>,
    http: Vec<ReservedPort>,
}

impl Ports {
    /// Free ones at these addresses of this machine, at least one.
    ///
    /// # Errors
    /// The machine does not have such an address, or no port is free.
    pub fn reserve(addresses: &[IpAddr]) -> Result<Self, TargetError> {
        Ok(Self { https: reserve(addresses)?, http: reserve(addresses)? })
    }

    /// Where it serves HTTPS.
    pub fn https(&self) -> Vec<SocketAddr> {
        self.https.iter().map(ReservedPort::address).collect()
    }

    /// Where it serves plain HTTP.
    pub fn http(&self) -> Vec<SocketAddr> {
        self.http.iter().map(ReservedPort::address).collect()
    }
}

fn reserve(addresses: &[IpAddr]) -> Result<Vec<ReservedPort>, TargetError> {
    let mut tries = 0..TRIES;
    loop {
        tries.next();
        let mut port = 0;
        let reserved = addresses.iter().map(|address| {
            let reserved = ReservedPort::at(SocketAddr::new(*address, port));
            let reserved = reserved.map_err(|source| (*address, source))?;
            port = reserved.address.port();
            Ok(reserved)
        });
        match reserved.collect() {
            Ok(ports) => return Ok(ports),
            // Another program has this port at another of the addresses.
            Err((_, source)) if source.kind() == ErrorKind::AddrInUse && !tries.is_empty() => {}
            Err((address, source)) => return Err(TargetError::Port { address, source }),
        }
    }
}

/// A port that is given to no other server while this value lives.
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
    /// The port 0 stands for any.
    fn at(wanted: SocketAddr) -> io::Result<Self> {
        let socket = Socket::new(Domain::for_address(wanted), Type::STREAM, None)?;
        socket.set_reuse_port(true)?;
        socket.bind(&wanted.into())?;
        let address = socket.local_addr()?.as_socket();
        let address = address.ok_or(ErrorKind::AddrNotAvailable)?;
        Ok(Self { address, _socket: socket })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::net::{Ipv4Addr, TcpListener, TcpStream};

    fn any() -> ReservedPort {
        ReservedPort::at((Ipv4Addr::LOCALHOST, 0).into()).unwrap()
    }

    #[test]
    fn a_reserved_port_serves_one_that_reuses_it_and_nobody_else() {
        let port = any();
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
        let ports: Vec<_> = (0..200).map(|_| any()).collect();
        let different: HashSet<_> = ports.iter().map(ReservedPort::address).collect();
        assert_eq!(different.len(), ports.len());
    }

    #[test]
    fn a_server_has_the_same_port_at_all_of_its_addresses() {
        let ports =
            Ports::reserve(&["127.0.0.1", "127.0.0.2"].map(|ip| ip.parse().unwrap())).unwrap();
        for (addresses, other) in [(ports.https(), ports.http()), (ports.http(), ports.https())] {
            let ips: Vec<String> = addresses.iter().map(|at| at.ip().to_string()).collect();
            assert_eq!(ips, ["127.0.0.1", "127.0.0.2"]);
            assert_eq!(addresses[0].port(), addresses[1].port());
            assert_ne!(addresses[0].port(), other[0].port());
        }
        let elsewhere = "192.0.2.1".parse().unwrap();
        let error = Ports::reserve(&[elsewhere]).unwrap_err();
        assert!(
            matches!(error, TargetError::Port { address, .. } if address == elsewhere),
            "{error}"
        );
    }
}
