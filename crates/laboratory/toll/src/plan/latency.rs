//! `--latency`: a limit that the traffic is held against where it is loaded. Latency is not modelled.

use std::str::FromStr;

use answer::gate::{Reached, reached};
use journal::TrialLine;
use serde::Serialize;
use stats::Estimate;
use study::Metric;
use study::gate::Comparator;
use units::Nanos;

use super::parts::{TRAFFIC, estimate};

/// A limit, as it is written: `p99<=50ms`.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display("{text}")]
pub(super) struct Limit {
    text: String,
    metric: Metric,
    limit: Nanos,
}

/// What became of it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Latency {
    pub(super) limit: String,
    /// Of the traffic with a core as busy as is planned, in ns; `None` where no trial of it has one.
    pub(super) measured_ns: Option<Estimate>,
    /// As of a gate.
    pub(super) result: Reached,
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| format!("`{text}`: {why}; write p99<=50ms, p50 or response-time");
        let (what, comparator, limit) = Comparator::split(text).map_err(wrong)?;
        let metric: Metric = what.parse().map_err(wrong)?;
        if !metric.is_latency() || comparator != Comparator::AtMost {
            return Err(wrong("a latency has an upper limit".to_owned()));
        }
        let limit = limit.parse().map_err(|error| wrong(format!("{error}")))?;
        Ok(Self { text: text.to_owned(), metric, limit })
    }
}

impl Limit {
    /// By the valid trials of the traffic.
    pub(super) fn judge(&self, lines: &[&TrialLine]) -> Latency {
        let measured_ns = estimate(lines.iter().copied(), TRAFFIC, self.metric);
        let result = reached(Comparator::AtMost, self.limit.0 as f64, measured_ns.as_ref());
        Latency { limit: self.to_string(), measured_ns, result }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_traffic(p99: u64) -> TrialLine {
        let mut line = journal::testing::example();
        line.place.case = TRAFFIC.to_owned();
        line.line.latency_ns.whole.p99 = Some(p99);
        line
    }

    #[test]
    fn a_limit_is_kept_broken_or_left_open_by_the_whole_interval() {
        let limit: Limit = "p99<=50ms".parse().unwrap();
        let result = |ms: &[u64]| {
            let lines: Vec<TrialLine> = ms.iter().map(|ms| of_traffic(ms * 1_000_000)).collect();
            limit.judge(&lines.iter().collect::<Vec<_>>()).result
        };
        assert_eq!(result(&[10, 20, 30, 40, 41, 42, 50]), Reached::Met);
        assert_eq!(result(&[60, 70, 80, 90, 91, 92, 93]), Reached::NotMet);
        assert_eq!(result(&[10, 20, 30, 60, 61, 62, 63]), Reached::Inconclusive);
        // Two trials prove nothing, however far they are from the limit.
        for few in [[10, 11], [90, 91]] {
            assert_ne!(result(&few), Reached::Met);
        }
        assert_eq!(result(&[]), Reached::NotMet);
    }

    #[test]
    fn what_is_no_upper_limit_of_a_latency_is_refused() {
        for text in ["p99", "p99>=5ms", "p99<=5", "goodput<=5Gb/s", "p98<=5ms", "p99<=fast"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
