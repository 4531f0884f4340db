//! The figures of an answer along a swept key.

use keys::full;
use serde::Serialize;
use study::Param;
use units::Bytes;

use super::bar::AnswerFigure;
use super::bounds::LittlesLawBounds;
use super::crossover::Crossover;
use crate::figure::Figure;

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
