//! A gate as it is written: `goodput>=10Gb/s`, `bulk:p99<=5ms`, `ratio>=0.95`.

use std::str::FromStr;

use study::Metric;
use study::gate::{Comparator, RATIO, RatioGate, ratio};
use study::metric::Better;
use units::{Quantity, decimal};

use crate::wording::plain_percent;

/// A figure that cells must reach.
#[derive(Debug, Clone, PartialEq, derive_more::Display)]
#[display("{text}")]
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
    /// By which share of the earlier run's figure the later one's is worse, whichever way its metric points.
    Regression,
}

const REGRESSION: &str = "regression";

impl Gate {
    /// That of an answer, with what it is about.
    pub(crate) fn of_answer(gate: &RatioGate, what: &str) -> Self {
        let (comparator, limit) = (gate.comparator, gate.limit);
        let (judged, counts) = (Judged::Ratio, Counts::Interval);
        Self { text: format!("{gate} ({what})"), scope: None, judged, comparator, limit, counts }
    }

    /// The gate that is meant by a ratio with this comparator, whose limit is on the side where this metric is better.
    pub(super) fn meant(&self, better: Better, case: &str) -> String {
        let Self { comparator, limit, .. } = *self;
        let allowed = match comparator.is_from_below() {
            true => 1.0 - limit,
            false => limit - 1.0,
        };
        if (0.0..1.0).contains(&allowed) {
            let scope = self.scope.as_ref().map(|scope| format!("{scope}:")).unwrap_or_default();
            return format!("{scope}{REGRESSION}<={}", plain_percent(allowed));
        }
        let (scope, limit) = (self.scope.as_deref().unwrap_or(case), decimal(1.0 / limit, 2));
        match better {
            Better::Higher => format!("{scope}:{RATIO}>={limit}"),
            Better::Lower => format!("{scope}:{RATIO}<={limit}"),
        }
    }

    /// The same, judged by medians alone.
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
        let (judged, limit) = match name {
            RATIO => (Judged::Ratio, ratio(limit).map_err(wrong)?),
            REGRESSION => (Judged::Regression, regression(comparator, limit).map_err(wrong)?),
            _ => {
                let metric: Metric = name.parse().map_err(wrong)?;
                (Judged::Figure(metric), metric.row().quantity.parse(limit).map_err(wrong)?)
            }
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

/// How much worse something may be.
fn regression(comparator: Comparator, limit: &str) -> Result<f64, String> {
    if comparator.is_from_below() {
        return Err(format!("a regression has an upper limit, {REGRESSION}<=5%"));
    }
    let share = Quantity::Share.parse(limit)?;
    let is_share = (0.0..1.0).contains(&share);
    is_share.then_some(share).ok_or_else(|| format!("`{limit}` is not from 0% to below 100%"))
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
        let regression = gate("handshakes:regression<=5%");
        assert_eq!(regression.scope.as_deref(), Some("handshakes"));
        assert_eq!((regression.judged, regression.limit), (Judged::Regression, 0.05));
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
            ("regression<=5", "`5` is not a share"),
            ("regression<=-5%", "`-5%` is not"),
            ("regression<=100%", "`100%` is not from 0% to below 100%"),
            ("regression>=5%", "a regression has an upper limit"),
            (">=1Gb/s", "`` is not a metric"),
        ] {
            let message = text.parse::<Gate>().unwrap_err();
            assert!(message.contains(why) && message.contains("; write "), "{text}: {message}");
            assert!(message.contains(&format!("`{text}`")), "{message}");
        }
    }
}
