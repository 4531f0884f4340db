//! Comparisons that are read together, decided by flipping whole rounds.
//!
//! A round has a sign in each comparison: above the value that it has where nothing differs, or below. Where nothing
//! differs, a round is as probable with all of its signs turned, however the comparisons depend on each other. So the
//! rounds are flipped in all ways, and the share of the ways in which any comparison is as one-sided as the one that
//! was seen is the probability of that by chance (P. H. Westfall and S. S. Young, "Resampling-Based Multiple Testing",
//! 1993, of the least p-value, step-down). What was seen is the p-value of the [sign test](sign_test), so that only
//! signs count, not amounts: nothing is assumed of how differences scatter, which Fisher's flips of the amounts do. In
//! seven rounds Holm's procedure decides three comparisons; this one decides any number of which the rounds agree.
//!
//! `cargo run -p stats --example families` simulates both, and flips of amounts (the greatest mean over its standard
//! error). In how many of 2,000 runs a family without any difference states one, and in brackets how many of its
//! comparisons are shown where all differ by 2:
//!
//! | logarithms of the trials | rounds | comparisons | Holm | flips of signs | flips of amounts |
//! |---|--:|--:|--:|--:|--:|
//! | symmetric | 7 | 4 | 0.0% (0%) | 1.4% (100%) | 5.7% (100%) |
//! | | 12 | 10 | 0.5% (100%) | 0.9% (100%) | 4.6% (100%) |
//! | with a tail in all rows | 7 | 4 | 0.0% (0%) | 1.1% (60%) | 3.9% (79%) |
//! | | 12 | 10 | 0.4% (57%) | 0.9% (88%) | 4.2% (96%) |
//! | with a tail in the baseline | 7 | 4 | 0.0% (0%) | 3.9% (61%) | 5.8% (83%) |
//! | | 12 | 4 | 1.7% (84%) | 1.8% (94%) | 9.3% (97%) |
//! | with a tail in every other row | 7 | 10 | 0.0% (0%) | 0.0% (100%) | 6.9% (100%) |
//!
//! So amounts state more than they may where differences are skewed, and signs do not.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use crate::holm::{ROUNDING, holm, sign_test};

/// More rounds have too many flips. Of 13 on Holm's procedure decides two hundred comparisons.
const MOST_FLIPPED: usize = 12;

/// A comparison: on which side each round lies.
pub type Signs = [(u32, Ordering)];

/// On which side of a value the samples of rounds lie.
pub fn signs(samples: &[(u32, f64)], value: f64) -> Vec<(u32, Ordering)> {
    let side = |sample: &f64| sample.partial_cmp(&value).unwrap_or(Ordering::Equal);
    samples.iter().map(|(round, sample)| (*round, side(sample))).collect()
}

