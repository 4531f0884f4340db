//! What is counted of QUIC connections, warm-up included.

use serde::{Deserialize, Serialize};

/// The QUIC connections of a load, warm-up included; all 0 over TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuicCounts {
    /// Connections whose client a server asked to prove its address first (Retry packets).
    pub retries: u64,
    /// Datagrams sent, their bytes without UDP's headers, and the calls of the kernel that sent them: more
    /// datagrams than calls where the kernel cuts them (UDP_SEGMENT, "GSO").
    pub datagrams_sent: u64,
    pub bytes_sent: u64,
    pub sends: u64,
    /// The same of what came; the kernel may join datagrams (UDP_GRO).
    pub datagrams_received: u64,
    pub bytes_received: u64,
    pub receives: u64,
    /// The longest datagram that was sent and that came, in bytes without UDP's header.
    pub longest_sent: u64,
    pub longest_received: u64,
    /// Datagrams that came and were longer than the client takes (max_udp_payload_size).
    pub too_long_received: u64,
    /// The longest datagrams that the path carried from the client, where it did not carry the first ones.
    pub path_payload: Option<u64>,
    /// Packets that this side sent and took for lost, and their bytes.
    pub packets_lost: u64,
    pub bytes_lost: u64,
    /// ACK frames that were sent and that came.
    pub acks_sent: u64,
    pub acks_received: u64,
    /// Datagrams that came and that the kernel dropped, because the receiving socket's buffer was full
    /// (SO_MEMINFO).
    pub drops: u64,
    /// Sends that the kernel refused for want of room (ENOBUFS).
    pub sends_refused: u64,
}

impl QuicCounts {
    pub(crate) fn add(&mut self, other: Self) {
        self.retries += other.retries;
        self.datagrams_sent += other.datagrams_sent;
        self.bytes_sent += other.bytes_sent;
        self.sends += other.sends;
        self.datagrams_received += other.datagrams_received;
        self.bytes_received += other.bytes_received;
        self.receives += other.receives;
        self.longest_sent = self.longest_sent.max(other.longest_sent);
        self.longest_received = self.longest_received.max(other.longest_received);
        self.too_long_received += other.too_long_received;
        self.path_payload = self.path_payload.into_iter().chain(other.path_payload).min();
        self.packets_lost += other.packets_lost;
        self.bytes_lost += other.bytes_lost;
        self.acks_sent += other.acks_sent;
        self.acks_received += other.acks_received;
        self.drops += other.drops;
        self.sends_refused += other.sends_refused;
    }
}
