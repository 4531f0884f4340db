//! What is counted of HTTP/2 connections, warm-up included.

use serde::{Deserialize, Serialize};

/// The HTTP/2 connections of a load, warm-up included; all 0 over HTTP/1.1.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2Counts {
    /// Connections that were opened and spoke HTTP/2.
    pub connections: u64,
    /// The part of them that agreed on it in the handshake (ALPN); the rest began with it.
    pub by_alpn: u64,
    /// The most streams that were open at once on one connection.
    pub most_streams: u64,
    /// The fewest streams at once that a server's SETTINGS allowed; `None` where none set a limit.
    pub allowed_streams: Option<u32>,
    /// GOAWAYs that came.
    pub goaways: u64,
    /// Requests that a server had not taken when it sent a GOAWAY, and that were asked again on another
    /// connection.
    pub retries: u64,
    /// Requests sent.
    pub requests: u64,
    /// Names and values of the fields of requests, and the bytes of the frames that carried them
    /// compressed (HPACK).
    pub fields_sent: u64,
    pub header_bytes_sent: u64,
    /// The same of responses.
    pub fields_received: u64,
    pub header_bytes_received: u64,
    /// DATA frames that came.
    pub data_frames: u64,
    /// All frames.
    pub frames_sent: u64,
    pub frames_received: u64,
}

impl Http2Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.connections += other.connections;
        self.by_alpn += other.by_alpn;
        self.most_streams = self.most_streams.max(other.most_streams);
        self.allowed_streams = match (self.allowed_streams, other.allowed_streams) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.goaways += other.goaways;
        self.retries += other.retries;
        self.requests += other.requests;
        self.fields_sent += other.fields_sent;
        self.header_bytes_sent += other.header_bytes_sent;
        self.fields_received += other.fields_received;
        self.header_bytes_received += other.header_bytes_received;
        self.data_frames += other.data_frames;
        self.frames_sent += other.frames_sent;
        self.frames_received += other.frames_received;
    }
}
