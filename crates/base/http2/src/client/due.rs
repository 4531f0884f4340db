//! Frames that are due, in their order: all but DATA, which is made when it is sent.

use super::frame::{
    CONTINUATION, END_HEADERS, END_STREAM, FrameHeader, HEADERS, WINDOW_UPDATE, put_header,
};
use crate::{DEFAULT_MAX_FRAME, FRAME_HEADER, Frame, FrameKind, Stream};

/// See the module.
#[derive(Default)]
pub(super) struct Due {
    bytes: Vec<u8>,
    /// The frames in `bytes`, which the handler does not know of.
    frames: Vec<(Stream, Frame)>,
}

impl Due {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Appends a frame.
    pub(super) fn frame(&mut self, kind: u8, flags: u8, stream: i32, payload: &[u8]) {
        put_header(&mut self.bytes, payload.len(), kind, flags, stream);
        self.bytes.extend_from_slice(payload);
        let frame = Frame { kind: FrameKind::Other, length: payload.len(), ends_stream: false };
        self.frames.push((Stream { id: stream, tag: 0 }, frame));
    }

    /// Opens a window.
    pub(super) fn window_update(&mut self, stream: i32, increment: u32) {
        self.frame(WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
    }

    /// Appends a request's head, in as many frames as its block needs.
    pub(super) fn head(&mut self, stream: Stream, ends_stream: bool, block: &[u8]) {
        let (mut kind, mut flags) = (HEADERS, if ends_stream { END_STREAM } else { 0 });
        let pieces = block.chunks(DEFAULT_MAX_FRAME as usize);
        let last = pieces.len() - 1;
        for (place, piece) in pieces.enumerate() {
            flags |= if place == last { END_HEADERS } else { 0 };
            put_header(&mut self.bytes, piece.len(), kind, flags, stream.id);
            self.bytes.extend_from_slice(piece);
            (kind, flags) = (CONTINUATION, 0);
        }
        let frame = Frame { kind: FrameKind::Headers, length: block.len(), ends_stream };
        self.frames.push((stream, frame));
    }

    /// Appends all to what is sent, and returns the frames.
    pub(super) fn take(&mut self, out: &mut Vec<u8>) -> impl Iterator<Item = (Stream, Frame)> {
        out.extend_from_slice(&self.bytes);
        self.bytes.clear();
        self.frames.drain(..)
    }

    /// Drops the frames of streams after this one.
    pub(super) fn drop_after(&mut self, last: i32) {
        self.frames.retain(|(stream, _)| stream.id <= last);
        let bytes = std::mem::take(&mut self.bytes);
        let mut rest = &bytes[..];
        while let Some((header, _)) = rest.split_first_chunk() {
            let header = FrameHeader::read(*header);
            let length = FRAME_HEADER + header.length as usize;
            let frame = rest.split_off(..length).unwrap_or_default();
            if header.stream <= last {
                self.bytes.extend_from_slice(frame);
            }
        }
    }
}
