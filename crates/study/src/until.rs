//! `until = { interval = "5%", at-most = "3min" }`: when a run has measured enough.

use load::Percent;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Rounds are added until either holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Until {
    /// No interval of the answers reaches farther from its median than this share of it.
    pub interval: Percent,
    /// The trials, with all that is done for them, take this long.
    pub at_most: Nanos,
}
