//! How long a load thread of a closed loop pauses before it polls its sockets again, so that one
//! wake-up serves several of them. It reads no clock: times are arguments.
//!
//! Without pauses, a cheap client sleeps between any two events of a busy server. A wake-up with
//! cold caches then costs more than the work that follows. Network cards have the same problem with
//! interrupts and the same solution (interrupt coalescing). The price is that events are seen a
//! little later. A closed loop with many operations under way can afford that: the server works on
//! the others meanwhile.

use units::Nanos;

/// A pause is at most 1/32 of the time that an operation takes.
const SHARE: u64 = 32;

/// With this many operations under way, two of them end per pause on average. With fewer, a pause
/// would cost a wake-up and save none.
const LEAST_UNDER_WAY: usize = 2 * SHARE as usize;

/// In ns. At 500 wake-ups per second there is little left to save.
const LONGEST: u64 = 2_000_000;

/// The longest body that surely fits in the socket's buffer. For longer ones the server would have
/// to wait.
const MOST_BODY: u64 = 64 << 10;

/// Over how many operations the estimate rises to what they take now.
const MEMORY: u64 = 64;

/// What a thread knows of its operations.
#[derive(Debug, Default)]
pub(crate) struct Coalescing {
    /// Roughly what the quickest of the recent operations took, in ns: a pause must be small
    /// against their latencies. 0 while it is not known, and where responses are long.
    quickest: u64,
}

impl Coalescing {
    /// An operation succeeded: it took `took` ns and received `body` bytes.
    pub(crate) fn ended(&mut self, took: u64, body: u64) {
        if body > MOST_BODY {
            self.quickest = 0;
        } else if took < self.quickest {
            self.quickest = took;
        } else {
            self.quickest += (took - self.quickest) / MEMORY;
        }
    }

    /// How long a thread with this many operations under way may pause after a wake-up.
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
    fn there_is_no_pause_before_the_first_operation_has_ended() {
        assert_eq!(Coalescing::default().pause(usize::MAX), Nanos(0));
    }

    #[test]
    fn only_many_slow_operations_with_short_responses_give_a_pause() {
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
        // The pause soon grows back.
        let pause = after(slow.into_iter().chain([(MILLISECOND, 1)]).chain(slow)).pause(64);
        assert!(pause.0 > 900_000);
    }

    proptest! {
        #[test]
        fn a_pause_is_at_most_a_fixed_share_of_the_last_operation(
            operations in prop::collection::vec((any::<u64>(), 0..2 * MOST_BODY), 1..200),
            under_way in any::<usize>(),
        ) {
            let last = operations[operations.len() - 1].0;
            let Nanos(pause) = after(operations).pause(under_way);
            prop_assert!(pause <= (last / SHARE).min(LONGEST));
        }
    }
}
