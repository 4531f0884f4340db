//! What limited a trial.

#[cfg(test)]
mod tests;

use observe::CpuShare;
use serde::{Deserialize, Serialize};

use crate::evidence::Evidence;
use crate::limit::Limit;
use crate::nouns::Nouns;

/// What limited a trial, with the evidence of every candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What limited it.
    pub limit: Limit,
    /// All figures.
    pub evidence: Evidence,
}

impl Verdict {
    /// Whether the hypervisor or other programs took so much of the CPUs that it changes a rate.
    pub fn is_disturbed(&self) -> bool {
        self.evidence.is_noisy()
    }

    /// What the hypervisor and other programs took of the CPUs together, as a share.
    pub fn disturbance(&self) -> f64 {
        let Evidence { steal, foreign, .. } = &self.evidence;
        let share = |of: &Option<CpuShare>| of.map_or(0.0, |of| of.share.max(0.0));
        share(steal) + share(foreign)
    }

    /// Whether the client was the limit, so that the server could do more.
    pub fn is_of_client(&self) -> bool {
        match self.limit {
            Limit::ClientCpu | Limit::UdpBuffers => true,
            Limit::CpuQuota => self.evidence.is_client_held_back(),
            _ => false,
        }
    }

    /// Judges a trial by its evidence.
    pub fn of(evidence: Evidence) -> Self {
        Self { limit: Limit::of(&evidence), evidence }
    }

    /// What limited the trial and by which figures, in a sentence without its full stop.
    pub fn reason(&self, nouns: Nouns) -> String {
        self.limit.reason(&self.evidence, nouns)
    }

    /// What to do for a better or a higher figure, in a sentence without its full stop.
    pub fn remedy(&self) -> &'static str {
        self.limit.remedy(&self.evidence)
    }
}
