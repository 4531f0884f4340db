//! Blocks that are known before they are hashed: the padding of messages that end with a whole block.
//!
//! Such a block depends only on the length. So its message schedule is computed once for many
//! messages of that length, and only the rounds remain: about three fifths of the work.

use crate::algorithm::{Algorithm, pad};

/// The words of the message schedule of all rounds, with the rounds' constants added. SHA-256 has
/// 64.
pub type KnownWords<W> = [W; 80];

/// The last padding of a thread. Lengths that change with every batch are not worth a schedule:
/// only the second batch of one length computes it.
pub struct KnownEnd<A: Algorithm> {
    /// The length of the messages, a multiple of the block's, in bytes.
    seen: Option<u64>,
    /// Whether the words are for that length.
    is_computed: bool,
    words: KnownWords<A::Word>,
}

impl<A: Algorithm> KnownEnd<A> {
    pub(crate) const fn new(zero: A::Word) -> Self {
        Self { seen: None, is_computed: false, words: [zero; 80] }
    }

    /// The padding of messages of this many bytes, if the last ones had the same length.
    pub(crate) fn of(&mut self, message_bytes: u64) -> Option<&KnownWords<A::Word>> {
        if self.seen != Some(message_bytes) {
            self.seen = Some(message_bytes);
            self.is_computed = false;
            return None;
        }
        if !self.is_computed {
            let mut blocks = [A::ZERO_BLOCK; 2];
            pad::<A>(&[], message_bytes, &mut blocks);
            self.words = A::known_words(&blocks[0]);
            self.is_computed = true;
        }
        Some(&self.words)
    }
}
