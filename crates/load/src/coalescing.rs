//! How long a load thread of a closed loop leaves its sockets alone, so that one wake-up serves
//! several of them. Takes times as values.
//!
//! A client that costs next to nothing sleeps between any two events of a busy server, and waking
//! up, with cold caches, costs more than what is then done. Network cards have the same trouble with
//! interrupts, and the same cure (interrupt coalescing). The events are seen a little later for it,
//! which a closed loop can afford where many operations are under way: the server has the others to
//! do meanwhile.

use units::Nanos;

/// A pause is at most this part of the time that an operation takes.
const SHARE: u64 = 32;

/// Operations under way with which two of them end in a pause, on average. With fewer, a pause would
/// cost a wake-up of its own, and save none.
const LEAST_UNDER_WAY: usize = 2 * SHARE as usize;

/// With 500 wake-ups a second there is little left to save, in ns.
const LONGEST: u64 = 2_000_000;

/// Body bytes up to which a response has room in the socket's buffer. For longer ones the server
/// would have to wait.
const MOST_BODY: u64 = 64 << 10;

/// In how many operations a time grows to what they take now.
const MEMORY: u64 = 64;

/// What a thread knows of its operations.
#[derive(Debug, Default)]
pub(crate) struct Coalescing {
    /// About what the quickest of the last operations took, in ns: their latencies have the least
    /// room for a pause. 0 while it is not known, and where responses are long.
    quickest: u64,
}

impl Coalescing {
    /// An operation has ended well after so many ns, and brought so many body bytes.
    pub(crate) fn ended(&mut self, took: u64, body: u64) {
        if body > MOST_BODY {
            self.quickest = 0;
        } else if took < self.quickest {
            self.quickest = took;
        } else {
            self.quickest += (took - self.quickest) / MEMORY;
        }
    }

    /// How long a thread with so many operations under way need not look at its sockets after a
    /// wake-up.
    pub(crate) fn pause(&self, under_way: usize) -> Nanos {
        match under_way {
            LEAST_UNDER_WAY.. => Nanos((self.quickest / SHARE).min(LONGEST)),
            _ => Nanos(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MILLISECOND: u64 = 1_000_000;

    fn after(operations: impl IntoIterator<Item = (u64, u64)>) -> Coalescing {
        let mut coalescing = Coalescing::default();
        for (took, body) in operations {
            coalescing.ended(took, body);
        }
        coalescing
    }

    #[test]
    fn nothing_is_paused_for_before_operations_have_ended() {
        assert_eq!(Coalescing::default().pause(usize::MAX), Nanos(0));
    }

    #[test]
    fn many_operations_that_take_long_give_a_pause_and_few_or_long_responses_none() {
        let coalescing = after([(32 * MILLISECOND, 1); 1000]);
        let Nanos(pause) = coalescing.pause(64);
        assert!((900_000..=1_000_000).contains(&pause), "{pause}");
        assert_eq!(coalescing.pause(63), Nanos(0));
        assert_eq!(after([(32 * MILLISECOND, 1 << 20); 1000]).pause(64), Nanos(0));
        assert!(after([(32 * MILLISECOND, 64 << 10); 1000]).pause(64).0 > 900_000);
        assert_eq!(after([(u64::MAX, 1); 1000]).pause(64), Nanos(LONGEST));
    }

    #[test]
    fn a_quick_operation_among_slow_ones_shortens_the_pause_at_once() {
        let slow = [(32 * MILLISECOND, 1); 1000];
        let pause = after(slow.into_iter().chain([(MILLISECOND, 1)])).pause(64);
        assert_eq!(pause, Nanos(MILLISECOND / 32));
        // And it is soon forgotten.
        let pause = after(slow.into_iter().chain([(MILLISECOND, 1)]).chain(slow)).pause(64);
        assert!(pause.0 > 900_000);
    }

    proptest! {
        #[test]
        fn a_pause_is_a_small_part_of_what_the_last_operation_took(
            operations in prop::collection::vec((any::<u64>(), 0..2 * MOST_BODY), 1..200),
            under_way in any::<usize>(),
        ) {
            let last = operations[operations.len() - 1].0;
            let Nanos(pause) = after(operations).pause(under_way);
            prop_assert!(pause <= (last / SHARE).min(LONGEST));
        }
    }
}
