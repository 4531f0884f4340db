//! Whether a difference is shown: the one rule for all that is compared.
//!
//! Comparisons that are read together, such as those of one answer, are decided together: each by a
//! [sign test](sign_test) over its rounds, the p-values adjusted by [flipping whole rounds](crate::flips), so that the
//! probability of any false statement among them is at most 5%, whichever of them is told afterwards.
//! [`rounds_to_decide`] are enough whatever the others show; where rounds agree, six are.

use std::cmp::Ordering;

use serde::{Serialize, Serializer};

use crate::flips::{Signs, adjusted, sides};
use crate::holm::{ROUNDING, Step, sign_test, step_down};
use crate::{Estimate, LEVEL, RunRatio};

/// What a comparison shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// There is a difference.
    Sure(Direction),
    /// None is shown, with samples that could have shown one.
    NoDifference,
    /// There are too few samples to show one, even if all of them agreed.
    TooFew,
}

/// Where it lies of the value that it is compared with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Above,
    Below,
}

impl Decision {
    /// Decides comparisons that are read together, each by the side on which its rounds lie.
    pub fn of_rounds(family: &[&Signs]) -> Vec<Self> {
        let is_sure = |p: &f64| *p <= 1.0 - LEVEL + ROUNDING;
        let p_values = adjusted(family);
        let sure = p_values.iter().filter(|p| is_sure(p)).count();
        let decide = |place: usize| {
            let signs = family[place];
            let [above, below] = sides(signs);
            let direction = if above >= below { Direction::Above } else { Direction::Below };
            if is_sure(&p_values[place]) {
                return Self::Sure(direction);
            }
            // With so many rounds it is decided if they agree, whatever the others do.
            if signs.len() >= rounds_to_decide(family.len() - sure) as usize {
                return Self::NoDifference;
            }
            let agreeing: Vec<(u32, Ordering)> =
                signs.iter().map(|(round, _)| (*round, Ordering::Greater)).collect();
            let mut other = family.to_vec();
            other[place] = &agreeing;
            match is_sure(&adjusted(&other)[place]) {
                true => Self::NoDifference,
                false => Self::TooFew,
            }
        };
        (0..family.len()).map(decide).collect()
    }

    /// Decides ratios of two runs that are read together, each by its place and its interval, which comes with the
    /// decision: those that are decided leave fewer, whose intervals are narrower.
    pub fn of_runs(
        family: &[&RunRatio],
        decide: impl Fn(usize, &Estimate) -> Self,
    ) -> Vec<(Estimate, Self)> {
        let at = |place: usize, level| family[place].at(level);
        let steps = step_down(family.len(), at, |place, of| decide(place, of).is_sure());
        let decided = |(place, step): (usize, Step)| {
            let few = step.has_too_few();
            (step.estimate, if few { Self::TooFew } else { decide(place, &step.estimate) })
        };
        steps.into_iter().enumerate().map(decided).collect()
    }

    /// By the interval of an estimate alone, as if nothing else was compared: for what was not measured in pairs.
    pub fn of_interval(estimate: &Estimate, value: f64) -> Self {
        if estimate.has_enough_samples() { Self::beside(estimate, value) } else { Self::TooFew }
    }

    /// On which side of a value all of an interval lies, whatever its coverage.
    pub fn beside(estimate: &Estimate, value: f64) -> Self {
        match estimate.interval {
            interval if interval.low > value => Self::Sure(Direction::Above),
            interval if interval.high < value => Self::Sure(Direction::Below),
            _ => Self::NoDifference,
        }
    }

    pub fn is_sure(self) -> bool {
        matches!(self, Self::Sure(_))
    }

    /// The same of the inverse, or of the opposite.
    #[must_use]
    pub fn opposite(self) -> Self {
        match self {
            Self::Sure(Direction::Above) => Self::Sure(Direction::Below),
            Self::Sure(Direction::Below) => Self::Sure(Direction::Above),
            undecided => undecided,
        }
    }
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(match self {
            Self::Sure(Direction::Above) => "above",
            Self::Sure(Direction::Below) => "below",
            Self::NoDifference => "no-significant-difference",
            Self::TooFew => "too-few",
        })
    }
}

