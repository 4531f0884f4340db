//! How many bytes on the wire a response has, records and head included, so that a connection can
//! sleep until the last of them has come.

use std::cell::Cell;
use std::rc::Rc;

/// How many responses of one size must have had one length before it is expected.
const LEARNED_FROM: u32 = 16;

/// What a thread knows about the lengths of its server's responses; shared by its connections. It
/// is the shortest length of a response for one object. A response that is shorter still is noticed
/// only by its lack of progress (200 ms), and from then on its length is the shortest.
#[derive(Debug, Clone, Default)]
pub(super) struct Totals(Rc<Cell<Known>>);

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// The length of the body.
    body: u64,
    /// On the wire, the shortest so far.
    wire: u64,
    /// How many responses had that length.
    responses: u32,
}

impl Totals {
    /// A response with this body had `wire` bytes. Where objects differ in size, nothing is
    /// learned.
    pub(super) fn learn(&self, body: u64, wire: u64) {
        let known = self.0.get();
        self.0.set(if (body, wire) == (known.body, known.wire) {
            Known { responses: known.responses.saturating_add(1), ..known }
        } else if body == known.body && wire > known.wire {
            known
        } else {
            Known { body, wire, responses: 1 }
        });
    }

    /// How many bytes the next response with this body has at least, if it is like those before it.
    pub(super) fn expected(&self, body: u64) -> Option<u64> {
        let Known { body: known, wire, responses } = self.0.get();
        (body == known && responses >= LEARNED_FROM).then_some(wire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learned(totals: &Totals, body: u64, wire: u64, times: u32) -> Option<u64> {
        (0..times).for_each(|_| totals.learn(body, wire));
        totals.expected(body)
    }

    #[test]
    fn a_length_is_expected_once_sixteen_responses_had_it() {
        let totals = Totals::default();
        assert_eq!(learned(&totals, 65_536, 65_900, LEARNED_FROM - 1), None);
        assert_eq!(learned(&totals, 65_536, 65_900, 1), Some(65_900));
        assert_eq!(totals.expected(65_537), None);
    }

    #[test]
    fn the_shortest_length_is_expected() {
        let totals = Totals::default();
        learned(&totals, 65_536, 65_900, LEARNED_FROM);
        // A ticket came before it.
        assert_eq!(learned(&totals, 65_536, 66_100, 1), Some(65_900));
        assert_eq!(learned(&totals, 65_536, 65_899, 1), None);
        assert_eq!(learned(&totals, 65_536, 65_900, 100), None);
        assert_eq!(learned(&totals, 65_536, 65_899, LEARNED_FROM - 1), Some(65_899));
    }

    #[test]
    fn objects_of_two_sizes_are_not_learned() {
        let totals = Totals::default();
        for _ in 0..100 {
            totals.learn(65_536, 65_900);
            totals.learn(70_000, 70_400);
        }
        assert_eq!((totals.expected(65_536), totals.expected(70_000)), (None, None));
    }
}
