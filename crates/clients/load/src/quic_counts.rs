//! What is counted of QUIC connections, warm-up included.

use serde::{Deserialize, Serialize};

/// The QUIC connections of a load, warm-up included; all 0 over TCP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuicCounts {
    /// Connections that were established, in QUIC version 1 (RFC 9000) with HTTP/3 chosen by ALPN.
    pub connections: u64,
    /// Those that a server asked to prove their address first (Retry packets).
    pub retries: u64,
    /// The most request streams that were open at once on one connection.
    pub most_streams: u64,
    /// The fewest request streams at once that a server allowed as a connection began.
    pub allowed_streams: Option<u64>,
    /// GOAWAYs that came.
    pub goaways: u64,
    /// Requests sent.
    pub requests: u64,
    /// Responses that have begun to come.
    pub answers: u64,
    /// Names and values of the fields of requests, and the bytes that carried them compressed (QPACK).
    pub fields_sent: u64,
    pub header_bytes_sent: u64,
    /// The same of responses.
    pub fields_received: u64,
    pub header_bytes_received: u64,
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
        self.connections += other.connections;
        self.retries += other.retries;
        self.most_streams = self.most_streams.max(other.most_streams);
        self.allowed_streams = self.allowed_streams.into_iter().chain(other.allowed_streams).min();
        self.goaways += other.goaways;
        self.requests += other.requests;
        self.answers += other.answers;
        self.fields_sent += other.fields_sent;
        self.header_bytes_sent += other.header_bytes_sent;
        self.fields_received += other.fields_received;
        self.header_bytes_received += other.header_bytes_received;
        self.datagrams_sent += other.datagrams_sent;
        self.bytes_sent += other.bytes_sent;
        self.sends += other.sends;
        self.datagrams_received += other.datagrams_received;
        self.bytes_received += other.bytes_received;
        self.receives += other.receives;
        self.longest_sent = self.longest_sent.max(other.longest_sent);
        self.longest_received = self.longest_received.max(other.longest_received);
        self.packets_lost += other.packets_lost;
        self.bytes_lost += other.bytes_lost;
        self.acks_sent += other.acks_sent;
        self.acks_received += other.acks_received;
        self.drops += other.drops;
        self.sends_refused += other.sends_refused;
    }
}
