//! What the operations of each thread came to. A thread counts for itself, without a lock.

use std::cell::Cell;

/// Operations since the thread began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// That the accelerator took.
    pub submitted: u64,
    /// That it answered.
    pub completed: u64,
    /// That the CPU did because the ciphertext was seen for the first time.
    pub computed: u64,
    /// That the CPU did because the accelerator had no room, or no rate for the key.
    pub refused: u64,
    /// That the CPU did because the accelerator did not answer in time.
    pub timed_out: u64,
    /// The most operations of all threads that were under way when this thread added one, since
    /// [`forget_most`].
    pub in_flight_max: u64,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts {
        submitted: 0, completed: 0, computed: 0, refused: 0, timed_out: 0, in_flight_max: 0,
    }) };
}

/// Those of the calling thread.
#[must_use]
pub fn counts() -> Counts {
    COUNTS.get()
}

/// Begins `in_flight_max` of the calling thread anew.
pub fn forget_most() {
    change(|counts| counts.in_flight_max = 0);
}

pub(crate) fn change(change: impl FnOnce(&mut Counts)) {
    let mut counts = COUNTS.get();
    change(&mut counts);
    COUNTS.set(counts);
}
