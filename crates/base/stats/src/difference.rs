//! Differences of medians of series that were not measured in pairs.

use crate::ratio::of_medians;
use crate::{Estimate, SampleError};

/// The median of `a` less the median of `b`, of independent samples that cannot be paired.
///
/// # Errors
/// No samples, or one that is not finite.
pub fn difference_of_medians(a: &[f64], b: &[f64]) -> Result<Estimate, SampleError> {
    of_medians(a, b, |a, b| a - b)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_spans_the_differences_of_both_intervals() {
        let a = [20.0, 21.0, 22.0, 23.0, 24.0, 25.0, 26.0];
        let b = [10.0, 10.0, 10.0, 11.5, 12.0, 12.0, 13.0];
        let difference = difference_of_medians(&a, &b).unwrap();
        assert_eq!((difference.median, difference.n), (11.5, 7));
        assert_eq!((difference.interval.low, difference.interval.high), (7.0, 16.0));
        assert_eq!(difference.interval.coverage, (126.0f64 / 128.0).powi(2));
        let back = difference_of_medians(&b, &a).unwrap();
        assert_eq!((back.median, back.interval.low, back.interval.high), (-11.5, -16.0, -7.0));
    }

    #[test]
    fn bad_samples_are_errors_and_one_sample_has_no_interval() {
        assert_eq!(difference_of_medians(&[], &[1.0]), Err(SampleError::Empty));
        assert!(difference_of_medians(&[1.0], &[f64::NAN]).is_err());
        let one = difference_of_medians(&[2.0], &[1.0, 1.0, 1.0]).unwrap();
        assert_eq!((one.median, one.interval.coverage, one.n), (1.0, 0.0, 1));
    }
}
