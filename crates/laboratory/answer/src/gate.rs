//! Gates: figures that a run must reach, for CI.
//!
//! A gate is met where the whole interval of every cell that it is about meets the limit, and fails
//! where the whole interval of one misses it. Between the two it is inconclusive, which is reported and
//! fails nothing: a gate that failed there would fail by chance in many runs. So it is with too few trials for an
//! interval. A cell without a figure fails it, so that nothing passes by not being measured.
//!
//! So is a regression between two machines, in what depends on the machine.
//!
//! Of two runs, and of the values that answers of one run compare, all cells that a gate is about are judged together
//! ([`stats::step_down`]): the probability that equal ones fail it is at most 5%, however many cells there are.

pub(crate) mod expression;
pub(crate) mod outcome;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::analysis::Analysis;
use crate::compare::{Comparison, OnlyInOne, PairedRow};
use crate::mark::Mark;
use crate::measured::MeasuredRow;
use crate::wording::list;
use stats::{Estimate, rounds_to_decide, step_down, trials_to_decide};
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
    /// It is about a ratio, and there is one run, whose answers do not compare what it names.
    #[error(
        "gate {gate}: a single run is compared with nothing; use this gate with toll compare A B, or name a key whose \
         values the answers compare, as load.suite:ratio>=0.5 ({known})"
    )]
    NoRatio {
        gate: String,
        /// The keys that there are.
        known: String,
    },
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
        "gate {gate}: a ratio is over A or the baseline, and of {metric} {more} is worse; write {meant}",
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
        match self.judged {
            Judged::Figure(metric) => self.check_figure(metric, study),
            Judged::Ratio | Judged::Regression => self.check_answers(study),
        }
    }

    /// Looks whether an answer compares the values of the key that it is about.
    fn check_answers(&self, study: &Study) -> Result<(), GateError> {
        let mut own = study.answers.iter().filter(|rule| self.is_about_values_of(&rule.compare));
        if own.clone().next().is_none() {
            let known: BTreeSet<&str> = study.answers.iter().map(|rule| &*rule.compare).collect();
            let known = if known.is_empty() { "there is none".to_owned() } else { list(known) };
            return Err(GateError::NoRatio { gate: self.to_string(), known });
        }
        own.try_for_each(|rule| {
            self.scale(rule.metric, rule.metric.better_ratio(), &rule.compare).map(drop)
        })
    }

    fn check_figure(&self, metric: Metric, study: &Study) -> Result<(), GateError> {
        let rows = study.rows();
        self.check_scope(rows.iter().map(|row| (row.case, row.name.as_str())))?;
        let mut rows = rows.iter().filter(|row| self.is_about(row.case, &row.name));
        match rows.any(|row| row.metrics.contains(&metric)) {
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
        let Judged::Figure(metric) = self.judged else { return self.judge_answers(analysis) };
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

    /// Judges the values of a key that the answers of a run compare.
    fn judge_answers(&self, analysis: &Analysis) -> Result<GateOutcome, GateError> {
        let own = analysis.ratios.iter().filter(|of| self.is_about_values_of(&of.compare));
        let judged = own.map(|of| {
            Ok(JudgedRatio {
                names: of.names(),
                at: of
                    .figure
                    .as_ref()
                    .map(|figure| -> At<'_> { Box::new(|level| figure.at(level)) }),
                scale: self.scale(of.metric, of.metric.better_ratio(), &of.compare)?,
                mark: of.mark,
            })
        });
        let judged: Vec<JudgedRatio<'_>> = judged.collect::<Result<_, GateError>>()?;
        Ok(self.outcome(self.together(&judged, |count| rounds_to_decide(count) as usize)))
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
        let about: Vec<(Metric, &PairedRow)> = about.collect();
        let judged = about.iter().map(|(metric, pair)| {
            Ok(JudgedRatio {
                names: [&pair.case, &pair.cell_b, &pair.label],
                at: pair
                    .ratio
                    .as_ref()
                    .map(|ratio| -> At<'_> { Box::new(|level| ratio.at(level)) }),
                scale: self.scale(*metric, metric.better(), &pair.case)?,
                mark: pair.mark_b.or(pair.mark_a),
            })
        });
        let judged: Vec<JudgedRatio<'_>> = judged.collect::<Result<_, GateError>>()?;
        let cells = self.together(&judged, trials_to_decide).into_iter();
        let machine = comparison.other_machine();
        let with_reason = |(cell, (metric, pair)): (GatedCell, &(Metric, &PairedRow))| {
            let cell = GatedCell { why: pair.why.clone(), ..cell };
            if pair.has_two_sources {
                return GatedCell { result: Reached::Inconclusive, ..cell };
            }
            match &machine {
                Some(words) if self.judged == Judged::Regression && metric.depends_on_machine() => {
                    cell.undecided(words)
                }
                _ => cell,
            }
        };
        let mut cells: Vec<GatedCell> = cells.zip(&about).map(with_reason).collect();
        let only = only.into_iter().filter(|only| self.is_about(&only.case, &only.cell));
        let lacking = Some(Mark::NotMeasured);
        cells.extend(
            only.map(|only| self.gated([&only.case, &only.cell, &only.label], None, lacking)),
        );
        Ok(self.outcome(cells).with_other_machine(machine))
    }

    /// Judges ratios of one family, of which so many trials decide as many.
    fn together(
        &self,
        judged: &[JudgedRatio<'_>],
        needed: impl Fn(usize) -> usize,
    ) -> Vec<GatedCell> {
        let ratios: Vec<(&At<'_>, Scale)> =
            judged.iter().filter_map(|of| Some((of.at.as_ref()?, of.scale))).collect();
        let at = |place: usize, level| {
            let (at, scale) = &ratios[place];
            scale.of(at(level))
        };
        let is_decided = |_, figure: &Estimate| self.reached(figure) != Reached::Inconclusive;
        let mut steps = step_down(ratios.len(), at, is_decided).into_iter();
        let needed = needed(ratios.len());
        let cell = |JudgedRatio { names, at, mark, .. }: &JudgedRatio<'_>| {
            let step = at.as_ref().and_then(|_| Some((steps.next()?, needed)));
            self.gated(*names, step, *mark)
        };
        judged.iter().map(cell).collect()
    }

    /// In what a ratio of this metric is judged, of which this side is the better one.
    fn scale(
        &self,
        metric: Metric,
        better: Option<Better>,
        case: &str,
    ) -> Result<Scale, GateError> {
        let gate = || self.to_string();
        match (self.judged, better) {
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

    fn is_about_values_of(&self, key: &str) -> bool {
        self.scope.as_deref() == Some(key)
    }

    fn is_about(&self, case: &str, cell: &str) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope == case || scope == cell)
    }
}

/// A ratio that is judged with others.
struct JudgedRatio<'a> {
    /// Case, cell and label.
    names: [&'a str; 3],
    /// `None` where there is none.
    at: Option<At<'a>>,
    scale: Scale,
    mark: Option<Mark>,
}

/// The estimate of a ratio with an interval of a level.
type At<'a> = Box<dyn Fn(f64) -> Estimate + 'a>;

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
