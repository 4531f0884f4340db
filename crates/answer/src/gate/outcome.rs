//! What became of a gate, in figures and in a sentence.

use serde::Serialize;
use stats::Estimate;
use study::gate::Comparator;

use super::expression::{Counts, Gate, Judged};
use crate::mark::Mark;
use crate::wording::{list, times, with_interval};

/// Whether a gate is met, from best to worst.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reached {
    Met,
    /// The interval includes the limit.
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
    /// In words.
    pub label: String,
    pub result: Reached,
    /// What was judged, in the metric's unit; `None` where it was not measured.
    pub figure: Option<Estimate>,
    /// What keeps the figure from being the server's maximum.
    pub mark: Option<Mark>,
}

/// Whether a figure meets a limit: with its whole interval, which samples enough must have made.
#[must_use]
pub fn reached(comparator: Comparator, limit: f64, figure: Option<&Estimate>) -> Reached {
    let Some(figure) = figure else { return Reached::NotMet };
    let ends = [figure.interval.low, figure.interval.high];
    match ends.map(|end| comparator.holds(end, limit)) {
        _ if !figure.has_enough_samples() => Reached::NotMet,
        [true, true] => Reached::Met,
        [false, false] => Reached::NotMet,
        _ => Reached::Inconclusive,
    }
}

impl Gate {
    pub(crate) fn gated(
        &self,
        cell: &str,
        label: &str,
        figure: Option<Estimate>,
        mark: Option<Mark>,
    ) -> GatedCell {
        let result = self.reached(figure);
        GatedCell { cell: cell.to_owned(), label: label.to_owned(), result, figure, mark }
    }

    fn reached(&self, figure: Option<Estimate>) -> Reached {
        let median = |figure: Estimate| self.comparator.holds(figure.median, self.limit);
        match self.counts {
            Counts::Median if figure.is_some_and(median) => Reached::Met,
            Counts::Median => Reached::NotMet,
            Counts::Interval => reached(self.comparator, self.limit, figure.as_ref()),
        }
    }

    pub(crate) fn outcome(&self, cells: Vec<GatedCell>) -> GateOutcome {
        let result = cells.iter().map(|cell| cell.result).max().unwrap_or(Reached::NotMet);
        let sentence = self.sentence(result, &cells);
        GateOutcome { gate: self.to_string(), result, sentence, cells }
    }

    fn sentence(&self, result: Reached, cells: &[GatedCell]) -> String {
        let all = units::counted(cells.len() as u64, "cell");
        let in_words = |cell: &GatedCell| format!("{} ({})", self.in_words(cell), cell.label);
        let such = || cells.iter().filter(|cell| cell.result == result);
        let (n, which) = (such().count(), list(such().map(in_words)));
        let result = match result {
            _ if cells.is_empty() => "NOT met: there is no cell to judge.".to_owned(),
            Reached::Met => {
                let nearest = self.tightest(cells).map(in_words);
                let nearest = nearest.map(|cell| format!(": the nearest is {cell}"));
                format!("met by {all}{}.", nearest.unwrap_or_default())
            }
            Reached::Inconclusive => format!(
                "inconclusive in {n} of {all}, whose interval includes the limit: \
                 {which}. More or longer trials narrow it."
            ),
            Reached::NotMet => format!("NOT met by {n} of {all}: {which}."),
        };
        format!("Gate {self} {result}")
    }

    fn in_words(&self, cell: &GatedCell) -> String {
        let Some(figure) = &cell.figure else {
            return match cell.mark {
                Some(Mark::NotOfferedLoad) => "the offered load was not the limit in all trials",
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
        };
        let few = match self.counts {
            Counts::Interval if !figure.has_enough_samples() => {
                format!(", {} trials are too few", figure.n)
            }
            _ => String::new(),
        };
        words + client + &few
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
}
