//! Gates: figures that a run must reach, for CI.
//!
//! A gate of the command line is judged by medians. It holds where every cell that it is about meets it; a cell that has no
//! figure does not meet it, whatever the reason, so that nothing passes by not being measured. Where an
//! interval includes the limit it is said, and the median counts all the same: a gate that
//! wanted the whole interval beyond its limit would fail by chance in many runs. The gate of an answer
//! is a claim of its study: it holds where the whole interval of every ratio does.

mod expression;
#[cfg(test)]
mod tests;

use serde::Serialize;
use stats::Estimate;

use crate::analysis::{Analysis, Mark};
use crate::compare::Comparison;
use crate::wording::{list, quantity, ratio_in_words};
use study::Metric;
use study::Study;

pub use expression::Gate;
use expression::{Counts, Judged};
use study::gate::Comparator;

/// A gate that cannot be judged, whatever is measured: the request is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// It is about a case that the study does not have.
    #[error("gate {gate}: the study has no case or cell {scope}; it has {known}")]
    UnknownScope {
        gate: String,
        /// What it is about.
        scope: String,
        /// The cases that there are.
        known: String,
    },
    /// It is about a ratio, and there is one run.
    #[error("gate {gate}: a single run has no ratio; use this gate with toll compare A B")]
    NoRatio { gate: String },
    /// None of its cells can have the metric.
    #[error(
        "gate {gate}: none of its cells has {metric}, because handshakes have no bodies; gate \
         another metric"
    )]
    NoSuchFigure { gate: String, metric: Metric },
}

/// What became of a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateOutcome {
    /// The gate as it was written.
    pub gate: String,
    /// Whether every cell meets it.
    pub met: bool,
    /// The same in a sentence, with the cells that do not.
    pub sentence: String,
    /// Every cell that it is about.
    pub cells: Vec<GatedCell>,
}

/// A cell that a gate is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GatedCell {
    pub cell: String,
    /// In words.
    pub label: String,
    /// Whether it meets the gate.
    pub met: bool,
    /// What was judged, in the metric's unit; `None` where it was not measured.
    pub figure: Option<Estimate>,
    /// What keeps the figure from being the server's maximum.
    pub mark: Option<Mark>,
}

