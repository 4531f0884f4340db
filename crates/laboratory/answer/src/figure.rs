//! A figure with its interval, and what comparing it shows: the one comparison of answers, primitives and
//! cross-checks.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde::Serialize;
use stats::{Decision, Estimate, SampleError, signs};

/// A median with its interval and what it was taken from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Median and interval.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// The samples in the order in which they were taken.
    pub samples: Vec<f64>,
    /// The round of each.
    #[serde(skip)]
    pub(crate) rounds: Vec<u32>,
}

/// A figure that is compared with the value that it has where nothing differs, and what that shows.
#[derive(Debug, Clone, PartialEq, Serialize, derive_more::Deref)]
pub struct Decided {
    #[serde(flatten)]
    #[deref]
    pub figure: Figure,
    pub decision: Decision,
}

impl Decided {
    /// Decides figures that are read together, each a ratio to what it is compared with, or where `value`
    /// is 0 a difference from it.
    pub fn decide<K>(family: Vec<(K, Figure)>, value: f64) -> Vec<(K, Self)> {
        let decisions = decisions(family.iter().map(|(_, figure)| (figure, value)));
        let decided = family.into_iter().zip(decisions);
        decided.map(|((key, figure), decision)| (key, Self { figure, decision })).collect()
    }

    /// Of a ratio: that of the other to this one.
    pub(crate) fn inverse(&self) -> Option<Self> {
        Some(Self { figure: self.map(|ratio| 1.0 / ratio)?, decision: self.decision.opposite() })
    }

    /// Of a ratio: the share that it leaves, 21% of 0.79.
    pub(crate) fn taken(&self) -> Option<Self> {
        Some(Self { figure: self.map(|ratio| 1.0 - ratio)?, decision: self.decision.opposite() })
    }

    /// Of a ratio: the share that it adds, 13% of 1.13.
    pub(crate) fn added(&self) -> Option<Self> {
        Some(Self { figure: self.map(|ratio| ratio - 1.0)?, ..self.clone() })
    }
}

