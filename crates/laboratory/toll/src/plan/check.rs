//! Whether the traffic itself bears its parts out.

use serde::Serialize;
use stats::Estimate;

/// The costs beside the traffic itself.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Check {
    /// How busy the core was, 0 to 1: the median.
    pub(super) busy: f64,
    /// What the costs say, over what was measured.
    pub(super) predicted_over_measured: Estimate,
    /// Why it is none: something other than the server limited a trial.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<String>,
}

/// A cell that kept a core more or less busy than it was to; shares of 0 to 1.
#[derive(Debug, Clone, Serialize)]
pub(super) struct OtherBusy {
    pub(super) cell: String,
    pub(super) asked: f64,
    pub(super) busy: f64,
}

/// How far a prediction may be off and the plan still stand.
const CLOSE: f64 = 0.10;

impl Check {
    pub(super) fn holds(&self) -> bool {
        let ratio = &self.predicted_over_measured;
        self.refused.is_none() && ratio.has_enough_samples() && (ratio.median - 1.0).abs() <= CLOSE
    }
}
