//! Who disturbed a trial.

use serde::{Deserialize, Serialize};

/// A program that is neither server nor client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BusyProgram {
    pub name: String,
    /// CPU time of all its processes that were there at the end, to the tick of 10 ms.
    pub cpu_ns: u64,
}
