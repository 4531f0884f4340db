//! Two runs, row by row: cell by cell, and algorithm by algorithm.
//!
//! Rows are matched by case or table and what tells them from others. Their trials were not taken side by side, so they
//! cannot be paired: what drifted between the runs does not cancel, and a ratio is that of two medians
//! with an interval that assumes nothing of the distributions ([`stats::ratio_of_medians`]).

mod compared_run;
mod difference;
mod pair;
mod sentence;

#[cfg(test)]
pub(crate) mod tests;

use serde::Serialize;

use crate::analysis::Invalid;
use study::Metric;

pub use compared_run::ComparedRun;
pub use difference::Difference;
use pair::Match;
pub use pair::{OnlyInOne, PairedRow};

/// What two runs say together: B over A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// For each metric, the answer and the figures that it is made of.
    pub metrics: Vec<ComparedMetric>,
    /// In what else the runs differ: machine, servers, settings of cells.
    pub differences: Vec<Difference>,
    /// The cells that only one run has.
    pub only: Vec<OnlyInOne>,
    /// The trials of A that are not valid, and are in no figure.
    pub invalid_in_a: Vec<Invalid>,
    /// The same of B.
    pub invalid_in_b: Vec<Invalid>,
}

/// All cells in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ComparedMetric {
    /// The figure.
    pub metric: Metric,
    /// The answer.
    pub sentence: String,
    /// The cells that both runs have, in A's order.
    pub cells: Vec<PairedRow>,
}

impl Comparison {
    /// Compares in `measures`; where there are none, in what one core of the server does, of bytes or of
    /// operations, as the study's answers about the cell are.
    #[must_use]
    pub fn of(a: &ComparedRun<'_>, b: &ComparedRun<'_>, measures: &[Metric]) -> Self {
        let (matches, only) = pair::matched(a, b);
        let usual_of = |both: &Match<'_>| both.usual(a.study, b.study);
        let usual = |measure: &Metric| matches.iter().any(|both| usual_of(both) == *measure);
        let metrics: Vec<ComparedMetric> = match measures {
            [] => Metric::of_rows()
                .filter(usual)
                .map(|measure| {
                    ComparedMetric::of(measure, &matches, |both| usual_of(both) == measure)
                })
                .collect(),
            measures => measures
                .iter()
                .map(|measure| {
                    ComparedMetric::of(*measure, &matches, |both| both.a.can_have(*measure))
                })
                .collect(),
        };
        Self {
            metrics,
            differences: difference::all(a, b, &matches),
            only,
            invalid_in_a: a.analysis.invalid.clone(),
            invalid_in_b: b.analysis.invalid.clone(),
        }
    }

    /// The answers: a sentence for each metric, or that there is nothing to compare.
    #[must_use]
    pub fn sentences(&self) -> Vec<&str> {
        match self.metrics.is_empty() {
            true => vec![
                "The runs have no common cell: cells are matched by their case and swept values.",
            ],
            false => self.metrics.iter().map(|metric| metric.sentence.as_str()).collect(),
        }
    }
}

impl ComparedMetric {
    fn of(metric: Metric, matches: &[Match<'_>], is_wanted: impl Fn(&Match<'_>) -> bool) -> Self {
        let wanted = matches.iter().filter(|both| is_wanted(both));
        let cells: Vec<PairedRow> = wanted.map(|both| PairedRow::of(metric, both)).collect();
        Self { metric, sentence: sentence::of(metric, &cells), cells }
    }
}
