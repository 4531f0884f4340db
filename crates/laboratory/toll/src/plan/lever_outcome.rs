//! What would lower the cores, as it is shown and kept.

use capacity::{Actor, Costs, Traffic};
use serde::Serialize;
use stats::{Decision, Direction, Estimate};

use super::check::{Check, OtherBusy};

/// How cores follow from CPU time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// How busy cores may be, 0 to 1.
    pub(super) busy: f64,
    /// What several cores take for the same work, over one.
    pub(super) factor: f64,
}

impl Scale {
    pub(super) fn cores(&self, costs: &Costs, traffic: &Traffic) -> f64 {
        self.of_cpu_time(traffic.load(costs).all())
    }

    /// Of CPU-seconds in a second.
    pub(super) fn of_cpu_time(&self, seconds: f64) -> f64 {
        seconds / self.busy * self.factor
    }
}

/// A change, and the cores that it saves.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Saving {
    pub(super) lever: String,
    pub(super) change: String,
    pub(super) actor: Actor,
    /// The lines of this server's configuration that make it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) configuration: Option<String>,
    pub(super) left_out: String,
    /// Less than 0 where it costs more.
    pub(super) cores: Estimate,
    /// Whether it is shown to save any, decided together with the other changes.
    pub(super) decision: Decision,
    /// Its place among those that were tried.
    #[serde(skip)]
    pub(super) place: usize,
}

/// What would lower the cores.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Levers {
    /// The largest saving first.
    pub(super) savings: Vec<Saving>,
    /// What this machine or this server lacks, and why.
    pub(super) not_here: Vec<String>,
    /// What there was no time for.
    pub(super) no_time: Vec<String>,
    /// Those that surely pay, together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) together: Option<Together>,
    /// Why there is no such figure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_combination: Option<String>,
}

/// The best combination, change by change.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Together {
    /// In the order in which to make them.
    pub(super) steps: Vec<Step>,
    /// What the traffic needs with all of them.
    pub(super) cores: Estimate,
    /// What they save of today's, and what the sum of their own savings is.
    pub(super) saved: Estimate,
    pub(super) sum: f64,
    pub(super) check: Check,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) not_so_busy: Vec<OtherBusy>,
}

/// A change, and the cores that it still saves after those before it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Step {
    pub(super) change: String,
    pub(super) adds: Estimate,
}

impl Saving {
    pub(super) fn is_sure(&self, direction: Direction) -> bool {
        self.decision == Decision::Sure(direction)
    }
}

impl Levers {
    pub(super) fn sure(&self, direction: Direction) -> impl Iterator<Item = &Saving> {
        self.savings.iter().filter(move |saving| saving.is_sure(direction))
    }
}
