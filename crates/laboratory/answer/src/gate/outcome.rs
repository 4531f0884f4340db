//! What became of a gate, in figures and in a sentence.

use serde::Serialize;
use stats::{Decision, Direction, Estimate};
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

/// Whether a figure that is read by itself meets a limit: with its whole interval, which samples enough must have made.
pub fn reached(comparator: Comparator, limit: f64, figure: Option<&Estimate>) -> Reached {
    match figure {
        // Nothing passes because it was not measured.
        None => Reached::NotMet,
        Some(figure) if !figure.has_enough_samples() => Reached::Inconclusive,
        Some(figure) => Reached::of(of_interval(comparator, limit, figure)),
    }
}

/// On which side of the limit a whole interval lies: above where it meets it.
pub(super) fn of_interval(comparator: Comparator, limit: f64, figure: &Estimate) -> Decision {
    // An end that lies on the limit may still hold.
    match [figure.interval.low, figure.interval.high].map(|end| comparator.holds(end, limit)) {
        [true, true] => Decision::Sure(Direction::Above),
        [false, false] => Decision::Sure(Direction::Below),
        _ => Decision::NoDifference,
    }
}

impl Reached {
    fn of(decision: Decision) -> Self {
        match decision {
            Decision::Sure(Direction::Above) => Self::Met,
            Decision::Sure(Direction::Below) => Self::NotMet,
            Decision::NoDifference | Decision::TooFew => Self::Inconclusive,
        }
    }
}

/// What was decided of a figure, with all others that the gate judges: above where it meets the limit.
pub(crate) struct Judgement {
    /// In the gate's scale.
    pub(super) estimate: Estimate,
    pub(super) decision: Decision,
    /// So many trials can decide it.
    pub(super) needed: usize,
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
    /// The cell of this case, name and label.
    pub(super) fn gated(
        &self,
        names: [&str; 3],
        judged: Option<Judgement>,
        mark: Option<Mark>,
    ) -> GatedCell {
        let result = match (&judged, self.counts) {
            // Nothing passes because it was not measured.
            (None, _) => Reached::NotMet,
            (Some(Judgement { decision, .. }), Counts::Interval) => Reached::of(*decision),
            (Some(Judgement { estimate, .. }), Counts::Median) => {
                let is_met = self.comparator.holds(estimate.median, self.limit);
                if is_met { Reached::Met } else { Reached::NotMet }
            }
        };
        let has_too_few =
            |of: &&Judgement| self.counts == Counts::Interval && of.decision == Decision::TooFew;
        let needed_trials = judged.as_ref().filter(has_too_few).map(|of| of.needed);
        let figure = judged.map(|of| of.estimate);
        let [case, cell, label] = names.map(str::to_owned);
        GatedCell { cell, case, label, result, figure, why: None, needed_trials, mark }
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
