//! What a reception asks its connection for.

use crate::record::HEADER;

/// The most that is read ahead while a response's head is awaited or a whole body is read. It is
/// enough for any record, so that a small response costs one read.
pub const READ_AHEAD: usize = 64 << 10;

/// What is read ahead for a head when a long body after it is to be dropped: one full record with
/// its header.
pub const ONE_RECORD: usize = (16 << 10) + 256 + HEADER;

/// What a reception needs next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// At least `min` bytes in hand; up to `max` are useful.
    Read { min: usize, max: usize },
    /// This many bytes dropped unread; fewer at a time are fine.
    Skip(u64),
}
