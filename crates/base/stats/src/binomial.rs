//! The binomial distribution with probability 1/2, of any number of samples.

/// C(n, i) / 2^n for i from the middle, n/2 rounded up, to n.
///
/// It starts in the middle, so that neither C(n, i) overflows nor 2^-n underflows. What is too small for a number
/// in the tail is 0.
pub(crate) fn upper_half(n: usize) -> impl Iterator<Item = f64> {
    let middle = n.div_ceil(2);
    let even: f64 = (1..=n / 2).map(|j| (2 * j - 1) as f64 / (2 * j) as f64).product();
    let first = if n.is_multiple_of(2) { even } else { even * n as f64 / (2 * middle) as f64 };
    // C(n, i + 1) = C(n, i) * (n - i) / (i + 1)
    (middle..=n).scan(first, move |next, i| {
        let term = *next;
        *next *= (n - i) as f64 / (i + 1) as f64;
        Some(term)
    })
}

/// The same in integers.
#[cfg(test)]
pub(crate) mod exact {
    use num_bigint::BigUint;

    /// Σ C(n, i) / 2^n over i from `above` to n, by `above` from 0 to n + 1.
    pub(crate) fn upper_tails(n: usize) -> Vec<f64> {
        let mut term = BigUint::from(1u8);
        let mut tail = BigUint::from(0u8);
        let mut tails = vec![0.0; n + 2];
        for above in (0..=n).rev() {
            tail += &term;
            tails[above] = over_power(&tail, n);
            // C(n, above - 1) = C(n, above) * above / (n - above + 1)
            term *= above as u64;
            term /= (n - above + 1) as u64;
        }
        tails
    }

    /// `of` / 2^`power`, by its first 64 bits.
    fn over_power(of: &BigUint, power: usize) -> f64 {
        let cut = of.bits().saturating_sub(64);
        let first =
            (of >> cut).to_bytes_be().iter().fold(0u64, |all, byte| (all << 8) | u64::from(*byte));
        first as f64 / 2f64.powi(64) * 2f64.powi(cut as i32 + 64 - power as i32)
    }
}
