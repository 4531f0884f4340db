//! How throughput grows with cores: the Universal Scalability Law of N. J. Gunther
//! (*Guerrilla Capacity Planning*, Springer 2007, chapter 4),
//!
//! X(n) = X1 n / (1 + a (n - 1) + b n (n - 1)),
//!
//! where `a` is the share of work that is serialized (contention) and `b` the cost of keeping each
//! pair of cores consistent (coherence); both are at least zero. With `a = b = 0` it is a straight
//! line.
//!
//! It assumes that only the number of cores changes. A saturated network or client bends a curve in
//! another way; such points must not be passed to [`Scaling::fit`].

use serde::Serialize;

/// The law has three parameters, so at least four points are needed to judge whether it fits.
pub const LEAST_COUNTS: usize = 4;

/// The largest relative distance of a point from the law with which the law is accepted.
pub const WORST_FIT: f64 = 0.10;

/// A law that fits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Scaling {
    /// The throughput of one core.
    pub one: f64,
    /// The share of work that is serialized.
    pub contention: f64,
    /// What each pair of cores costs, as a share of one core's work.
    pub coherence: f64,
    /// The relative distance of the worst point from the law.
    pub worst: f64,
}

/// Why there is no law.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum ScalingError {
    /// There are too few points to judge a law.
    #[error("a scaling law takes {LEAST_COUNTS} numbers of cores or more, and there are {0}")]
    TooFew(usize),
    /// A number of cores or a throughput is not above zero, or not finite.
    #[error("{0} is not a number of cores or throughput")]
    NotPositive(f64),
    /// The points follow another law.
    #[error("the points do not follow the scaling law: one is {:.0}% off", .0 * 100.0)]
    Misfit(f64),
}

impl Scaling {
    /// The law through points of cores and throughput, by least squares of relative distances.
    ///
    /// n/X(n) is linear in 1/X1, a/X1 and b/X1, so no iteration is needed. Where the best `a` or
    /// `b` would be below zero, it is zero.
    ///
    /// # Errors
    /// Fewer than [`LEAST_COUNTS`] different numbers of cores, a value that is not above zero, or a
    /// point that lies more than [`WORST_FIT`] from the best law.
    pub fn fit(points: &[(f64, f64)]) -> Result<Self, ScalingError> {
        let is_wrong = |value: &f64| !(value.is_finite() && *value > 0.0);
        if let Some(wrong) = points.iter().flat_map(|(n, x)| [*n, *x]).find(is_wrong) {
            return Err(ScalingError::NotPositive(wrong));
        }
        let mut counts: Vec<f64> = points.iter().map(|(n, _)| *n).collect();
        counts.sort_by(f64::total_cmp);
        counts.dedup();
        if counts.len() < LEAST_COUNTS {
            return Err(ScalingError::TooFew(counts.len()));
        }
        let best = [&[0][..], &[0, 1], &[0, 2], &[0, 1, 2]]
            .into_iter()
            .filter_map(|terms| Self::with(points, terms))
            .min_by(|a, b| a.distance(points).total_cmp(&b.distance(points)))
            .ok_or(ScalingError::Misfit(1.0))?;
        let worst = points.iter().map(|(n, x)| (x / best.at(*n) - 1.0).abs()).fold(0.0, f64::max);
        match worst <= WORST_FIT {
            true => Ok(Self { worst, ..best }),
            false => Err(ScalingError::Misfit(worst)),
        }
    }

    /// The throughput of this many cores.
    pub fn at(&self, cores: f64) -> f64 {
        let waits = self.contention * (cores - 1.0) + self.coherence * cores * (cores - 1.0);
        self.one * cores / (1.0 + waits)
    }

    /// The best law with these of its three terms, if none of them is below zero.
    fn with(points: &[(f64, f64)], terms: &[usize]) -> Option<Self> {
        let rows = points.iter().map(|(n, x)| {
            let y = n / x;
            [1.0 / y, (n - 1.0) / y, n * (n - 1.0) / y]
        });
        // The normal equations of rows * unknowns = 1.
        let size = terms.len();
        let mut matrix = vec![vec![0.0; size + 1]; size];
        for row in rows {
            for (i, a) in terms.iter().enumerate() {
                for (j, b) in terms.iter().enumerate() {
                    matrix[i][j] += row[*a] * row[*b];
                }
                matrix[i][size] += row[*a];
            }
        }
        let found = solve(matrix)?;
        let mut unknowns = [0.0; 3];
        for (term, value) in terms.iter().zip(found) {
            unknowns[*term] = value;
        }
        let [one, contention, coherence] = unknowns;
        (one > 0.0 && contention >= 0.0 && coherence >= 0.0).then(|| Self {
            one: 1.0 / one,
            contention: contention / one,
            coherence: coherence / one,
            worst: 0.0,
        })
    }

