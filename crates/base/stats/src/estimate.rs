use serde::Serialize;

use crate::interval::interval_of_sorted;
use crate::sample::{median_of_sorted, sorted};
use crate::{Interval, LEVEL, SampleError};

/// A median with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The median of the samples.
    pub median: f64,
    /// The interval of the median; see [`median_interval`](crate::median_interval).
    pub interval: Interval,
    /// How many samples there are.
    pub n: usize,
}

impl Estimate {
    /// The median of `samples` and its interval at [`LEVEL`].
    ///
    /// # Errors
    /// No samples, or one that is not finite.
    pub fn of(samples: &[f64]) -> Result<Self, SampleError> {
        let sorted = sorted(samples)?;
        Ok(Self {
            median: median_of_sorted(&sorted),
            interval: interval_of_sorted(&sorted, LEVEL),
            n: sorted.len(),
        })
    }

    /// Whether its interval covers the median as often as a claim needs: six samples do. Nothing may be claimed
    /// from the ends of one of fewer.
    pub fn has_enough_samples(&self) -> bool {
        self.interval.coverage >= LEVEL
    }

    /// The estimate of what only rises or only falls with this one.
    pub fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        let Interval { low, high, coverage } = self.interval;
        let (one, other) = (change(low), change(high));
        let interval = Interval { low: one.min(other), high: one.max(other), coverage };
        Self { median: change(self.median), interval, n: self.n }
    }
}

/// The ratios `a[i] / b[i]` of trials that ran one after the other.
///
/// Slow drift (frequency, neighbours on the host) affects both trials of a pair and cancels, which
/// it does not in a ratio of two medians.
///
/// # Errors
/// Series of different lengths, no samples, one that is not finite, or a zero in `b`.
pub fn paired_ratio(a: &[f64], b: &[f64]) -> Result<Estimate, SampleError> {
    if a.len() != b.len() {
        return Err(SampleError::Unpaired { left: a.len(), right: b.len() });
    }
    if b.contains(&0.0) {
        return Err(SampleError::ZeroDivisor);
    }
    let ratios: Vec<f64> = a.iter().zip(b).map(|(a, b)| a / b).collect();
    Estimate::of(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ratios_are_taken_pair_by_pair() {
        // Both series drift by a factor of 64; each pair has the ratio 2.
        let b: Vec<f64> = (0..7).map(|i| f64::from(1 << i)).collect();
        let a: Vec<f64> = b.iter().map(|x| 2.0 * x).collect();
        let estimate = paired_ratio(&a, &b).unwrap();
        assert_eq!((estimate.median, estimate.n), (2.0, 7));
        assert_eq!((estimate.interval.low, estimate.interval.high), (2.0, 2.0));
    }

    #[test]
    fn bad_samples_are_errors() {
        assert_eq!(
            paired_ratio(&[1.0], &[1.0, 2.0]),
            Err(SampleError::Unpaired { left: 1, right: 2 })
        );
        assert_eq!(paired_ratio(&[1.0], &[0.0]), Err(SampleError::ZeroDivisor));
        assert_eq!(paired_ratio(&[], &[]), Err(SampleError::Empty));
        assert!(paired_ratio(&[f64::NAN], &[1.0]).is_err());
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_median(
            samples in prop::collection::vec(-1e9f64..1e9, 1..40)
        ) {
            let Estimate { median, interval, n } = Estimate::of(&samples).unwrap();
            prop_assert!(interval.low <= median && median <= interval.high);
            prop_assert!(samples.contains(&interval.low) && samples.contains(&interval.high));
            prop_assert_eq!(n, samples.len());
        }
    }
}
