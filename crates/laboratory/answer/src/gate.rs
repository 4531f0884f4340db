//! Gates: figures that a run must reach, for CI.
//!
//! A gate is met where the whole interval of every cell that it is about meets the limit, and fails
//! where the whole interval of one misses it. Between the two it is inconclusive, which is reported and
//! fails nothing: a gate that failed there would fail by chance in many runs. So it is with too few trials for an
//! interval. A cell without a figure fails it, so that nothing passes by not being measured.
//!
//! Of two runs all cells that a gate is about are judged together ([`stats::step_down`]): the probability that equal
//! runs fail it is at most 5%, however many cells there are.

pub(crate) mod expression;
pub(crate) mod outcome;
#[cfg(test)]
mod tests;

use crate::analysis::Analysis;
use crate::compare::{Comparison, OnlyInOne, PairedRow};
use crate::mark::Mark;
use crate::measured::MeasuredRow;
use crate::wording::list;
use stats::{Estimate, RunRatio, step_down, trials_to_decide};
use study::metric::Better;
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
    #[error(
        "gate {gate}: a single run is compared with nothing; use this gate with toll compare A B"
    )]
    NoRatio { gate: String },
    /// It is about figures of a run, of which there is a summary alone.
    #[error(
        "gate {gate}: a summary as B has no cells to judge; gate regression, or give the folder of the run"
    )]
    NoStudy { gate: String },
    /// It is about the worse side of a metric that has none.
    #[error(
        "gate {gate}: neither more nor less of {metric} is worse; gate the ratio, or another metric"
    )]
    NoWorseSide { gate: String, metric: Metric },
    /// Its ratio is limited on the side where the metric is better.
    #[error(
        "gate {gate}: a ratio is B over A, and of {metric} {more} is worse; write {meant}",
        more = if *.better == Better::Higher { "less" } else { "more" }
    )]
    WrongSide {
        gate: String,
        metric: Metric,
        better: Better,
        /// The gate that the author must have meant.
        meant: String,
    },
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

    /// Judges a run.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn judge(&self, study: &Study, analysis: &Analysis) -> Result<GateOutcome, GateError> {
        let metric = self.figure(study)?;
        let rows = study.rows();
        let can_have = |of: &&MeasuredRow| {
            of.is_judged(false)
                && rows.iter().any(|row| row.name == of.name && row.metrics.contains(&metric))
        };
        let about = analysis.rows.iter().filter(|of| self.is_about(&of.case, &of.name));
        let judged = |row: &MeasuredRow| {
            let figure = row.whole_figure(metric).map(|figure| figure.estimate);
            self.alone([&row.case, &row.name, &row.label], figure, row.mark_of(metric))
        };
        Ok(self.outcome(about.filter(can_have).map(judged).collect()))
    }

    /// Judges the later of two runs: its figures, or how they compare with those of the earlier one. Every
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
            Judged::Figure(_) => {
                Ok(self.judge(study, analysis)?.with_other_machine(comparison.other_machine()))
            }
            Judged::Ratio | Judged::Regression => self.judge_runs(comparison),
        }
    }

    /// Judges how two runs compare, of which there may be only summaries.
    ///
    /// # Errors
    /// It is about figures; as [`check`](Self::check); or it limits the wrong side of a metric.
    pub fn judge_runs(&self, comparison: &Comparison) -> Result<GateOutcome, GateError> {
        if let Judged::Figure(_) = self.judged {
            return Err(GateError::NoStudy { gate: self.to_string() });
        }
        let of_metric = comparison.metrics.iter();
        let pairs = of_metric.flat_map(|of| of.cells.iter().map(|pair| (of.metric, pair)));
        let pairs: Vec<(Metric, &PairedRow)> = pairs.collect();
        let of_pairs = pairs.iter().map(|(_, pair)| (pair.case.as_str(), pair.cell_a.as_str()));
        let only: Vec<&OnlyInOne> = comparison.only.iter().filter(|only| only.run == "a").collect();
        let of_one = only.iter().map(|only| (only.case.as_str(), only.cell.as_str()));
        self.check_scope(of_pairs.chain(of_one))?;

        let about = pairs.into_iter().filter(|(_, pair)| self.is_about(&pair.case, &pair.cell_a));
        let about = about.map(|(metric, pair)| Ok((pair, self.scale(metric, &pair.case)?)));
        let about: Vec<(&PairedRow, Scale)> = about.collect::<Result<_, GateError>>()?;
        let ratios = about.iter().filter_map(|(pair, scale)| Some((pair.ratio.as_ref()?, scale)));
        let ratios: Vec<(&RunRatio, &Scale)> = ratios.collect();
        let at = |place: usize, level| {
            let (ratio, scale) = ratios[place];
            scale.of(ratio.at(level))
        };
        let is_decided = |_, figure: &Estimate| self.reached(figure) != Reached::Inconclusive;
        let mut steps = step_down(ratios.len(), at, is_decided).into_iter();
        let needed = trials_to_decide(ratios.len());

        let of_pair = |(pair, _): &(&PairedRow, Scale)| {
            let step = pair.ratio.as_ref().and_then(|_| Some((steps.next()?, needed)));
            let mark = pair.mark_b.or(pair.mark_a);
            let why = pair.why.clone();
            let gated = self.gated([&pair.case, &pair.cell_b, &pair.label], step, mark);
            let result = if pair.has_two_sources { Reached::Inconclusive } else { gated.result };
            GatedCell { why, result, ..gated }
        };
        let mut cells: Vec<GatedCell> = about.iter().map(of_pair).collect();
        let only = only.into_iter().filter(|only| self.is_about(&only.case, &only.cell));
        let lacking = Some(Mark::NotMeasured);
        cells.extend(
            only.map(|only| self.gated([&only.case, &only.cell, &only.label], None, lacking)),
        );
        Ok(self.outcome(cells).with_other_machine(comparison.other_machine()))
    }

    /// In what a ratio of this metric is judged.
    fn scale(&self, metric: Metric, case: &str) -> Result<Scale, GateError> {
        let gate = || self.to_string();
        match (self.judged, metric.better()) {
            (Judged::Regression, None) => Err(GateError::NoWorseSide { gate: gate(), metric }),
            (Judged::Regression, Some(better)) => Ok(Scale::Regression(better)),
            (_, Some(better)) if self.comparator.is_from_below() != (better == Better::Higher) => {
                let meant = self.meant(better, case);
                Err(GateError::WrongSide { gate: gate(), metric, better, meant })
            }
            _ => Ok(Scale::Ratio),
        }
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

/// In what a gate has its limit.
#[derive(Clone, Copy)]
enum Scale {
    Ratio,
    Regression(Better),
}

impl Scale {
    fn of(self, ratio: Estimate) -> Estimate {
        match self {
            Self::Ratio => ratio,
            Self::Regression(better) => ratio.map(|ratio| better.regression(ratio)),
        }
    }
}
