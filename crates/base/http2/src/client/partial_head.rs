//! A head that has not come whole.

use super::frame::FrameHeader;

/// HEADERS and the CONTINUATION frames after it, as far as they have come.
#[derive(Default)]
pub(super) struct PartialHead {
    /// `None` where no head has begun.
    pub(super) header: Option<FrameHeader>,
    pub(super) block: Vec<u8>,
    /// The bytes of the payloads.
    pub(super) length: usize,
    pub(super) continuations: usize,
}
