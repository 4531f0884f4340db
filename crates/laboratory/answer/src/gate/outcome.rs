//! What became of a gate, in figures and in a sentence.

use serde::Serialize;
use stats::{Estimate, LEVEL, Step, rounds_to_decide};
use study::gate::Comparator;
use units::Quantity;

use super::expression::{Counts, Gate, Judged};
use crate::mark::Mark;
use crate::wording::{list, times, with_interval};

/// Whether a gate is met, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    Met,
    /// The interval includes the limit, there are too few trials for one, or the machines differ.
    Inconclusive,
    NotMet,
}

/// What became of a gate.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateOutcome {
    /// The gate as it was written.
    pub gate: String,
    /// That of its worst cell.
    pub result: Reached,
    /// The same in a sentence, with the cells that do not meet it.
    pub sentence: String,
    /// Every cell that it is about.
    pub cells: Vec<GatedCell>,
}

/// A cell that a gate is about.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GatedCell {
    pub cell: String,
    #[serde(skip)]
    pub case: String,
    /// What tells it from others of its case, in words.
    pub label: String,
    pub result: Reached,
    /// What was judged, in the metric's unit; `None` where it was not measured.
    pub figure: Option<Estimate>,
    /// Why two runs that were measured have no ratio, or one that decides nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How many trials can decide it, in each run where there are two; `None` where there are as many.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_trials: Option<usize>,
    /// What keeps the figure from being the server's maximum.
    pub mark: Option<Mark>,
}

/// Whether a figure meets a limit: with its whole interval, which samples enough must have made.
pub fn reached(comparator: Comparator, limit: f64, figure: Option<&Estimate>) -> Reached {
    match figure {
        // Nothing passes because it was not measured.
        None => Reached::NotMet,
        Some(figure) if !figure.has_enough_samples() => Reached::Inconclusive,
        Some(figure) => by_interval(comparator, limit, figure),
    }
}

fn by_interval(comparator: Comparator, limit: f64, figure: &Estimate) -> Reached {
    // An end that lies on the limit may still hold.
    match [figure.interval.low, figure.interval.high].map(|end| comparator.holds(end, limit)) {
        [true, true] => Reached::Met,
        [false, false] => Reached::NotMet,
        _ => Reached::Inconclusive,
    }
}

impl GateOutcome {
    /// Of a run that was compared: where it is not met, another machine may be why.
    pub(super) fn with_other_machine(self, words: Option<String>) -> Self {
        match words.filter(|_| self.result != Reached::Met) {
            Some(words) => Self { sentence: format!("{} {words}", self.sentence), ..self },
            None => self,
        }
    }
}

impl GatedCell {
    /// With a figure that decides nothing, for this reason. Without one it is still what it was.
    pub(super) fn undecided(self, why: &str) -> Self {
        match self.figure {
            Some(_) => Self { result: Reached::Inconclusive, why: Some(why.to_owned()), ..self },
            None => self,
        }
    }
}

impl Gate {
    /// A figure that is judged by itself.
    pub(crate) fn alone(
        &self,
        names: [&str; 3],
        figure: Option<Estimate>,
        mark: Option<Mark>,
    ) -> GatedCell {
        let step = figure.map(|estimate| Step { estimate, level: LEVEL });
        self.gated(names, step.map(|step| (step, rounds_to_decide(1) as usize)), mark)
    }

    /// A figure as a family has decided it, with the trials that could: of this case, cell and label.
    pub(super) fn gated(
        &self,
        names: [&str; 3],
        step: Option<(Step, usize)>,
        mark: Option<Mark>,
    ) -> GatedCell {
        let has_too_few = |step: &Step| self.counts == Counts::Interval && step.has_too_few();
        let needed_trials = step.filter(|(step, _)| has_too_few(step)).map(|(_, needed)| needed);
        let result = match step {
            // Nothing passes because it was not measured.
            None => Reached::NotMet,
            Some(_) if needed_trials.is_some() => Reached::Inconclusive,
            Some((step, _)) => self.reached(&step.estimate),
        };
        let figure = step.map(|(step, _)| step.estimate);
        let [case, cell, label] = names.map(str::to_owned);
        GatedCell { cell, case, label, result, figure, why: None, needed_trials, mark }
    }