    fn distance(&self, points: &[(f64, f64)]) -> f64 {
        points.iter().map(|(n, x)| (x / self.at(*n) - 1.0).powi(2)).sum()
    }
}

/// Solves linear equations, each a row whose last element is its right side, by elimination with
/// pivots. `None` where they have no single solution.
fn solve(mut rows: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = rows.len();
    for column in 0..size {
        let pivot = (column..size)
            .max_by(|a, b| rows[*a][column].abs().total_cmp(&rows[*b][column].abs()))?;
        rows.swap(column, pivot);
        let first = rows[column].clone();
        if first[column] == 0.0 || !first[column].is_finite() {
            return None;
        }
        for (index, row) in rows.iter_mut().enumerate() {
            if index != column {
                let factor = row[column] / first[column];
                row.iter_mut().zip(&first).for_each(|(a, b)| *a -= factor * b);
            }
        }
    }
    let solution: Vec<f64> = (0..size).map(|i| rows[i][size] / rows[i][i]).collect();
    solution.iter().all(|value| value.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const COUNTS: [f64; 5] = [1.0, 2.0, 4.0, 8.0, 16.0];

    fn law(one: f64, contention: f64, coherence: f64) -> Scaling {
        Scaling { one, contention, coherence, worst: 0.0 }
    }

    fn points(law: &Scaling) -> Vec<(f64, f64)> {
        COUNTS.map(|n| (n, law.at(n))).to_vec()
    }

    #[test]
    fn a_straight_line_has_neither_contention_nor_peak() {
        let found = Scaling::fit(&points(&law(8e9, 0.0, 0.0))).unwrap();
        assert!((found.at(32.0) / 256e9 - 1.0).abs() < 1e-9, "{found:?}");
        assert!(found.contention < 1e-9 && found.coherence < 1e-9, "{found:?}");
    }

    #[test]
    fn a_law_that_turns_has_its_peak_where_the_curve_has() {
        let found = Scaling::fit(&points(&law(1.0, 0.05, 0.01))).unwrap();
        let peak = 95f64.sqrt();
        assert!(found.at(peak) > found.at(peak * 0.9) && found.at(peak) > found.at(peak * 1.1));
    }

    #[test]
    fn three_counts_are_too_few_however_many_points() {
        let law = law(1.0, 0.1, 0.0);
        let few: Vec<_> = [1.0, 1.0, 2.0, 2.0, 4.0].map(|n| (n, law.at(n))).to_vec();
        assert_eq!(Scaling::fit(&few), Err(ScalingError::TooFew(3)));
        assert_eq!(Scaling::fit(&[]), Err(ScalingError::TooFew(0)));
    }

    #[test]
    fn points_of_another_law_are_refused() {
        // A network that is saturated at 20: a straight line with a ceiling.
        let roof = COUNTS.map(|n| (n, (10.0 * n).min(20.0)));
        let Err(ScalingError::Misfit(worst)) = Scaling::fit(&roof) else { panic!() };
        assert!(worst > WORST_FIT);
        // Growth beyond proportion, which the law cannot explain.
        let above = COUNTS.map(|n| (n, n * n));
        assert!(matches!(Scaling::fit(&above), Err(ScalingError::Misfit(_))));
    }

    #[test]
    fn only_finite_numbers_above_zero_are_points() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut points = points(&law(1.0, 0.0, 0.0));
            points[2].1 = wrong;
            assert!(matches!(Scaling::fit(&points), Err(ScalingError::NotPositive(_))), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn a_law_is_found_again(
            one in 1e3..1e12f64, contention in 0.0..0.5f64, coherence in 0.0..0.02f64
        ) {
            let law = law(one, contention, coherence);
            let found = Scaling::fit(&points(&law)).unwrap();
            prop_assert!((found.one / one - 1.0).abs() < 1e-6);
            prop_assert!((found.contention - contention).abs() < 1e-6);
            prop_assert!((found.coherence - coherence).abs() < 1e-6);
            prop_assert!(found.worst < 1e-6);
        }

        #[test]
        fn noise_of_two_percent_moves_the_law_by_little_within_its_range(
            contention in 0.0..0.2f64, noise in prop::collection::vec(-0.02..0.02f64, 5)
        ) {
            let law = law(1e9, contention, 0.0);
            let noisy: Vec<_> =
                points(&law).iter().zip(noise).map(|((n, x), e)| (*n, x * (1.0 + e))).collect();
            let found = Scaling::fit(&noisy).unwrap();
            for n in COUNTS {
                prop_assert!((found.at(n) / law.at(n) - 1.0).abs() < 0.06, "{} {:?}", n, found);
            }
        }

        #[test]
        fn nothing_panics(points in prop::collection::vec((any::<f64>(), any::<f64>()), 0..8)) {
            let _ = Scaling::fit(&points);
        }
    }
}
