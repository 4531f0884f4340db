//! The layout of frames (RFC 9113, sections 4.1 and 6).

use super::breach::Breach;
use crate::FRAME_HEADER;

pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const PRIORITY: u8 = 2;
pub(super) const RST_STREAM: u8 = 3;
pub(super) const SETTINGS: u8 = 4;
pub(super) const PUSH_PROMISE: u8 = 5;
pub(super) const PING: u8 = 6;
pub(super) const GOAWAY: u8 = 7;
pub(super) const WINDOW_UPDATE: u8 = 8;
pub(super) const CONTINUATION: u8 = 9;

pub(super) const ACK: u8 = 1;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;
pub(super) const PADDED: u8 = 8;
const HAS_PRIORITY: u8 = 0x20;

/// What a frame begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// Of the payload, which has at most 2^24 - 1 bytes.
    pub(super) length: u32,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: i32,
}

impl FrameHeader {
    pub(super) fn read(bytes: [u8; FRAME_HEADER]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        let length = u32::from_be_bytes([0, a, b, c]);
        Self { length, kind, flags, stream: number31(stream) as i32 }
    }

    pub(super) fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Whether the sender sends nothing more on its stream.
    pub(super) fn ends_stream(self) -> bool {
        matches!(self.kind, DATA | HEADERS) && self.has(END_STREAM)
    }

    /// What a HEADERS frame holds of a header block: its payload without the padding and the priority.
    pub(super) fn fragment(self, mut payload: &[u8]) -> Result<&[u8], Breach> {
        const SHORT: Breach = Breach::Rule {
            code: crate::error_code::FRAME_SIZE_ERROR,
            what: "a HEADERS frame that is too short for its flags",
        };
        let padding = match self.has(PADDED) {
            true => usize::from(*payload.split_off_first().ok_or(SHORT)?),
            false => 0,
        };
        if self.has(HAS_PRIORITY) {
            payload.split_off(..5).ok_or(SHORT)?;
        }
        let length = payload.len().checked_sub(padding).ok_or(PADDING)?;
        Ok(&payload[..length])
    }
}

pub(super) const PADDING: Breach = Breach::Rule {
    code: crate::error_code::PROTOCOL_ERROR,
    what: "padding that is longer than its frame",
};

/// Four bytes whose first bit means nothing.
pub(super) fn number31(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

/// Appends a frame's header.
pub(super) fn put_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: i32) {
    let length = (length as u32).to_be_bytes();
    out.extend_from_slice(&length[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}
