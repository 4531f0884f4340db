//! When connections are to be looked at because nothing may have happened on them for too long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The next look at each connection, by its number. A connection that goes on is not moved: the look that
/// comes too early finds that, and asks for another.
#[derive(Debug, Default)]
pub(crate) struct TimeLimits {
    due: BinaryHeap<Reverse<(u64, usize)>>,
    /// The first look at each connection that is in `due`; later ones there are void.
    first: Vec<u64>,
}

impl TimeLimits {
    /// Looks at this connection at this time at the latest.
    #[inline(always)]
    pub(crate) fn look_at(&mut self, connection: usize, at: u64) {
        if self.first.len() <= connection {
            self.first.resize(connection + 1, u64::MAX);
        }
        if at < self.first[connection] {
            self.first[connection] = at;
            self.due.push(Reverse((at, connection)));
        }
    }

    /// When the first look is due.
    pub(crate) fn first(&self) -> Option<u64> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// A connection whose look is due.
    pub(crate) fn next(&mut self, now: u64) -> Option<usize> {
        while self.due.peek().is_some_and(|Reverse((at, _))| *at <= now) {
            let Reverse((at, connection)) = self.due.pop()?;
            if self.first[connection] == at {
                self.first[connection] = u64::MAX;
                return Some(connection);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_due_once_and_at_the_earliest_time_that_was_asked_for() {
        let mut limits = TimeLimits::default();
        let due = |limits: &mut TimeLimits, now| {
            std::iter::from_fn(|| limits.next(now)).collect::<Vec<_>>()
        };
        for (connection, at) in [(7, 50), (7, 60), (2, 40), (7, 30), (1, u64::MAX)] {
            limits.look_at(connection, at);
        }
        assert!(due(&mut limits, 29).is_empty());
        assert_eq!(due(&mut limits, 45), [7, 2]);
        // What was asked for before is void, and later asked for again it counts.
        assert!(due(&mut limits, 1000).is_empty());
        limits.look_at(7, 1000);
        assert_eq!(due(&mut limits, 1000), [7]);
    }

    /// The work of a tick does not grow with what is not due.
    #[test]
    fn connections_that_go_on_are_looked_at_once_per_limit() {
        let (mut limits, mut looks) = (TimeLimits::default(), 0);
        for now in (0..10_000).step_by(20) {
            for connection in 0..100 {
                limits.look_at(connection, now + 1_000);
            }
            while let Some(connection) = limits.next(now) {
                looks += 1;
                limits.look_at(connection, now + 1_000);
            }
        }
        assert_eq!(looks, 100 * 9);
    }
}
