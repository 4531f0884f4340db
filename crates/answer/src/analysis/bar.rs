//! The figures of an answer: side by side, or along a swept key.

use std::collections::BTreeMap;

use serde::Serialize;
use study::metric::Kind;

use super::bounds::{Bounds, USERS};
use super::compared::{Compared, Entry};
use super::crossover::Crossover;
use crate::figure::{Decided, Figure};
use crate::mark::Mark;

/// One figure of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bar {
    /// The value of the compared key in words: `AES-128-GCM`.
    pub label: String,
    pub cell: String,
    /// The cell's values of swept keys.
    #[serde(skip)]
    pub params: BTreeMap<String, String>,
    /// Whether the others are compared with this one.
    pub is_baseline: bool,
    /// The figure in the metric's unit (operations or bits per second; a share for the tax); `None`
    /// where no trial is valid.
    pub figure: Option<Figure>,
    /// This cell's figure over the baseline's, from pairs of trials of one round (for a tax, of the
    /// goodput per server CPU-second that it is taken from); the baseline has none.
    pub ratio: Option<Decided>,
    /// The cell's mark, or that there is no figure.
    pub mark: Option<Mark>,
    /// `infeasible (best 3.2s)`, where no load of the cell keeps within the study's limit.
    pub infeasible: Option<String>,
}

/// The bars at one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// The value in words: `1 MiB objects`.
    pub label: String,
    /// A bar for each value of the compared key.
    pub bars: Vec<Bar>,
    /// For each bar, the share of its CPUs that the server used meanwhile.
    pub busy: Vec<Option<Figure>>,
}

/// The bars of an answer along a swept key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// The key: `target.object`.
    pub along: String,
    /// In the study's order.
    pub points: Vec<Point>,
    /// What Little's law allows, for each value of the compared key, where the points are numbers of
    /// users of a closed loop.
    pub bounds: Vec<Bounds>,
    /// For each compared value where it gets ahead of the baseline, where the study asks for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<Crossover>,
}

impl Bar {
    pub(super) fn of(compared: &Compared<'_>, entry: &Entry<'_>) -> Self {
        // A tax is as weak as the weaker of the two that it is taken from.
        let baseline = compared
            .baseline()
            .filter(|_| compared.kind() == Kind::Tax)
            .and_then(|baseline| baseline.trials.mark());
        let mark = entry.trials.mark_of(compared.rule.metric);
        Self {
            label: compared.label(&compared.rule.compare, entry.value),
            cell: entry.trials.cell.name.clone(),
            params: entry.trials.cell.params.clone(),
            is_baseline: entry.is_baseline,
            figure: entry.figure.clone(),
            ratio: entry.ratio.clone(),
            mark: match entry.figure {
                Some(_) => mark.into_iter().chain(baseline).min(),
                None => mark.or(Some(Mark::NotMeasured)).min(Some(Mark::NotMeasured)),
            },
            infeasible: entry.trials.infeasible(),
        }
    }
}

impl Curve {
    /// Whether its points are numbers of connections.
    #[must_use]
    pub fn is_of_users(&self) -> bool {
        self.along == USERS
    }
}

impl Point {
    /// How many connections they are, along these.
    #[must_use]
    pub fn users(&self) -> Option<f64> {
        self.bars.first()?.params.get(USERS)?.parse().ok()
    }
}
