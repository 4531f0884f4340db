//! When each of many things, by their numbers, wants to be looked at.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// See the crate. A time that moves later costs nothing until the earlier one is there: the look that comes too early
/// finds that, and asks for another.
#[derive(Debug)]
pub struct Timers<T> {
    heap: BinaryHeap<Reverse<(T, usize)>>,
    /// The entry of each that counts; its others are forgotten when their time comes.
    armed: Vec<Option<T>>,
}

impl<T: Ord> Default for Timers<T> {
    fn default() -> Self {
        Self { heap: BinaryHeap::new(), armed: Vec::new() }
    }
}

impl<T: Ord + Copy> Timers<T> {
    /// It wants to be looked at then at the latest. One that wants no look any more is left as it is: a look that
    /// is not wanted costs less than to forget it.
    #[inline(always)]
    pub fn set(&mut self, key: usize, due: T) {
        if self.armed.len() <= key {
            self.armed.resize(key + 1, None);
        }
        if self.armed[key].is_none_or(|armed| due < armed) {
            self.armed[key] = Some(due);
            self.heap.push(Reverse((due, key)));
        }
    }

    /// One whose look is due. It may be early: its time may have moved.
    #[inline]
    pub fn pop(&mut self, now: T) -> Option<usize> {
        while let Some(Reverse((due, key))) = self.heap.peek().copied().filter(|top| top.0.0 <= now)
        {
            self.heap.pop();
            if self.armed[key] == Some(due) {
                self.armed[key] = None;
                return Some(key);
            }
        }
        None
    }

    /// When the next look may be due.
    #[inline]
    pub fn next(&self) -> Option<T> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_is_due_once_and_at_the_earliest_time_that_was_asked_for() {
        let mut timers = Timers::default();
        let due = |timers: &mut Timers<u64>, now| {
            std::iter::from_fn(|| timers.pop(now)).collect::<Vec<_>>()
        };
        for (key, at) in [(7, 50), (7, 60), (2, 40), (7, 30)] {
            timers.set(key, at);
        }
        assert_eq!(timers.next(), Some(30));
        assert!(due(&mut timers, 29).is_empty());
        assert_eq!(due(&mut timers, 45), [7, 2]);
        // What was asked for before is void, and later asked for again it counts.
        assert!(due(&mut timers, 1000).is_empty());
        timers.set(7, 1000);
        assert_eq!(due(&mut timers, 1000), [7]);
        assert_eq!(timers.next(), None);
    }

    /// The work of a tick does not grow with what is not due.
    #[test]
    fn those_that_go_on_are_looked_at_once_per_limit() {
        let (mut timers, mut looks) = (Timers::default(), 0);
        for now in (0..10_000).step_by(20) {
            for key in 0..100 {
                timers.set(key, now + 1_000);
            }
            while let Some(key) = timers.pop(now) {
                looks += 1;
                timers.set(key, now + 1_000);
            }
        }
        assert_eq!(looks, 100 * 9);
    }
}
