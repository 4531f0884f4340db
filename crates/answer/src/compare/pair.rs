//! Cells that both runs have.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use stats::{Decision, Estimate};

use super::{Only, Side};
use crate::analysis::CellSummary;
use crate::analysis::offered::fell_behind;
use crate::figure::Figure;
use crate::mark::Mark;
use study::{Cell, Metric};

/// A cell in both runs, in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    pub case: String,
    /// What distinguishes the cell from others of its case, in words.
    pub label: String,
    /// The swept keys with their values.
    pub params: BTreeMap<String, String>,
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

/// A cell of A with its like of B.
pub(super) struct Match<'a> {
    pub(super) cell_a: &'a Cell,
    pub(super) cell_b: &'a Cell,
    pub(super) summary_a: &'a CellSummary,
    pub(super) summary_b: &'a CellSummary,
}

/// The cells that both runs have, in A's order, and those that only one has.
pub(super) fn matched<'a>(a: &Side<'a>, b: &Side<'a>) -> (Vec<Match<'a>>, Vec<Only>) {
    fn both<'a>(side: &Side<'a>) -> impl Iterator<Item = (&'a Cell, &'a CellSummary)> {
        let (study, analysis) = (side.study, side.analysis);
        study.cells.iter().zip(&analysis.cells)
    }
    let is_like = |x: &Cell, y: &Cell| x.case == y.case && x.params == y.params;
    let mut matches = Vec::new();
    let mut only = Vec::new();
    for (cell_a, summary_a) in both(a) {
        match both(b).find(|(cell_b, _)| is_like(cell_a, cell_b)) {
            Some((cell_b, summary_b)) => {
                matches.push(Match { cell_a, cell_b, summary_a, summary_b });
            }
            None => only.push(Only::of("a", summary_a)),
        }
    }
    let is_alone = |cell_b: &Cell| !both(a).any(|(cell_a, _)| is_like(cell_a, cell_b));
    let alone = both(b).filter(|(cell_b, _)| is_alone(cell_b));
    only.extend(alone.map(|(_, summary)| Only::of("b", summary)));
    (matches, only)
}

impl Only {
    fn of(run: &'static str, summary: &CellSummary) -> Self {
        Self {
            run,
            cell: summary.cell.clone(),
            case: summary.case.clone(),
            label: summary.label.clone(),
        }
    }
}

impl Pair {
    pub(super) fn of(metric: Metric, both: &Match<'_>) -> Self {
        let (a, b) = (both.summary_a.figures.get(metric), both.summary_b.figures.get(metric));
        let is_behind = |cell, summary: &CellSummary| fell_behind(metric, cell, &summary.limits);
        let behind_a = is_behind(both.cell_a, both.summary_a);
        let behind_b = is_behind(both.cell_b, both.summary_b);
        let ratio = a.zip(b).filter(|_| !behind_a && !behind_b);
        let ratio = ratio.and_then(|(a, b)| stats::ratio_of_medians(&b.samples, &a.samples).ok());
        let mark = |behind, mark| if behind { Some(Mark::NotOfferedLoad) } else { mark };
        Self {
            case: both.cell_a.case.clone(),
            label: both.summary_a.label.clone(),
            params: both.cell_a.params.clone(),
            cell_a: both.cell_a.name.clone(),
            cell_b: both.cell_b.name.clone(),
            a: a.cloned(),
            b: b.cloned(),
            ratio,
            verdict: ratio.map(|ratio| Decision::of_interval(&ratio, 1.0)),
            mark_a: mark(behind_a, both.summary_a.mark),
            mark_b: mark(behind_b, both.summary_b.mark),
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
