//! When the operations of one load thread start: a state machine without a clock.
//!
//! It knows its connections as numbered slots. It is told when a slot is free and what time it is,
//! in ns since the load's start, and says which slot begins an operation and when that was meant
//! to start. What was meant to start is never forgotten: where all slots are busy, or time jumps,
//! it begins late, with its intended start kept.

mod closed;
mod open;
mod paced;
mod ramp;

use closed::Closed;
use open::Open;
use paced::Paced;
pub(crate) use ramp::Ramp;

use crate::Arrival;

/// See [`Arrival`].
#[derive(Debug)]
pub(crate) enum Schedule {
    Closed(Closed),
    Open(Open),
    Paced(Paced),
}

/// Which part of a load a thread has.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part {
    /// Which of the load's threads it is, of how many.
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    /// How many of the load's connections are this thread's.
    pub(crate) slots: usize,
    pub(crate) connections: usize,
    /// When the warm-up ends.
    pub(crate) window_start: u64,
    /// The load's; equal seeds give equal arrivals.
    pub(crate) seed: u64,
    pub(crate) ramp: Ramp,
}

impl Part {
    /// When a slot comes into the load: those of all threads take turns.
    pub(crate) fn joins(&self, slot: usize) -> u64 {
        self.ramp.joins(self.number(slot), self.connections)
    }

    /// When a slot goes out of the load, if before its end.
    pub(crate) fn leaves(&self, slot: usize) -> Option<u64> {
        self.ramp.leaves(self.number(slot), self.connections)
    }

    /// A slot's number among those of the whole load.
    fn number(&self, slot: usize) -> usize {
        slot * self.threads + self.thread
    }
}

/// An operation that is to begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) slot: usize,
    /// When it was meant to start; in a closed loop, now.
    pub(crate) intended: u64,
}

impl Schedule {
    pub(crate) fn new(arrival: Arrival, part: Part) -> Self {
        match arrival {
            Arrival::Closed { think } => Self::Closed(Closed::new(think.0, part.slots)),
            Arrival::Open { rate, distribution } => {
                Self::Open(Open::new(rate, distribution, &part))
            }
            Arrival::Paced { every } => Self::Paced(Paced::new(every.0, part)),
        }
    }

    /// A slot can begin an operation: for the first time, or after its last one. `Some` the
    /// intended start of one that it begins at once; otherwise it is given one by [`Self::next`].
    pub(crate) fn freed(&mut self, slot: usize, now: u64) -> Option<u64> {
        match self {
            Self::Closed(closed) => closed.freed(slot, now),
            Self::Open(open) => open.freed(slot, now),
            Self::Paced(paced) => paced.freed(slot, now),
        }
    }

    /// An operation whose time has come and for which a slot is free; the slot is busy from now on.
    pub(crate) fn next(&mut self, now: u64) -> Option<Due> {
        match self {
            Self::Closed(closed) => closed.next(now),
            Self::Open(open) => open.next(now),
            Self::Paced(paced) => paced.next(now),
        }
    }

    /// When [`Self::next`] may have something, if no slot is freed before.
    pub(crate) fn wake_at(&self) -> Option<u64> {
        match self {
            Self::Closed(closed) => closed.wake_at(),
            Self::Open(open) => open.wake_at(),
            Self::Paced(paced) => paced.wake_at(),
        }
    }

    /// Whether slots go out of the load one by one as it shrinks; in an open loop fewer operations
    /// come instead.
    pub(crate) fn shrinks_by_slot(&self) -> bool {
        !matches!(self, Self::Open(_))
    }

    /// Takes out the intended starts before `end` that were not begun.
    pub(crate) fn leave(&mut self, end: u64, each: impl FnMut(u64)) {
        match self {
            // Nothing is meant to start before it can.
            Self::Closed(_) => {}
            Self::Open(open) => open.leave(end, each),
            Self::Paced(paced) => paced.leave(end, each),
        }
    }
}

#[cfg(test)]
mod tests;
