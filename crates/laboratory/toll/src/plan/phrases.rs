//! Figures of a plan in a few words.

use stats::Estimate;
use units::{decimal, places};

use super::check::{Check, OtherBusy};

/// Hours of a month.
pub(super) const MONTH: f64 = 730.0;

pub(super) fn other_busy(OtherBusy { cell, asked, busy }: &OtherBusy) -> String {
    format!("{cell} kept a core {} busy, not {}.", percent(*busy), percent(*asked))
}

/// The same of several, after a sentence.
pub(super) fn others_busy(others: &[OtherBusy]) -> String {
    let words = others.iter().map(|of| format!(" {}", other_busy(of)));
    words.collect()
}

pub(super) fn failed(check: &Check) -> String {
    let busy = percent(check.busy);
    match &check.refused {
        Some(why) => format!("at {busy} of a core {why}, so the traffic is no check"),
        None if !check.predicted_over_measured.has_enough_samples() => format!(
            "of {} rounds an interval covers the true median with a probability of {}, not 95%, which is no check; \
             give --trials 6 or more",
            check.predicted_over_measured.n,
            percent(check.predicted_over_measured.interval.coverage),
        ),
        None => {
            format!("at {busy} of a core its parts give {} of what the traffic takes", ratio(check))
        }
    }
}

pub(super) fn ratio(check: &Check) -> String {
    estimate(&check.predicted_over_measured, percent)
}

/// `4.6 [4.3, 5.0]`.
pub(super) fn estimate(of: &Estimate, write: impl Fn(f64) -> String) -> String {
    let Estimate { median, interval, .. } = of;
    format!("{} [{}, {}]", write(*median), write(interval.low), write(interval.high))
}

/// `4.6 [4.3, 5.0] cores`.
pub(super) fn cores(of: &Estimate) -> String {
    let places = places(of.median, 2);
    format!("{} cores", estimate(of, |value| decimal(value, places)))
}

pub(super) fn number(value: f64) -> String {
    decimal(value, places(value, 2))
}

/// A share, without decimals.
pub(super) fn percent(share: f64) -> String {
    format!("{:.0}%", share * 100.0)
}
