//! What operations came to. A thread counts for itself, without a lock, or in a file that another process
//! reads.

use std::cell::Cell;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::CountsFile;

/// What private-key operations came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Operations that the accelerator took.
    pub submitted: u64,
    /// Those that it answered.
    pub completed: u64,
    /// Operations that the CPU did because the ciphertext came for the first time.
    pub computed: u64,
    /// Operations that the CPU did because the accelerator had no room, or no rate for the key.
    pub refused: u64,
    /// Operations that the CPU did because the accelerator's answer was a second late.
    pub timed_out: u64,
    /// Operations whose connection was given up before the answer was there.
    #[serde(default)]
    pub abandoned: u64,
    /// The most operations that were under way at once since this was last forgotten.
    pub in_flight_max: u64,
}

impl Counts {
    /// Operations that are neither answered nor given up.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.submitted.saturating_sub(self.completed + self.timed_out + self.abandoned)
    }

    /// These and those of another thread or process.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        Self {
            submitted: self.submitted + other.submitted,
            completed: self.completed + other.completed,
            computed: self.computed + other.computed,
            refused: self.refused + other.refused,
            timed_out: self.timed_out + other.timed_out,
            abandoned: self.abandoned + other.abandoned,
            in_flight_max: self.in_flight_max.max(other.in_flight_max),
        }
    }

    /// What was added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            submitted: self.submitted.saturating_sub(earlier.submitted),
            completed: self.completed.saturating_sub(earlier.completed),
            computed: self.computed.saturating_sub(earlier.computed),
            refused: self.refused.saturating_sub(earlier.refused),
            timed_out: self.timed_out.saturating_sub(earlier.timed_out),
            abandoned: self.abandoned.saturating_sub(earlier.abandoned),
            in_flight_max: self.in_flight_max,
        }
    }
}

static FILE: OnceLock<CountsFile> = OnceLock::new();

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts {
        submitted: 0, completed: 0, computed: 0, refused: 0, timed_out: 0, abandoned: 0,
        in_flight_max: 0,
    }) };
}

/// Those of the calling thread, unless this process counts in a file.
#[must_use]
pub fn counts() -> Counts {
    COUNTS.get()
}

/// Begins `in_flight_max` of the calling thread anew.
pub fn forget_most() {
    change(|counts| counts.in_flight_max = 0);
}

/// From now on, all threads of this process count in this file.
pub(crate) fn count_in(file: CountsFile) {
    FILE.get_or_init(|| file);
}

pub(crate) fn change(change: impl FnOnce(&mut Counts)) {
    match FILE.get() {
        Some(file) => {
            let mut new = Counts::default();
            change(&mut new);
            file.add(&new);
        }
        None => {
            let mut counts = COUNTS.get();
            change(&mut counts);
            COUNTS.set(counts);
        }
    }
}
