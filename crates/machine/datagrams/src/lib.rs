//! UDP sockets that send and receive many datagrams in one call of the kernel: it cuts what is sent (UDP_SEGMENT), joins
//! what comes (UDP_GRO), and gives several at once (recvmmsg). What quinn-proto wants to send goes out as it is, and what
//! comes is in its types.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;

use quinn_proto::{EcnCodepoint, Transmit};
use quinn_udp::{BATCH_SIZE, RecvMeta, UdpSocketState};

/// What one receive takes at most: a datagram, or several that the kernel has joined.
const RECEIVED: usize = 64 << 10;

/// The most bytes of one send.
const LONGEST_SEND: usize = 65_507;

/// Where receives are put together.
pub struct Inbox(Vec<u8>);

impl Inbox {
    /// With room for as many receives in one call, 32 at most.
    pub fn new(receives: usize) -> Self {
        Self(vec![0; receives * RECEIVED])
    }
}

/// Datagrams of one sender that came together.
pub struct Received<'b> {
    pub from: SocketAddr,
    pub to: Option<IpAddr>,
    pub ecn: Option<EcnCodepoint>,
    /// All of them, one after the other.
    pub bytes: &'b [u8],
    /// How long each is, but for the last, which may be shorter.
    pub length: usize,
}

/// What is known of a socket.
pub struct Datagrams(UdpSocketState);

impl Datagrams {
    /// # Errors
    /// The socket is no UDP socket, or cannot be set up.
    pub fn new(socket: &impl AsFd) -> io::Result<Self> {
        UdpSocketState::new(socket.into()).map(Self)
    }

    /// Gives what has come, as much as one call takes; whether more may be there.
    ///
    /// # Errors
    /// `WouldBlock` where nothing has come, or what the network has reported.
    pub fn receive(
        &self,
        socket: &impl AsFd,
        inbox: &mut Inbox,
        mut take: impl FnMut(Received<'_>),
    ) -> io::Result<bool> {
        let room = inbox.0.len() / RECEIVED;
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut buffers = inbox.0.chunks_exact_mut(RECEIVED);
        let mut slices: [IoSliceMut<'_>; BATCH_SIZE] =
            std::array::from_fn(|_| IoSliceMut::new(buffers.next().unwrap_or_default()));
        let count = self.0.recv(socket.into(), &mut slices[..room], &mut metas[..room])?;
        for (meta, bytes) in metas.iter().zip(&slices).take(count) {
            take(Received {
                from: meta.addr,
                to: meta.dst_ip,
                ecn: meta.ecn.and_then(|ecn| EcnCodepoint::from_bits(ecn as u8)),
                bytes: &bytes[..meta.len],
                length: meta.stride.max(1),
            });
        }
        Ok(count == room)
    }

    /// Sends what `transmit` says of these bytes.
    ///
    /// # Errors
    /// `WouldBlock` where the socket has no room, or why the kernel refuses.
    pub fn send(&self, socket: &impl AsFd, transmit: &Transmit, bytes: &[u8]) -> io::Result<()> {
        let out = quinn_udp::Transmit {
            destination: transmit.destination,
            ecn: transmit.ecn.and_then(|ecn| quinn_udp::EcnCodepoint::from_bits(ecn as u8)),
            contents: &bytes[..transmit.size],
            segment_size: transmit.segment_size,
            src_ip: transmit.src_ip,
        };
        self.0.try_send(socket.into(), &out)
    }

    /// How many datagrams of this size may leave in one send.
    pub fn most_segments(&self, size: usize) -> usize {
        self.0.max_gso_segments().min(LONGEST_SEND / size.max(1)).max(1)
    }

    /// Whether the kernel cuts what is sent. Where it has refused to once, datagrams leave one by one from then on.
    pub fn are_cut(&self) -> bool {
        self.0.max_gso_segments() > 1
    }
}
