//! Gates: figures that a run must reach, for CI.
//!
//! A gate is met where every cell that it is about is shown to meet the limit, and fails where one is shown to miss it.
//! Between the two it is inconclusive, which is reported and fails nothing: a gate that failed there would fail by chance
//! in many runs. So is a regression between two machines, in what depends on the machine. A cell without a figure fails
//! it, so that nothing passes by not being measured.
//!
//! All cells that a gate is about are judged together, as those of an answer are ([`Decision::of_rounds`]), or of two
//! runs by their intervals ([`Decision::of_runs`]): the probability that cells at the limit fail it is at most 5%,
//! however many there are. Trials that could decide nothing, whatever they show, are refused before the run.

pub(crate) mod expression;
pub(crate) mod family;
pub(crate) mod outcome;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use crate::analysis::Analysis;
use crate::compare::{Comparison, OnlyInOne, PairedRow};
use crate::figure::Figure;
use crate::mark::Mark;
use crate::measured::MeasuredRow;
use crate::wording::list;
use stats::{RunRatio, rounds_to_decide, trials_to_decide};
use study::metric::Better;
use study::{Cell, Cut, Metric, Study, StudyRow};

pub use expression::Gate;
use expression::{Counts, Judged};
use family::{GatedRow, Scale};
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
    /// So few trials decide nothing, whatever they show.
    #[error(
        "gate {gate}: {trials} decide nothing, whatever they show; write trials = {fewest} or more{surely}",
        trials = units::counted(u64::from(*.trials), "trial"),
        surely = if needed > fewest { format!(" ({needed} decide each of its cells whatever the others show)") }
            else { String::new() }
    )]
    TooFewTrials {
        gate: String,
        trials: u32,
        /// Those that decide it where the trials of its cells agree.
        fewest: u32,
        /// Those that always can.
        needed: u32,
    },
}

/// Looks whether the trials of a study can decide the gates of its answers, unless the study was cut to have other
/// trials than its file has.
///
/// # Errors
/// They cannot.
pub fn check_answers(study: &Study) -> Result<(), GateError> {
    let rows = study.rows();
    let mut gates =
        study.answers.iter().flat_map(|rule| rule.gates.iter().map(move |gate| (rule, gate)));
    gates.try_for_each(|(rule, gate)| {
        let own = rows.iter().filter(|row| rule.is_about(row.case, &row.params));
        let is_cut = study.cut.iter().any(Cut::is_of_trials);
        if is_cut { Ok(()) } else { enough_trials(&format!("{gate} ({})", rule.case), own) }
    })
}

