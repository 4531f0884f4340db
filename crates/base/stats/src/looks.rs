//! Numbers of samples at which a measurement may look whether its interval is narrow enough to stop.
//!
//! A stopping rule that is checked after each sample and ends at the first narrow interval prefers samples that
//! lie close together by chance, so that the last interval covers the median less often than it states (a known
//! cost of optional stopping; for intervals of fixed width see Y. S. Chow and H. Robbins, 1965). Two
//! rules keep what is stated: there are few looks, each with half as many samples more than the last
//! one, and each is at a number whose interval covers more than its neighbours. The coverage of an
//! order-statistic interval rises with each sample, and falls where the next rank inwards is taken.
//! The tests simulate both ways of looking.

use crate::LEVEL;
use crate::interval::coverage;

/// The first number is given; each further one is at least half as large again as the one before.
pub fn looks(first: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(first), |last| {
        (last.saturating_add(last.div_ceil(2))..u32::MAX)
            .find(|&n| coverage(n as usize, LEVEL) > coverage(n as usize + 1, LEVEL))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{median, median_interval};
    use random::Random;

    /// How often the interval covers the median where the first look at which it lies within `share`
    /// of its median ends the sampling, or the last look does.
    fn coverage_of(looks: &[u32], scale: f64, skewed: bool, share: f64) -> f64 {
        const RUNS: u32 = 10_000;
        let mut random = Random::new(7);
        let mut sample = || {
            let u = random.uniform().clamp(1e-12, 1.0 - 1e-12);
            // A long tail of slow trials, as other programs make one; else a logistic distribution.
            if skewed { 1.0 + scale * u.ln() } else { 1.0 + scale * 0.55 * (u / (1.0 - u)).ln() }
        };
        let truth = if skewed { 1.0 - scale * std::f64::consts::LN_2 } else { 1.0 };
        let mut covered = 0;
        for _ in 0..RUNS {
            let mut samples = Vec::new();
            for look in looks {
                samples.resize_with(*look as usize, &mut sample);
                let interval = median_interval(&samples, LEVEL).unwrap();
                let median = median(&samples).unwrap();
                if (interval.high - median).max(median - interval.low) <= share * median {
                    break;
                }
            }
            let interval = median_interval(&samples, LEVEL).unwrap();
            covered += u32::from(interval.low <= truth && truth <= interval.high);
        }
        f64::from(covered) / f64::from(RUNS)
    }

    #[test]
    fn few_looks_at_good_numbers_cover_what_is_stated() {
        for (first, last) in [(6, 60), (7, 9), (7, 60), (9, 60)] {
            let mut looks: Vec<u32> = looks(first).take_while(|n| *n < last).collect();
            // The time is over.
            looks.push(last);
            for skewed in [false, true] {
                for scale in [0.04, 0.08, 0.15] {
                    let covered = coverage_of(&looks, scale, skewed, 0.05);
                    assert!(covered >= LEVEL, "{looks:?}, {skewed}, {scale}: {covered}");
                }
            }
        }
    }

    #[test]
    fn a_look_after_each_sample_covers_less() {
        let looks: Vec<u32> = (7..=60).collect();
        let covered = coverage_of(&looks, 0.15, true, 0.05);
        assert!(covered < 0.935, "{covered}");
    }

    #[test]
    fn looks_grow_by_half() {
        assert_eq!(looks(7).take(5).collect::<Vec<_>>(), [7, 11, 19, 29, 46]);
        assert_eq!(looks(9).take(3).collect::<Vec<_>>(), [9, 14, 22]);
    }
}
