//! What a thread has learned of its server's responses, so that it reads less of the next ones: the
//! connections of a thread share it.
//!
//! What [`LEARNED_FROM`] responses in a row had in common is expected of the next. An expectation that
//! proves wrong never lets a wrong response pass: it fails, or its connection wakes too often, or is
//! noticed by its lack of progress.

use std::cell::Cell;
use std::rc::Rc;

use super::last_head::LastHead;
use super::stride::{Dropped, Middle, Stride};

/// How many responses in a row must have been alike.
pub const LEARNED_FROM: u32 = 16;

/// The shortest plaintext of a record that is worth not opening.
const LONG: usize = 4 << 10;

/// The longest head that is decrypted without the rest of its record.
const LONGEST_HEAD: usize = 1 << 10;

/// AES's block: beginnings are decrypted in whole ones.
const BLOCK: usize = 16;

/// See the module.
#[derive(Debug, Clone, Default)]
pub struct Learned(Rc<Known>);

#[derive(Debug, Default)]
struct Known {
    last_head: LastHead,
    /// The longest head of responses that began in a long record.
    head: Cell<Alike<usize>>,
    /// The length of the body, and the shortest length on the wire of a response with it, records and
    /// head included.
    total: Cell<Alike<(u64, u64)>>,
    /// The fewest bytes that the server sent before its response to a connection's first request: the
    /// tickets of TLS 1.3.
    before_response: Cell<Alike<u64>>,
    /// The records in the middle of a response.
    record: Cell<Alike<Dropped>>,
    /// Whether records were not as they had been. From then on each header is read.
    is_irregular: Cell<bool>,
}

/// What responses in a row had in common, and how many they were.
#[derive(Debug, Clone, Copy, Default)]
struct Alike<T> {
    value: T,
    responses: u32,
}

impl<T: Copy> Alike<T> {
    /// One more, after which this is what they have in common.
    fn and(self, value: T) -> Self {
        Self { value, responses: self.responses.saturating_add(1) }
    }

    fn known(self) -> Option<T> {
        (self.responses >= LEARNED_FROM).then_some(self.value)
    }
}

impl Learned {
    /// The last head of a right answer.
    #[inline]
    pub(super) fn last_head(&self) -> &LastHead {
        &self.0.last_head
    }

    /// An opened record held a whole head of this length, and `plaintext` bytes in all; the
    /// response continues after the record.
    #[inline]
    pub(super) fn learn_head(&self, head: usize, plaintext: usize) {
        let known = self.0.head.get();
        self.0.head.set(match Self::is_long(plaintext) {
            true => known.and(known.value.max(head)),
            false => Alike::default(),
        });
    }

    /// A response over plain HTTP had a head of this length.
    #[inline]
    pub(super) fn learn_plain_head(&self, head: usize) {
        self.learn_head(head, usize::MAX);
    }

    /// A response began otherwise, or one failed whose first record was not opened.
    #[inline]
    pub(super) fn forget_heads(&self) {
        self.0.head.set(Alike::default());
    }

    /// How much plaintext holds the next response's head, if it is like those before it.
    #[inline]
    pub(super) fn head(&self) -> Option<usize> {
        let length = self.0.head.get().known()?.next_multiple_of(BLOCK);
        (length <= LONGEST_HEAD).then_some(length)
    }

    /// Whether a record with room for this much plaintext is long enough not to be opened for a head.
    #[inline]
    pub(super) fn is_long(plaintext: usize) -> bool {
        plaintext >= LONG
    }

    /// A response with this body had `wire` bytes. Where objects differ in size, nothing is
    /// learned. A response that is shorter than ever is noticed only by its lack of progress
    /// (200 ms), and from then on its length is the shortest.
    #[inline]
    pub(super) fn learn_total(&self, body: u64, wire: u64) {
        let known = self.0.total.get();
        if (body, wire) == known.value {
            self.0.total.set(known.and(known.value));
        } else if body != known.value.0 || wire < known.value.1 {
            self.0.total.set(Alike { value: (body, wire), responses: 1 });
        }
    }

    /// How many bytes the next response with this body has at least, if it is like those before it.
    #[inline]
    pub(super) fn total(&self, body: u64) -> Option<u64> {
        let (known, wire) = self.0.total.get().known()?;
        (body == known).then_some(wire)
    }

    /// A response began after this many bytes.
    #[inline]
    pub(super) fn learn_before_response(&self, bytes: u64) {
        let known = self.0.before_response.get();
        let fewest = if known.responses == 0 { bytes } else { known.value.min(bytes) };
        self.0.before_response.set(known.and(fewest));
    }

    /// How many bytes come before the next response at least, if it is like those before it. If more
    /// come, the connection wakes early. If fewer come than ever, and the response does not make up for
    /// them, the connection is noticed by its lack of progress.
    #[inline]
    pub(super) fn before_response(&self) -> u64 {
        self.0.before_response.get().known().unwrap_or(0)
    }

    /// A response was completed with these records dropped.
    #[inline]
    pub(super) fn learn_records(&self, middle: Middle) {
        let known = self.0.record.get();
        match middle {
            Middle::Empty => {}
            Middle::Equal(record) if record == known.value => {
                self.0.record.set(known.and(record));
            }
            Middle::Equal(record) if known.known().is_none() => {
                self.0.record.set(Alike { value: record, responses: 1 });
            }
            Middle::Equal(_) | Middle::Mixed => self.forget_records(),
        }
    }

