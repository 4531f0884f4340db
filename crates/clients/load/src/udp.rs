//! UDP sockets of the client: one for each connection, so that ports, addresses, refusals and drops are its own.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU16;

use datagrams::{Datagrams, Inbox, Received};
use quinn_proto::Transmit;
use rustix::net::sockopt;
use wire::{ErrorKind, Failure};

use crate::socket::Socket;

/// What the kernel is to keep of datagrams that were not received yet, where it may (net.core.rmem_max).
const RECEIVE_BUFFER: usize = 8 << 20;

/// What became of a send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    All,
    /// The socket has no room.
    Blocked,
    /// The kernel had no room (ENOBUFS): the datagrams are lost.
    Refused,
    /// The path carries no datagrams of this length (EMSGSIZE): they are lost, and QUIC will send shorter ones.
    TooLong,
}

/// What is known of a socket.
pub(crate) struct Udp {
    datagrams: Datagrams,
    /// Whether its connection is established: who does not listen any more has been there.
    pub(crate) is_established: bool,
    /// How long datagrams are to be, where that was asked for: others are not sent in their place.
    asked: Option<NonZeroU16>,
    /// Whether datagrams were too long for their path.
    pub(crate) was_too_long: Cell<bool>,
}

impl Udp {
    pub(crate) fn new(socket: &Socket, asked: Option<NonZeroU16>) -> Result<Self, Failure> {
        let datagrams = Datagrams::new(socket)
            .map_err(|error| Failure::new(ErrorKind::Kernel, error.to_string()))?;
        // Where that is refused, the receipt has what was dropped.
        let _ = sockopt::set_socket_recv_buffer_size(socket, RECEIVE_BUFFER);
        Ok(Self { datagrams, is_established: false, asked, was_too_long: Cell::default() })
    }

    /// Gives what has come, as much as one call takes; whether more may be there.
    pub(crate) fn receive(
        &self,
        socket: &Socket,
        inbox: &mut Inbox,
        take: impl FnMut(Received<'_>),
    ) -> Result<bool, Failure> {
        match self.datagrams.receive(socket, inbox, take) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            // What was sent before was too long. There may be more than this report.
            Err(error) if self.gives_way(&error) => Ok(true),
            received => received.map_err(|error| self.failure(&error)),
        }
    }

    pub(crate) fn send(
        &self,
        socket: &Socket,
        transmit: &Transmit,
        bytes: &[u8],
    ) -> Result<Sent, Failure> {
        match self.datagrams.send(socket, transmit, bytes) {
            Ok(()) => Ok(Sent::All),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Blocked),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(Sent::Refused),
            Err(error) if self.gives_way(&error) => Ok(Sent::TooLong),
            Err(error) => Err(self.failure(&error)),
        }
    }

    /// How many datagrams of this size may leave in one send.
    pub(crate) fn most_segments(&self, size: usize) -> usize {
        self.datagrams.most_segments(size)
    }

    /// Whether datagrams were too long for their path, and may be shorter.
    fn gives_way(&self, error: &io::Error) -> bool {
        let gives_way = error.raw_os_error() == Some(libc::EMSGSIZE) && self.asked.is_none();
        self.was_too_long.set(self.was_too_long.get() || gives_way);
        gives_way
    }

    /// An error that a network has reported (ICMP), whichever call was the next one, or one of the kernel's own.
    fn failure(&self, error: &io::Error) -> Failure {
        let kind = match (error.raw_os_error(), self.asked) {
            (Some(libc::ECONNREFUSED), _) if self.is_established => {
                return Failure::new(ErrorKind::Reset, "nothing listens at the port any more");
            }
            (Some(libc::ECONNREFUSED), _) => ErrorKind::Refused,
            (Some(libc::EHOSTUNREACH | libc::ENETUNREACH), _) => ErrorKind::Unreachable,
            (Some(libc::EMSGSIZE), Some(asked)) => {
                let seen = format!("{error}: the path does not carry --max-udp-payload {asked}");
                return Failure::new(ErrorKind::Kernel, seen);
            }
            _ => ErrorKind::Kernel,
        };
        Failure::new(kind, error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
    use std::time::{Duration, Instant};

    use super::*;

    fn client(address: SocketAddr, asked: Option<NonZeroU16>) -> (Socket, Udp) {
        let socket = Socket::connect_udp(address, None).unwrap();
        let udp = Udp::new(&socket, asked).unwrap();
        (socket, udp)
    }

    fn send(
        socket: &Socket,
        udp: &Udp,
        destination: SocketAddr,
        size: usize,
    ) -> Result<Sent, Failure> {
        let transmit = Transmit { destination, ecn: None, size, segment_size: None, src_ip: None };
        udp.send(socket, &transmit, &vec![0; size])
    }

    #[test]
    fn a_refusal_is_of_one_kind_wherever_it_is_found() {
        let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
        for (is_established, kind) in [(false, ErrorKind::Refused), (true, ErrorKind::Reset)] {
            for receives in [false, true] {
                let (socket, mut udp) = client(gone, None);
                udp.is_established = is_established;
                assert_eq!(send(&socket, &udp, gone, 1), Ok(Sent::All));
                let end = Instant::now() + Duration::from_secs(10);
                let failure = loop {
                    let found = match receives {
                        true => udp.receive(&socket, &mut Inbox::new(1), |_| ()).map(drop),
                        false => send(&socket, &udp, gone, 1).map(drop),
                    };
                    match found {
                        Err(failure) => break failure,
                        Ok(()) => assert!(Instant::now() < end, "no refusal came"),
                    }
                };
                assert_eq!(failure.kind, kind, "{}", failure.seen);
            }
        }
    }

    #[test]
    fn datagrams_that_are_too_long_are_lost_unless_their_length_was_asked_for() {
        let server = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = server.local_addr().unwrap();
        // More than loopback carries.
        const SIZE: usize = 65_520;
        let (socket, udp) = client(address, None);
        assert_eq!(send(&socket, &udp, address, 1_452), Ok(Sent::All));
        assert!(!udp.was_too_long.get());
        assert_eq!(send(&socket, &udp, address, SIZE), Ok(Sent::TooLong));
        assert!(udp.was_too_long.get());
        let (socket, udp) = client(address, NonZeroU16::new(1_452));
        let failure = send(&socket, &udp, address, SIZE).unwrap_err();
        assert_eq!(failure.kind, ErrorKind::Kernel);
        assert!(failure.seen.contains("--max-udp-payload 1452"), "{}", failure.seen);
    }
}
