//! `--latency`: a limit that the traffic is held against where it is loaded. Latency is not modelled.

use std::fmt;
use std::str::FromStr;

use journal::TrialLine;
use serde::Serialize;
use stats::Estimate;
use study::Metric;
use study::gate::Comparator;
use units::Nanos;

use super::cells::TRAFFIC;

/// A limit, as it is written: `p99<=50ms`.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Limit {
    text: String,
    metric: Metric,
    limit: Nanos,
}

/// What became of it.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Latency {
    pub(super) limit: String,
    /// Of the traffic with a core as busy as is planned, in ns.
    pub(super) measured_ns: Estimate,
    pub(super) kept: Kept,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kept {
    Yes,
    No,
    /// The limit lies within the interval.
    Inconclusive,
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

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Limit {
    /// By the trials of the traffic; `None` where none has a latency.
    pub(super) fn judge(&self, lines: &[TrialLine]) -> Option<Latency> {
        let of_traffic = lines.iter().filter(|of| of.place.case == TRAFFIC && of.line.valid);
        let values: Vec<f64> = of_traffic.filter_map(|of| self.metric.value(&of.line)).collect();
        let measured_ns = Estimate::of(&values).ok()?;
        let limit = self.limit.0 as f64;
        let kept = match &measured_ns.interval {
            interval if interval.high <= limit => Kept::Yes,
            interval if interval.low > limit => Kept::No,
            _ => Kept::Inconclusive,
        };
        Some(Latency { limit: self.to_string(), measured_ns, kept })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_traffic(p99: u64) -> TrialLine {
        let mut line = journal::testing::example();
        line.place.case = TRAFFIC.to_owned();
        line.line.latency_ns.p99 = Some(p99);
        line
    }

    #[test]
    fn a_limit_is_kept_broken_or_left_open_by_the_whole_interval() {
        let limit: Limit = "p99<=50ms".parse().unwrap();
        let kept = |ms: [u64; 7]| {
            limit.judge(&ms.map(|ms| of_traffic(ms * 1_000_000))).map(|found| found.kept)
        };
        assert_eq!(kept([10, 20, 30, 40, 41, 42, 43]), Some(Kept::Yes));
        assert_eq!(kept([60, 70, 80, 90, 91, 92, 93]), Some(Kept::No));
        assert_eq!(kept([10, 20, 30, 60, 61, 62, 63]), Some(Kept::Inconclusive));
        assert!(limit.judge(&[]).is_none());
    }

    #[test]
    fn what_is_no_upper_limit_of_a_latency_is_refused() {
        for text in ["p99", "p99>=5ms", "p99<=5", "goodput<=5Gb/s", "p98<=5ms", "p99<=fast"] {
            assert!(text.parse::<Limit>().is_err(), "{text}");
        }
    }
}
