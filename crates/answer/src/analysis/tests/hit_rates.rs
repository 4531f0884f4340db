//! What resumption saves, over costs that are known.

use study::Metric;
use study::testing::server;

use super::scene::Scene;

const KEY: &str = "load.resumption";

/// Seven rounds of handshakes of `full` µs, less `saved` µs for each ten points of hit rate.
fn resumption(full: f64, saved: f64) -> Scene {
    let hit_rates = ["0%", "50%", "100%"];
    let mut scene = Scene::new("resumption", &[server("nginx")], KEY, &hit_rates);
    for cell in &mut scene.study.cells {
        cell.load.operation = load::Operation::Handshakes;
        cell.load.resumption = cell.params[KEY].parse().unwrap();
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

#[test]
fn an_answer_over_hit_rates_says_what_ten_points_save() {
    let told = resumption(600.0, 40.0).first().sentence;
    assert!(
        told.ends_with(
            ". Ten points more of hit rate save 40.0 [39.6, 40.4] µs of the server's CPU per connection."
        ),
        "{told}"
    );
    let told = resumption(200.0, -5.0).first().sentence;
    assert!(told.contains(" hit rate cost 5.00 [4.95, 5.05] µs of"), "{told}");
    // Where rounds lie on both sides of 0, nothing is saved.
    let mut mixed = resumption(600.0, 1.0);
    for round in 0..3 {
        let line = mixed.trial(2, round);
        line.cpu_ns.server = line.cpu_ns.server.map(|ns| ns * 2);
    }
    let told = mixed.first().sentence;
    assert!(told.contains(" of hit rate make no significant difference ("), "{told}");
    let mut few = resumption(600.0, 40.0);
    few.keep(|_, round| round < 2);
    let told = few.first().sentence;
    assert!(told.contains(" of hit rate are of too few rounds to compare ("), "{told}");
    // Of the share that came about, not of the one that was asked for.
    let mut scene = resumption(600.0, 40.0);
    for round in 0..7 {
        let obtained = &mut scene.trial(2, round).receipt.obtained;
        (obtained.full, obtained.resumed) = (Some(1_000), Some(4_000));
    }
    assert!(!scene.first().sentence.contains("40.0"), "{}", scene.first().sentence);
}

#[test]
fn full_and_resumed_handshakes_have_their_latencies_apart() {
    const SENTENCE: &str = " Full against resumed handshakes (TCP and TLS) took, p50 and p99: 9.00 [9.00, 9.00] and 15.0 \
                            [15.0, 15.0] against 7.00 [7.00, 7.00] and 13.0 [13.0, 13.0] ms with 50% resumed.";
    let mut scene = resumption(600.0, 40.0);
    assert!(!scene.first().sentence.contains("Full against resumed"));
    for round in 0..7 {
        let latency = &mut scene.trial(1, round).latency_ns;
        (latency.connect_full_p50, latency.connect_full_p99) = (Some(9_000_000), Some(15_000_000));
        let resumed = (Some(7_000_000), Some(13_000_000));
        (latency.connect_resumed_p50, latency.connect_resumed_p99) = resumed;
        scene.trial(2, round).latency_ns = scene.trial(1, round).latency_ns.clone();
    }
    let told = scene.first().sentence;
    assert!(told.ends_with(SENTENCE), "{told}");
    for round in 0..7 {
        scene.trial(1, round).latency_ns.connect_full_p50 = None;
    }
    assert!(!scene.first().sentence.contains("Full against resumed"));
}

#[test]
fn without_two_hit_rates_there_is_no_slope() {
    let mut scene = resumption(600.0, 40.0);
    scene.keep(|cell, _| cell == 1);
    assert!(!scene.first().sentence.contains("Ten points"));
}
