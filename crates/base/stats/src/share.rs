//! The interval of a share.

/// Between which shares of all the one lies of which this part was seen, with `z` standard deviations to either side:
/// 1.96 for 95%, 3.29 for 99.9%. Of none it may be any. What was seen must be independent of each other.
///
/// Wilson's score interval (JASA 22, 1927; Brown, Cai and DasGupta, "Interval Estimation for a Binomial Proportion",
/// 2001).
pub fn share_interval(part: u64, of: u64, z: f64) -> (f64, f64) {
    if of == 0 {
        return (0.0, 1.0);
    }
    let n = of as f64;
    let share = (part as f64 / n).min(1.0);
    let (square, width) =
        (z * z / n, z * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt());
    let at = |sign: f64| (share + square / 2.0 + sign * width) / (1.0 + square);
    (at(-1.0), at(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        let interval = |part, of| share_interval(part, of, 3.29);
        // By the formula, in Python.
        let (lowest, highest) = interval(323, 426);
        assert!(
            (lowest - 0.68412).abs() < 1e-5 && (highest - 0.81952).abs() < 1e-5,
            "{lowest} {highest}"
        );
        assert_eq!((interval(0, 0), interval(0, 10).0), ((0.0, 1.0), 0.0));
        assert!(interval(10, 10).1 > 0.999_999);
    }
}
