use observe::Throttled;
use serde::{Deserialize, Serialize};

/// A CPU quota that one side of a trial was under, and what it did: of several, the one that stopped it for longest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaUse {
    /// The CPUs that it allows: 0.5 is half of one.
    pub cpus: f64,
    /// For how long the group was stopped within the window, summed over CPUs.
    pub throttled_ns: u64,
    /// The periods in which the quota was used up.
    pub throttled_periods: u64,
    /// The folder of the control group.
    pub group: String,
}

impl From<Throttled> for QuotaUse {
    fn from(throttled: Throttled) -> Self {
        let Throttled { group, quota, periods, time } = throttled;
        Self { cpus: quota.cpus(), throttled_ns: time.0, throttled_periods: periods, group }
    }
}
