//! A message that arrives in pieces.

use std::fmt;

use crate::algorithm::Algorithm;

/// A partly hashed message: chaining value, bytes of an incomplete block, and length. A
/// [`Hasher`](crate::Hasher) updates many at once.
#[derive(Clone, PartialEq, Eq)]
pub struct Context<A: Algorithm> {
    pub(crate) state: [A::Word; 8],
    buffer: A::Block,
    bytes: u64,
}

impl<A: Algorithm> Context<A> {
    /// An empty message.
    #[must_use]
    pub fn new() -> Self {
        Self { state: *A::INITIAL, buffer: A::ZERO_BLOCK, bytes: 0 }
    }

    /// Length of the message so far, in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The bytes of an incomplete block.
    pub(crate) fn buffered(&self) -> &[u8] {
        &self.buffer.as_ref()[..self.buffered_bytes()]
    }

    fn buffered_bytes(&self) -> usize {
        (self.bytes % A::BLOCK_BYTES as u64) as usize
    }

    /// Appends a piece. The bytes of an incomplete block are buffered. Returns the blocks to hash
    /// now: the buffered one, if it has become full, and those of the piece.
    pub(crate) fn append<'a>(&mut self, piece: &'a [u8]) -> (Option<A::Block>, &'a [A::Block]) {
        let used = self.buffered_bytes();
        self.bytes += piece.len() as u64;
        let free = A::BLOCK_BYTES - used;
        let (full, piece) = match piece.split_at_checked(free) {
            _ if used == 0 => (None, piece),
            Some((head, piece)) => {
                self.buffer.as_mut()[used..].copy_from_slice(head);
                (Some(self.buffer), piece)
            }
            None => {
                self.buffer.as_mut()[used..used + piece.len()].copy_from_slice(piece);
                return (None, &[]);
            }
        };
        let (blocks, rest) = A::blocks(piece);
        self.buffer.as_mut()[..rest.len()].copy_from_slice(rest);
        (full, blocks)
    }
}

impl<A: Algorithm> Default for Context<A> {
    fn default() -> Self {
        Self::new()
    }
}

/// Leaves the content out.
impl<A: Algorithm> fmt::Debug for Context<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context<{}>({} bytes)", A::NAME, self.bytes)
    }
}
