//! When the operations of one load thread start: a state machine without a clock.
//!
//! Connections are numbered slots. The caller passes which slot is free and the time in ns since
//! the load's start. The schedule returns which slot begins an operation, and the intended start.
//! No intended start is lost: where all slots are busy, or time jumps, the operation begins late
//! and keeps its intended start.

mod closed;
mod open;
mod paced;
mod part;
mod ramp;

use closed::Closed;
use open::Open;
use paced::Paced;
pub(crate) use part::{Due, ThreadPart};
pub(crate) use ramp::Ramp;

use crate::Arrival;

/// See [`Arrival`].
#[derive(Debug)]
pub(crate) enum Schedule {
    Closed(Closed),
    Open(Open),
    Paced(Paced),
}

impl Schedule {
    pub(crate) fn new(arrival: Arrival, part: ThreadPart) -> Self {
        match arrival {
            Arrival::Closed { think } => Self::Closed(Closed::new(think.0, part.slots)),
            Arrival::Open { rate, distribution } => {
                Self::Open(Open::new(rate, distribution, &part))
            }
            Arrival::Paced { .. } => Self::Paced(Paced::new(part)),
        }
    }

    /// A slot can begin an operation, its first or another. `Some` is the intended start of one
    /// that it begins at once; otherwise [`Self::next`] gives it one later.
    pub(crate) fn freed(&mut self, slot: usize, now: u64) -> Option<u64> {
        match self {
            Self::Closed(closed) => closed.freed(slot, now),
            Self::Open(open) => open.freed(slot, now),
            Self::Paced(paced) => paced.freed(slot, now),
        }
    }

    /// An operation that is due and for which a slot is free; the slot is busy from now on.
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

    /// Whether slots leave the load one by one in the ramp down; in an open loop fewer operations
    /// come instead.
    pub(crate) fn shrinks_by_slot(&self) -> bool {
        !matches!(self, Self::Open(_))
    }

    /// Removes the intended starts before `end` that were not begun.
    pub(crate) fn leave(&mut self, end: u64, each: impl FnMut(u64)) {
        match self {
            // In a closed loop no operation waits for a slot.
            Self::Closed(_) => {}
            Self::Open(open) => open.leave(end, each),
            Self::Paced(paced) => paced.leave(end, each),
        }
    }
}

#[cfg(test)]
mod tests;
