use derive_more::AddAssign;
use serde::{Deserialize, Serialize};

/// What the users of a closed loop spent their time on: exact sums over a window, in ns. The times
/// are whole, not cut at the window's edges.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct UserTime {
    /// Operations that completed within the window, from their intended start. In an open loop too.
    pub responses: u128,
    /// Operations that failed within the window, from their intended start.
    pub failures: u128,
    /// From the end of an operation, completed or failed, until its user's next one was due, where
    /// that began within the window: think time, the closing of a connection, the pause after a
    /// failure.
    pub pauses: u128,
    /// How many pauses that were.
    pub pause_count: u64,
    /// From when those next operations were due until the load thread began them.
    pub late: u128,
}

impl UserTime {
    /// Adds the pause that a user made between two operations, the second of which began `late` ns
    /// late.
    pub(crate) fn add_pause(&mut self, ended: u64, next_start: u64, late: u64) {
        let idle = next_start.saturating_sub(ended);
        self.pauses += u128::from(idle.saturating_sub(late));
        self.pause_count += 1;
        self.late += u128::from(late);
    }
}
