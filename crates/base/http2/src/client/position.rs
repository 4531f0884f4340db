//! Where in its frames a server is, and what of them was dropped.

use crate::FRAME_HEADER;

/// Where the server's next byte is among its frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// Where a frame begins.
    Boundary,
    /// In DATA that is not padded and not the last of its stream, with `left` bytes to come.
    Data { left: u32 },
}

impl Position {
    /// What is to come of the frame under way.
    pub(super) fn left(self) -> u64 {
        match self {
            Self::Boundary => 0,
            Self::Data { left } => left.into(),
        }
    }
}

/// A part of a response that was dropped: DATA of its stream and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dropped {
    /// Of the frames' headers and payloads.
    pub length: u64,
    /// Frames that began in it.
    pub frames: u64,
    /// Where it ends.
    pub end: Position,
}

impl Dropped {
    /// How many bytes of the body it held.
    pub fn body(self) -> u64 {
        self.length - FRAME_HEADER as u64 * self.frames
    }
}
