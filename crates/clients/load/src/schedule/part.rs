//! What a schedule is of, and what it gives.

use units::Nanos;

use super::ramp::Ramp;

/// A thread's part of a load.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ThreadPart {
    /// The thread's number, below the number of threads.
    pub(crate) thread: usize,
    pub(crate) threads: usize,
    /// The number of this thread's connections.
    pub(crate) slots: usize,
    pub(crate) connections: usize,
    /// When the warm-up ends.
    pub(crate) window_start: u64,
    /// The load's seed; equal seeds give equal arrivals.
    pub(crate) seed: u64,
    pub(crate) ramp: Ramp,
    /// From a tick of a paced connection to its next; 0 where nothing is paced.
    pub(crate) period: Nanos,
}

impl ThreadPart {
    /// When a slot joins the load; the slots of all threads take turns.
    pub(crate) fn joins(&self, slot: usize) -> u64 {
        self.ramp.joins(self.number(slot), self.connections)
    }

    /// When a slot leaves the load, if before the load's end.
    pub(crate) fn leaves(&self, slot: usize) -> Option<u64> {
        self.ramp.leaves(self.number(slot), self.connections)
    }

    /// A slot's number among those of the whole load.
    pub(crate) fn number(&self, slot: usize) -> usize {
        slot * self.threads + self.thread
    }
}

/// An operation that is to begin now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) slot: usize,
    /// When it was meant to start; in a closed loop, now.
    pub(crate) intended: u64,
    /// When it was due: in a closed loop, when its user had thought.
    pub(crate) at: u64,
}
