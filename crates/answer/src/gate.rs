//! Gates: figures that a run must reach, for CI.
//!
//! A gate is met where the whole interval of every cell that it is about meets the limit, and fails
//! where the whole interval of one misses it. Between the two it is inconclusive, which is reported and
//! fails nothing: a gate that failed there would fail by chance in many runs. A cell without a figure,
//! or with too few trials for an interval, fails it, so that nothing passes by not being measured.

pub(crate) mod expression;
pub(crate) mod outcome;
#[cfg(test)]
mod tests;

use crate::analysis::Analysis;
use crate::analysis::offered::fell_behind;
use crate::compare::Comparison;
use crate::mark::Mark;
use crate::wording::list;
use study::{Metric, Study};

pub use expression::Gate;
use expression::Judged;
pub use outcome::{GateOutcome, GatedCell, Reached};

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

impl Gate {
    /// Looks whether the gate can be judged by a run of this study, before anything is measured.
    ///
    /// # Errors
    /// It cannot.
    pub fn check(&self, study: &Study) -> Result<(), GateError> {
        self.figure(study).map(drop)
    }

    fn figure(&self, study: &Study) -> Result<Metric, GateError> {
        let Judged::Figure(metric) = self.judged else {
            return Err(GateError::NoRatio { gate: self.to_string() });
        };
        self.check_scope(study)?;
        let mut cells = study.cells.iter().filter(|cell| self.is_about(&cell.case, &cell.name));
        match cells.any(|cell| metric.is_of(cell)) {
            true => Ok(metric),
            false => Err(GateError::NoSuchFigure { gate: self.to_string(), metric }),
        }
    }

    /// Judges a run.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn judge(&self, study: &Study, analysis: &Analysis) -> Result<GateOutcome, GateError> {
        let metric = self.figure(study)?;
        let both = study.cells.iter().zip(&analysis.cells);
        let cells = both
            .filter(|(cell, _)| self.is_about(&cell.case, &cell.name) && metric.is_of(cell))
            .map(|(cell, summary)| {
                let figure = summary.figures.get(metric).map(|figure| figure.estimate);
                let (figure, mark) = match fell_behind(metric, cell, &summary.limits) {
                    true => (None, Some(Mark::NotOfferedLoad)),
                    false => (figure, summary.mark),
                };
                self.gated(&summary.cell, &summary.label, figure, mark)
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
}
