//! Cells that both runs have.

use serde::{Serialize, Serializer};
use stats::{Decision, RunRatio};

use super::compared_run::ComparedRun;
use crate::circumstance::Circumstance;
use crate::comparable::{Why, comparable};
use crate::figure::Figure;
use crate::mark::Mark;
use crate::measured::MeasuredRow;
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
    pub ratio: Option<RunRatio>,
    /// Why two figures have no ratio, in a clause.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether that is that instructions were counted by two sources: neither run is wrong then.
    #[serde(skip)]
    pub has_two_sources: bool,
    /// What the ratio says, decided with those of the same metric.
    #[serde(serialize_with = "or_not_compared")]
    pub verdict: Option<Decision>,
    /// The mark of A's cell.
    pub mark_a: Option<Mark>,
    /// The mark of B's cell.
    pub mark_b: Option<Mark>,
}

/// A row that one run has and the other has not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnlyInOne {
    /// `a` or `b`.
    pub run: &'static str,
    pub cell: String,
    pub case: String,
    /// In words.
    pub label: String,
}

/// A row of one run.
#[derive(Clone, Copy)]
pub(super) struct RunRow<'a> {
    /// Where it is one.
    pub(super) cell: Option<&'a Cell>,
    pub(super) row: &'a MeasuredRow,
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
            None => !self.row.samples(metric).is_empty(),
        }
    }

    /// What a row is compared by where nothing else is asked for; `None` where its cell is not known.
    fn usual(&self, study: Option<&Study>) -> Option<Metric> {
        if let Some(cycles) = self.row.cycles() {
            return Some(cycles);
        }
        let (cell, study) = (self.cell?, study?);
        let answers = study.answers.iter().filter(|rule| rule.case == cell.case);
        let are_of_bodies: Vec<bool> = answers.map(|rule| rule.metric.row().is_of_bodies).collect();
        let is_counted = cell.load.counter().is_some();
        let is_of_bytes = match are_of_bodies.is_empty() {
            true => self.row.is_of_bytes(),
            false => are_of_bodies.contains(&true),
        };
        match is_counted || is_of_bytes {
            true => Some(Metric::usual(cell)),
            false => Some(Metric::RatePerServerCpu),
        }
    }
}

impl Match<'_> {
    /// By what the two are compared where nothing else is asked for; of two summaries by the first that both
    /// have.
    pub(super) fn usual(&self, a: Option<&Study>, b: Option<&Study>) -> Metric {
        let has = |metric: &Metric| {
            [self.a, self.b].iter().all(|side| !side.row.samples(*metric).is_empty())
        };
        let own = self.a.usual(a).or_else(|| self.b.usual(b));
        let counted = Some(Metric::InstructionsPerOperation).filter(has);
        let bodies =
            Some(Metric::GoodputPerServerCpu).filter(|of| has(of) && self.a.row.is_of_bytes());
        own.or(counted).or(bodies).unwrap_or(Metric::RatePerServerCpu)
    }
}

/// The rows that both runs have, in A's order, and those that only one has.
pub(super) fn matched<'a>(
    a: &'a ComparedRun,
    b: &'a ComparedRun,
) -> (Vec<Match<'a>>, Vec<OnlyInOne>) {
    fn rows<'a>(run: &'a ComparedRun) -> Vec<RunRow<'a>> {
        let cells = run.study.as_ref().map_or(&[][..], |study| &study.cells);
        let of = |row: &'a MeasuredRow| {
            let cell = cells.iter().find(|cell| cell.name == row.name);
            RunRow { cell: cell.filter(|_| row.library.is_none()), row }
        };
        run.analysis.cells.iter().map(|cell| of(&cell.measured)).collect()
    }
    let is_like = |x: &MeasuredRow, y: &MeasuredRow| x.case == y.case && x.params == y.params;
    let (mut of_a, of_b) = (rows(a), rows(b));
    of_a.retain(|of| of.row.is_judged(true));
    let mut matches = Vec::new();
    let mut only = Vec::new();
    for a in &of_a {
        match of_b.iter().find(|b| is_like(a.row, b.row)) {
            Some(b) => matches.push(Match { a: *a, b: *b }),
            None => only.push(OnlyInOne::of("a", a.row)),
        }
    }
    let is_alone =
        |b: &&RunRow<'_>| b.row.is_judged(true) && !of_a.iter().any(|a| is_like(a.row, b.row));
    only.extend(of_b.iter().filter(is_alone).map(|b| OnlyInOne::of("b", b.row)));
    (matches, only)
}

impl OnlyInOne {
    fn of(run: &'static str, row: &MeasuredRow) -> Self {
        let MeasuredRow { name, case, label, .. } = row.clone();
        Self { run, cell: name, case, label }
    }
}

impl PairedRow {
    pub(super) fn of(metric: Metric, both: &Match<'_>) -> Self {
        let [side_a, side_b] = [both.a.row, both.b.row];
        let (a, b) = (side_a.figure(metric), side_b.figure(metric));
        let ratio = a.as_ref().zip(b.as_ref()).map(|(a, b)| {
            comparable(side_b, side_a, metric)?;
            RunRatio::of(&b.samples, &a.samples).map_err(|_| Why::Zero)
        });
        let ratio = ratio.transpose();
        let has_two_sources = matches!(ratio, Err(Why::Differ(Circumstance::CountedBy, _)));
        let (ratio, why) = match ratio {
            Ok(ratio) => (ratio, None),
            Err(why) => (None, Some(why.in_words(["in B", "in A"]))),
        };
        Self {
            case: side_a.case.clone(),
            label: side_a.label.clone(),
            params: side_a.params.clone(),
            cell_a: side_a.name.clone(),
            cell_b: side_b.name.clone(),
            a,
            b,
            ratio,
            why,
            has_two_sources,
            verdict: None,
            mark_a: side_a.mark_of(metric),
            mark_b: side_b.mark_of(metric),
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
