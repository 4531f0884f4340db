//! UDP sockets: one a thread at each address, which take and send many datagrams at once.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use counters::{Call, CounterRow};
use datagrams::{Datagrams, Inbox, Received};
use quinn_proto::Transmit;
use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};

use crate::error::ServerError;
use crate::listener;

/// What the kernel keeps of datagrams that were not received yet, where it may (net.core.rmem_max): a TCP connection
/// has 6 MB by itself, and here all connections of a thread share this.
const RECEIVE_BUFFER: usize = 8 << 20;

/// The same of those that were not sent yet (net.core.wmem_max).
const SEND_BUFFER: usize = 4 << 20;

/// How many receives one call gives.
const RECEIVES: usize = 32;

/// The sockets of one address, one for each thread.
pub(crate) struct UdpSockets(Vec<Arc<OwnedFd>>);

impl UdpSockets {
    /// Binds `threads` sockets to `address`, which nobody else has.
    pub(crate) fn bind(address: SocketAddr, threads: usize) -> Result<Self, ServerError> {
        let named = |error: Errno| match error {
            Errno::ADDRINUSE => ServerError::Busy(address),
            error => ServerError::Listen { address, source: error.into() },
        };
        let bind = |is_shared| -> Result<OwnedFd, Errno> {
            let socket = listener::socket(address, SocketType::DGRAM)?;
            if is_shared {
                sockopt::set_socket_reuseport(&socket, true)?;
            }
            // The kernel cuts them to what it allows.
            sockopt::set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER)?;
            sockopt::set_socket_send_buffer_size(&socket, SEND_BUFFER)?;
            rustix::net::bind(&socket, &address)?;
            Ok(socket)
        };
        // Two servers of one user could share the port otherwise (`crate::listener`).
        let proof = bind(false).map_err(named)?;
        if threads == 1 {
            return Ok(Self(vec![Arc::new(proof)]));
        }
        drop(proof);
        let sockets: Result<_, Errno> = (0..threads).map(|_| bind(true).map(Arc::new)).collect();
        sockets.map(Self).map_err(named)
    }

    /// The socket of this thread. The others keep it open until all have ended: the kernel sends a client's datagrams
    /// to one of the sockets by how many there are.
    pub(crate) fn of_thread(&self, thread: usize) -> Option<Arc<OwnedFd>> {
        self.0.get(thread).cloned()
    }
}

/// The socket of a thread.
pub(super) struct UdpSocket {
    socket: Arc<OwnedFd>,
    datagrams: Datagrams,
    gso: bool,
    inbox: Inbox,
    row: Option<CounterRow>,
}

impl UdpSocket {
    pub(super) fn new(
        socket: Arc<OwnedFd>,
        gso: bool,
        row: Option<CounterRow>,
    ) -> io::Result<Self> {
        let datagrams = Datagrams::new(&socket)?;
        let socket = Self { socket, datagrams, gso, inbox: Inbox::new(RECEIVES), row };
        socket.check_gso()?;
        Ok(socket)
    }

    /// That datagrams leave one by one must not be found out from the figures.
    fn check_gso(&self) -> io::Result<()> {
        match self.gso && !self.datagrams.are_cut() {
            true => Err(io::Error::other(
                "this kernel or this network card does not cut datagrams (UDP_SEGMENT); write --gso off",
            )),
            false => Ok(()),
        }
    }

    /// Receives what has come, as much as one call takes; whether more may be there.
    pub(super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> bool {
        let Self { socket, datagrams, inbox, .. } = self;
        let received = datagrams.receive(socket, inbox, |received| {
            // Nothing can be sent to port 0, which a forged datagram may come from.
            if received.from.port() != 0 {
                take(received);
            }
        });
        // Another error is over once it was told.
        received.unwrap_or_else(|error| error.kind() != io::ErrorKind::WouldBlock)
    }

    /// Sends; `false` where the kernel has no room. What it refuses otherwise is lost, as on any network.
    ///
    /// # Errors
    /// It has stopped to cut datagrams.
    pub(super) fn send(&self, transmit: &Transmit, bytes: &[u8]) -> io::Result<bool> {
        match self.datagrams.send(&self.socket, transmit, bytes) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(_) => self.check_gso()?,
            Ok(()) => {
                if let Some(row) = self.row {
                    row.count_call(Call::Write, transmit.size as u64);
                }
            }
        }
        Ok(true)
    }

    /// How many datagrams of this size may leave in one send.
    pub(super) fn most_segments(&self, size: usize) -> usize {
        self.datagrams.most_segments(size)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
