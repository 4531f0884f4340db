//! The lengths of response heads: how much of a long record must be decrypted to read its head.

use std::cell::Cell;
use std::rc::Rc;

/// How many responses in a row must have begun in a long record before the next is expected to.
pub(super) const LEARNED_FROM: u32 = 16;

/// The shortest plaintext of a record that is worth not opening.
const LONG: usize = 4 << 10;

/// The longest head that is decrypted without the rest of its record.
const LONGEST: usize = 1 << 10;

/// AES's block: beginnings are decrypted in whole ones.
const BLOCK: usize = 16;

/// What a thread knows about the heads of its server's responses; shared by its connections.
#[derive(Debug, Clone, Default)]
pub(super) struct Heads(Rc<Cell<Known>>);

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// Responses in a row that began in a long record.
    responses: u32,
    /// The longest of their heads.
    longest: usize,
}

impl Heads {
    /// An opened record held a whole head of this length, and `plaintext` bytes in all; the
    /// response continues after the record.
    pub(super) fn learn(&self, head: usize, plaintext: usize) {
        let known = self.0.get();
        self.0.set(if plaintext < LONG {
            Known::default()
        } else {
            Known { responses: known.responses.saturating_add(1), longest: known.longest.max(head) }
        });
    }

    /// A response began otherwise, or one failed whose first record was not opened.
    pub(super) fn forget(&self) {
        self.0.set(Known::default());
    }

    /// How much plaintext holds the next response's head, if it is like those before it.
    pub(super) fn expected(&self) -> Option<usize> {
        let Known { responses, longest } = self.0.get();
        let length = longest.next_multiple_of(BLOCK);
        (responses >= LEARNED_FROM && length <= LONGEST).then_some(length)
    }

    /// Whether a record with room for this much plaintext is long enough.
    pub(super) fn is_long(plaintext: usize) -> bool {
        plaintext >= LONG
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_many_heads_is_expected_until_a_response_begins_otherwise() {
        let heads = Heads::default();
        for n in 1..LEARNED_FROM {
            heads.learn(if n == 7 { 241 } else { 230 }, 16_384);
            assert_eq!(heads.expected(), None);
        }
        heads.learn(239, LONG);
        assert_eq!(heads.expected(), Some(256));
        heads.learn(257, LONG);
        assert_eq!(heads.expected(), Some(272));
        heads.learn(LONGEST + 1, LONG);
        assert_eq!(heads.expected(), None);
    }

    #[test]
    fn heads_are_forgotten_after_a_short_record_or_a_failure() {
        for end in [|heads: &Heads| heads.learn(230, LONG - 1), Heads::forget] {
            let heads = Heads::default();
            (0..LEARNED_FROM).for_each(|_| heads.learn(230, LONG));
            assert_eq!(heads.expected(), Some(240));
            end(&heads);
            assert_eq!(heads.expected(), None);
            (1..LEARNED_FROM).for_each(|_| heads.learn(230, LONG));
            assert_eq!(heads.expected(), None);
            heads.learn(230, LONG);
            assert_eq!(heads.expected(), Some(240));
        }
    }
}
