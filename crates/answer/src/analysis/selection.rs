//! Which of several is ahead of which, where the choice is made on the same data.
//!
//! The best of several equal cells looks better than the others, by chance and because it was chosen.
//! So all pairs are compared, each with a sign test over the rounds that both have, and the p-values
//! are adjusted by Holm's procedure ([`stats::holm`]): the probability that any "ahead" is false is at
//! most 5%, whichever cell is chosen afterwards. Comparing only the chosen one with the others would
//! need fewer trials, but errs more often than that, because the choice itself is one among many.

use stats::{LEVEL, holm, sign_test};

use super::compared::Entry;
use crate::figure::Figure;
use study::Metric;

/// The pairs of some cells of which one is ahead of the other.
pub(super) struct Selection<'b, 'a> {
    /// The one ahead, the other, and how many times as much it gives.
    ahead: Vec<(&'b Entry<'a>, &'b Entry<'a>, Figure)>,
}

impl<'b, 'a> Selection<'b, 'a> {
    pub(super) fn of(metric: Metric, entries: &[&'b Entry<'a>]) -> Self {
        let mut pairs = Vec::new();
        for (place, one) in entries.iter().enumerate() {
            for other in &entries[place + 1..] {
                let ratio = one.trials.ratio(other.trials, metric);
                pairs.extend(ratio.and_then(|ratio| in_order(one, other, ratio)));
            }
        }
        let p_values: Vec<f64> = pairs.iter().map(|(.., ratio)| p_value(ratio)).collect();
        let ahead = pairs.into_iter().zip(holm(&p_values));
        let ahead = ahead.filter(|(_, p)| *p <= 1.0 - LEVEL).map(|(pair, _)| pair).collect();
        Self { ahead }
    }

    /// The cells that none of the others is shown to give more than, in the order given.
    pub(super) fn greatest(&self, entries: &[&'b Entry<'a>]) -> Vec<&'b Entry<'a>> {
        let is_behind =
            |one: &Entry<'_>| entries.iter().any(|other| self.gain(other, one).is_some());
        entries.iter().copied().filter(|entry| !is_behind(entry)).collect()
    }

    /// The cells that none of the others is shown to give less than.
    pub(super) fn least(&self, entries: &[&'b Entry<'a>]) -> Vec<&'b Entry<'a>> {
        let is_ahead =
            |one: &Entry<'_>| entries.iter().any(|other| self.gain(one, other).is_some());
        entries.iter().copied().filter(|entry| !is_ahead(entry)).collect()
    }

    /// How many times as much `one` gives as `other`, where it is ahead.
    pub(super) fn gain(&self, one: &Entry<'_>, other: &Entry<'_>) -> Option<&Figure> {
        let is = |a: &Entry<'_>, b: &Entry<'_>| a.trials.cell.name == b.trials.cell.name;
        let is_it = |(a, b, _): &&(&Entry<'_>, &Entry<'_>, Figure)| is(a, one) && is(b, other);
        self.ahead.iter().find(is_it).map(|(.., gain)| gain)
    }
}

/// With the one that gives more first.
fn in_order<'b, 'a>(
    one: &'b Entry<'a>,
    other: &'b Entry<'a>,
    ratio: Figure,
) -> Option<(&'b Entry<'a>, &'b Entry<'a>, Figure)> {
    match ratio.median() < 1.0 {
        true => Some((other, one, ratio.map(|ratio| 1.0 / ratio)?)),
        false => Some((one, other, ratio)),
    }
}

fn p_value(gain: &Figure) -> f64 {
    let above = gain.samples.iter().filter(|ratio| **ratio > 1.0).count();
    sign_test(above, gain.samples.len())
}
