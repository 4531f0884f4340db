//! What is kept of a search: what its trials say to it, and the loads that cannot be made.

use serde::{Deserialize, Serialize};

/// The load of a trial that belongs to a search, and whether the limit held there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sought {
    /// The key that is searched over: `load.connections`.
    pub over: String,
    /// Its value in this trial.
    pub load: String,
    /// What must hold, as the study says it.
    pub limit: String,
    /// What the limit is on, where that is a time; absent where nothing was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_ns: Option<u64>,
    /// The same where it is a share of operations, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_share: Option<f64>,
    /// Whether the trial is valid and the limit held.
    pub holds: bool,
}

impl Sought {
    /// What the limit is on, in nanoseconds or as a share.
    pub fn seen(&self) -> Option<f64> {
        self.seen_ns.map(|ns| ns as f64).or(self.seen_share)
    }
}

/// A step of a search that could not be made here, such as for lack of file descriptors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImpossibleStep {
    pub schema: u32,
    pub case: String,
    pub cell: String,
    /// The key that is searched over: `load.connections`.
    pub over: String,
    /// Its value.
    pub load: String,
    /// Why it cannot be made.
    pub why: String,
    /// The order of the trial that comes next; in a journal of an earlier version it is not known.
    #[serde(default)]
    pub order: u32,
}
