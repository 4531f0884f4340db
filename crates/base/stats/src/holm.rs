//! Several comparisons of the same data: which of them hold together.
//!
//! Each comparison is a sign test: of n pairs, those in which the first is greater are
//! binomial(n, 1/2) where neither is, whatever the distribution. [`median_interval`](crate::median_interval)
//! follows from the same test: the interval of a paired ratio at 1 - p lies above 1
//! where the test gives p. With many comparisons some look different by chance, so the p-values are
//! adjusted by Holm's step-down procedure (S. Holm, "A simple sequentially rejective multiple test
//! procedure", Scand. J. Statist. 6, 1979), which keeps the probability of any false statement at
//! the level, however the comparisons depend on each other.

use crate::binomial::upper_half;
use crate::{Estimate, LEVEL};

/// p-values are sums of powers of 2 times a count, LEVEL is not one.
pub(crate) const ROUNDING: f64 = 1e-12;

/// The two-sided p-value of the sign test of `above` pairs of `n`. Pairs of equals are counted in `n`
/// and not in `above`.
pub fn sign_test(above: usize, n: usize) -> f64 {
    let middle = n.div_ceil(2);
    if above <= middle {
        return 1.0;
    }
    2.0 * upper_half(n).skip(above - middle).sum::<f64>()
}

/// The p-values adjusted for their number, in the order given. Those at most at a level hold together
/// with at least 1 less that level.
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut most: f64 = 0.0;
    for (place, index) in order.into_iter().enumerate() {
        let left = (p_values.len() - place) as f64;
        most = most.max(left * p_values[index]).min(1.0);
        adjusted[index] = most;
    }
    adjusted
}

/// An estimate of a family, and the level that its interval has to have there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    pub estimate: Estimate,
    pub level: f64,
}

/// The same procedure by intervals: those that are decided with so many left are decided, and leave fewer. Each
/// estimate has the interval by which it was decided, or those that are left could not be.
pub fn step_down(
    family: usize,
    at: impl Fn(usize, f64) -> Estimate,
    is_decided: impl Fn(usize, &Estimate) -> bool,
) -> Vec<Step> {
    let mut steps: Vec<Option<Step>> = vec![None; family];
    loop {
        let left: Vec<usize> = (0..family).filter(|place| steps[*place].is_none()).collect();
        let level = 1.0 - (1.0 - LEVEL) / left.len().max(1) as f64;
        let here =
            left.into_iter().map(|place| (place, Step { estimate: at(place, level), level }));
        let (decided, open): (Vec<_>, Vec<_>) = here
            .partition(|(place, step)| !step.has_too_few() && is_decided(*place, &step.estimate));
        if decided.is_empty() {
            open.into_iter().for_each(|(place, step)| steps[place] = Some(step));
            return steps.into_iter().flatten().collect();
        }
        decided.into_iter().for_each(|(place, step)| steps[place] = Some(step));
    }
}

impl Step {
    /// Whether no interval of so few samples reaches the level.
    pub fn has_too_few(&self) -> bool {
        self.estimate.interval.coverage < self.level - ROUNDING
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial::exact;
    use crate::{Interval, median_interval};
    use proptest::prelude::*;

    /// Of a hundred numbers of pairs above, or of all.
    fn assert_exact(n: usize) {
        let tails = exact::upper_tails(n).into_iter().enumerate();
        for (above, tail) in tails.step_by(1 + n / 100) {
            let (ours, expected) = (sign_test(above, n), (2.0 * tail).min(1.0));
            let off = (ours - expected).abs();
            assert!(off <= 1e-10 * expected + f64::MIN_POSITIVE, "{above} of {n}: {ours}");
        }
    }

    #[test]
    fn the_sign_test_is_exact() {
        (0..200).for_each(assert_exact);
        // 2^-n is below the least number of its type from 1,075 on.
        (1_073..=1_076).for_each(assert_exact);
        assert!(sign_test(538, 1_075) > 0.9 && sign_test(600, 1_075) < 0.001);
    }

    #[test]
    fn the_sign_test_agrees_with_the_interval() {
        for n in 6..=40 {
            for above in 0..=n {
                let samples: Vec<f64> = (0..n).map(|i| if i < above { 2.0 } else { 0.5 }).collect();
                let Interval { low, coverage, .. } = median_interval(&samples, 0.95).unwrap();
                let is_above = sign_test(above, n) <= 1.0 - coverage + 1e-12;
                assert_eq!(low > 1.0, is_above, "{above} of {n}");
            }
        }
    }

    /// One of two estimates is decided with one left only; where all are surer, all are.
    #[test]
    fn intervals_step_down_as_p_values_do() {
        let of = |families: &[(usize, f64)]| {
            let samples: Vec<Vec<f64>> = families
                .iter()
                .map(|(n, value)| (0..*n).map(|i| value + 1e-3 * i as f64).collect())
                .collect();
            let at = |place: usize, level| {
                let samples: &Vec<f64> = &samples[place];
                Estimate {
                    interval: median_interval(samples, level).unwrap(),
                    ..Estimate::of(samples).unwrap()
                }
            };
            let is_above = |_, of: &Estimate| of.interval.low > 1.0;
            let steps = step_down(samples.len(), at, is_above);
            let decided = steps
                .iter()
                .enumerate()
                .map(|(place, step)| !step.has_too_few() && is_above(place, &step.estimate));
            decided.collect::<Vec<_>>()
        };
        // Six trials decide one, seven three: `rounds_to_decide`.
        assert_eq!(of(&[(6, 2.0)]), [true]);
        assert_eq!(of(&[(6, 2.0), (6, 2.0)]), [false, false]);
        assert_eq!(of(&[(6, 2.0), (7, 2.0)]), [true, true]);
        assert_eq!(of(&[(6, 2.0), (7, 0.9)]), [false, false]);
        assert_eq!(of(&[]), [false; 0]);
    }

    #[test]
    fn holm_steps_down() {
        // By hand: 4 x 0.005, 3 x 0.01, 2 x 0.03, and 0.04 not below the one before.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (ours, theirs) in adjusted.iter().zip(expected) {
            assert!((ours - theirs).abs() < 1e-12, "{adjusted:?}");
        }
        assert_eq!(holm(&[0.9, 0.8]), [1.0, 1.0]);
        assert!(holm(&[]).is_empty());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn the_sign_test_is_exact_of_many_pairs(n in 1_000usize..=10_000) {
            assert_exact(n);
        }
    }
}
