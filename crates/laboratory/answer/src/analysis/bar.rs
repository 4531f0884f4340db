//! The figures of an answer: side by side, or along a swept key.

use keys::full;
use serde::Serialize;
use study::metric::Kind;
use study::{Metric, Param, Params};
use units::Bytes;

use super::bounds::LittlesLawBounds;
use super::compared::{Compared, Entry};
use super::crossover::Crossover;
use crate::costs::PublishedCost;
use crate::figure::{Decided, Figure};
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
    fn all(compared: &Compared<'_>, entry: &Entry<'_>) -> Vec<Self> {
        let place = compared.rule.along.as_ref().and_then(|along| compared.common.get(along));
        let last = compared.rule.at.last().copied();
        let is_last = place.is_none_or(|place| place.only_size() == last);
        let Some(row) = entry.row.algorithm().filter(|of| is_last && of.key.threads == 1) else {
            return Vec::new();
        };
        let [_, metric] = Metric::of_algorithm(row.key.algorithm.unit());
        let Some(rate) = entry.row.figure(metric) else { return Vec::new() };
        let at = |cores: &u32| Self { cores: *cores, per_s: rate.median() * f64::from(*cores) };
        compared.rule.project.iter().map(at).collect()
    }
}

/// The bars at one value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerPoint {
    /// The value in words: `1 MiB objects`.
    pub label: String,
    /// A bar for each value of the compared key.
    pub bars: Vec<AnswerFigure>,
    /// Whether its bars are compared: of an algorithm only some sizes are.
    #[serde(skip)]
    pub is_compared: bool,
    /// For each bar, the share of its CPUs that the server used meanwhile.
    pub busy: Vec<Option<Figure>>,
}

/// The bars of an answer along a swept key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerCurve {
    /// The key: `target.object`.
    pub along: String,
    /// In the study's order.
    pub points: Vec<AnswerPoint>,
    /// What Little's law allows, for each value of the compared key, where the points are numbers of
    /// users of a closed loop.
    pub bounds: Vec<LittlesLawBounds>,
    /// What the instructions allow, where that is one cost for all of it, in words and as a number.
    #[serde(skip)]
    pub least: Option<(String, f64)>,
    /// For each compared value where it gets ahead of the baseline, where the study asks for that.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub crossovers: Vec<Crossover>,
}

impl AnswerFigure {
    pub(super) fn of(compared: &Compared<'_>, entry: &Entry<'_>) -> Self {
        // A tax is as weak as the weaker of the two that it is taken from.
        let baseline = compared
            .baseline()
            .filter(|_| compared.kind() == Kind::Tax)
            .and_then(|baseline| baseline.row.mark);
        let mark = entry.row.mark_of(compared.rule.metric);
        Self {
            label: compared.label(&compared.rule.compare, entry.value),
            cell: entry.row.name.clone(),
            params: entry.row.params.clone(),
            is_baseline: entry.is_baseline,
            figure: entry.figure.clone(),
            ratio: entry.ratio.clone(),
            mark: match entry.figure {
                Some(_) => mark.into_iter().chain(baseline).min(),
                None => mark.or(Some(Mark::NotMeasured)).min(Some(Mark::NotMeasured)),
            },
            published: entry.row.algorithm().map_or(Vec::new(), |of| of.published.clone()),
            projected: Projected::all(compared, entry),
            infeasible: entry.row.infeasible(),
        }
    }
}

impl AnswerFigure {
    /// Whether its row has this value of a key.
    pub(super) fn has(&self, key: &str, value: &Param) -> bool {
        self.params.get(key) == Some(value)
    }
}

impl AnswerCurve {
    /// Whether its points are numbers of connections.
    pub fn is_of_users(&self) -> bool {
        self.along == full::CONNECTIONS
    }
}

impl AnswerPoint {
    /// Its value in words, without a noun after a size.
    pub(super) fn short_label(&self, along: &str) -> String {
        let param = self.bars.first().and_then(|bar| bar.params.get(along));
        match param.and_then(Param::only_size) {
            Some(only) => only.in_words(),
            None => self.label.clone(),
        }
    }

    /// Its value of a key as a number: bytes, or a count.
    pub fn place(&self, along: &str) -> Option<f64> {
        let param = self.bars.first()?.params.get(along)?;
        let number = param.count().or_else(|| param.only_size().map(|Bytes(only)| only));
        number.map(|number| number as f64)
    }
}
