//! The confidence interval of a median from order statistics.
//!
//! The number of n independent samples below the true median is binomial(n, 1/2), whatever the
//! distribution. So `[x_k, x_(n+1-k)]`, the k-th smallest to the k-th largest sample, covers the
//! median with probability Σ C(n,i)/2^n over i from k to n-k (H. A. David and H. N. Nagaraja,
//! "Order Statistics", section 7.1). With seven samples the range covers 98.4%, the next interval
//! 87.5%. Where samples can be equal the coverage is at least that.

use serde::Serialize;

use crate::binomial::upper_half;
use crate::sample::{SampleError, sorted};

/// The default coverage of intervals.
pub const LEVEL: f64 = 0.95;

/// An interval that covers the median of what was sampled with a known probability.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end, a sample.
    pub low: f64,
    /// The upper end, a sample.
    pub high: f64,
    /// The probability, 0 to 1, that such an interval covers the median.
    pub coverage: f64,
}

/// The narrowest symmetric interval whose coverage is at least `level` (0 to 1).
///
/// With too few samples for that level, it is their range with its actual coverage: 0 for one
/// sample, 50% for two, 93.75% for five. So callers must check the coverage.
///
/// # Errors
/// No samples, or one that is not finite.
pub fn median_interval(samples: &[f64], level: f64) -> Result<Interval, SampleError> {
    Ok(interval_of_sorted(&sorted(samples)?, level))
}

pub(crate) fn interval_of_sorted(sorted: &[f64], level: f64) -> Interval {
    let (rank, coverage) = narrowest(sorted.len(), level);
    Interval { low: sorted[rank - 1], high: sorted[sorted.len() - rank], coverage }
}

/// How often the interval of that many samples covers the median.
pub(crate) fn coverage(n: usize, level: f64) -> f64 {
    narrowest(n, level).1
}

/// The largest rank k whose interval `[x_k, x_(n+1-k)]` reaches `level`, or 1, and its coverage.
fn narrowest(n: usize, level: f64) -> (usize, f64) {
    let mut coverage = 0.0;
    for (above, term) in (n.div_ceil(2)..n).zip(upper_half(n)) {
        // The middle of an even n is one term; all others have their like on the other side.
        coverage += if 2 * above == n { term } else { 2.0 * term };
        if coverage >= level || above + 1 == n {
            return (n - above, coverage);
        }
    }
    (1, 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binomial::exact;
    use random::Random;

    /// Σ C(n,i) over i from `rank` to n-`rank`, over 2^n.
    fn exact_coverage(n: usize, rank: usize) -> f64 {
        1.0 - 2.0 * exact::upper_tails(n)[n + 1 - rank]
    }

    #[test]
    fn seven_samples_give_their_range() {
        let samples = [7.0, 1.0, 6.0, 2.0, 5.0, 3.0, 4.0];
        let interval = median_interval(&samples, 0.95).unwrap();
        assert_eq!(interval, Interval { low: 1.0, high: 7.0, coverage: 126.0 / 128.0 });
        let lower = median_interval(&samples, 0.8).unwrap();
        assert_eq!(lower, Interval { low: 2.0, high: 6.0, coverage: 112.0 / 128.0 });
    }

    #[test]
    fn too_few_samples_give_their_range_with_its_true_coverage() {
        for (n, coverage) in [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375)] {
            let samples: Vec<f64> = (1..=n).map(f64::from).collect();
            let interval = median_interval(&samples, 0.95).unwrap();
            assert_eq!(interval, Interval { low: 1.0, high: f64::from(n), coverage });
        }
    }

    #[test]
    fn coverage_is_exact_and_the_interval_the_narrowest() {
        for n in 2..=100 {
            for level in [0.5, 0.9, 0.95, 0.99, 0.999] {
                let (rank, coverage) = narrowest(n, level);
                assert!((coverage - exact_coverage(n, rank)).abs() < 1e-13, "n = {n}");
                assert!(coverage >= level || rank == 1, "n = {n}");
                assert!(
                    2 * (rank + 1) > n || exact_coverage(n, rank + 1) < level,
                    "n = {n}: rank {rank} is not the narrowest"
                );
            }
        }
    }

    #[test]
    fn many_samples_follow_the_normal_approximation() {
        // k = n/2 - z √n / 2, with z = 1.96 for 95%.
        let n = 1_000_000;
        let (rank, coverage) = narrowest(n, 0.95);
        assert!((rank as f64 - (n as f64 / 2.0 - 1.96 * 500.0)).abs() < 3.0, "{rank}");
        assert!((0.95..0.951).contains(&coverage), "{coverage}");
    }

    #[test]
    fn simulated_coverage_is_the_stated_one_whatever_the_distribution() {
        const ROUNDS: u32 = 20_000;
        // Inverse distribution functions, with their values at 1/2.
        type Inverse = fn(f64) -> f64;
        let distributions: [(&str, Inverse, f64); 3] = [
            ("uniform", |u| u, 0.5),
            ("exponential", |u| -u.ln(), std::f64::consts::LN_2),
            ("Cauchy", |u| (std::f64::consts::PI * (u - 0.5)).tan(), 0.0),
        ];
        let mut random = Random::new(7);
        for (name, inverse, median) in distributions {
            for n in [5, 7, 8, 20] {
                let mut covered = 0;
                let mut stated = 0.0;
                for _ in 0..ROUNDS {
                    let samples: Vec<f64> = (0..n).map(|_| inverse(random.uniform())).collect();
                    let interval = median_interval(&samples, 0.9).unwrap();
                    covered += u32::from(interval.low <= median && median <= interval.high);
                    stated = interval.coverage;
                }
                let seen = f64::from(covered) / f64::from(ROUNDS);
                let deviation = (stated * (1.0 - stated) / f64::from(ROUNDS)).sqrt();
                assert!((seen - stated).abs() < 4.0 * deviation, "{name}, n = {n}: {seen}");
            }
        }
    }
}
