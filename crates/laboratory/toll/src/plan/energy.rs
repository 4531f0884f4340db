//! What the processors take for the traffic, where they say that.

use journal::TrialLine;
use serde::Serialize;
use stats::Estimate;
use study::Metric;

use super::parts::{FULL, TRAFFIC, estimate};

/// Of all programs on the machine, the client too, beyond what it takes with nothing to do.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Energy {
    /// With a full handshake and one request.
    pub(super) joules_per_connection: Estimate,
    /// Of the traffic's bodies.
    pub(super) joules_per_gigabyte: Estimate,
}

impl Energy {
    /// By valid trials; `None` where it was not measured.
    pub(super) fn of(lines: &[&TrialLine]) -> Option<Self> {
        let estimate = |case, metric| estimate(lines.iter().copied(), case, metric);
        Some(Self {
            joules_per_connection: estimate(FULL, Metric::EnergyPerOperation)?,
            joules_per_gigabyte: estimate(TRAFFIC, Metric::EnergyPerGigabyte)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use trial::EnergyUse;

    use super::*;

    #[test]
    fn what_the_machine_takes_anyway_is_not_the_traffic_s() {
        let line = |case: &str, joules| {
            let mut line = journal::testing::example();
            line.place.case = case.to_owned();
            line.line.window_ns = 2_000_000_000;
            line.line.operations.completed = 100;
            line.line.bytes.body = 500_000_000;
            line.line.energy = Some(EnergyUse { joules, idle_watts: 20.0 });
            line
        };
        let found = Energy::of(&[&line(FULL, 45.0), &line(TRAFFIC, 50.0)]).unwrap();
        assert!((found.joules_per_connection.median - 0.05).abs() < 1e-9);
        assert!((found.joules_per_gigabyte.median - 20.0).abs() < 1e-9);
        // No more than an idle machine takes.
        assert!(Energy::of(&[&line(FULL, 40.0), &line(TRAFFIC, 50.0)]).is_none());
        assert!(Energy::of(&[]).is_none());
    }
}
