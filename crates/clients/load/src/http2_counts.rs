//! What is counted of HTTP/2 connections, warm-up included.

use serde::{Deserialize, Serialize};
use units::Nanos;

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
    /// Responses that have begun to come.
    pub answers: u64,
    /// How long streams were open within the window, all together.
    pub open_for: Nanos,
    /// How long operations waited within the window because the server allowed no further stream, all
    /// together.
    pub no_stream_for: Nanos,
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
    /// The least that was left of a connection's window for what the server sends, in bytes, after
    /// anything came; `None` where nothing did.
    pub least_window: Option<u32>,
    /// Requests whose body waited until the server opened a window, and how long all of them did.
    pub held_up: u64,
    pub held_up_for: Nanos,
    /// How long requests with a body were under way.
    pub with_body_for: Nanos,
}

impl Http2Counts {
    /// Notes how much is left of a connection's window.
    pub(crate) fn note_window(&mut self, left: u32) {
        self.least_window = least(self.least_window, Some(left));
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.connections += other.connections;
        self.by_alpn += other.by_alpn;
        self.most_streams = self.most_streams.max(other.most_streams);
        self.allowed_streams = least(self.allowed_streams, other.allowed_streams);
        self.goaways += other.goaways;
        self.retries += other.retries;
        self.requests += other.requests;
        self.answers += other.answers;
        self.open_for.0 += other.open_for.0;
        self.no_stream_for.0 += other.no_stream_for.0;
        self.fields_sent += other.fields_sent;
        self.header_bytes_sent += other.header_bytes_sent;
        self.fields_received += other.fields_received;
        self.header_bytes_received += other.header_bytes_received;
        self.data_frames += other.data_frames;
        self.frames_sent += other.frames_sent;
        self.frames_received += other.frames_received;
        self.least_window = least(self.least_window, other.least_window);
        self.held_up += other.held_up;
        self.held_up_for.0 += other.held_up_for.0;
        self.with_body_for.0 += other.with_body_for.0;
    }
}

fn least(mine: Option<u32>, theirs: Option<u32>) -> Option<u32> {
    mine.into_iter().chain(theirs).min()
}
