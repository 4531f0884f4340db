//! A gate as it is written: `goodput>=10Gb/s`, `bulk:p99<=5ms`, `ratio>=0.95`.

use std::fmt;
use std::str::FromStr;

use study::Metric;
use study::gate::{Comparator, RATIO, RatioGate, ratio};

/// A figure that cells must reach.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    text: String,
    /// The case or the cell that it is about; all where it names none.
    pub(super) scope: Option<String>,
    pub(super) judged: Judged,
    pub(super) comparator: Comparator,
    /// In the unit of what is judged.
    pub(super) limit: f64,
    pub(super) counts: Counts,
}

/// What of a figure decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counts {
    Median,
    /// All of it.
    Interval,
}

/// What is compared with the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    Figure(Metric),
    /// Of two runs, in the metric in which they are compared.
    Ratio,
}

impl Gate {
    /// That of an answer, with what it is about.
    pub(crate) fn of_answer(gate: &RatioGate, what: &str) -> Self {
        let (comparator, limit) = (gate.comparator, gate.limit);
        let (judged, counts) = (Judged::Ratio, Counts::Interval);
        Self { text: format!("{gate} ({what})"), scope: None, judged, comparator, limit, counts }
    }

    /// The same, judged by medians alone.
    #[must_use]
    pub fn by_median(&self) -> Self {
        Self { counts: Counts::Median, ..self.clone() }
    }
}

impl FromStr for Gate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: String| {
            format!("`{text}`: {why}; write a gate such as goodput>=10Gb/s or bulk:p99<=5ms")
        };
        let (what, comparator, limit) = Comparator::split(text).map_err(wrong)?;
        let (scope, name) = match what.split_once(':') {
            Some((scope, name)) => (Some(scope.trim().to_owned()), name.trim()),
            None => (None, what),
        };
        let (judged, limit) = if name == RATIO {
            (Judged::Ratio, ratio(limit).map_err(wrong)?)
        } else {
            let metric: Metric = name.parse().map_err(wrong)?;
            (Judged::Figure(metric), metric.row().quantity.parse(limit).map_err(wrong)?)
        };
        Ok(Self {
            text: text.to_owned(),
            scope,
            judged,
            comparator,
            limit,
            counts: Counts::Interval,
        })
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gate(text: &str) -> Gate {
        text.parse().unwrap()
    }

    #[test]
    fn metric_comparator_and_value_with_its_unit() {
        let goodput = gate("goodput>=10Gb/s");
        assert_eq!(goodput.judged, Judged::Figure(Metric::Goodput));
        assert_eq!((goodput.comparator, goodput.limit), (Comparator::AtLeast, 10e9));
        assert_eq!(goodput.to_string(), "goodput>=10Gb/s");
        let latency = gate("bulk-0003: p99 < 5 ms");
        assert_eq!(latency.scope.as_deref(), Some("bulk-0003"));
        assert_eq!((latency.comparator, latency.limit), (Comparator::Below, 5e6));
        assert_eq!(gate("ratio>0.95x").judged, Judged::Ratio);
        assert_eq!(gate("rate<=1_000/s").comparator, Comparator::AtMost);
    }

    #[test]
    fn what_is_no_gate_is_refused_with_what_to_write() {
        for (text, why) in [
            ("goodput", "there is no >=, <=, > or <"),
            ("goodput=10Gb/s", "there is no >="),
            ("goodput>=10", "`10` has no unit"),
            ("godput>=10Gb/s", "`godput` is not a metric; did you mean goodput?"),
            ("p99<=5Gb/s", "is not a time with a unit"),
            ("ratio>=much", "`much` is not a ratio"),
            ("ratio>=-1", "`-1` is not a ratio"),
            ("ratio>=inf", "`inf` is not a ratio"),
            (">=1Gb/s", "`` is not a metric"),
        ] {
            let message = text.parse::<Gate>().unwrap_err();
            assert!(message.contains(why) && message.contains("; write "), "{text}: {message}");
            assert!(message.contains(&format!("`{text}`")), "{message}");
        }
    }
}
