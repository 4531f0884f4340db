//! How often a family of comparisons in which nothing differs states a difference, and how often one shows a
//! difference that all of its comparisons have: Holm's procedure over sign tests, flips of whole rounds by their
//! signs, and by their amounts (the greatest of the means over their standard errors).
//!
//! `cargo run -p stats --example families [RUNS]`

use random::Random;
use stats::{Decision, Signs, holm, sign_test};

const LEVEL: f64 = 0.05;

/// How the logarithm of a trial scatters.
#[derive(Clone, Copy)]
enum Shape {
    /// Logistic in all rows.
    Symmetric,
    /// A long tail of slow trials in all rows: differences are symmetric again.
    TailInAll,
    /// The tail in the baseline alone.
    TailInBaseline,
    /// Half of the rows have one, ten times as long as the others scatter.
    TailInSome,
}

const SHAPES: [(Shape, &str); 4] = [
    (Shape::Symmetric, "symmetric"),
    (Shape::TailInAll, "a tail in all rows"),
    (Shape::TailInBaseline, "a tail in the baseline"),
    (Shape::TailInSome, "a tail in some rows"),
];

impl Shape {
    /// Of the baseline (0) or another row.
    fn sample(self, random: &mut Random, row: usize) -> f64 {
        let has_tail = match self {
            Self::Symmetric => false,
            Self::TailInAll => true,
            Self::TailInBaseline => row == 0,
            Self::TailInSome => row % 2 == 1,
        };
        let u = random.uniform().clamp(1e-12, 1.0 - 1e-12);
        match has_tail {
            true => random.exponential(),
            false => 0.1 * (u / (1.0 - u)).ln(),
        }
    }

    /// The median of what a row is over the baseline.
    fn middle(self, row: usize) -> f64 {
        let mut random = Random::stream(11, row as u64);
        let mut differences: Vec<f64> = (0..200_001)
            .map(|_| self.sample(&mut random, row) - self.sample(&mut random, 0))
            .collect();
        differences.sort_by(f64::total_cmp);
        differences[100_000]
    }
}

/// The differences of each row, by round.
fn family(
    shape: Shape,
    rows: &[f64],
    rounds: usize,
    shift: f64,
    random: &mut Random,
) -> Vec<Vec<f64>> {
    let mut all = vec![Vec::with_capacity(rounds); rows.len()];
    for _ in 0..rounds {
        let baseline = shape.sample(random, 0);
        for (place, (differences, middle)) in all.iter_mut().zip(rows).enumerate() {
            differences.push(shape.sample(random, place + 1) - baseline - middle + shift);
        }
    }
    all
}

/// In how many of the rows each way states a difference.
fn stated(family: &[Vec<f64>]) -> [usize; 3] {
    let signs: Vec<Vec<_>> = family
        .iter()
        .map(|row| (0..).zip(row.iter().map(|sample| sample.total_cmp(&0.0))).collect())
        .collect();
    let signs: Vec<&Signs> = signs.iter().map(Vec::as_slice).collect();
    let alone: Vec<f64> = family
        .iter()
        .map(|row| {
            let above = row.iter().filter(|sample| **sample > 0.0).count();
            sign_test(above.max(row.len() - above), row.len())
        })
        .collect();
    let by_holm = holm(&alone).into_iter().filter(|p| *p <= LEVEL).count();
    let by_signs = Decision::of_rounds(&signs).into_iter().filter(|of| of.is_sure()).count();
    [by_holm, by_signs, by_amounts(family)]
}

fn by_amounts(family: &[Vec<f64>]) -> usize {
    let rounds = family[0].len();
    let statistic = |row: &[f64], flipped: usize| {
        let n = row.len() as f64;
        let sign = |place: usize| if flipped >> place & 1 == 1 { -1.0 } else { 1.0 };
        let mean = row.iter().enumerate().map(|(place, x)| sign(place) * x).sum::<f64>() / n;
        let squares = row.iter().map(|x| x * x).sum::<f64>() / n;
        mean.abs() / (squares - mean * mean).max(1e-12).sqrt()
    };
    let mut left: Vec<&Vec<f64>> = family.iter().collect();
    loop {
        let greatest = |flipped| left.iter().map(|row| statistic(row, flipped)).fold(0.0, f64::max);
        let mut by_chance: Vec<f64> = (0..1 << (rounds - 1)).map(greatest).collect();
        by_chance.sort_by(f64::total_cmp);
        let p = |seen: f64| {
            let below = by_chance.partition_point(|other| *other < seen - 1e-9);
            (by_chance.len() - below) as f64 / by_chance.len() as f64
        };
        let before = left.len();
        left.retain(|row| p(statistic(row, 0)) > LEVEL);
        if left.len() == before || left.is_empty() {
            return family.len() - left.len();
        }
    }
}

fn main() {
    let runs: u32 = std::env::args().nth(1).and_then(|runs| runs.parse().ok()).unwrap_or(2_000);
    println!(
        "| differences | rounds | comparisons | false: Holm | signs | amounts | shown: Holm | signs | amounts |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
    for (shape, name) in SHAPES {
        for (rounds, count) in [(7, 1), (7, 4), (7, 10), (12, 4), (12, 10)] {
            let rows: Vec<f64> = (1..=count).map(|row| shape.middle(row)).collect();
            let mut random = Random::new(7);
            let (mut wrong, mut shown) = ([0u32; 3], [0usize; 3]);
            for _ in 0..runs {
                let nothing = stated(&family(shape, &rows, rounds, 0.0, &mut random));
                let all = stated(&family(shape, &rows, rounds, 2.0, &mut random));
                for way in 0..3 {
                    wrong[way] += u32::from(nothing[way] > 0);
                    shown[way] += all[way];
                }
            }
            let percent = |of: f64| format!("{:.1}%", 100.0 * of);
            let wrong = wrong.map(|of| percent(f64::from(of) / f64::from(runs)));
            let shown = shown.map(|of| percent(of as f64 / f64::from(runs) / count as f64));
            println!(
                "| {name} | {rounds} | {count} | {} | {} |",
                wrong.join(" | "),
                shown.join(" | ")
            );
        }
    }
}
