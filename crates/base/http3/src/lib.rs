//! HTTP/3 (RFC 9114) without sockets and without QUIC: frames, QPACK (RFC 9204), and what a peer may send when. Both
//! sides use it, each with the streams of its own QUIC library: received bytes of a stream are given to a reader, in
//! their order, and what is to be sent is appended to a `Vec`.
//!
//! QPACK's dynamic table is not used: neither side allows the other one, so a head means the same whatever came
//! before, and no stream waits for another.

mod control;
mod error;
pub mod frame;
mod message;
pub mod qpack;
mod settings;
mod varint;

pub use control::{ControlEvent, PeerStreams, put_control_stream};
pub use error::{Breach, ErrorCode};
pub use frame::{FrameHead, FrameKind, FrameReader, Part};
pub use http2::hpack::Fields;
pub use http2::{RequestHead, ResponseHead};
pub use message::{Message, MessagePart};
pub use settings::Settings;
pub use varint::put_varint;

/// The name of HTTP/3 in ALPN (RFC 9114, section 3.1).
pub const ALPN: &[u8] = b"h3";

/// The most bytes of a head: of its frame, and of its names and values.
pub const LONGEST_HEAD: usize = 64 << 10;

/// A peer of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}
