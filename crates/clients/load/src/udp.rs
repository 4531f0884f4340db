//! UDP sockets of the client: one for each connection, so that ports, addresses, refusals and drops are its own.

use std::io;

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
}

/// What is known of a socket.
pub(crate) struct Udp(Datagrams);

impl Udp {
    pub(crate) fn new(socket: &Socket) -> Result<Self, Failure> {
        let datagrams = Datagrams::new(socket).map_err(|error| failure(&error))?;
        // Where that is refused, the receipt has what was dropped.
        let _ = sockopt::set_socket_recv_buffer_size(socket, RECEIVE_BUFFER);
        Ok(Self(datagrams))
    }

    /// Gives what has come, as much as one call takes; whether more may be there.
    pub(crate) fn receive(
        &self,
        socket: &Socket,
        inbox: &mut Inbox,
        take: impl FnMut(Received<'_>),
    ) -> Result<bool, Failure> {
        match self.0.receive(socket, inbox, take) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            received => received.map_err(|error| failure(&error)),
        }
    }

    pub(crate) fn send(
        &self,
        socket: &Socket,
        transmit: &Transmit,
        bytes: &[u8],
    ) -> Result<Sent, Failure> {
        match self.0.send(socket, transmit, bytes) {
            Ok(()) => Ok(Sent::All),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Blocked),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(Sent::Refused),
            Err(error) => Err(failure(&error)),
        }
    }

    /// How many datagrams of this size may leave in one send.
    pub(crate) fn most_segments(&self, size: usize) -> usize {
        self.0.most_segments(size)
    }
}

/// An error that a network has reported (ICMP), or one of the kernel's own.
fn failure(error: &io::Error) -> Failure {
    let kind = match error.raw_os_error() {
        Some(libc::ECONNREFUSED) => ErrorKind::Refused,
        Some(libc::EHOSTUNREACH | libc::ENETUNREACH) => ErrorKind::Unreachable,
        _ => ErrorKind::Kernel,
    };
    Failure::new(kind, error.to_string())
}