fn enough_trials<'a>(
    gate: &str,
    rows: impl Iterator<Item = &'a StudyRow<'a>>,
) -> Result<(), GateError> {
    let trials: Vec<u32> = rows.filter_map(|row| row.trials).collect();
    let (fewest, needed) = (rounds_to_decide(1), rounds_to_decide(trials.len()));
    match trials.into_iter().min().filter(|trials| *trials < fewest) {
        Some(trials) => {
            Err(GateError::TooFewTrials { gate: gate.to_owned(), trials, fewest, needed })
        }
        None => Ok(()),
    }
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

    /// Looks whether the trials that a study plans can decide the gate.
    ///
    /// # Errors
    /// They cannot; and as [`check`](Self::check).
    pub fn check_trials(&self, study: &Study) -> Result<(), GateError> {
        self.check(study)?;
        let cases = || study.answers.iter().filter(|rule| self.is_about_values_of(&rule.compare));
        let is_about = |row: &&StudyRow<'_>| match self.judged {
            Judged::Figure(metric) => {
                self.is_about(row.case, &row.name) && row.metrics.contains(&metric)
            }
            Judged::Ratio | Judged::Regression => {
                cases().any(|rule| rule.is_about(row.case, &row.params))
            }
        };
        match self.counts {
            Counts::Median => Ok(()),
            Counts::Interval => {
                enough_trials(&self.to_string(), study.rows().iter().filter(is_about))
            }
        }
    }

    /// Looks whether the later of two runs can decide the gate, before that is measured.
    ///
    /// # Errors
    /// It cannot; and as [`check`](Self::check), but for ratios.
    pub fn check_later(&self, study: &Study) -> Result<(), GateError> {
        let fewest = trials_to_decide(1) as u32;
        match (self.judged, self.counts) {
            (Judged::Figure(_), _) => self.check_trials(study),
            (_, Counts::Interval) if study.trials < fewest => {
                let (gate, trials) = (self.to_string(), study.trials);
                Err(GateError::TooFewTrials { gate, trials, fewest, needed: fewest })
            }
            _ => Ok(()),
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

    /// Has cells whose latency it judges measured as those are of which an answer asks one: without pauses of the client.
    pub fn settle(&self, cells: &mut [Cell]) {
        if matches!(self.judged, Judged::Figure(metric) if metric.is_latency()) {
            let about = cells.iter_mut().filter(|cell| self.is_about(&cell.case, &cell.name));
            about.for_each(Cell::wake_for_each);
        }
    }

    /// Judges a run.
    ///
    /// # Errors
    /// As [`check`](Self::check).
    pub fn judge(&self, study: &Study, analysis: &Analysis) -> Result<GateOutcome, GateError> {
        self.check(study)?;
        let Judged::Figure(metric) = self.judged else {
            return self.judge_answers(study, analysis);
        };
        let planned = study.rows();
        let can_have = |of: &&MeasuredRow| {
            of.is_judged(false)
                && planned.iter().any(|row| row.name == of.name && row.metrics.contains(&metric))
        };
        let rows = analysis.cells.iter().map(|cell| &cell.measured);
        let about = rows.filter(|of| self.is_about(&of.case, &of.name));
        let about: Vec<(&MeasuredRow, Option<Figure>)> =
            about.filter(can_have).map(|row| (row, row.whole_figure(metric))).collect();
        let gated = about.iter().map(|(row, figure)| GatedRow {
            names: [&row.case, &row.name, &row.label],
            of: figure.as_ref(),
            scale: Scale::AsIs,
            mark: row.mark_of(metric),
        });
        Ok(self.outcome(self.together(gated.collect(), Self::of_rounds)))
    }

    /// Judges the values of a key that the answers of a run compare.
    fn judge_answers(&self, study: &Study, analysis: &Analysis) -> Result<GateOutcome, GateError> {
        let Analysis { decisions, cells, .. } = analysis;
        let mut gated = Vec::new();
        for (place, rule) in study.answers.iter().enumerate() {
            if self.is_about_values_of(&rule.compare) {
                let scale = self.scale(rule.metric, rule.metric.better_ratio(), &rule.compare)?;
                gated.extend(GatedRow::of_answer((place, rule.metric), decisions, cells, scale));
            }
        }
        Ok(self.outcome(self.together(gated, Self::of_rounds)))
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
        let gated = about.iter().map(|(metric, pair)| {
            Ok(GatedRow {
                names: [&pair.case, &pair.cell_b, &pair.label],
                of: pair.ratio.as_ref(),
                scale: self.scale(*metric, metric.better(), &pair.case)?,
                mark: pair.mark_b.or(pair.mark_a),
            })
        });
        let gated: Vec<GatedRow<'_, RunRatio>> = gated.collect::<Result<_, GateError>>()?;
        let cells = self.together(gated, Self::of_runs).into_iter();
        let with_reason = |(cell, (metric, pair)): (GatedCell, &(Metric, &PairedRow))| {
            let cell = GatedCell { why: pair.why.clone(), ..cell };
            if pair.has_two_sources {
                return GatedCell { result: Reached::Inconclusive, ..cell };
            }
            match comparison.other_machine_for(*metric) {
                Some(words) if self.judged == Judged::Regression => cell.undecided(&words),
                _ => cell,
            }
        };
        let mut cells: Vec<GatedCell> = cells.zip(&about).map(with_reason).collect();
        let only = only.into_iter().filter(|only| self.is_about(&only.case, &only.cell));
        let lacking = Some(Mark::NotMeasured);
        cells.extend(
            only.map(|only| self.gated([&only.case, &only.cell, &only.label], None, lacking)),
        );
        Ok(self.outcome(cells).with_other_machine(comparison.other_machine()))
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
            _ => Ok(Scale::AsIs),
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
