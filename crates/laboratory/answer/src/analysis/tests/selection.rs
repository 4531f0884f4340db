//! The choice of the best of several, in simulations with a known truth.

use random::Random;
use stats::{Decision, Direction};
use study::Metric;
use study::headline::BestOf;
use study::testing::server;

use super::SUITE;
use super::scene::{CBC, CHACHA, GCM, Scene};
use super::written::name_the_best;
use crate::analysis::decisions::Decisions;
use crate::analysis::row;
use crate::analysis::{Point, RowFigure};
use crate::comparable::ratio;

const SUITES: [&str; 5] =
    [GCM, CHACHA, CBC, "TLS_AES_256_GCM_SHA384", "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA"];

/// Trials of suites that give these figures, each off by up to 5%, by chance.
fn scene(figures: &[f64], rounds: usize, random: &mut Random) -> Scene {
    let mut scene = Scene::suites(&[server("nginx")], &SUITES[..figures.len()]).answer(
        Metric::GoodputPerServerCpu,
        SUITE,
        GCM,
    );
    for (cell, figure) in figures.iter().enumerate() {
        let factors: Vec<f64> = (0..rounds).map(|_| 0.95 + 0.1 * random.uniform()).collect();
        scene.measure(cell, *figure, &factors);
    }
    scene
}

/// What `of` says of the cells of a scene.
fn with_entries<T>(scene: &Scene, of: impl FnOnce(&Point, &[&RowFigure]) -> T) -> T {
    let entries = scene.entries();
    let cells = row::of_cells(&scene.study, &entries, &scene.targets);
    let decisions = Decisions::of(&scene.study.answers, &cells).into();
    let compared = Point::all(&scene.study, &cells, &decisions).remove(0).remove(0);
    of(&compared, &compared.figures.iter().collect::<Vec<_>>())
}

#[test]
fn of_equal_suites_one_is_preferred_in_at_most_one_run_in_twenty() {
    const RUNS: u32 = 400;
    let mut random = Random::new(18);
    let mut uncorrected = 0;
    let mut runs = 0;
    for (suites, rounds) in [(3, 7), (4, 9), (5, 12)] {
        let mut errors = 0;
        for _ in 0..RUNS {
            let scene = scene(&vec![8e9; suites], rounds, &mut random);
            with_entries(&scene, |compared, entries| {
                let any = |is: &dyn Fn(&RowFigure) -> bool| entries.iter().any(|of| is(of));
                let is_sure = |one: &RowFigure, other: &RowFigure| {
                    compared.ratio(&one.row, &other.row).is_some_and(|of| of.decision.is_sure())
                };
                errors += u32::from(any(&|one| any(&|other| is_sure(one, other))));
                uncorrected += u32::from(is_any_interval_above_1(entries));
                runs += 1;
            });
        }
        // At most 5%, and as many more as chance allows once in a thousand.
        let limit = 0.05 + 3.1 * (0.05 * 0.95 / f64::from(RUNS)).sqrt();
        let rate = f64::from(errors) / f64::from(RUNS);
        assert!(rate <= limit, "{suites} suites, {rounds} rounds: {rate}");
    }
    let rate = f64::from(uncorrected) / f64::from(runs);
    assert!(rate > 0.08, "without a correction {rate} err");
}

/// Whether the one with the greatest median would be preferred to another, as if it had been chosen
/// before.
fn is_any_interval_above_1(entries: &[&RowFigure]) -> bool {
    let median = |entry: &RowFigure| entry.figure.as_ref().unwrap().median();
    let best = entries.iter().max_by(|a, b| median(a).total_cmp(&median(b))).unwrap();
    entries.iter().any(|other| {
        let ratio = ratio(&best.row, &other.row, Metric::GoodputPerServerCpu).unwrap();
        Decision::of_interval(&ratio.estimate, 1.0) == Decision::Sure(Direction::Above)
    })
}

#[test]
fn a_true_best_is_found() {
    let mut random = Random::new(18);
    for _ in 0..50 {
        let mut scene = scene(&[8e9, 8e9, 10e9, 4e9], 9, &mut random);
        name_the_best(&mut scene, BestOf::All);
        assert_eq!(scene.first().headline.unwrap().sentence, "AES-128-CBC-SHA.");
    }
}

#[test]
fn seven_rounds_rank_five_suites_where_they_agree() {
    let sentence = |figures: &[f64]| {
        let mut scene = scene(figures, 7, &mut Random::new(1));
        name_the_best(&mut scene, BestOf::All);
        scene.first().headline.unwrap().sentence
    };
    assert_eq!(sentence(&[8e9, 7e9, 6e9, 5e9, 4e9]), "AES-128-GCM.");
    let alike = sentence(&[8e9, 8e9, 8e9, 8e9, 4e9]);
    assert!(alike.contains("Too few trials: "), "{alike}");
}