    /// The server's records are not as assumed.
    #[inline]
    pub(super) fn forget_records(&self) {
        self.0.is_irregular.set(true);
    }

    #[inline]
    fn record(&self) -> Option<Dropped> {
        if self.0.is_irregular.get() { None } else { self.0.record.get().known() }
    }

    /// The records that are dropped after one header with this length, where `left` bytes of the
    /// body are to come. None of them can hold the last byte.
    #[inline]
    pub(super) fn stride(&self, length: usize, left: u64) -> Option<Stride> {
        let record = self.record().filter(|record| record.length == length)?;
        Stride::before_last(record, left)
    }

    /// Whether the next record is the last, where `left` bytes of the body are to come.
    #[inline]
    pub(super) fn is_last(&self, left: u64) -> bool {
        self.record().is_some_and(|record| left <= record.plaintext)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_of_many_heads_is_expected_until_a_response_begins_otherwise() {
        let learned = Learned::default();
        for n in 1..LEARNED_FROM {
            learned.learn_head(if n == 7 { 241 } else { 230 }, 16_384);
            assert_eq!(learned.head(), None);
        }
        learned.learn_head(239, LONG);
        assert_eq!(learned.head(), Some(256));
        learned.learn_head(257, LONG);
        assert_eq!(learned.head(), Some(272));
        learned.learn_head(LONGEST_HEAD + 1, LONG);
        assert_eq!(learned.head(), None);
    }

    #[test]
    fn heads_are_forgotten_after_a_short_record_or_a_failure() {
        for end in [|learned: &Learned| learned.learn_head(230, LONG - 1), Learned::forget_heads] {
            let learned = Learned::default();
            (0..LEARNED_FROM).for_each(|_| learned.learn_head(230, LONG));
            assert_eq!(learned.head(), Some(240));
            end(&learned);
            assert_eq!(learned.head(), None);
            (1..LEARNED_FROM).for_each(|_| learned.learn_head(230, LONG));
            assert_eq!(learned.head(), None);
            learned.learn_head(230, LONG);
            assert_eq!(learned.head(), Some(240));
        }
    }

    fn total(learned: &Learned, body: u64, wire: u64, times: u32) -> Option<u64> {
        (0..times).for_each(|_| learned.learn_total(body, wire));
        learned.total(body)
    }

    #[test]
    fn a_length_is_expected_once_sixteen_responses_had_it() {
        let learned = Learned::default();
        assert_eq!(total(&learned, 65_536, 65_900, LEARNED_FROM - 1), None);
        assert_eq!(total(&learned, 65_536, 65_900, 1), Some(65_900));
        assert_eq!(learned.total(65_537), None);
    }

    #[test]
    fn the_shortest_length_is_expected() {
        let learned = Learned::default();
        total(&learned, 65_536, 65_900, LEARNED_FROM);
        // A ticket came before it.
        assert_eq!(total(&learned, 65_536, 66_100, 1), Some(65_900));
        assert_eq!(total(&learned, 65_536, 65_899, 1), None);
        assert_eq!(total(&learned, 65_536, 65_900, 100), None);
        assert_eq!(total(&learned, 65_536, 65_899, LEARNED_FROM - 1), Some(65_899));
    }

    #[test]
    fn objects_of_two_sizes_are_not_learned() {
        let learned = Learned::default();
        for _ in 0..100 {
            learned.learn_total(65_536, 65_900);
            learned.learn_total(70_000, 70_400);
        }
        assert_eq!((learned.total(65_536), learned.total(70_000)), (None, None));
    }

    #[test]
    fn the_fewest_bytes_before_many_responses_are_expected() {
        let learned = Learned::default();
        for _ in 0..LEARNED_FROM {
            assert_eq!(learned.before_response(), 0);
            learned.learn_before_response(158);
        }
        assert_eq!(learned.before_response(), 158);
        learned.learn_before_response(237);
        assert_eq!(learned.before_response(), 158);
        learned.learn_before_response(79);
        assert_eq!(learned.before_response(), 79);
        learned.learn_before_response(0);
        (0..100).for_each(|_| learned.learn_before_response(158));
        assert_eq!(learned.before_response(), 0);
    }

    const RECORD: Dropped = Dropped { length: 1017, plaintext: 1000 };

    #[test]
    fn a_record_is_learned_from_several_responses_and_forgotten_at_the_first_doubt() {
        let other = Dropped { plaintext: 999, ..RECORD };
        for doubt in [Middle::Mixed, Middle::Equal(other)] {
            let learned = Learned::default();
            learned.learn_records(Middle::Equal(other));
            for _ in 0..LEARNED_FROM {
                assert_eq!(learned.stride(RECORD.length, 1 << 20), None);
                learned.learn_records(Middle::Equal(RECORD));
            }
            learned.learn_records(Middle::Empty);
            assert!(learned.stride(RECORD.length, 1 << 20).is_some());
            assert_eq!(learned.stride(RECORD.length + 1, 1 << 20), None);
            assert!(learned.is_last(1000) && !learned.is_last(1001));
            learned.learn_records(doubt);
            (0..99).for_each(|_| learned.learn_records(Middle::Equal(RECORD)));
            assert_eq!(learned.stride(RECORD.length, 1 << 20), None);
            assert!(!learned.is_last(1000));
        }
    }
}
