//! What is counted of connections that carry several requests at once.

use serde::{Deserialize, Serialize};
use units::Nanos;

/// The connections of a load over HTTP/2 or HTTP/3, warm-up included unless it says otherwise; all 0 over HTTP/1.1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamCounts {
    /// Connections that were opened and spoke the version of HTTP that was asked for.
    pub connections: u64,
    /// The part of them that agreed on it in the handshake (ALPN); the rest began with it.
    pub by_alpn: u64,
    /// The most streams that were open at once on one connection.
    pub most: u64,
    /// The fewest streams at once that a server allowed: over HTTP/2 by its SETTINGS, over HTTP/3 as a connection
    /// began. `None` where none set a limit, or over HTTP/3 where as many were never asked for.
    pub allowed: Option<u64>,
    /// GOAWAYs that came.
    pub goaways: u64,
    /// Requests sent.
    pub requests: u64,
    /// Responses that have begun to come.
    pub answers: u64,
    /// How long streams were open within the window, all together.
    pub open_for: Nanos,
    /// How long operations waited within the window because the server allowed no further stream, all together.
    pub no_stream_for: Nanos,
    /// Names and values of the fields of requests, and the bytes that carried them compressed (HPACK, QPACK).
    pub fields_sent: u64,
    pub header_bytes_sent: u64,
    /// The same of responses.
    pub fields_received: u64,
    pub header_bytes_received: u64,
    /// Requests that waited until the server opened a window, and how long all of them did.
    pub held_up: u64,
    pub held_up_for: Nanos,
    /// How long requests with a body were under way.
    pub with_body_for: Nanos,
}

impl StreamCounts {
    pub(crate) fn add(&mut self, other: Self) {
        self.connections += other.connections;
        self.by_alpn += other.by_alpn;
        self.most = self.most.max(other.most);
        self.allowed = self.allowed.into_iter().chain(other.allowed).min();
        self.goaways += other.goaways;
        self.requests += other.requests;
        self.answers += other.answers;
        self.open_for.0 += other.open_for.0;
        self.no_stream_for.0 += other.no_stream_for.0;
        self.fields_sent += other.fields_sent;
        self.header_bytes_sent += other.header_bytes_sent;
        self.fields_received += other.fields_received;
        self.header_bytes_received += other.header_bytes_received;
        self.held_up += other.held_up;
        self.held_up_for.0 += other.held_up_for.0;
        self.with_body_for.0 += other.with_body_for.0;
    }
}