    pub(super) fn reached(&self, figure: &Estimate) -> Reached {
        match self.counts {
            Counts::Median if self.comparator.holds(figure.median, self.limit) => Reached::Met,
            Counts::Median => Reached::NotMet,
            Counts::Interval => by_interval(self.comparator, self.limit, figure),
        }
    }

    pub(crate) fn outcome(&self, cells: Vec<GatedCell>) -> GateOutcome {
        let result = cells.iter().map(|cell| cell.result).max().unwrap_or(Reached::NotMet);
        let sentence = self.sentence(result, &cells);
        GateOutcome { gate: self.to_string(), result, sentence, cells }
    }

    fn sentence(&self, result: Reached, cells: &[GatedCell]) -> String {
        let all = units::counted(cells.len() as u64, "cell");
        let is_alike = |cell: &GatedCell| {
            cells.iter().any(|other| other.label == cell.label && other.case != cell.case)
        };
        let in_words = |cell: &GatedCell| {
            let case = if is_alike(cell) { format!("{}: ", cell.case) } else { String::new() };
            format!("{} ({case}{})", self.in_words(cell), cell.label)
        };
        let such = || cells.iter().filter(|cell| cell.result == result);
        let (n, which) = (such().count(), list(such().map(in_words)));
        let result = match result {
            _ if cells.is_empty() => "NOT met: there is no cell to judge.".to_owned(),
            Reached::Met => {
                let nearest = self.tightest(cells).map(in_words);
                let nearest = nearest.map(|cell| format!(": the nearest is {cell}"));
                format!("met by {all}{}.", nearest.unwrap_or_default())
            }
            Reached::Inconclusive => {
                let fix = match such().any(|cell| cell.why.is_some()) {
                    true => {
                        "More trials do not decide that: measure both runs in the same way, on one machine."
                    }
                    false => "More or longer trials narrow the intervals.",
                };
                format!("inconclusive in {n} of {all}: {which}. {fix}")
            }
            Reached::NotMet => format!("NOT met by {n} of {all}: {which}."),
        };
        format!("Gate {self} {result}")
    }

    fn in_words(&self, cell: &GatedCell) -> String {
        let Some(figure) = &cell.figure else {
            return match (&cell.why, cell.mark) {
                (Some(why), _) => why,
                (None, Some(Mark::NotOfferedLoad)) => {
                    "the offered load was not the limit in all trials"
                }
                _ => "not measured",
            }
            .to_owned();
        };
        let client = match cell.mark {
            Some(Mark::ClientBound) => ", the client was the limit",
            _ => "",
        };
        let words = match self.judged {
            Judged::Ratio => times(*figure),
            Judged::Figure(metric) => with_interval(metric.row().quantity, *figure),
            Judged::Regression => change(figure),
        };
        let few = cell.needed_trials.map_or(String::new(), |needed| {
            let trials = units::counted(figure.n as u64, "trial");
            format!(", {trials} where {needed} are needed")
        });
        words + client + &few
    }

    /// The cell that comes nearest to not meeting it.
    fn tightest<'a>(&self, cells: &'a [GatedCell]) -> Option<&'a GatedCell> {
        let median = |cell: &GatedCell| cell.figure.map_or(f64::NAN, |figure| figure.median);
        let by_median = |a: &&GatedCell, b: &&GatedCell| median(a).total_cmp(&median(b));
        match self.comparator.is_from_below() {
            true => cells.iter().min_by(by_median),
            false => cells.iter().max_by(by_median),
        }
    }
}

/// `7.2% [5.1, 9.3] worse` of a share by which something is worse.
fn change(worse: &Estimate) -> String {
    match worse.median < 0.0 {
        true => with_interval(Quantity::Share, worse.map(|share| -share)) + " better",
        false => with_interval(Quantity::Share, *worse) + " worse",
    }
}
