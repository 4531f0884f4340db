//! The ratio of one figure in two runs, which were not measured in pairs.
//!
//! What drifts between the runs is in the ratio. How fast a machine drifts shows in the runs themselves, as the
//! [`drift`] from the first half of each to its second, and the interval has room for as much as both drifted. Trials
//! that scatter by 1% on a machine that drifts by 2 or 4% in some seconds to some minutes then cover the ratio in 92
//! to 98% of comparisons; without that room in 61 to 91%.

use serde::{Serialize, Serializer};

use crate::holm::ROUNDING;
use crate::{Estimate, Interval, LEVEL, SampleError, median};

/// The median of a cell's trials in the later of two runs over that in the earlier one.
///
/// Its interval has the ratios by which the earlier trials may be multiplied before the rank-sum test tells them from
/// the later ones: of all quotients of a later and an earlier trial the k-th smallest to the k-th largest (J. L. Hodges
/// and E. L. Lehmann, "Estimates of location based on rank tests", Ann. Math. Statist. 34, 1963). It assumes that the
/// trials of a cell scatter alike in both runs, whichever way that is. In return seven trials in each decide all cells
/// of a study; [`ratio_of_medians`](crate::ratio_of_medians), which does not assume it, needs nine for four cells.
#[derive(Debug, Clone, PartialEq)]
pub struct RunRatio {
    median: f64,
    /// Ascending.
    quotients: Vec<f64>,
    /// The [`tails`] of their number.
    tails: Vec<f64>,
    /// Of trials in the shorter run.
    n: usize,
    /// By which factor the interval is wider on both sides, for what drifts.
    drift: f64,
}

impl RunRatio {
    /// Of two runs in which all is 0 it is 1.
    ///
    /// # Errors
    /// No samples, one that is not finite, or one in `earlier` that is not above 0.
    pub fn of(later: &[f64], earlier: &[f64]) -> Result<Self, SampleError> {
        if !later.is_empty() && later.iter().chain(earlier).all(|sample| *sample == 0.0) {
            return Self::of(&vec![1.0; later.len()], &vec![1.0; earlier.len()]);
        }
        let (over, under) = (median(later)?, median(earlier)?);
        if earlier.iter().any(|sample| *sample <= 0.0) {
            return Err(SampleError::ZeroDivisor);
        }
        let pairs =
            later.iter().flat_map(|later| earlier.iter().map(move |earlier| (later, earlier)));
        let mut quotients: Vec<f64> = pairs.map(|(later, earlier)| later / earlier).collect();
        quotients.sort_by(f64::total_cmp);
        let tails = tails(later.len(), earlier.len());
        let n = later.len().min(earlier.len());
        Ok(Self { median: over / under, quotients, tails, n, drift: 1.0 })
    }

    /// With an interval that has room for drift between the runs, by the [`drift`] of each.
    #[must_use]
    pub fn with_drift(self, drifts: [f64; 2]) -> Self {
        let drift = drifts.iter().map(|drift| 1.0 + drift).product();
        Self { drift, ..self }
    }

    /// With the interval of this level. With too few trials for it the interval has all quotients, and its coverage is
    /// what that gives. The `n` is that of the shorter run.
    pub fn at(&self, level: f64) -> Estimate {
        let Self { median, quotients, tails, n, drift } = self;
        let (rank, coverage) = narrowest(tails, level);
        let low = quotients[rank - 1].min(*median);
        let high = quotients[quotients.len() - rank].max(*median);
        // What is below 0 falls when it is multiplied.
        let low = (low / drift).min(low * drift);
        let high = (high * drift).max(high / drift);
        let interval = Interval { low, high, coverage };
        Estimate { median: *median, interval, n: *n }
    }
}

impl From<&RunRatio> for Estimate {
    fn from(ratio: &RunRatio) -> Self {
        ratio.at(LEVEL)
    }
}

impl Serialize for RunRatio {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.at(LEVEL).serialize(serializer)
    }
}

/// How far a run drifted: by which share the medians of its first and its second half differ, of the trials of all
/// cells, each over the median of its cell. Neighbours, temperature and frequency move all cells together, so many
/// cells show it well. What changed between two runs and in neither of them it cannot show.
pub fn drift<'a>(cells: impl Iterator<Item = &'a [f64]>) -> f64 {
    let mut halves = [Vec::new(), Vec::new()];
    for trials in cells {
        let Some(usual) = median(trials).ok().filter(|median| *median > 0.0) else { continue };
        let half = trials.len() / 2;
        for (of, trials) in halves.iter_mut().zip([&trials[..half], &trials[trials.len() - half..]])
        {
            of.extend(trials.iter().map(|trial| trial / usual));
        }
    }
    match halves.map(|half| median(&half)) {
        [Ok(first), Ok(second)] if first > 0.0 && second > 0.0 => {
            (first / second).max(second / first) - 1.0
        }
        _ => 0.0,
    }
}

