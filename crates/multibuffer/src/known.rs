//! Blocks that are known before they are hashed: the padding of messages that end with a whole block.
//!
//! It depends on nothing but their length. So its message schedule is computed once for many messages
//! of that length, and rounds are all that is left of its hashing: about three fifths.

use crate::algorithm::{Algorithm, pad};

/// The word of the message schedule of every round, with the round's constant added. SHA-256 has 64.
pub type KnownWords<W> = [W; 80];

/// The padding that a thread met last. Lengths that change with every batch are not worth a schedule:
/// only the second batch of one length computes it.
pub struct KnownEnd<A: Algorithm> {
    /// The length of the messages, a multiple of the block's, in bytes.
    seen: Option<u64>,
    /// Whether the words are of that length.
    is_computed: bool,
    words: KnownWords<A::Word>,
}

impl<A: Algorithm> KnownEnd<A> {
    pub(crate) const fn new(zero: A::Word) -> Self {
        Self { seen: None, is_computed: false, words: [zero; 80] }
    }

    /// That of messages of so many bytes, if the last ones had as many.
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
