//! One figure over another, and what their ratio says: the one comparison of answers, primitives, runs,
//! gates and cross-checks.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::Estimate;

use crate::analysis::Figure;

/// Where the interval of a figure lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Above the value that it is held against, which is 1 for a ratio.
    Above,
    /// Below it.
    Below,
    /// Around it, or there is no interval: no difference is shown.
    #[serde(rename = "not-told-apart")]
    NoSignificantDifference,
    /// There is no figure.
    NotCompared,
}

impl Verdict {
    /// Of a figure that is held against a value. One sample has no interval and shows no difference.
    #[must_use]
    pub fn of(figure: Option<&Estimate>, value: f64) -> Self {
        match figure {
            None => Self::NotCompared,
            Some(Estimate { n: 0 | 1, .. }) => Self::NoSignificantDifference,
            Some(figure) if figure.interval.low > value => Self::Above,
            Some(figure) if figure.interval.high < value => Self::Below,
            Some(_) => Self::NoSignificantDifference,
        }
    }
}

/// Figures by round over those of the same rounds of another; `None` where no round has both, or one of
/// the others is 0.
pub(crate) fn paired(
    ours: impl IntoIterator<Item = (u32, f64)>,
    theirs: impl IntoIterator<Item = (u32, f64)>,
) -> Option<Figure> {
    let theirs: BTreeMap<u32, f64> = theirs.into_iter().collect();
    let (ours, theirs): (Vec<f64>, Vec<f64>) =
        ours.into_iter().filter_map(|(round, sample)| Some((sample, *theirs.get(&round)?))).unzip();
    let estimate = stats::paired_ratio(&ours, &theirs).ok()?;
    let samples = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    Some(Figure { estimate, samples })
}
