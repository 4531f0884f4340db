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
use crate::compare::Comparison;
use crate::mark::Mark;
use crate::measured::MeasuredRow;
use crate::wording::list;
use primitives::Unit;
use study::primitive::SIZE;
use study::{Metric, Study};

pub use expression::Gate;
use expression::Judged;
pub use outcome::{GateOutcome, GatedCell, Reached, reached};

/// A gate that cannot be judged, whatever is measured: the request is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// It is about a case that the study does not have.
    #[error("gate {gate}: the study has no case, table or cell {scope}; it has {known}")]
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
    /// It is about figures of a run, of which there is a summary alone.
    #[error(
        "gate {gate}: a summary as B has no cells to judge; gate ratio, or give the folder of the run"
    )]
    NoStudy { gate: String },
    /// None of its cells can have the metric.
    #[error(
        "gate {gate}: none of its rows has {metric}: handshakes have no bodies, algorithms no server, and servers \
         no cycles of an algorithm; gate another metric"
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
        let rows = study.rows();
        self.check_scope(rows.iter().map(|row| (row.case, row.name.as_str())))?;
        let mut rows = rows.iter().filter(|row| self.is_about(row.case, &row.name));
        match rows.any(|row| row.metrics.contains(&metric)) {
            true => Ok(metric),
            false => Err(GateError::NoSuchFigure { gate: self.to_string(), metric }),
        }
    }

    /// Judges a run. What a library does not do is not judged.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn judge(&self, study: &Study, analysis: &Analysis) -> Result<GateOutcome, GateError> {
        let metric = self.figure(study)?;
        let cell = |of: &MeasuredRow| study.cells.iter().find(|cell| cell.name == of.name);
        let about = analysis.rows.iter().filter(|of| self.is_about(&of.case, &of.name));
        let judged = |row: &MeasuredRow| {
            match (&row.library, cell(row)) {
                (None, Some(cell)) if !metric.is_of(cell) => return None,
                (Some(_), _) if !has_metric(row, metric) => return None,
                _ => (),
            }
            let figure = row.whole_figure(metric).map(|figure| figure.estimate);
            let mark = row.fell_behind(metric).map(|_| Mark::NotOfferedLoad).or(row.mark);
            Some(self.gated(&row.name, &row.label, figure, mark))
        };
        Ok(self.outcome(about.filter_map(judged).collect()))
    }

    /// Judges the later of two runs: its figures, or their ratios to those of the earlier one. Every
    /// cell of the earlier run has to have a ratio.
    ///
    /// # Errors
    /// As [`check`](Self::check), but for ratios.
    pub fn judge_later(
        &self,
        (study, analysis): (&Study, &Analysis),
        comparison: &Comparison,
    ) -> Result<GateOutcome, GateError> {
        match self.judged {
            Judged::Figure(_) => self.judge(study, analysis),
            Judged::Ratio => self.judge_ratio(comparison),
        }
    }

    /// Judges the ratios of a later run, of which there may be only a summary.
    ///
    /// # Errors
    /// It is not about ratios; as [`check`](Self::check).
    pub fn judge_ratio(&self, comparison: &Comparison) -> Result<GateOutcome, GateError> {
        if let Judged::Figure(_) = self.judged {
            return Err(GateError::NoStudy { gate: self.to_string() });
        }
        let pairs = comparison.metrics.iter().flat_map(|metric| &metric.cells);
        let of_pairs = pairs.map(|pair| (pair.case.as_str(), pair.cell_a.as_str()));
        let of_one = comparison.only.iter().filter(|only| only.run == "a");
        let of_one = of_one.map(|only| (only.case.as_str(), only.cell.as_str()));
        self.check_scope(of_pairs.chain(of_one))?;
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

    fn check_scope<'a>(
        &self,
        all: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(), GateError> {
        let Some(scope) = &self.scope else { return Ok(()) };
        let mut cases = Vec::new();
        for (case, name) in all {
            if self.is_about(case, name) {
                return Ok(());
            }
            cases.push(case);
        }
        cases.dedup();
        let (gate, scope) = (self.to_string(), scope.clone());
        Err(GateError::UnknownScope { gate, scope, known: list(cases) })
    }

    fn is_about(&self, case: &str, cell: &str) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope == case || scope == cell)
    }
}

/// Whether an algorithm can have a metric, and its library does it.
fn has_metric(row: &MeasuredRow, metric: Metric) -> bool {
    let is_of_bytes = row.params.contains_key(SIZE);
    let unit = if is_of_bytes { Unit::Byte } else { Unit::Operation };
    row.trials.planned > 0 && Metric::of_algorithm(unit).contains(&metric)
}