/// The p-values of sign tests, adjusted for all that is read together, in the order given.
pub(crate) fn adjusted(family: &[&Signs]) -> Vec<f64> {
    let p_values: Vec<f64> = family.iter().map(|signs| alone(signs)).collect();
    let rounds: BTreeSet<u32> =
        family.iter().flat_map(|signs| signs.iter().map(|(round, _)| *round)).collect();
    let rounds: Vec<u32> = rounds.into_iter().collect();
    if rounds.len() > MOST_FLIPPED || rounds.is_empty() {
        return holm(&p_values);
    }
    let mut order: Vec<usize> = (0..family.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let columns: Vec<Column> =
        order.iter().map(|place| Column::of(family[*place], &rounds)).collect();
    // To flip all rounds changes no p-value, so the last one is left.
    let flips = 1u32 << (rounds.len() - 1);
    let mut as_low = vec![0u32; family.len()];
    for flipped in 0..flips {
        let mut least: f64 = 1.0;
        for (place, column) in columns.iter().enumerate().rev() {
            least = least.min(column.p_value(flipped));
            as_low[place] += u32::from(least <= p_values[order[place]] + ROUNDING);
        }
    }
    let mut adjusted = vec![0.0; family.len()];
    let mut most: f64 = 0.0;
    for (place, count) in order.into_iter().zip(as_low) {
        most = most.max(f64::from(count) / f64::from(flips));
        adjusted[place] = most;
    }
    adjusted
}

/// How many rounds lie above and below.
pub(crate) fn sides(signs: &Signs) -> [usize; 2] {
    [Ordering::Greater, Ordering::Less]
        .map(|side| signs.iter().filter(|(_, sign)| *sign == side).count())
}

fn alone(signs: &Signs) -> f64 {
    let [above, below] = sides(signs);
    sign_test(above.max(below), signs.len())
}

/// A comparison with its rounds as bits.
struct Column {
    above: u32,
    below: u32,
    /// By the number of rounds on one side.
    p_values: Vec<f64>,
}

impl Column {
    fn of(signs: &Signs, rounds: &[u32]) -> Self {
        let bits = |side| {
            let own = signs.iter().filter(|(_, sign)| *sign == side);
            own.filter_map(|(round, _)| rounds.binary_search(round).ok()).map(|bit| 1 << bit).sum()
        };
        let n = signs.len();
        let p_values = (0..=n).map(|count| sign_test(count, n)).collect();
        Self { above: bits(Ordering::Greater), below: bits(Ordering::Less), p_values }
    }

    fn p_value(&self, flipped: u32) -> f64 {
        let turned = (self.above ^ self.below) & flipped;
        let [above, below] = [self.above, self.below].map(|bits| (bits ^ turned).count_ones());
        self.p_values[above.max(below) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use random::Random;

    fn written(text: &str) -> Vec<(u32, Ordering)> {
        let sign = |c| match c {
            '+' => Ordering::Greater,
            '-' => Ordering::Less,
            _ => Ordering::Equal,
        };
        (0..).zip(text.chars().map(sign)).collect()
    }

    fn of(family: &[&str]) -> Vec<f64> {
        let family: Vec<_> = family.iter().map(|text| written(text)).collect();
        adjusted(&family.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    #[test]
    fn comparisons_whose_rounds_agree_count_once() {
        assert_eq!(of(&["+++++++"]), [2.0 / 128.0]);
        assert_eq!(of(&["+++++++", "-------", "+++++++", "-------"]), [2.0 / 128.0; 4]);
        // Each other pattern is one more that a flip can make of one side.
        assert_eq!(of(&["+++++++", "+-+-+-+"])[0], 4.0 / 128.0);
        assert_eq!(of(&["+++++++", "+-+-+-+", "++--+-+"])[0], 6.0 / 128.0);
        // Rounds that lie on neither side stay there.
        assert_eq!(of(&["+++++++", "+=+-+-+"])[0], 2.0 / 128.0);
        assert_eq!(of(&[]), [0.0; 0]);
    }

    #[test]
    fn what_has_other_rounds_is_flipped_with_those_it_has() {
        let mut later = written("+++++++");
        later.iter_mut().for_each(|(round, _)| *round += 2);
        let first = written("+++++++");
        let p_values = adjusted(&[&first, &later]);
        // Of 2^9 flips 8 leave the first on one side, 8 the second, 2 both.
        assert_eq!(p_values, [14.0 / 512.0; 2]);
    }

    proptest! {
        /// Nothing that Holm's procedure decides is lost.
        #[test]
        fn it_is_never_above_holms(family in proptest::collection::vec("[-+=]{8}", 1..6)) {
            let family: Vec<&str> = family.iter().map(String::as_str).collect();
            let p_values: Vec<f64> = family.iter().map(|text| alone(&written(text))).collect();
            for (ours, theirs) in of(&family).iter().zip(holm(&p_values)) {
                prop_assert!(*ours <= theirs + ROUNDING, "{ours} {theirs}");
            }
        }
    }

    /// Rows over one baseline that is slow now and then, where nothing differs: the differences are skewed, and
    /// depend on each other.
    #[test]
    fn false_statements_are_few_where_differences_are_skewed() {
        const RUNS: u32 = 2_000;
        let mut random = Random::new(7);
        let mut wrong = 0;
        for _ in 0..RUNS {
            let mut family = vec![Vec::new(); 4];
            for round in 0..7 {
                let baseline = random.exponential() - std::f64::consts::LN_2;
                for signs in &mut family {
                    let own = 0.3 * (random.uniform() - 0.5);
                    // The median of the difference is 0: of a logarithm's tail and what is even around 0.
                    let middle = 0.0137;
                    signs.push((round, (own - baseline + middle).total_cmp(&0.0)));
                }
            }
            let p_values = adjusted(&family.iter().map(Vec::as_slice).collect::<Vec<_>>());
            wrong += u32::from(p_values.iter().any(|p| *p <= 0.05));
        }
        assert!(f64::from(wrong) <= 0.05 * f64::from(RUNS), "{wrong}");
    }
}