/// The fewest trials in each of two runs that can decide so many ratios that are read together: 4 decide one, 5 six, 6
/// twenty-three, 7 eighty-five.
pub fn trials_to_decide(ratios: usize) -> usize {
    let level = 1.0 - (1.0 - LEVEL) / ratios.max(1) as f64;
    let decides = |trials: &usize| narrowest(&tails(*trials, *trials), level).1 >= level - ROUNDING;
    (1..usize::MAX).find(decides).unwrap_or(usize::MAX)
}

/// The largest k at which the k-th smallest to the k-th largest of the quotients with these [`tails`] reach `level`, or
/// 1, and how often they cover the ratio.
fn narrowest(tails: &[f64], level: f64) -> (usize, f64) {
    let rank = tails.partition_point(|tail| 2.0 * tail <= 1.0 - level + ROUNDING).max(1);
    (rank, (1.0 - 2.0 * tails[rank - 1]).max(0.0))
}

/// With more trials than this in both runs their distribution is taken as [`nearly_normal`]. To count it takes
/// n² times m steps.
const COUNTED: usize = 50;

/// How often at most 0, 1, 2 and so on of n times m quotients lie below the ratio. Only the lower half is needed: the
/// distribution is symmetric.
fn tails(n: usize, m: usize) -> Vec<f64> {
    if n.min(m) > COUNTED { nearly_normal(n, m) } else { counted(n.min(m), n.max(m)) }
}

/// The number of quotients below the ratio is distributed as the statistic of Mann and Whitney, whose generating
/// function is that of the partitions into at most n parts of at most m: Π (1 - q^(m+i)) / (1 - q^i) over i from 1 to n.
fn counted(n: usize, m: usize) -> Vec<f64> {
    let mut chances = vec![0.0; n * m / 2 + 1];
    chances[0] = 1.0;
    for i in 1..=n {
        for u in (m + i..chances.len()).rev() {
            chances[u] -= chances[u - m - i];
        }
        for u in i..chances.len() {
            chances[u] += chances[u - i];
        }
        // At q = 1 each factor is (m + i) / i: so they stay chances.
        chances.iter_mut().for_each(|chance| *chance *= i as f64 / (m + i) as f64);
    }
    let mut tail = 0.0;
    chances.iter_mut().for_each(|chance| {
        tail += *chance;
        *chance = tail;
    });
    chances
}

