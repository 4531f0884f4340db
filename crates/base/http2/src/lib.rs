//! HTTP/2 (RFC 9113): a codec of our own for clients, and libnghttp2, the C library of curl and h2load, for servers.
//! Nothing here does input or output: received bytes are given to a session, and it appends what is to be sent.
//!
//! A session calls back into a handler, which is lent to it for each call. So a connection keeps its state beside
//! the session, and nothing here is shared. The two sides have nothing in common but names, so that each is a
//! test of the other.

mod client;
mod error_code;
mod heads;
pub mod hpack;
mod server;

pub use client::{
    Breach, Client, ClientHandler, ClientSettings, Dropped, Head, NoMoreRequests, Position,
    StreamEnd,
};
pub use error_code::{REFUSED_STREAM, error_name, is_no_error};
pub use heads::{RequestHead, ResponseHead};
pub use server::{Server, ServerHandler, ServerSettings, SessionError};

/// The length of a frame's header (RFC 9113, section 4.1).
pub const FRAME_HEADER: usize = 9;

/// The largest window (RFC 9113, section 6.9.1).
pub const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// The largest frame that a peer may send where nothing else was agreed (RFC 9113, section 4.2).
pub const DEFAULT_MAX_FRAME: u32 = 1 << 14;

/// What a client sends first (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Whether a client that has sent these bytes speaks HTTP/2 without having agreed on it (prior knowledge).
/// The first line shows it: HTTP/1.1 has no method PRI. `None` as long as that line may still become one.
pub fn begins(received: &[u8]) -> Option<bool> {
    const LINE: &[u8] = PREFACE.split_at(16).0;
    let is_whole = received.len() >= LINE.len();
    match received.starts_with(LINE) || !is_whole && LINE.starts_with(received) {
        true if !is_whole => None,
        it => Some(it),
    }
}

/// The name of HTTP/2 over TLS in ALPN (RFC 9113, section 3.2).
pub const ALPN: &[u8] = b"h2";

/// A stream of a client, and the number that the request's sender gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    pub id: i32,
    /// What [`Client::request`] was given; 0 where the stream is not open.
    pub tag: usize,
}

/// A frame that was received or sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub kind: FrameKind,
    /// Of its payload.
    pub length: usize,
    /// Whether the sender sends nothing more on this stream.
    pub ends_stream: bool,
}

/// What a frame is for (RFC 9113, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Data,
    /// With the CONTINUATION frames that belong to it.
    Headers,
    Settings,
    /// The peer takes no more streams.
    Goaway {
        error: u32,
    },
    Other,
}
