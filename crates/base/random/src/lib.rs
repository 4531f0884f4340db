//! Random numbers that are the same on every machine and in every version. Not for secrets.
//!
//! The order of trials, arrivals and objects follow from a study's seed, so no library that may
//! change its sequence with a version will do.

/// SplitMix64 (Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of a seed, as the paper gives them.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// One of many streams of a seed, which do not overlap in practice.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        // Seeds that differ by a multiple of the increment would give the same numbers, shifted.
        Self(mix(mix(seed).wrapping_add(stream)))
    }

    /// 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `bound`, which is not 0. The bias of the remainder is below `bound` / 2^64.
    pub const fn below(&mut self, bound: u64) -> u64 {
        self.bits() % bound
    }

    /// All numbers below `count` in random order (Fisher and Yates).
    pub fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for last in (1..count).rev() {
            order.swap(last, self.below(last as u64 + 1) as usize);
        }
        order
    }

    /// A number in (0, 1].
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed, with a mean of 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }
}

const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_numbers() {
        // The first outputs of the reference implementation for the state 1234567.
        let mut random = Random::new(1_234_567);
        assert_eq!(
            [random.bits(), random.bits(), random.bits()],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn exponential_numbers_have_mean_and_variance_1() {
        let mut random = Random::stream(1, 0);
        let count = 100_000;
        let numbers: Vec<f64> = (0..count).map(|_| random.exponential()).collect();
        let mean = numbers.iter().sum::<f64>() / f64::from(count);
        let variance = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(count);
        assert!((mean - 1.0).abs() < 0.02 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        assert!(numbers.iter().all(|x| x.is_finite() && *x >= 0.0));
    }

    #[test]
    fn streams_of_a_seed_differ_and_never_change() {
        let first = |seed, stream| {
            let mut random = Random::stream(seed, stream);
            [random.bits(), random.bits()]
        };
        assert_eq!(first(7, 0), [13_019_073_220_954_770_443, 8_057_604_665_378_085_418]);
        assert_ne!(first(7, 0), first(7, 1));
        assert_ne!(first(7, 0), first(8, 0));
        assert_ne!(first(7, 0)[1], first(7, 1)[0]);
    }
}