impl Gate {
    /// Looks whether the gate can be judged by a run of this study, before anything is measured.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self, study: &Study) -> Result<(), GateError> {
        let Judged::Figure(metric) = self.judged else {
            return Err(GateError::NoRatio { gate: self.to_string() });
        };
        self.check_scope(study)?;
        let mut cells = study.cells.iter().filter(|cell| self.is_about(&cell.case, &cell.name));
        match cells.any(|cell| metric.is_of(cell)) {
            true => Ok(()),
            false => Err(GateError::NoSuchFigure { gate: self.to_string(), metric }),
        }
    }

    /// Judges a run.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn judge(&self, study: &Study, analysis: &Analysis) -> Result<GateOutcome, GateError> {
        self.check(study)?;
        let Judged::Figure(metric) = self.judged else {
            return Err(GateError::NoRatio { gate: self.to_string() });
        };
        let both = study.cells.iter().zip(&analysis.cells);
        let cells = both
            .filter(|(cell, _)| self.is_about(&cell.case, &cell.name) && metric.is_of(cell))
            .map(|(_, summary)| {
                let figure = summary.figures.get(metric).map(|figure| figure.estimate);
                self.gated(&summary.cell, &summary.label, figure, summary.mark)
            });
        Ok(self.outcome(cells.collect()))
    }

    /// Judges the later of two runs: its figures, or their ratios to those of the earlier one. Every
    /// cell of the earlier run has to have a ratio.
    ///
    /// # Errors
    /// As [`check`](Self::check), but for ratios.
    pub fn judge_later(
        &self,
        earlier: &Study,
        later: (&Study, &Analysis),
        comparison: &Comparison,
    ) -> Result<GateOutcome, GateError> {
        if let Judged::Figure(_) = self.judged {
            return self.judge(later.0, later.1);
        }
        self.check_scope(earlier)?;
        let mut cells = Vec::new();
        for pair in comparison.metrics.iter().flat_map(|metric| &metric.cells) {
            if self.is_about(&pair.case, &pair.cell_a) {
                let mark = pair.mark_b.or(pair.mark_a);
                cells.push(self.gated(&pair.cell_b, &pair.label, pair.ratio, mark));
            }
        }
        for only in comparison.only.iter().filter(|only| only.run == "a") {
            if self.is_about(&only.case, &only.cell) {
                cells.push(self.gated(&only.cell, &only.label, None, Some(Mark::NotMeasured)));
            }
        }
        Ok(self.outcome(cells))
    }

    fn check_scope(&self, study: &Study) -> Result<(), GateError> {
        let Some(scope) = &self.scope else { return Ok(()) };
        if study.cells.iter().any(|cell| self.is_about(&cell.case, &cell.name)) {
            return Ok(());
        }
        let mut cases: Vec<String> = study.cells.iter().map(|cell| cell.case.clone()).collect();
        cases.dedup();
        let (gate, scope) = (self.to_string(), scope.clone());
        Err(GateError::UnknownScope { gate, scope, known: list(&cases) })
    }

    fn is_about(&self, case: &str, cell: &str) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope == case || scope == cell)
    }

    pub(crate) fn gated(
        &self,
        cell: &str,
        label: &str,
        figure: Option<Estimate>,
        mark: Option<Mark>,
    ) -> GatedCell {
        let holds = |value| self.comparator.holds(value, self.limit);
        let met = figure.is_some_and(|Estimate { median, interval, n }| match self.counts {
            Counts::Median => holds(median),
            Counts::Interval => n > 1 && holds(interval.low) && holds(interval.high),
        });
        GatedCell { cell: cell.to_owned(), label: label.to_owned(), met, figure, mark }
    }

    pub(crate) fn outcome(&self, cells: Vec<GatedCell>) -> GateOutcome {
        let met = !cells.is_empty() && cells.iter().all(|cell| cell.met);
        let sentence = self.sentence(&cells);
        GateOutcome { gate: self.to_string(), met, sentence, cells }
    }

    fn sentence(&self, cells: &[GatedCell]) -> String {
        let failed: Vec<String> = cells
            .iter()
            .filter(|cell| !cell.met)
            .map(|cell| format!("{} ({})", self.in_words(cell), cell.label))
            .collect();
        let cell_or_cells = if cells.len() == 1 { "cell" } else { "cells" };
        let result = match failed.len() {
            _ if cells.is_empty() => "NOT met: there is no cell to judge".to_owned(),
            0 => {
                let tightest = self.tightest(cells).map(|cell| {
                    format!(": the nearest is {} ({})", self.in_words(cell), cell.label)
                });
                let tightest = tightest.unwrap_or_default();
                format!("met by {} {cell_or_cells}{tightest}", cells.len())
            }
            n => format!("NOT met by {n} of {} {cell_or_cells}: {}", cells.len(), list(&failed)),
        };
        let unsure = cells.iter().filter(|cell| self.reaches_across(cell)).count();
        let counts = match self.counts {
            Counts::Median => "the median counts",
            Counts::Interval => "the whole interval counts",
        };
        let unsure = match unsure {
            0 => String::new(),
            n => format!(" In {n} the interval includes the limit; {counts}."),
        };
        let is_single = |cell: &GatedCell| cell.figure.is_some_and(|figure| figure.n == 1);
        let single = match self.counts {
            Counts::Interval if cells.iter().any(is_single) => {
                " A single pair of trials has no interval, and meets no gate."
            }
            _ => "",
        };
        format!("Gate {self} {result}.{unsure}{single}")
    }

    fn in_words(&self, cell: &GatedCell) -> String {
        let Some(figure) = &cell.figure else { return "not measured".to_owned() };
        let client = match cell.mark {
            Some(Mark::ClientBound) => ", the client was the limit",
            _ => "",
        };
        let words = match self.judged {
            Judged::Ratio => ratio_in_words(figure),
            Judged::Figure(metric) => {
                let unit = metric.row().quantity.unit_for([figure.median]);
                unit.with_unit(quantity(*figure, unit.factor))
            }
        };
        words + client
    }

    /// The cell that comes nearest to not meeting it.
    fn tightest<'a>(&self, cells: &'a [GatedCell]) -> Option<&'a GatedCell> {
        let median = |cell: &GatedCell| cell.figure.map_or(f64::NAN, |figure| figure.median);
        let by_median = |a: &&GatedCell, b: &&GatedCell| median(a).total_cmp(&median(b));
        match self.comparator {
            Comparator::AtLeast | Comparator::Above => cells.iter().min_by(by_median),
            Comparator::AtMost | Comparator::Below => cells.iter().max_by(by_median),
        }
    }

    fn reaches_across(&self, cell: &GatedCell) -> bool {
        cell.figure.is_some_and(|Estimate { interval, n, .. }| {
            let holds = |end| self.comparator.holds(end, self.limit);
            n > 1 && holds(interval.low) != holds(interval.high)
        })
    }
}