/// What figures show that are read together, each beside a value.
pub(crate) fn decisions<'a>(family: impl IntoIterator<Item = (&'a Figure, f64)>) -> Vec<Decision> {
    let sides = family.into_iter().map(|(figure, value)| figure.sides_of(value));
    let sides: Vec<_> = sides.collect();
    Decision::of_rounds(&sides.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

/// Figures by round over those of the same rounds of another.
///
/// # Errors
/// No round has both, or one of the others is 0.
pub(crate) fn paired(ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Result<Figure, SampleError> {
    let (rounds, (ours, theirs)) = of_same_rounds(ours, theirs);
    let estimate = stats::paired_ratio(&ours, &theirs)?;
    let samples = ours.iter().zip(&theirs).map(|(ours, theirs)| ours / theirs).collect();
    Ok(Figure { estimate, samples, rounds })
}

/// Figures by round over those of the same rounds of another, which are not 0.
pub(crate) fn ratios_by_round(ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Vec<(u32, f64)> {
    let theirs: BTreeMap<u32, f64> = theirs.iter().copied().collect();
    let ratio = |(round, ours): &(u32, f64)| Some((*round, ours / theirs.get(round)?));
    ours.iter().filter_map(ratio).filter(|(_, ratio)| ratio.is_finite()).collect()
}

/// Figures by round less those of the same rounds of another; `None` where no round has both.
pub fn difference(ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> Option<Figure> {
    let (rounds, (ours, theirs)) = of_same_rounds(ours, theirs);
    let differences = ours.iter().zip(&theirs).map(|(ours, theirs)| ours - theirs);
    Figure::by_round(rounds, differences.collect())
}

fn of_same_rounds(ours: &[(u32, f64)], theirs: &[(u32, f64)]) -> (Vec<u32>, (Vec<f64>, Vec<f64>)) {
    let theirs: BTreeMap<u32, f64> = theirs.iter().copied().collect();
    let both = |(round, sample): &(u32, f64)| Some((*round, (*sample, *theirs.get(round)?)));
    ours.iter().filter_map(both).unzip()
}

/// Without samples.
impl From<Estimate> for Figure {
    fn from(estimate: Estimate) -> Self {
        Self { estimate, samples: Vec::new(), rounds: Vec::new() }
    }
}

impl From<&Figure> for Estimate {
    fn from(figure: &Figure) -> Self {
        figure.estimate
    }
}

impl From<&Decided> for Estimate {
    fn from(decided: &Decided) -> Self {
        decided.figure.estimate
    }
}

impl Figure {
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
    pub fn of(samples: Vec<f64>) -> Option<Self> {
        Self::by_round((0..).take(samples.len()).collect(), samples)
    }

    /// The same of these rounds.
    pub fn by_round(rounds: Vec<u32>, samples: Vec<f64>) -> Option<Self> {
        let estimate = Estimate::of(&samples).ok()?;
        Some(Self { estimate, samples, rounds })
    }

    /// On which side each round lies: above where it has what is asked.
    pub(crate) fn sides(&self, has: impl Fn(f64) -> bool) -> Vec<(u32, Ordering)> {
        let side = |sample| if has(sample) { Ordering::Greater } else { Ordering::Less };
        self.rounds.iter().copied().zip(self.samples.iter().map(|sample| side(*sample))).collect()
    }

    /// On which side of a value each round lies.
    fn sides_of(&self, value: f64) -> Vec<(u32, Ordering)> {
        let by_round = self.rounds.iter().copied().zip(self.samples.iter().copied());
        signs(&by_round.collect::<Vec<_>>(), value)
    }

    /// The same of each sample changed. The estimate is computed again: a falling change swaps the
    /// ends of the interval.
    pub(crate) fn map(&self, change: impl Fn(f64) -> f64) -> Option<Self> {
        Self::by_round(self.rounds.clone(), self.samples.iter().copied().map(change).collect())
    }

    /// Whether it has an interval, which a single sample does not give.
    pub fn has_interval(&self) -> bool {
        self.estimate.n > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stats::Direction;

    fn decided(samples: Vec<f64>) -> Decided {
        Decided::decide(vec![((), Figure::of(samples).unwrap())], 1.0).remove(0).1
    }

    #[test]
    fn a_falling_change_swaps_the_ends_of_the_interval() {
        let ratio = Figure::of(vec![0.2, 0.25, 0.5]).unwrap();
        let tax = ratio.map(|ratio| 1.0 - ratio).unwrap();
        assert_eq!(tax.samples, [0.8, 0.75, 0.5]);
        let interval = tax.estimate.interval;
        assert_eq!((tax.median(), interval.low, interval.high), (0.75, 0.5, 0.8));
    }

    #[test]
    fn a_ratio_keeps_its_direction_in_all_its_forms() {
        for (sample, sign) in [(1.25, 1.0), (0.8, -1.0)] {
            let ratio = decided(vec![sample; 6]);
            let amounts = [
                (ratio.added(), sign),
                (ratio.taken(), -sign),
                (ratio.inverse().unwrap().taken(), sign),
            ];
            for (of, sign) in amounts {
                let of = of.unwrap();
                let direction = if sign > 0.0 { Direction::Above } else { Direction::Below };
                assert_eq!((of.decision, of.median().signum()), (Decision::Sure(direction), sign));
            }
        }
        for (samples, decision) in [
            (vec![1.25; 5], Decision::TooFew),
            (vec![0.8, 0.9, 0.9, 0.9, 0.9, 1.1], Decision::NoDifference),
        ] {
            assert_eq!(decided(samples).added().unwrap().decision, decision);
        }
    }

    #[test]
    fn what_has_no_median_is_no_figure() {
        assert_eq!(Figure::of(vec![]), None);
        assert_eq!(Figure::of(vec![1.0, f64::INFINITY]), None);
        assert_eq!(Figure::of(vec![0.0]).unwrap().map(|x| 1.0 / x), None);
    }
}
