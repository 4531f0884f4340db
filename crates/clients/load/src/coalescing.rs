//! How long a load thread of a closed loop pauses before it polls its sockets again, so that one
//! wake-up serves several of them. It reads no clock: times are arguments.
//!
//! Without pauses, a cheap client sleeps between any two events of a busy server. A wake-up with
//! cold caches then costs more than the work that follows. Network cards have the same problem with
//! interrupts and the same solution (interrupt coalescing). The price is that events are seen a
//! little later. A closed loop with many operations under way can afford that: the server works on
//! the others meanwhile. How much it can afford is [`crate::choice`]'s.

use std::sync::{Arc, Mutex, PoisonError};

use units::Nanos;

use crate::choice::{Choice, PauseShare, Pauses, Seen};

/// The longest body that surely fits in the socket's buffer. For longer ones the server would have
/// to wait.
const MOST_BODY: u64 = 64 << 10;

/// Over how many operations the estimate rises to what they take now.
const MEMORY: u64 = 64;

/// What a thread knows of its operations. The quickest of the recent ones are what a pause must be small against; 0
/// while they are not known, and where responses are long.
#[derive(Debug)]
pub(crate) struct Coalescing {
    seen: Seen,
    /// How it pauses now.
    share: PauseShare,
    next_look: u64,
    /// What all threads share, this thread's number, and how many slots it has.
    choice: Arc<Mutex<Choice>>,
    thread: usize,
    slots: usize,
}

impl Default for Coalescing {
    fn default() -> Self {
        Self::new(Arc::new(Mutex::new(Choice::new(1, 0, None))), 0, 0)
    }
}

impl Coalescing {
    pub(crate) fn new(choice: Arc<Mutex<Choice>>, thread: usize, slots: usize) -> Self {
        Self {
            seen: Seen::default(),
            share: PauseShare::Short,
            next_look: 0,
            choice,
            thread,
            slots,
        }
    }

    /// An operation succeeded: it took `took` ns and received `body` bytes.
    pub(crate) fn ended(&mut self, took: u64, body: u64) {
        let seen = &mut self.seen;
        seen.ended += 1;
        seen.took = seen.took.wrapping_add(took);
        if body > MOST_BODY {
            seen.quickest = 0;
        } else if took < seen.quickest {
            seen.quickest = took;
        } else {
            seen.quickest += (took - seen.quickest) / MEMORY;
        }
    }

    /// How long a thread with this many operations under way may pause after a wake-up, where it is `now`, in ns since the
    /// load's start, and has used that much of its CPU, in ns.
    pub(crate) fn pause(&mut self, under_way: usize, now: u64, cpu: impl FnOnce() -> u64) -> Nanos {
        if now >= self.next_look {
            let under_way = if under_way == self.slots { under_way } else { 0 };
            let seen = Seen { cpu: cpu(), under_way, ..self.seen };
            let mut choice = self.choice.lock().unwrap_or_else(PoisonError::into_inner);
            (self.share, self.next_look) = choice.look(self.thread, now, seen);
        }
        match under_way >= self.share.least_under_way() {
            true => Nanos(self.share.length(self.seen.quickest)),
            false => Nanos(0),
        }
    }

    /// How all threads pause in the end.
    pub(crate) fn pauses(&self) -> Pauses {
        self.choice.lock().unwrap_or_else(PoisonError::into_inner).pauses()
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

    fn pause(mut coalescing: Coalescing, under_way: usize) -> Nanos {
        coalescing.pause(under_way, 0, || 0)
    }

    #[test]
    fn there_is_no_pause_before_the_first_operation_has_ended() {
        assert_eq!(pause(Coalescing::default(), usize::MAX), Nanos(0));
    }

    #[test]
    fn only_many_slow_operations_with_short_responses_give_a_pause() {
        let with = |took, body, under_way| pause(after([(took, body); 1000]), under_way);
        let Nanos(usual) = with(32 * MILLISECOND, 1, 64);
        assert!((900_000..=1_000_000).contains(&usual), "{usual}");
        assert_eq!(with(32 * MILLISECOND, 1, 63), Nanos(0));
        assert_eq!(with(32 * MILLISECOND, 1 << 20, 64), Nanos(0));
        assert!(with(32 * MILLISECOND, 64 << 10, 64).0 > 900_000);
        assert_eq!(with(u64::MAX, 1, 64), Nanos(2 * MILLISECOND));
    }

    #[test]
    fn a_quick_operation_among_slow_ones_shortens_the_pause_at_once() {
        let slow = [(32 * MILLISECOND, 1); 1000];
        let shortened = pause(after(slow.into_iter().chain([(MILLISECOND, 1)])), 64);
        assert_eq!(shortened, Nanos(MILLISECOND / 32));
        // The pause soon grows back.
        let grown = pause(after(slow.into_iter().chain([(MILLISECOND, 1)]).chain(slow)), 64);
        assert!(grown.0 > 900_000);
    }

    proptest! {
        #[test]
        fn a_pause_is_at_most_a_fixed_share_of_the_last_operation(
            operations in prop::collection::vec((any::<u64>(), 0..2 * MOST_BODY), 1..200),
            under_way in any::<usize>(),
        ) {
            let last = operations[operations.len() - 1].0;
            let Nanos(pause) = pause(after(operations), under_way);
            prop_assert!(pause <= PauseShare::Short.length(last));
        }
    }
}
