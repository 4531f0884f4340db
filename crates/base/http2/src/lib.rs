//! HTTP/2 (RFC 9113) through libnghttp2, the C library of curl and h2load. It does no input or output:
//! received bytes are given to a session, and it appends what is to be sent.
//!
//! A session calls back into a [`Handler`], which is lent to it for each call. So a connection keeps
//! its state beside the session, and nothing here is shared.

mod callbacks;
mod client;
mod error_code;
mod made;
mod server;
mod session;

pub use client::{Client, ClientSettings, MOST_CONTINUATIONS};
pub use error_code::{COMPRESSION_ERROR, REFUSED_STREAM, error_name, is_no_error};
pub use server::{Server, ServerSettings};
pub use session::SessionError;

/// The length of a frame's header (RFC 9113, section 4.1).
pub const FRAME_HEADER: usize = 9;

/// The largest window (RFC 9113, section 6.9.1).
pub const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// The largest frame that a peer may send where nothing else was agreed (RFC 9113, section 4.2).
pub const DEFAULT_MAX_FRAME: u32 = 1 << 14;

/// Whether a client that has sent these bytes speaks HTTP/2 without having agreed on it (prior knowledge).
/// The first line shows it: HTTP/1.1 has no method PRI. `None` as long as that line may still become one.
pub fn begins(received: &[u8]) -> Option<bool> {
    const LINE: &[u8] = b"PRI * HTTP/2.0\r\n";
    let is_whole = received.len() >= LINE.len();
    match received.starts_with(LINE) || !is_whole && LINE.starts_with(received) {
        true if !is_whole => None,
        it => Some(it),
    }
}

/// The name of HTTP/2 over TLS in ALPN (RFC 9113, section 3.2).
pub const ALPN: &[u8] = b"h2";

/// A stream, and the number that its side of the connection gave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    pub id: i32,
    /// Of a request that [`Client::request`] sent; 0 elsewhere.
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
    /// Whether it is a part of a head, of which more comes in the next frame (CONTINUATION).
    pub continues: bool,
}

/// What a frame is for (RFC 9113, section 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Data,
    /// With the CONTINUATION frames that belong to it.
    Headers,
    Settings,
    /// The peer takes no more streams; those up to this one were or will be processed.
    Goaway {
        last_stream: i32,
        error: u32,
    },
    Other,
}

/// What a session calls. Fields and data come in the order in which the peer sent them.
pub trait Handler {
    /// A field of a head or of trailers.
    fn field(&mut self, _stream: Stream, _name: &[u8], _value: &[u8]) {}

    /// A frame's header has come.
    fn begins(&mut self, _stream: i32, _frame: Frame) {}

    /// A part of a body.
    fn data(&mut self, _stream: Stream, _bytes: &[u8]) {}

    /// A frame has come whole.
    fn received(&mut self, _stream: Stream, _frame: Frame) {}

    /// A frame is among the bytes to send.
    fn sent(&mut self, _stream: Stream, _frame: Frame) {}

    /// A stream has ended, by this code where it was reset.
    fn closed(&mut self, _stream: Stream, _error: u32) {}

    /// A request was not sent: the peer takes no more.
    fn not_sent(&mut self, _stream: Stream) {}

    /// What the peer did wrong, in the words of the library.
    fn wrong(&mut self, _what: &str) {}

    /// How many bytes of a body the next DATA frame carries, at most `most`, and whether they are the last;
    /// `None` where they cannot be had.
    fn body(&mut self, _stream: Stream, _most: usize) -> Option<(usize, bool)> {
        None
    }

    /// Appends as many bytes as the last [`Self::body`] announced; false where they cannot be had.
    fn put_body(&mut self, _stream: Stream, _length: usize, _out: &mut Vec<u8>) -> bool {
        false
    }
}
