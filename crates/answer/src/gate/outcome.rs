//! What became of a gate, in figures and in a sentence.

use serde::Serialize;
use stats::Estimate;
use study::gate::Comparator;

use super::expression::{Counts, Gate, Judged};
use crate::mark::Mark;
use crate::wording::{list, quantity, ratio_in_words};

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
        let Some(figure) = &cell.figure else {
            let behind = cell.mark == Some(Mark::Behind);
            let why = if behind { "the server fell behind" } else { "not measured" };
            return why.to_owned();
        };
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
