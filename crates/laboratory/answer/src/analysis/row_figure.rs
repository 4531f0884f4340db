//! A row's figure in an answer.

use std::sync::Arc;

use study::metric::Kind;
use study::{AnswerRule, Metric, Param, Params};

use super::decisions::Decisions;
use super::row::{Row, operation};
use crate::figure::{Decided, Figure};
use crate::label::label_in;
use crate::mark::Mark;

/// A row beside the others that an answer compares.
#[derive(Debug, Clone, PartialEq)]
pub struct RowFigure {
    pub row: Arc<Row>,
    /// Its value of the compared key.
    pub value: Param,
    /// The value in words: `AES-128-GCM`.
    pub label: String,
    /// Whether the others are compared with this one.
    pub is_baseline: bool,
    /// The figure in the metric's unit (operations or bits per second; a share for the tax); `None`
    /// where no trial is valid.
    pub figure: Option<Figure>,
    /// This row's figure over the baseline's, from pairs of trials of one round (for a tax, of the
    /// goodput per server CPU-second that it is taken from); the baseline has none.
    pub ratio: Option<Decided>,
    /// The row's mark, or that there is no figure.
    pub mark: Option<Mark>,
    /// The rate of one core, times numbers of cores that the study asks for.
    pub projected: Vec<Projected>,
}

/// The rate of one core that times an algorithm, times a number of cores.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
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

impl RowFigure {
    /// Of one of the rows that a rule compares at its place, all of which have `common` alike.
    pub(super) fn of(
        (place, rule): (usize, &AnswerRule),
        common: &Params,
        row: &Arc<Row>,
        all: &[&Arc<Row>],
        decisions: &Decisions,
    ) -> Self {
        let is_tax = rule.metric.row().kind == Kind::Tax;
        let beside = decisions.beside_baseline(place).find(|of| of.row == row.name);
        let ratio = beside.and_then(|of| of.ratio.as_ref().ok());
        let figure = match is_tax {
            true => ratio.and_then(Decided::taken).map(|tax| tax.figure),
            false => row.whole_figure(rule.metric),
        };
        let baseline = rule.baseline();
        let is_baseline = |row: &Row| row.has(&rule.compare, &baseline);
        // A tax is as weak as the weaker of the two that it is taken from.
        let taken_from = all.iter().find(|row| is_tax && is_baseline(row));
        let mark = row.mark_of(rule.metric);
        let value = row.params[&rule.compare].clone();
        Self {
            label: match row.algorithm() {
                Some(_) => row.label(&rule.compare),
                None => label_in(operation(all.iter().map(|row| &***row)), &rule.compare, &value),
            },
            value,
            is_baseline: is_baseline(row),
            mark: match figure {
                Some(_) => mark.into_iter().chain(taken_from.and_then(|of| of.mark)).min(),
                None => mark.or(Some(Mark::NotMeasured)).min(Some(Mark::NotMeasured)),
            },
            figure,
            ratio: ratio.cloned(),
            projected: Projected::all(rule, common, row),
            row: row.clone(),
        }
    }
}
