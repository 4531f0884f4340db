//! What the processors took from the mains over a window.

use serde::{Deserialize, Serialize};
use units::Nanos;

/// Of all packages of the machine: the client's share is in it, and that of other programs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct EnergyUse {
    /// Joules in the window.
    pub joules: f64,
    /// What they took just before the load, while the server waited, in watts.
    pub idle_watts: f64,
}

impl EnergyUse {
    /// Joules beyond what the machine takes without the load; `None` where it took no more.
    pub fn beyond_idle(&self, window: Nanos) -> Option<f64> {
        Some(self.joules - self.idle_watts * window.seconds()).filter(|joules| *joules > 0.0)
    }
}
