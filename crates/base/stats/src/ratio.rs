//! Ratios of medians of series that were not measured in pairs.

use crate::{Estimate, Interval, LEVEL, SampleError, median, median_interval};

/// The median of `a` over the median of `b`, of independent samples that cannot be paired.
///
/// # Errors
/// No samples, one that is not finite, or one in `b` that is not above 0.
pub fn ratio_of_medians(a: &[f64], b: &[f64]) -> Result<Estimate, SampleError> {
    if b.iter().any(|sample| *sample <= 0.0) {
        return Err(SampleError::ZeroDivisor);
    }
    of_medians(a, b, |a, b| a / b)
}

/// What follows from two medians, by a function that rises or falls with each. Its `n` is that of the shorter series.
///
/// Its interval goes from the least to the greatest value that the intervals of both medians allow. With the product
/// of their coverages both contain their medians, and then this one contains the value, whatever the distributions
/// are. So each is computed at the square root of [`LEVEL`]. It is wider than necessary, because it may also contain
/// the value where one of the two fails. The shorter interval of Hodges and Lehmann assumes that they have the same
/// shape. With a single sample in one series the coverage is 0.
pub(crate) fn of_medians(
    a: &[f64],
    b: &[f64],
    of: impl Fn(f64, f64) -> f64,
) -> Result<Estimate, SampleError> {
    let level = LEVEL.sqrt();
    let (x, y) = (median_interval(a, level)?, median_interval(b, level)?);
    let ends = [(x.low, y.low), (x.low, y.high), (x.high, y.low), (x.high, y.high)];
    let ends = ends.map(|(x, y)| of(x, y));
    let interval = Interval {
        low: ends.into_iter().fold(f64::INFINITY, f64::min),
        high: ends.into_iter().fold(f64::NEG_INFINITY, f64::max),
        coverage: x.coverage * y.coverage,
    };
    Ok(Estimate { median: of(median(a)?, median(b)?), interval, n: a.len().min(b.len()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use random::Random;

    #[test]
    fn the_interval_spans_the_ratios_of_both_intervals() {
        let a = [20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0];
        let b = [10.0, 10.0, 10.0, 11.5, 12.0, 12.0, 13.0];
        let ratio = ratio_of_medians(&a, &b).unwrap();
        assert_eq!((ratio.median, ratio.n), (2.0, 7));
        assert_eq!((ratio.interval.low, ratio.interval.high), (20.0 / 13.0, 2.6));
        // Seven samples: their range covers the median with 126 of 128.
        assert_eq!(ratio.interval.coverage, (126.0f64 / 128.0).powi(2));
    }

    #[test]
    fn bad_samples_are_errors_and_one_sample_has_no_interval() {
        assert_eq!(ratio_of_medians(&[1.0], &[1.0, 0.0]), Err(SampleError::ZeroDivisor));
        assert_eq!(ratio_of_medians(&[1.0], &[-1.0]), Err(SampleError::ZeroDivisor));
        assert_eq!(ratio_of_medians(&[], &[1.0]), Err(SampleError::Empty));
        assert!(ratio_of_medians(&[f64::NAN], &[1.0]).is_err());
        let one = ratio_of_medians(&[2.0], &[1.0, 1.0, 1.0]).unwrap();
        assert_eq!((one.median, one.interval.coverage, one.n), (2.0, 0.0, 1));
    }

    #[test]
    fn simulated_coverage_is_at_least_the_stated_one_for_unequal_shapes() {
        const ROUNDS: u32 = 20_000;
        // A skewed distribution over an even one: medians ln 2 and 1.
        let mut random = Random::new(7);
        for n in [7, 9, 15] {
            let (mut covered, mut stated) = (0, 0.0);
            for _ in 0..ROUNDS {
                let a: Vec<f64> = (0..n).map(|_| random.exponential()).collect();
                let b: Vec<f64> = (0..n).map(|_| 0.5 + random.uniform()).collect();
                let interval = ratio_of_medians(&a, &b).unwrap().interval;
                let truth = std::f64::consts::LN_2;
                covered += u32::from(interval.low <= truth && truth <= interval.high);
                stated = interval.coverage;
            }
            assert!(stated >= LEVEL, "{n}: {stated}");
            assert!(f64::from(covered) / f64::from(ROUNDS) >= stated, "{n}: {covered}");
        }
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_ratio(
            a in prop::collection::vec(-1e6f64..1e6, 1..20),
            b in prop::collection::vec(1e-3f64..1e6, 1..20)
        ) {
            let Estimate { median, interval, .. } = ratio_of_medians(&a, &b).unwrap();
            let slack = 1e-9 * median.abs();
            prop_assert!(interval.low <= median + slack && median <= interval.high + slack);
        }
    }
}
