//! What resumption saves, over costs that are known.

use stats::{Decision, Direction};
use study::Metric;
use study::testing::server;

use super::scene::Scene;

const KEY: &str = "load.resumption";

/// Seven rounds of handshakes of `full` µs, less `saved` µs for each ten points of hit rate.
pub(super) fn resumption(full: f64, saved: f64) -> Scene {
    let hit_rates = ["0%", "50%", "100%"];
    let mut scene = Scene::new("resumption", &[server("nginx")], KEY, &hit_rates);
    for cell in &mut scene.study.cells {
        cell.load.operation = load::Operation::Handshakes;
        cell.load.resumption = cell.params[KEY].to_string().parse().unwrap();
    }
    let mut scene = scene.answer(Metric::ServerCpuPerOperation, KEY, "0%");
    for (cell, points) in [0.0, 5.0, 10.0].into_iter().enumerate() {
        let us = full - saved * points;
        scene.measure(cell, 1e6 / us, &[1.0, 0.99, 1.01, 1.0, 1.0, 0.99, 1.01]);
        for round in 0..7 {
            let line = scene.trial(cell, round);
            let all = line.operations.completed;
            let resumed = (all as f64 * points / 10.0) as u64;
            let obtained = &mut line.receipt.obtained;
            (obtained.full, obtained.resumed) = (Some(all - resumed), Some(resumed));
        }
    }
    scene
}

const SAVED: &str = "hit rate save";

/// What ten points save in µs, rounded, and whether that is decided.
fn saved(scene: &Scene) -> (f64, Option<Decision>) {
    let answer = scene.first();
    let [(_, saved)] = answer.following(SAVED)[..] else { panic!("{:?}", answer.derived) };
    ((saved.figure.median() / 100.0).round() / 10.0, saved.decision)
}

#[test]
fn what_ten_points_of_hit_rate_save_follows() {
    let sure = |direction| Some(Decision::Sure(direction));
    assert_eq!(saved(&resumption(600.0, 40.0)), (40.0, sure(Direction::Above)));
    assert_eq!(saved(&resumption(200.0, -5.0)), (-5.0, sure(Direction::Below)));
    // Where rounds lie on both sides of 0, nothing is saved.
    let mut mixed = resumption(600.0, 1.0);
    for round in 0..3 {
        let line = mixed.trial(2, round);
        line.cpu_ns.server = line.cpu_ns.server.map(|ns| ns * 2);
    }
    assert_eq!(saved(&mixed).1, Some(Decision::NoDifference));
    let mut few = resumption(600.0, 40.0);
    few.keep(|_, round| round < 2);
    assert_eq!(saved(&few).1, Some(Decision::TooFew));
    // Of the share that came about, not of the one that was asked for.
    let mut scene = resumption(600.0, 40.0);
    for round in 0..7 {
        let obtained = &mut scene.trial(2, round).receipt.obtained;
        (obtained.full, obtained.resumed) = (Some(1_000), Some(4_000));
    }
    assert_ne!(saved(&scene).0, 40.0);
}

#[test]
fn full_and_resumed_handshakes_have_their_latencies_apart() {
    let mut scene = resumption(600.0, 40.0);
    assert!(scene.first().following("handshake, p").is_empty());
    for round in 0..7 {
        let latency = &mut scene.trial(1, round).latency_ns;
        (latency.connect_full_p50, latency.connect_full_p99) = (Some(9_000_000), Some(15_000_000));
        let resumed = (Some(7_000_000), Some(13_000_000));
        (latency.connect_resumed_p50, latency.connect_resumed_p99) = resumed;
        scene.trial(2, round).latency_ns = scene.trial(1, round).latency_ns.clone();
    }
    let answer = scene.first();
    let latencies = answer.following("handshake, p").into_iter();
    let latencies: Vec<_> =
        latencies.map(|(of, derived)| (of, derived.figure.median() / 1e6)).collect();
    let with = "with 50% resumed";
    assert_eq!(latencies, [(with, 9.0), (with, 15.0), (with, 7.0), (with, 13.0)]);
    for round in 0..7 {
        scene.trial(1, round).latency_ns.connect_full_p50 = None;
    }
    assert!(scene.first().following("handshake, p").is_empty());
}

#[test]
fn without_two_hit_rates_there_is_no_slope() {
    let mut scene = resumption(600.0, 40.0);
    scene.keep(|cell, _| cell == 1);
    assert!(scene.first().following(SAVED).is_empty());
}
