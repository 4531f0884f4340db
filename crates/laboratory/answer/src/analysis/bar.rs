//! A figure of an answer.

use serde::Serialize;
use study::metric::Kind;
use study::{AnswerRule, Metric, Param, Params};

use super::decisions::Decisions;
use super::row::{Row, Valued, operation};
use crate::costs::PublishedCost;
use crate::figure::{Decided, Figure};
use crate::label::label_in;
use crate::mark::Mark;

/// One figure of an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerFigure {
    /// The value of the compared key in words: `AES-128-GCM`.
    pub label: String,
    pub cell: String,
    /// What tells its row from others.
    #[serde(skip)]
    pub params: Params,
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
    /// Published costs of the same algorithm.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<PublishedCost>,
    /// The rate of one core, times numbers of cores that the study asks for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub projected: Vec<Projected>,
    /// `infeasible (best 3.2s)`, where no load of the cell keeps within the study's limit.
    pub infeasible: Option<String>,
}

/// The rate of one core that times an algorithm, times a number of cores.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Projected {
    pub cores: u32,
    /// Bytes, or operations where these are the unit.
    pub per_s: f64,
}

impl Projected {
    /// At the last of the values at which rows are compared.
    fn all(rule: &AnswerRule, common: &Params, row: &Row) -> Vec<Self> {
        let place = rule.along.as_ref().and_then(|along| common.get(along));
        let last = rule.at.last().copied();
        let is_last = place.is_none_or(|place| place.only_size() == last);
        let Some(of) = row.algorithm().filter(|of| is_last && of.key.threads == 1) else {
            return Vec::new();
        };
        let [_, metric] = Metric::of_algorithm(of.key.algorithm.unit());
        let Some(rate) = row.figure(metric) else { return Vec::new() };
        let at = |cores: &u32| Self { cores: *cores, per_s: rate.median() * f64::from(*cores) };
        rule.project.iter().map(at).collect()
    }
}

impl AnswerFigure {
    /// Of one of the rows that a rule compares at its place, all of which have `common` alike.
    pub(super) fn of(
        (place, rule): (usize, &AnswerRule),
        common: &Params,
        (row, value): (&Row, &Param),
        all: &Valued<'_>,
        decisions: &Decisions,
    ) -> Self {
        let is_tax = rule.metric.row().kind == Kind::Tax;
        let beside = decisions.beside_baseline(place).find(|of| of.row == row.name);
        let ratio = beside.and_then(|of| of.ratio.as_ref().ok());
        let figure = match is_tax {
            true => ratio.and_then(Decided::taken).map(|tax| tax.figure),
            false => row.whole_figure(rule.metric),
        };
        // A tax is as weak as the weaker of the two that it is taken from.
        let baseline = all.iter().find(|(_, value)| **value == rule.baseline() && is_tax);
        let baseline = baseline.and_then(|(row, _)| row.mark);
        let mark = row.mark_of(rule.metric);
        Self {
            label: match row.algorithm() {
                Some(_) => row.label(&rule.compare),
                None => label_in(operation(all.iter().map(|(row, _)| *row)), &rule.compare, value),
            },
            cell: row.name.clone(),
            params: row.params.clone(),
            is_baseline: *value == rule.baseline(),
            mark: match figure {
                Some(_) => mark.into_iter().chain(baseline).min(),
                None => mark.or(Some(Mark::NotMeasured)).min(Some(Mark::NotMeasured)),
            },
            figure,
            ratio: ratio.cloned(),
            published: row.algorithm().map_or(Vec::new(), |of| of.published.clone()),
            projected: Projected::all(rule, common, row),
            infeasible: row.infeasible(),
        }
    }

    /// Whether its row has this value of a key.
    pub(super) fn has(&self, key: &str, value: &Param) -> bool {
        self.params.get(key) == Some(value)
    }
}