/// The same by the normal distribution and its first Edgeworth term (E. Fix and J. L. Hodges, "Significance
/// probabilities of the Wilcoxon test", Ann. Math. Statist. 26, 1955). From [`COUNTED`] trials on the rank of an
/// interval is that of [`counted`] or one of the two next to it, of thousands.
fn nearly_normal(n: usize, m: usize) -> Vec<f64> {
    let (n, m) = (n as f64, m as f64);
    let deviation = (n * m * (n + m + 1.0) / 12.0).sqrt();
    let excess = -1.2 * (n * n + m * m + n * m + n + m) / (n * m * (n + m + 1.0));
    let tail = |below: usize| {
        // How far it is below the middle, with half a quotient for the step.
        let z = ((n * m / 2.0 - below as f64 - 0.5) / deviation).max(0.0);
        let density = (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt();
        // M. Abramowitz and I. Stegun, "Handbook of Mathematical Functions", 26.2.17: to 7.5e-8.
        let t = 1.0 / (1.0 + 0.231_641_9 * z);
        let terms = [1.330_274_429, -1.821_255_978, 1.781_477_937, -0.356_563_782, 0.319_381_53];
        let normal = terms.iter().fold(0.0, |sum, term| (sum + term) * t);
        density * (normal + excess / 24.0 * (z * z * z - 3.0 * z))
    };
    (0..=(n * m / 2.0) as usize).map(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use random::Random;

    /// How many of all orders of n and m trials have each number of quotients below 1, by counting.
    fn of_orders(n: usize, m: usize) -> Vec<u64> {
        let mut counts = vec![0; n * m + 1];
        for order in 0u32..1 << (n + m) {
            if order.count_ones() as usize != n {
                continue;
            }
            let is_later = |place: &usize| order >> place & 1 == 1;
            let above = |place: usize| (place..n + m).filter(|place| !is_later(place)).count();
            let below: usize = (0..n + m).filter(is_later).map(above).sum();
            counts[below] += 1;
        }
        counts
    }

    #[test]
    fn coverage_is_exact_and_the_interval_the_narrowest() {
        for (n, m) in [(1, 1), (1, 7), (2, 3), (4, 4), (5, 7), (7, 7), (8, 6)] {
            let counts = of_orders(n, m);
            let all: u64 = counts.iter().sum();
            let covered = |rank: usize| {
                let tail: u64 = counts[..rank].iter().sum();
                1.0 - 2.0 * tail as f64 / all as f64
            };
            for level in [0.5, 0.9, 0.95, 0.9875, 0.999] {
                let (rank, coverage) = narrowest(&tails(n, m), level);
                assert!((coverage - covered(rank).max(0.0)).abs() < 1e-12, "{n}, {m}: {coverage}");
                assert!(coverage >= level - 1e-9 || rank == 1, "{n}, {m}, {level}");
                let is_narrowest = 2 * (rank + 1) > n * m || covered(rank + 1) < level;
                assert!(is_narrowest, "{n}, {m}, {level}: {rank}");
            }
        }
        let (rank, coverage) = narrowest(&tails(40, 40), 0.95);
        // k = nm/2 - z √(nm (n + m + 1) / 12)
        let expected = 800.0 - 1.96 * (1600.0f64 * 81.0 / 12.0).sqrt();
        assert!((rank as f64 - expected).abs() < 3.0 && coverage >= 0.95, "{rank}, {coverage}");
    }

    /// To 0.05% of the level from one ratio to a thousand that are read together.
    #[test]
    fn many_trials_have_the_interval_that_counting_gives() {
        for (n, m) in [(51, 51), (51, 80), (51, 300), (120, 120)] {
            let (exact, ours) = (counted(n, m), nearly_normal(n, m));
            assert_eq!(exact.len(), ours.len());
            for left in [1.0, 10.0, 100.0, 1_000.0] {
                let level = 1.0 - (1.0 - LEVEL) / left;
                let ((rank, _), (near, coverage)) =
                    (narrowest(&exact, level), narrowest(&ours, level));
                assert!(rank.abs_diff(near) <= 2, "{n}, {m}, {level}: {rank}, {near}");
                let covered = 1.0 - 2.0 * exact[near - 1];
                assert!((covered - coverage).abs() < 5e-4 * (1.0 - LEVEL), "{coverage}, {covered}");
            }
        }
    }

    /// A thousand trials in each run would take 10⁹ steps to count for each interval.
    #[test]
    fn a_thousand_trials_have_an_interval_as_narrow_as_they_allow() {
        let mut random = Random::new(7);
        let mut run = || -> Vec<f64> { (0..1_000).map(|_| 1.0 + random.uniform()).collect() };
        let ratio = RunRatio::of(&run(), &run()).unwrap();
        for left in 1..=100 {
            let Interval { low, high, coverage } = ratio.at(1.0 - 0.05 / f64::from(left)).interval;
            assert!(low > 0.93 && high < 1.07 && low < high && coverage >= 0.95 - 1e-6);
        }
    }

    #[test]
    fn few_trials_decide_many_ratios() {
        for (trials, most) in [(4, 1), (5, 6), (6, 23), (7, 85)] {
            assert_eq!((trials_to_decide(most), trials_to_decide(most + 1)), (trials, trials + 1));
        }
    }

    #[test]
    fn bad_samples_are_errors_and_one_sample_has_no_interval() {
        assert_eq!(RunRatio::of(&[1.0], &[1.0, 0.0]), Err(SampleError::ZeroDivisor));
        assert_eq!(RunRatio::of(&[], &[1.0]), Err(SampleError::Empty));
        assert_eq!(RunRatio::of(&[], &[]), Err(SampleError::Empty));
        assert!(RunRatio::of(&[f64::NAN], &[1.0]).is_err());
        let one = RunRatio::of(&[2.0], &[1.0]).unwrap().at(LEVEL);
        assert_eq!((one.median, one.interval.coverage, one.n), (2.0, 0.0, 1));
    }

    #[test]
    fn simulated_coverage_is_the_stated_one_whatever_the_distribution() {
        const ROUNDS: u32 = 20_000;
        type Inverse = fn(f64) -> f64;
        let distributions: [Inverse; 2] = [|u| 0.5 + u, |u| 1.0 - u.ln()];
        let mut random = Random::new(7);
        for inverse in distributions {
            for (n, m) in [(7, 7), (7, 14)] {
                let mut run = |n, factor: f64| -> Vec<f64> {
                    (0..n).map(|_| factor * inverse(random.uniform())).collect()
                };
                let (mut covered, mut stated) = (0, 0.0);
                for _ in 0..ROUNDS {
                    let interval =
                        RunRatio::of(&run(n, 0.8), &run(m, 1.0)).unwrap().at(0.9).interval;
                    covered += u32::from(interval.low <= 0.8 && 0.8 <= interval.high);
                    stated = interval.coverage;
                }
                let seen = f64::from(covered) / f64::from(ROUNDS);
                let deviation = (stated * (1.0 - stated) / f64::from(ROUNDS)).sqrt();
                assert!(
                    seen - stated > -4.0 * deviation && seen < stated + 0.01,
                    "{seen}, {stated}"
                );
            }
        }
    }

    /// Four cells of seven trials in two runs, one after the other, on a machine whose speed wanders around its usual one
    /// by 2% and forgets in about `memory` trials where it was.
    fn on_drifting_machine(random: &mut Random, memory: f64) -> [Vec<Vec<f64>>; 2] {
        let mut normal = || (0..12).map(|_| random.uniform()).sum::<f64>() - 6.0;
        let kept = (-1.0 / memory).exp();
        let mut speed = normal();
        [(); 2].map(|()| {
            let mut cells = vec![Vec::new(); 4];
            for trial in 0..28 {
                speed = kept * speed + (1.0 - kept * kept).sqrt() * normal();
                cells[trial % 4].push(1.0 + 0.02 * speed + 0.01 * normal());
            }
            cells
        })
    }

    #[test]
    fn what_drifts_between_runs_is_in_the_interval() {
        const ROUNDS: u32 = 2_000;
        let mut random = Random::new(7);
        for memory in [5.0, 20.0, 80.0, 320.0] {
            let (mut with, mut without) = (0, 0);
            for _ in 0..ROUNDS {
                let [later, earlier] = on_drifting_machine(&mut random, memory);
                let drifts = [&later, &earlier].map(|run| drift(run.iter().map(Vec::as_slice)));
                let ratio = RunRatio::of(&later[0], &earlier[0]).unwrap();
                let covers = |ratio: &RunRatio| {
                    let interval = ratio.at(LEVEL).interval;
                    u32::from(interval.low <= 1.0 && 1.0 <= interval.high)
                };
                without += covers(&ratio);
                with += covers(&ratio.with_drift(drifts));
            }
            let [with, without] = [with, without].map(|of| f64::from(of) / f64::from(ROUNDS));
            assert!(with > 0.9 && without < with, "{memory}: {with}, {without}");
        }
    }

    #[test]
    fn nothing_beside_nothing_is_as_much() {
        let same = RunRatio::of(&[0.0; 7], &[0.0; 6]).unwrap().at(LEVEL);
        assert_eq!((same.median, same.interval.low, same.interval.high), (1.0, 1.0, 1.0));
        assert!(same.has_enough_samples());
        assert_eq!(RunRatio::of(&[1.0; 7], &[0.0; 7]), Err(SampleError::ZeroDivisor));
    }

    #[test]
    fn drift_is_what_all_cells_have_in_common() {
        let risen = [1.0, 1.0, 1.0, 1.05, 1.1, 1.1, 1.1];
        let steady = [5.0, 5.1, 4.9, 5.0, 4.9, 5.1, 5.0];
        assert!((drift([&risen[..]].into_iter()) - 0.1).abs() < 1e-9);
        assert_eq!(drift([&steady[..]].into_iter()), 0.0);
        assert!(drift([&risen[..], &steady, &steady].into_iter()) < 0.05);
        assert_eq!(drift([&[][..], &[1.0], &[-1.0, -2.0]].into_iter()), 0.0);
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_ratio_and_grows_with_its_level(
            a in prop::collection::vec(-1e6f64..1e6, 1..20),
            b in prop::collection::vec(1e-3f64..1e6, 1..20)
        ) {
            let ratio = RunRatio::of(&a, &b).unwrap();
            let (usual, surer) = (ratio.at(LEVEL), ratio.at(0.999));
            let Interval { low, high, .. } = usual.interval;
            prop_assert!(low <= usual.median && usual.median <= high);
            prop_assert!(surer.interval.low <= low && high <= surer.interval.high);
        }
    }
}
