//! How responses begin: how much of a long record must be decrypted to read the head in it.

use std::cell::Cell;
use std::rc::Rc;

/// How many responses in a row must have begun in a long record.
pub(super) const LEARNED_FROM: u32 = 16;

/// The least plaintext of a record whose opening is worth avoiding.
const LONG: usize = 4 << 10;

/// The longest head that is decrypted by itself.
const LONGEST: usize = 1 << 10;

/// AES's block: beginnings are decrypted in whole ones.
const BLOCK: usize = 16;

/// What a thread knows of the heads of its server's responses; shared by its connections.
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
    /// A record that was opened held a whole head of this length, and `plaintext` bytes in all; the
    /// response goes on behind it.
    pub(super) fn learn(&self, head: usize, plaintext: usize) {
        let known = self.0.get();
        self.0.set(if plaintext < LONG {
            Known::default()
        } else {
            Known { responses: known.responses.saturating_add(1), longest: known.longest.max(head) }
        });
    }

    /// Responses do not begin like that any more, or one failed whose record was not opened.
    pub(super) fn forget(&self) {
        self.0.set(Known::default());
    }

    /// How much plaintext holds the next response's head, if it is like those before it.
    pub(super) fn expected(&self) -> Option<usize> {
        let Known { responses, longest } = self.0.get();
        let length = longest.next_multiple_of(BLOCK);
        (responses >= LEARNED_FROM && length <= LONGEST).then_some(length)
    }

    /// Whether a record with room for so much plaintext is worth it.
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
    fn a_head_in_a_short_record_and_a_failure_end_what_is_known() {
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