/// The fewest rounds that decide each of so many comparisons that are read together where its own agree, whatever those
/// of the others do: 6 decide one, 7 three, 8 six, 9 twelve, 10 twenty-five.
pub fn rounds_to_decide(comparisons: usize) -> u32 {
    let decides = |rounds: &u32| {
        let p = sign_test(*rounds as usize, *rounds as usize);
        p * comparisons.max(1) as f64 <= 1.0 - LEVEL + ROUNDING
    };
    (1..u32::MAX).find(decides).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::Decision::{NoDifference, Sure, TooFew};
    use super::Direction::{Above, Below};
    use super::*;
    use crate::flips::signs;

    fn decided(family: &[&[f64]]) -> Vec<Decision> {
        let by_round = |samples: &[f64]| (0..).zip(samples.iter().copied()).collect::<Vec<_>>();
        let family: Vec<_> = family.iter().map(|samples| signs(&by_round(samples), 1.0)).collect();
        Decision::of_rounds(&family.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    /// Of seven rounds: so many comparisons of which no two agree.
    fn patterns(count: usize) -> Vec<Vec<f64>> {
        let side = |bits: usize, round: usize| if bits >> round & 1 == 1 { 2.0 } else { 0.5 };
        (0..count).map(|bits| (0..7).map(|round| side(21 + bits, round)).collect()).collect()
    }

    #[test]
    fn six_rounds_decide_all_of_which_they_agree() {
        let [five, six] = [5, 6].map(|rounds| vec![2.0; rounds]);
        assert_eq!(decided(&[&six[..]; 40]), [Sure(Above); 40]);
        assert_eq!(decided(&[&five[..]; 2]), [TooFew; 2]);
    }

    #[test]
    fn rounds_decide_so_many_comparisons_whatever_they_show() {
        for (rounds, most) in [(6, 1), (7, 3), (8, 6), (9, 12), (10, 25)] {
            assert_eq!((rounds_to_decide(most), rounds_to_decide(most + 1)), (rounds, rounds + 1));
        }
        assert_eq!(rounds_to_decide(0), 6);
        for (others, shown) in [(2, Sure(Above)), (3, TooFew)] {
            let others = patterns(others);
            let agreeing = [2.0; 7];
            let all = others.iter().map(Vec::as_slice).chain([&agreeing[..]]);
            assert_eq!(decided(&all.collect::<Vec<_>>()).last(), Some(&shown));
        }
    }

    #[test]
    fn a_comparison_alone_is_decided_by_its_interval() {
        for n in 1..30 {
            for above in 0..=n {
                let samples: Vec<f64> = (0..n).map(|i| if i < above { 2.0 } else { 0.5 }).collect();
                let alone = Decision::of_interval(&Estimate::of(&samples).unwrap(), 1.0);
                assert_eq!(decided(&[&samples]), [alone], "{above} of {n}");
            }
        }
    }

    #[test]
    fn what_is_equal_does_not_differ_and_sides_are_those_of_the_samples() {
        let mixed = [0.5, 2.0, 0.5, 2.0, 0.5, 2.0, 0.5];
        assert_eq!(
            decided(&[&[1.0; 7], &mixed, &[0.5; 7]]),
            [NoDifference, NoDifference, Sure(Below)]
        );
        assert_eq!(decided(&[&[], &[2.0]]), [TooFew, TooFew]);
        assert_eq!(Sure(Below).opposite(), Sure(Above));
        assert_eq!(TooFew.opposite(), TooFew);
    }

    #[test]
    fn too_few_are_those_that_could_not_be_decided_after_the_others() {
        let (ten, six) = ([2.0; 10], [2.0; 6]);
        // Two are sure, so that the third is the last one left.
        assert_eq!(decided(&[&ten, &ten, &six]), [Sure(Above); 3]);
        let mut across = six;
        across[0] = 0.5;
        assert_eq!(decided(&[&ten, &ten, &across]), [Sure(Above), Sure(Above), NoDifference]);
        // One that is not sure can be turned to one side by as many flips more.
        let unsure = [0.5, 2.0, 0.5, 2.0, 0.5, 2.0, 0.5, 2.0, 0.5, 2.0];
        let [first, second, _] = decided(&[&ten, &unsure, &six])[..] else { panic!() };
        assert_eq!([first, second], [Sure(Above), NoDifference]);
    }
}
