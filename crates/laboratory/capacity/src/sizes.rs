//! Sizes of many responses, kept as counts.

use objects::{Mix, WHOLE};
use units::Bytes;

/// Steps within a power of two.
const STEPS: usize = 4;

/// Counts of sizes, in steps of a quarter of a power of two; sums are exact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sizes(Vec<Step>);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Step {
    count: u64,
    bytes: u64,
}

/// A size that fewer than one in 5,000 requests have joins its neighbour.
const SMALLEST: u64 = 5_000;

/// The most sizes that a load is made of.
const MOST: usize = 6;

impl Default for Sizes {
    fn default() -> Self {
        Self(vec![Step::default(); (u64::BITS as usize) * STEPS])
    }
}

impl Sizes {
    pub fn add(&mut self, size: u64) {
        let step = &mut self.0[place(size)];
        step.count += 1;
        step.bytes = step.bytes.saturating_add(size);
    }

    /// Adds all of another, each smaller by `each` bytes: within a step they count as their mean.
    pub fn add_all(&mut self, other: &Self, less: u64) {
        for step in other.0.iter().filter(|step| step.count > 0) {
            let bytes = step.bytes.saturating_sub(less.saturating_mul(step.count));
            let to = &mut self.0[place(bytes / step.count)];
            to.count += step.count;
            to.bytes = to.bytes.saturating_add(bytes);
        }
    }

    pub fn count(&self) -> u64 {
        self.0.iter().map(|step| step.count).sum()
    }

    pub fn bytes(&self) -> u64 {
        self.0.iter().fold(0, |bytes, step| bytes.saturating_add(step.bytes))
    }

    /// Few objects that stand for all: neighbours are one, so that requests and bytes in all stay within the
    /// rounding of shares. `None` where nothing was counted.
    pub fn mix(&self) -> Option<Mix> {
        let all = self.count();
        let mut parts: Vec<Step> = self.0.iter().copied().filter(|step| step.count > 0).collect();
        // First what a share, in thousandths of a percent, says too coarsely, then those whose mean sizes are
        // nearest to each other, by the bytes that this moves.
        while parts.len() > 1 {
            let moved = |pair: &[Step]| {
                let [a, b] = [pair[0], pair[1]].map(|step| step.bytes as f64 / step.count as f64);
                (b - a) * pair[0].count.min(pair[1].count) as f64
            };
            let is_small = |step: &Step| step.count.saturating_mul(SMALLEST) < all;
            let small = parts.iter().position(is_small);
            let at = match small {
                Some(at) => at.saturating_sub(1),
                None if parts.len() <= MOST => break,
                None => {
                    let pairs = parts.windows(2).map(moved).enumerate();
                    pairs.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(at, _)| at)
                }
            };
            let next = parts.remove(at + 1);
            parts[at].count += next.count;
            parts[at].bytes = parts[at].bytes.saturating_add(next.bytes);
        }
        let share = |step: &Step| (step.count as f64 / all as f64 * f64::from(WHOLE)).round();
        let mut shares: Vec<u32> = parts.iter().map(|step| share(step) as u32).collect();
        // The largest takes what rounding leaves.
        let rest = WHOLE.wrapping_sub(shares.iter().sum());
        let largest = shares.iter_mut().max()?;
        *largest = largest.wrapping_add(rest);
        // As large as keeps the bytes with the rounded share.
        let size = |(step, share): (&Step, &u32)| {
            step.bytes as f64 / all as f64 * f64::from(WHOLE) / f64::from(*share)
        };
        let mut least = 0;
        let sizes = parts.iter().zip(&shares).map(size).map(|size| {
            // Rounding must not make two sizes one.
            let size = (size.round() as u64).max(least);
            least = size.saturating_add(1);
            Bytes(size)
        });
        Mix::of_sizes(sizes.zip(shares.iter().copied()))
    }
}

fn place(size: u64) -> usize {
    let power = size.max(1).ilog2() as usize;
    let below = (size.max(1) - (1 << power)) as u128;
    power * STEPS + ((below * STEPS as u128) >> power) as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn few_objects_keep_requests_and_bytes(sizes in prop::collection::vec(0u64..1 << 24, 1..400)) {
            let mut counted = Sizes::default();
            sizes.iter().for_each(|size| counted.add(*size));
            let mix = counted.mix().unwrap();
            prop_assert!(mix.portions().len() <= MOST);
            let mean = sizes.iter().sum::<u64>() as f64 / sizes.len() as f64;
            let off = (mix.mean_size().unwrap() - mean).abs();
            prop_assert!(off <= 2.0 + mean * 0.005, "{} instead of {mean}: {mix}", mix.mean_size().unwrap());
        }
    }

    #[test]
    fn steps_hold_all_sizes() {
        assert_eq!(place(0), 0);
        assert_eq!(place(u64::MAX), 64 * STEPS - 1);
        assert_eq!(Sizes::default().mix(), None);
    }
}
