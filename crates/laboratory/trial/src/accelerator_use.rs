//! What an accelerator of private keys did in a trial.

use serde::{Deserialize, Serialize};
use targets::AcceleratorCounts;

/// What an accelerator did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AcceleratorUse {
    /// What it is: `model`.
    pub kind: String,
    #[serde(flatten)]
    pub counts: AcceleratorCounts,
    /// Its operations in the window over what its engines can do in that time; absent where operations of
    /// the load are not handshakes, and where it answers at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy: Option<f64>,
}
