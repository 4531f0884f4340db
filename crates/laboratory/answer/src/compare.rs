//! Two runs, row by row: cell by cell, and algorithm by algorithm.
//!
//! Rows are matched by case or table and what tells them from others. Their trials were not taken side by side, so they
//! cannot be paired: what drifted between the runs does not cancel, and a ratio is that of two medians
//! ([`stats::RunRatio`]).

mod compared_run;
mod difference;
mod pair;
mod sentence;

#[cfg(test)]
pub(crate) mod tests;

use serde::Serialize;
use stats::{Decision, RunRatio};

use crate::analysis::Invalid;
use crate::figure::Figure;
use study::Metric;

pub use compared_run::ComparedRun;
pub use difference::Difference;
use pair::Match;
pub use pair::{OnlyInOne, PairedRow};

/// What two runs say together: B over A.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// In what else the runs differ: machine, servers, settings of cells. First, for it decides what the ratios mean.
    pub differences: Vec<Difference>,
    /// What is not known of both runs, so that nobody can say whether it is the same, a phrase each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub not_compared: Vec<&'static str>,
    /// For each metric, the answer and the figures that it is made of.
    pub metrics: Vec<ComparedMetric>,
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
    /// By which share the trials of A differ between its halves; the intervals have room for it.
    pub drift_in_a: f64,
    /// The same of B.
    pub drift_in_b: f64,
    /// The cells that both runs have, in A's order.
    pub cells: Vec<PairedRow>,
}

impl Comparison {
    /// Compares in `measures`; where there are none, in what one core of the server does, of bytes or of
    /// operations, as the study's answers about the cell are.
    pub fn of(a: &ComparedRun, b: &ComparedRun, measures: &[Metric]) -> Self {
        let (matches, only) = pair::matched(a, b);
        let usual_of = |both: &Match<'_>| both.usual(a.study.as_ref(), b.study.as_ref());
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
            not_compared: difference::not_compared(a, b, &matches),
            only,
            invalid_in_a: a.analysis.invalid.clone(),
            invalid_in_b: b.analysis.invalid.clone(),
        }
    }

    /// How the runs' machines differ in what decides their speed, in a sentence; `None` where they do not.
    pub fn other_machine(&self) -> Option<String> {
        self.machines_differ(|difference| difference.is_other_machine)
    }

    /// How they differ in what decides a metric: of counts of instructions the processor, by which libraries choose
    /// their code.
    pub fn other_machine_for(&self, metric: Metric) -> Option<String> {
        match metric.is_of_instructions() {
            true => self.machines_differ(Difference::is_of_processor),
            false => self.other_machine().filter(|_| metric.depends_on_machine()),
        }
    }

    fn machines_differ(&self, is_other: impl Fn(&Difference) -> bool) -> Option<String> {
        let differ = self.differences.iter().filter(|difference| is_other(difference));
        let words =
            differ.map(|Difference { what, a, b, .. }| format!("{what} {a} in A, {b} in B"));
        let words: Vec<String> = words.collect();
        (!words.is_empty())
            .then(|| format!("The machines of A and B differ: {}.", words.join("; ")))
    }

    /// The answers: a sentence for each metric, or that there is nothing to compare.
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
        let mut cells: Vec<PairedRow> = wanted.map(|both| PairedRow::of(metric, both)).collect();
        let compared = || cells.iter().filter(|pair| pair.ratio.is_some());
        let drift = |of: fn(&PairedRow) -> Option<&Figure>| {
            stats::drift(compared().filter_map(of).map(|figure| &figure.samples[..]))
        };
        let drifts = [drift(|pair| pair.a.as_ref()), drift(|pair| pair.b.as_ref())];
        for pair in &mut cells {
            pair.ratio = pair.ratio.take().map(|ratio| ratio.with_drift(drifts));
        }
        let ratios: Vec<&RunRatio> = cells.iter().filter_map(|pair| pair.ratio.as_ref()).collect();
        let verdicts = Decision::of_runs(&ratios, |_, ratio| Decision::beside(ratio, 1.0));
        let compared = cells.iter_mut().filter(|pair| pair.ratio.is_some());
        compared.zip(verdicts).for_each(|(pair, (_, verdict))| pair.verdict = Some(verdict));
        let (sentence, [drift_in_a, drift_in_b]) = (sentence::of(metric, &cells), drifts);
        Self { metric, sentence, drift_in_a, drift_in_b, cells }
    }
}
