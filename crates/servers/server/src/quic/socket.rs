//! UDP sockets: one a thread at each address, which take and send many datagrams at once.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

use counters::{Call, CounterRow};
use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use rustix::io::Errno;
use rustix::net::{SocketType, sockopt};

use crate::error::ServerError;
use crate::listener;

/// What the kernel keeps of datagrams that were not received yet, where it may (net.core.rmem_max): a TCP connection
/// has 6 MB by itself, and here all connections of a thread share this.
const RECEIVE_BUFFER: usize = 8 << 20;

/// The same of those that were not sent yet (net.core.wmem_max).
const SEND_BUFFER: usize = 4 << 20;

/// What one receive takes at most: a datagram, or several that the kernel has put together.
const RECEIVED: usize = 64 << 10;

/// The most bytes of one send.
const LONGEST_SEND: usize = 65_507;

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
    state: UdpSocketState,
    gso: bool,
    buffers: Vec<u8>,
    row: Option<CounterRow>,
}

/// Datagrams of one sender that came together.
pub(super) struct Received<'b> {
    pub(super) from: SocketAddr,
    pub(super) to: Option<IpAddr>,
    pub(super) ecn: Option<EcnCodepoint>,
    pub(super) datagrams: std::slice::Chunks<'b, u8>,
}

impl UdpSocket {
    pub(super) fn new(
        socket: Arc<OwnedFd>,
        gso: bool,
        row: Option<CounterRow>,
    ) -> io::Result<Self> {
        let state = UdpSocketState::new((&*socket).into())?;
        let socket = Self { socket, state, gso, buffers: vec![0; BATCH_SIZE * RECEIVED], row };
        socket.check_gso()?;
        Ok(socket)
    }

    /// That datagrams leave one by one must not be found out from the figures.
    fn check_gso(&self) -> io::Result<()> {
        match self.gso && self.state.max_gso_segments() == 1 {
            true => Err(io::Error::other(
                "this kernel or this network card does not cut datagrams (UDP_SEGMENT); write --gso off",
            )),
            false => Ok(()),
        }
    }

    /// Receives what has come, as much as one call takes; whether more may be there.
    pub(super) fn receive(&mut self, mut take: impl FnMut(Received<'_>)) -> bool {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut buffers = self.buffers.chunks_exact_mut(RECEIVED);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let count = match self.state.recv((&*self.socket).into(), &mut slices, &mut metas) {
            Ok(count) => count,
            // Another error is over once it was told.
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        };
        // Nothing can be sent to port 0, which a forged datagram may come from.
        let known = metas.iter().zip(&slices).take(count).filter(|(meta, _)| meta.addr.port() != 0);
        for (meta, bytes) in known {
            take(Received {
                from: meta.addr,
                to: meta.dst_ip,
                ecn: meta.ecn,
                datagrams: bytes[..meta.len].chunks(meta.stride.max(1)),
            });
        }
        count == BATCH_SIZE
    }

    /// Sends; `false` where the kernel has no room. What it refuses otherwise is lost, as on any network.
    ///
    /// # Errors
    /// It has stopped to cut datagrams.
    pub(super) fn send(&self, transmit: &Transmit<'_>) -> io::Result<bool> {
        match self.state.try_send((&*self.socket).into(), transmit) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(_) => self.check_gso()?,
            Ok(()) => {
                if let Some(row) = self.row {
                    row.count_call(Call::Write, transmit.contents.len() as u64);
                }
            }
        }
        Ok(true)
    }

    /// How many datagrams of this size may leave in one send.
    pub(super) fn most_segments(&self, size: usize) -> usize {
        self.state.max_gso_segments().min(LONGEST_SEND / size.max(1)).max(1)
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}
