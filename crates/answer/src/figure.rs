//! A figure with its interval, and one figure over another: the one comparison of answers, primitives,
//! runs, gates and cross-checks.

use std::collections::BTreeMap;

use serde::Serialize;
use stats::{Estimate, LEVEL};

/// A median with its interval and what it was taken from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Median and interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The samples in the order in which they were taken.
    pub samples: Vec<f64>,
}

/// Where the interval of a figure lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Above the value that it is compared with, which is 1 for a ratio.
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
    /// Of a figure that is compared with a value. One sample has no interval and shows no difference.
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
pub(crate) fn paired(ours: Vec<(u32, f64)>, theirs: Vec<(u32, f64)>) -> Option<Figure> {
    let (ours, theirs) = of_same_rounds(ours, theirs);
    let estimate = stats::paired_ratio(&ours, &theirs).ok()?;
    let samples = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    Some(Figure { estimate, samples })
}

/// Figures by round less those of the same rounds of another; `None` where no round has both.
pub(crate) fn difference(ours: Vec<(u32, f64)>, theirs: Vec<(u32, f64)>) -> Option<Figure> {
    let (ours, theirs) = of_same_rounds(ours, theirs);
    Figure::of(ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs).collect())
}

fn of_same_rounds(ours: Vec<(u32, f64)>, theirs: Vec<(u32, f64)>) -> (Vec<f64>, Vec<f64>) {
    let theirs: BTreeMap<u32, f64> = theirs.into_iter().collect();
    ours.into_iter().filter_map(|(round, sample)| Some((sample, *theirs.get(&round)?))).unzip()
}

impl From<&Figure> for Estimate {
    fn from(figure: &Figure) -> Self {
        figure.estimate
    }
}

impl Figure {
    #[must_use]
    pub fn median(&self) -> f64 {
        self.estimate.median
    }

    /// How far the interval reaches from the median at most, as a share of the median.
    pub(crate) fn reach(&self) -> f64 {
        let Estimate { median, interval, .. } = self.estimate;
        let reach = (interval.high - median).max(median - interval.low);
        if reach == 0.0 { 0.0 } else { reach / median.abs() }
    }

    /// Of samples in the order in which they were taken; `None` where there are none, or one is not
    /// finite.
    pub(crate) fn of(samples: Vec<f64>) -> Option<Self> {
        let estimate = Estimate::of(&samples).ok()?;
        Some(Self { estimate, samples })
    }

    /// The same of each sample changed. The estimate is computed again: a falling change swaps the
    /// ends of the interval.
    pub(crate) fn map(&self, change: impl Fn(f64) -> f64) -> Option<Self> {
        Self::of(self.samples.iter().copied().map(change).collect())
    }

    /// Whether it has an interval, which a single sample does not give.
    #[must_use]
    pub fn has_interval(&self) -> bool {
        self.estimate.n > 1
    }

    /// Whether the interval lies above `value`.
    pub(crate) fn is_above(&self, value: f64) -> bool {
        Verdict::of(Some(&self.estimate), value) == Verdict::Above
    }

    /// Whether the interval lies below `value`.
    pub(crate) fn is_below(&self, value: f64) -> bool {
        Verdict::of(Some(&self.estimate), value) == Verdict::Below
    }

    /// Whether the interval covers the median as often as intervals are asked to.
    pub(crate) fn is_sure(&self) -> bool {
        self.estimate.interval.coverage >= LEVEL
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_change_swaps_the_ends_of_the_interval() {
        let ratio = Figure::of(vec![0.2, 0.25, 0.5]).unwrap();
        let tax = ratio.map(|ratio| 1.0 - ratio).unwrap();
        assert_eq!(tax.samples, [0.8, 0.75, 0.5]);
        let interval = tax.estimate.interval;
        assert_eq!((tax.median(), interval.low, interval.high), (0.75, 0.5, 0.8));
    }

    #[test]
    fn one_sample_lies_neither_above_nor_below() {
        let one = Figure::of(vec![2.0]).unwrap();
        assert!(!one.is_above(1.0) && !one.is_below(3.0) && !one.is_sure());
        let six = Figure::of(vec![2.0; 6]).unwrap();
        assert!(six.is_above(1.0) && six.is_below(3.0) && six.is_sure());
        assert!(!Figure::of(vec![2.0; 5]).unwrap().is_sure());
        assert!(!six.is_above(2.0) && !six.is_below(2.0));
    }

    #[test]
    fn what_has_no_median_is_no_figure() {
        assert_eq!(Figure::of(vec![]), None);
        assert_eq!(Figure::of(vec![1.0, f64::INFINITY]), None);
        assert_eq!(Figure::of(vec![0.0]).unwrap().map(|x| 1.0 / x), None);
    }
}
