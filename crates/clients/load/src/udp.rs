//! UDP sockets of the client: one for each connection, so that ports, addresses, refusals and drops are its own.

use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use bytes::BytesMut;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use wire::{ErrorKind, Failure};

use crate::socket::Socket;

/// What the kernel is to keep of datagrams that were not received yet, where it may (net.core.rmem_max).
const RECEIVE_BUFFER: usize = 8 << 20;

/// What one receive takes at most: a datagram, or several that the kernel has put together (UDP_GRO).
const RECEIVED: usize = 64 << 10;

/// How many of those one call takes.
const AT_ONCE: usize = 4;

/// The most bytes of one send.
const LONGEST_SEND: usize = 65_507;

/// Where receives are put together; the connections of a thread share it.
pub(crate) struct Inbox(Vec<u8>);

impl Default for Inbox {
    fn default() -> Self {
        Self(vec![0; AT_ONCE * RECEIVED])
    }
}

/// What became of a send.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sent {
    All,
    /// The socket has no room.
    Blocked,
    /// The kernel had no room (ENOBUFS): the datagrams are lost.
    Refused,
}

/// How a socket sends and receives many datagrams at once.
pub(crate) struct Udp {
    state: UdpSocketState,
}

impl Udp {
    pub(crate) fn new(socket: &Socket) -> Result<Self, Failure> {
        let fd = socket.as_fd();
        let state = UdpSocketState::new((&fd).into()).map_err(|error| failure(&error))?;
        // The kernel cuts it to what it allows.
        let _ = state.set_recv_buffer_size((&fd).into(), RECEIVE_BUFFER);
        Ok(Self { state })
    }

    /// Gives what has come, as much as one call takes: all datagrams of a receive in one piece, how long each of them
    /// is but the last, and their ECN codepoint. Whether there may be more.
    pub(crate) fn receive(
        &self,
        socket: &Socket,
        inbox: &mut Inbox,
        mut take: impl FnMut(BytesMut, usize, Option<EcnCodepoint>),
    ) -> Result<bool, Failure> {
        let mut metas = [RecvMeta::default(); AT_ONCE];
        let mut buffers = inbox.0.chunks_exact_mut(RECEIVED);
        let mut slices: [IoSliceMut<'_>; AT_ONCE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let count = match self.state.recv((&socket.as_fd()).into(), &mut slices, &mut metas) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(failure(&error)),
        };
        for (meta, bytes) in metas.iter().zip(&slices).take(count) {
            take(BytesMut::from(&bytes[..meta.len]), meta.stride.max(1), meta.ecn);
        }
        Ok(count == AT_ONCE)
    }

    /// Sends datagrams of `segment` bytes each, of which the last may be shorter.
    pub(crate) fn send(
        &self,
        socket: &Socket,
        to: SocketAddr,
        contents: &[u8],
        segment: Option<usize>,
        ecn: Option<EcnCodepoint>,
    ) -> Result<Sent, Failure> {
        let transmit =
            Transmit { destination: to, ecn, contents, segment_size: segment, src_ip: None };
        match self.state.try_send((&socket.as_fd()).into(), &transmit) {
            Ok(()) => Ok(Sent::All),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sent::Blocked),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(Sent::Refused),
            Err(error) => Err(failure(&error)),
        }
    }

    /// How many datagrams of this size may leave in one send.
    pub(crate) fn most_segments(&self, size: usize) -> usize {
        self.state.max_gso_segments().min(LONGEST_SEND / size.max(1)).max(1)
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
