//! What may be called the best of several rows, and what is to say of the others.
//!
//! The best has the best median of those with enough samples for a 95% interval of it: a median of fewer is
//! anywhere. Of the others the ones that are shown to be worse are not named.

use std::cmp::Ordering;

use stats::{Decision, Direction};
use study::Metric;

use super::row::Row;
use crate::figure::{Decided, Figure};
use crate::wording::listed;

/// The best; `None` where no row has enough samples.
pub(super) fn best<'b, 'a>(metric: Metric, rows: impl Iterator<Item = &'b Row>) -> Option<&'b Row> {
    let has_enough = |of: &Figure| of.estimate.has_enough_samples();
    let sure = |row: &'b Row| Some((row, row.whole_figure(metric).filter(has_enough)?));
    let by_median = |a: &(_, Figure), b: &(_, Figure)| order(metric, a.1.median(), b.1.median());
    rows.filter_map(sure).max_by(by_median).map(|(row, _)| row)
}

/// The better one is the greater.
fn order(metric: Metric, one: f64, other: f64) -> Ordering {
    let (over, under) = metric.ratio(one, other);
    match metric.is_higher_ratio_better() {
        true => over.total_cmp(&under),
        false => under.total_cmp(&over),
    }
}

/// What the best was chosen among, by what it is beside the best.
#[derive(Debug, Default)]
pub(super) struct Rivals {
    not_worse: Vec<String>,
    too_few: Vec<String>,
    not_compared: Vec<String>,
}

impl Rivals {
    /// Adds one with its name, its figure, and how the best compares with it, where they may be compared.
    pub(super) fn add(
        &mut self,
        metric: Metric,
        (name, figure): (String, Option<&Figure>),
        ratio: Option<&Decided>,
    ) {
        let is_higher_better = metric.is_higher_ratio_better();
        match ratio.map(|ratio| ratio.decision) {
            _ if !figure.is_some_and(|of| of.estimate.has_enough_samples()) => {
                self.too_few.push(name)
            }
            None => self.not_compared.push(name),
            Some(Decision::TooFew) => self.too_few.push(name),
            Some(Decision::Sure(direction))
                if (direction == Direction::Above) == is_higher_better => {}
            Some(Decision::Sure(_) | Decision::NoDifference) => self.not_worse.push(name),
        }
    }

    /// In sentences, each after a space; those that are not shown to be worse only where the best `is_named`.
    pub(super) fn in_words(self, samples: &str, is_named: bool) -> String {
        let sentence = |what: &str, names: Vec<String>| {
            listed(names).map(|names| format!(" {what}: {names}.")).unwrap_or_default()
        };
        let not_worse = if is_named { self.not_worse } else { Vec::new() };
        [
            sentence("Not shown to be worse", not_worse),
            sentence(&format!("Too few {samples}"), self.too_few),
            sentence("Not compared", self.not_compared),
        ]
        .concat()
    }
}
