//! A share of CPU time, and how exactly it is known.
//!
//! The kernel samples most of `/proc/stat` at its tick and shows all of it in steps of 10 ms: in a short window
//! that is too coarse to blame anybody. So each share carries its standard error, and a doubt needs more than that.

use serde::{Deserialize, Serialize};
use strum::Display;

/// By chance, one share in a thousand lies so many standard errors above what it is of. A study has hundreds.
const SURE: f64 = 3.0;

/// A share of CPU time, 0 to 1. In a record its fields follow the name of the figure: `steal`, `steal_error`,
/// `steal_source`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct CpuShare {
    #[serde(rename = "")]
    pub share: f64,
    /// Its standard error; 0 in records that have none.
    #[serde(rename = "_error", default, skip_serializing_if = "is_zero")]
    pub error: f64,
    /// Absent from records that are older than it.
    #[serde(rename = "_source", default, skip_serializing_if = "Option::is_none")]
    pub source: Option<CpuTimeSource>,
}

/// What counted a share of CPU time, the most exact first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CpuTimeSource {
    /// The scheduler, for each CPU: `cpuacct.usage_percpu` of the first control group.
    Cpuacct,
    /// The scheduler, for each task: its `schedstat`, and the CPU that it ran on last.
    Schedstat,
    /// The kernel's tick, which sees who runs at that moment, in steps of 10 ms: `/proc/stat`.
    ProcStat,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(error: &f64) -> bool {
    *error == 0.0
}

impl CpuShare {
    /// Whether it is at least this much, and more than chance makes of nothing.
    pub fn exceeds(self, threshold: f64) -> bool {
        self.share >= threshold && self.share > SURE * self.error
    }

    /// Whether it is at most this much, and known well enough to say so.
    pub fn is_within(self, threshold: f64) -> bool {
        self.share <= threshold && self.error <= threshold
    }

    /// Of the mean share of so many CPUs, how many of them that is.
    #[must_use]
    pub fn of_all(self, cpus: usize) -> Self {
        let cpus = cpus as f64;
        Self { share: self.share * cpus, error: self.error * cpus, ..self }
    }

    /// Whether it is less than another, and chance does not make it so.
    pub(crate) fn is_surely_less(self, other: &Self) -> bool {
        self.share + SURE * self.error.hypot(other.error) < other.share
    }

    /// The one that is the most, of what is certain in each.
    pub fn most(shares: impl IntoIterator<Item = Self>) -> Option<Self> {
        let certain = |of: &Self| of.share - SURE * of.error;
        shares.into_iter().max_by(|a, b| certain(a).total_cmp(&certain(b)))
    }

    /// To four decimals: more would be noise in a record. Never a negative zero.
    #[must_use]
    pub fn rounded(self) -> Self {
        let rounded = |share: f64| (share * 1e4).round() / 1e4 + 0.0;
        Self { share: rounded(self.share), error: rounded(self.error), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(share: f64, error: f64) -> CpuShare {
        CpuShare { share, error, source: None }
    }

    #[test]
    fn a_doubt_needs_the_threshold_and_more_than_chance() {
        assert!(share(0.1, 0.0).exceeds(0.1) && share(0.1, 0.033).exceeds(0.1));
        assert!(!share(0.099, 0.0).exceeds(0.1));
        // 18% of a window of 140 ms, of which the tick saw 35 samples.
        assert!(!share(0.18, 0.09).exceeds(0.1) && share(0.28, 0.09).exceeds(0.1));
        assert!(!share(0.0, 0.0).exceeds(0.0));
    }

    #[test]
    fn what_is_not_known_so_well_is_not_said_to_be_little() {
        assert!(share(0.05, 0.05).is_within(0.05));
        assert!(!share(0.051, 0.0).is_within(0.05) && !share(0.0, 0.06).is_within(0.05));
    }

    #[test]
    fn a_share_that_is_sure_comes_before_a_larger_one_that_is_not() {
        let (sure, guess) = (share(0.12, 0.01), share(0.2, 0.09));
        assert_eq!(CpuShare::most([guess, sure]), Some(sure));
        assert_eq!(CpuShare::most([sure, share(0.2, 0.01)]), Some(share(0.2, 0.01)));
        assert_eq!(CpuShare::most([]), None);
    }
}
