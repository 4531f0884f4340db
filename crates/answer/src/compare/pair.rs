//! Cells that both runs have.

use serde::{Serialize, Serializer};
use stats::{Decision, Estimate};

use super::{ComparedRun, OnlyInOne};
use crate::analysis::CellSummary;
use crate::analysis::offered::fell_behind;
use crate::figure::Figure;
use crate::mark::Mark;
use study::primitive::SIZE;
use study::{Cell, Metric, Params, Study};

/// A row in both runs, in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PairedRow {
    pub case: String,
    /// What distinguishes the cell from others of its case, in words.
    pub label: String,
    /// The swept keys with their values.
    pub params: Params,
    /// The cell's name in A.
    pub cell_a: String,
    /// The cell's name in B.
    pub cell_b: String,
    /// A's figure, in the metric's unit; `None` where no valid trial has it.
    pub a: Option<Figure>,
    /// B's figure.
    pub b: Option<Figure>,
    /// The median of B over that of A.
    pub ratio: Option<Estimate>,
    /// What the ratio says by its interval.
    #[serde(serialize_with = "or_not_compared")]
    pub verdict: Option<Decision>,
    /// The mark of A's cell.
    pub mark_a: Option<Mark>,
    /// The mark of B's cell.
    pub mark_b: Option<Mark>,
}

/// A row of one run.
#[derive(Clone, Copy)]
pub(super) struct RunRow<'a> {
    /// Where it is one.
    pub(super) cell: Option<&'a Cell>,
    pub(super) summary: &'a CellSummary,
}

/// A row of A with its like of B.
#[derive(Clone, Copy)]
pub(super) struct Match<'a> {
    pub(super) a: RunRow<'a>,
    pub(super) b: RunRow<'a>,
}

impl RunRow<'_> {
    pub(super) fn can_have(&self, metric: Metric) -> bool {
        match self.cell {
            Some(cell) => metric.is_of(cell),
            None => self.summary.figures.get(metric).is_some(),
        }
    }

    /// What a row is compared by where nothing else is asked for; `None` where its cell is not known.
    fn usual(&self, study: Option<&Study>) -> Option<Metric> {
        if self.summary.library.is_some() {
            let is_of_bytes = self.summary.params.contains_key(SIZE);
            let metric =
                if is_of_bytes { Metric::CyclesPerByte } else { Metric::CyclesPerOperation };
            return Some(metric);
        }
        let (cell, study) = (self.cell?, study?);
        let answers = study.answers.iter().filter(|rule| rule.case == cell.case);
        let are_of_bodies: Vec<bool> = answers.map(|rule| rule.metric.row().is_of_bodies).collect();
        match are_of_bodies.is_empty() || are_of_bodies.contains(&true) {
            true => Some(Metric::usual(cell)),
            false => Some(Metric::RatePerServerCpu),
        }
    }

    /// Whether its trials are of a server that served less than the metric is of.
    fn fell_behind(&self, metric: Metric) -> bool {
        self.cell.is_some_and(|cell| fell_behind(metric, cell, &self.summary.limits))
    }
}

impl Match<'_> {
    /// By what the two are compared where nothing else is asked for; of two summaries by the first that both
    /// have.
    pub(super) fn usual(&self, a: Option<&Study>, b: Option<&Study>) -> Metric {
        let has = |metric: &Metric| {
            [self.a, self.b].iter().all(|side| side.summary.figures.get(*metric).is_some())
        };
        let own = self.a.usual(a).or_else(|| self.b.usual(b));
        let bodies = Some(Metric::GoodputPerServerCpu).filter(has);
        own.or(bodies).unwrap_or(Metric::RatePerServerCpu)
    }
}

/// The rows that both runs have, in A's order, and those that only one has.
pub(super) fn matched<'a>(
    a: &ComparedRun<'a>,
    b: &ComparedRun<'a>,
) -> (Vec<Match<'a>>, Vec<OnlyInOne>) {
    fn rows<'a>(run: &ComparedRun<'a>) -> Vec<RunRow<'a>> {
        let cells = run.study.map_or(&[][..], |study| &study.cells);
        let summaries = &run.analysis.cells;
        let of = |summary: &'a CellSummary| {
            let cell = cells.iter().find(|cell| cell.name == summary.cell);
            RunRow { cell: cell.filter(|_| summary.library.is_none()), summary }
        };
        // What a library does not do is no row.
        let is_there = |of: &&CellSummary| of.library.is_none() || of.trials.planned > 0;
        summaries.iter().filter(is_there).map(of).collect()
    }
    let is_like = |x: &CellSummary, y: &CellSummary| x.case == y.case && x.params == y.params;
    let (of_a, of_b) = (rows(a), rows(b));
    let mut matches = Vec::new();
    let mut only = Vec::new();
    for a in &of_a {
        match of_b.iter().find(|b| is_like(a.summary, b.summary)) {
            Some(b) => matches.push(Match { a: *a, b: *b }),
            None => only.push(OnlyInOne::of("a", a.summary)),
        }
    }
    let is_alone = |b: &&RunRow<'_>| !of_a.iter().any(|a| is_like(a.summary, b.summary));
    only.extend(of_b.iter().filter(is_alone).map(|b| OnlyInOne::of("b", b.summary)));
    (matches, only)
}

impl OnlyInOne {
    fn of(run: &'static str, summary: &CellSummary) -> Self {
        Self {
            run,
            cell: summary.cell.clone(),
            case: summary.case.clone(),
            label: summary.label.clone(),
        }
    }
}

impl PairedRow {
    pub(super) fn of(metric: Metric, both: &Match<'_>) -> Self {
        let Match { a: side_a, b: side_b } = both;
        let (a, b) = (side_a.summary.figures.get(metric), side_b.summary.figures.get(metric));
        let (behind_a, behind_b) = (side_a.fell_behind(metric), side_b.fell_behind(metric));
        let ratio = a.zip(b).filter(|_| !behind_a && !behind_b);
        let ratio = ratio.and_then(|(a, b)| stats::ratio_of_medians(&b.samples, &a.samples).ok());
        let mark = |behind, mark| if behind { Some(Mark::NotOfferedLoad) } else { mark };
        Self {
            case: side_a.summary.case.clone(),
            label: side_a.summary.label.clone(),
            params: side_a.summary.params.clone(),
            cell_a: side_a.summary.cell.clone(),
            cell_b: side_b.summary.cell.clone(),
            a: a.cloned(),
            b: b.cloned(),
            ratio,
            verdict: ratio.map(|ratio| Decision::of_interval(&ratio, 1.0)),
            mark_a: mark(behind_a, side_a.summary.mark),
            mark_b: mark(behind_b, side_b.summary.mark),
        }
    }
}

fn or_not_compared<S: Serializer>(
    verdict: &Option<Decision>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match verdict {
        Some(decision) => decision.serialize(serializer),
        None => serializer.serialize_str("not-compared"),
    }
}
