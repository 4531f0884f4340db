//! When connections want to be woken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// See the module. A time that moves later costs nothing until the earlier one is there.
#[derive(Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, usize)>>,
    /// The entry of each connection that counts; its others are forgotten when their time comes.
    armed: Vec<Option<Instant>>,
}

impl Timers {
    /// The connection wants to be woken at `due`, or at no time.
    pub(super) fn set(&mut self, key: usize, due: Option<Instant>) {
        if self.armed.len() <= key {
            self.armed.resize(key + 1, None);
        }
        let Some(due) = due else {
            self.armed[key] = None;
            return;
        };
        if self.armed[key].is_none_or(|armed| due < armed) {
            self.armed[key] = Some(due);
            self.heap.push(Reverse((due, key)));
        }
    }

    /// A connection that is to be woken at `now`. It may be early: its time may have moved.
    pub(super) fn pop(&mut self, now: Instant) -> Option<usize> {
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

    /// When the next one may be.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((due, _))| *due)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_is_woken_once_at_its_earliest_time() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut timers = Timers::default();
        timers.set(0, Some(at(5)));
        timers.set(3, Some(at(2)));
        timers.set(3, Some(at(1)));
        timers.set(3, Some(at(4)));
        timers.set(1, Some(at(1)));
        timers.set(1, None);
        assert_eq!(timers.next(), Some(at(1)));
        assert_eq!(timers.pop(at(0)), None);
        assert_eq!((timers.pop(at(1)), timers.pop(at(1))), (Some(3), None));
        timers.set(3, Some(at(4)));
        assert_eq!((timers.pop(at(3)), timers.pop(at(4))), (None, Some(3)));
        assert_eq!((timers.pop(at(9)), timers.pop(at(9)), timers.next()), (Some(0), None, None));
    }
}
