//! Figures of one cell, and of two cells whose trials stood next to each other.

use std::collections::BTreeMap;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use stats::{Estimate, LEVEL};
use study::Metric;

use super::Figure;
use super::trials::CellTrials;
use crate::Verdict;
use crate::comparison::paired;

/// The figures of a cell, by metric; those that were not measured are not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures(BTreeMap<Metric, Figure>);

impl Figures {
    /// What `figure` gives of each metric that a cell has by itself.
    pub fn of(figure: impl Fn(Metric) -> Option<Figure>) -> Self {
        let figures = Metric::of_cells().filter_map(|metric| Some((metric, figure(metric)?)));
        Self(figures.collect())
    }

    /// That of a metric; `None` where it was not measured.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<&Figure> {
        self.0.get(&metric)
    }
}

/// Every metric is a field, `null` where it was not measured.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for metric in Metric::of_cells() {
            map.serialize_entry(metric.row().json, &self.get(metric))?;
        }
        map.end()
    }
}

impl From<&Figure> for Estimate {
    fn from(figure: &Figure) -> Self {
        figure.estimate
    }
}

impl Figure {
    /// Of samples in the order in which they were taken; `None` where there are none, or one is not
    /// finite.
    pub(crate) fn of(samples: Vec<f64>) -> Option<Self> {
        let estimate = Estimate::of(&samples).ok()?;
        Some(Self { estimate, samples })
    }

    /// A metric of the valid trials of a cell that have it.
    pub(super) fn of_cell(trials: &CellTrials<'_>, metric: Metric) -> Option<Self> {
        Self::of(trials.samples(metric).into_iter().map(|(_, sample)| sample).collect())
    }

    /// A metric of one cell over that of another, from the rounds in which both have it; `None` also
    /// where the client received the two in different ways.
    pub(super) fn ratio(
        ours: &CellTrials<'_>,
        theirs: &CellTrials<'_>,
        metric: Metric,
    ) -> Option<Self> {
        let is_alike = ours.is_received_as(theirs);
        paired(ours.samples(metric), theirs.samples(metric)).filter(|_| is_alike)
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
    pub(super) fn is_above(&self, value: f64) -> bool {
        Verdict::of(Some(&self.estimate), value) == Verdict::Above
    }

    /// Whether the interval lies below `value`.
    pub(super) fn is_below(&self, value: f64) -> bool {
        Verdict::of(Some(&self.estimate), value) == Verdict::Below
    }

    /// Whether the interval covers the median as often as intervals are asked to.
    pub(super) fn is_sure(&self) -> bool {
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
        assert_eq!((tax.estimate.median, interval.low, interval.high), (0.75, 0.5, 0.8));
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
