//! Samples, and their median.

/// Samples without a median or a ratio.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum SampleError {
    /// There is no sample.
    #[error("there are no samples")]
    Empty,
    /// A sample is infinite or not a number.
    #[error("sample {index} is {value}, not a finite number")]
    NotFinite {
        /// Its place in the input, from 0.
        index: usize,
        /// The sample.
        value: f64,
    },
    /// Two series of different lengths cannot be paired.
    #[error("{left} samples cannot be paired with {right}")]
    Unpaired {
        /// How many samples the first series has.
        left: usize,
        /// How many samples the second series has.
        right: usize,
    },
    /// A spread or a ratio would be divided by zero.
    #[error("the divisor is zero")]
    ZeroDivisor,
}

/// The median; of an even number of samples, the mean of the two in the middle.
///
/// # Errors
/// No samples, or one that is not finite.
pub fn median(samples: &[f64]) -> Result<f64, SampleError> {
    Ok(median_of_sorted(&sorted(samples)?))
}

/// The samples in ascending order: at least one, and all finite.
pub(crate) fn sorted(samples: &[f64]) -> Result<Vec<f64>, SampleError> {
    if samples.is_empty() {
        return Err(SampleError::Empty);
    }
    if let Some((index, &value)) = samples.iter().enumerate().find(|(_, x)| !x.is_finite()) {
        return Err(SampleError::NotFinite { index, value });
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Ok(sorted)
}

pub(crate) fn median_of_sorted(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { sorted[middle - 1].midpoint(sorted[middle]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn medians_of_odd_and_even_numbers() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Ok(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Ok(2.5));
        assert_eq!(median(&[7.0]), Ok(7.0));
    }

    #[test]
    fn bad_samples_are_errors() {
        assert_eq!(median(&[]), Err(SampleError::Empty));
        let error = median(&[1.0, f64::NAN]).unwrap_err();
        assert_eq!(error.to_string(), "sample 1 is NaN, not a finite number");
        assert!(median(&[f64::INFINITY]).is_err());
    }

    proptest! {
        #[test]
        fn as_many_samples_lie_below_the_median_as_above(
            samples in prop::collection::vec(-1e300f64..1e300, 1..60)
        ) {
            let median = median(&samples).unwrap();
            let below = samples.iter().filter(|x| **x < median).count();
            let above = samples.iter().filter(|x| **x > median).count();
            prop_assert!(below <= samples.len() / 2 && above <= samples.len() / 2);
        }
    }
}
