//! How many connections are up, handshake complete, over a load's window. It reads no clock: `now` is an
//! argument.

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use units::Nanos;

/// With a smaller part of the connections up, it is another load than was asked for.
const ENOUGH_PERCENT: usize = 95;

/// The connections of a load that keeps them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Up {
    /// How many were up when the window began.
    pub at_begin: usize,
    /// How many were up when it ended.
    pub at_end: usize,
    /// How long within the window fewer than 95% of those that were asked for were up.
    pub short: Nanos,
    /// How long after the warm-up the window waited for its connections.
    #[serde(default)]
    pub awaited: Nanos,
}

/// The connections that are up now, in all threads of a load.
#[derive(Debug)]
pub(crate) struct UpCount {
    asked: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    up: usize,
    /// Until when `seen` is known.
    until: u64,
    seen: Up,
}

impl UpCount {
    pub(crate) fn new(asked: usize) -> Self {
        Self { asked, state: Mutex::default() }
    }

    /// A connection is up, or no longer, in a window from `start` to `end`.
    pub(crate) fn change(&self, is_up: bool, now: u64, window: (u64, u64)) {
        let mut state = self.state();
        state.advance(self.asked, now, window);
        state.up = if is_up { state.up + 1 } else { state.up.saturating_sub(1) };
    }

    /// Whether as many are up as the load needs.
    pub(crate) fn are_enough(&self) -> bool {
        has_enough(self.state().up, self.asked)
    }

    /// What was seen until the window's end.
    pub(crate) fn seen(&self, window: (u64, u64)) -> Up {
        let mut state = self.state();
        state.advance(self.asked, window.1, window);
        state.seen
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn has_enough(up: usize, asked: usize) -> bool {
    up * 100 >= asked * ENOUGH_PERCENT
}

impl State {
    /// Until `now` as many were up as are now.
    fn advance(&mut self, asked: usize, now: u64, (start, end): (u64, u64)) {
        if self.until <= start && now >= start {
            self.seen.at_begin = self.up;
        }
        if self.until < end {
            self.seen.at_end = self.up;
        }
        if !has_enough(self.up, asked) {
            let (from, to) = (self.until.max(start), now.min(end));
            self.seen.short.0 += to.saturating_sub(from);
        }
        self.until = self.until.max(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WINDOW: (u64, u64) = (100, 300);

    fn up(asked: usize, changes: &[(u64, bool)]) -> Up {
        let count = UpCount::new(asked);
        changes.iter().for_each(|(now, is_up)| count.change(*is_up, *now, WINDOW));
        count.seen(WINDOW)
    }

    fn seen(at_begin: usize, at_end: usize, short: u64) -> Up {
        Up { at_begin, at_end, short: Nanos(short), awaited: Nanos(0) }
    }

    #[test]
    fn those_that_are_up_are_counted_at_both_ends_of_the_window() {
        assert_eq!(up(2, &[]), seen(0, 0, 200));
        assert_eq!(up(2, &[(10, true), (20, true)]), seen(2, 2, 0));
        assert_eq!(up(2, &[(10, true), (150, true)]), seen(1, 2, 50));
        // At an instant of the window's ends, and after it.
        assert_eq!(up(2, &[(10, true), (100, true), (300, false), (310, false)]), seen(2, 2, 0));
        assert_eq!(up(2, &[(10, true), (20, true), (250, false)]), seen(2, 1, 50));
        // Two threads see their changes in another order than they report them.
        assert_eq!(up(1, &[(120, true), (110, false), (130, true)]).short, Nanos(30));
    }

    #[test]
    fn nineteen_of_twenty_are_enough() {
        let changes = |count| vec![(10, true); count];
        assert_eq!(up(20, &changes(19)).short, Nanos(0));
        assert_eq!(up(20, &changes(18)).short, Nanos(200));
    }
}
