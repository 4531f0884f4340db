//! The gates of answers.

use super::*;
use crate::gate::Reached::{self, Inconclusive, Met, NotMet};
use study::Metric;

/// nginx with RSA-2048 and with ECDSA P-256, which gives 2.56x [2.51, 2.61] the rate of one core.
fn gated(gate: &str) -> Scene {
    let mut scene = Scene::handshakes();
    scene.study.answers[0].gates.push(gate.parse().unwrap());
    scene
}

fn judged(scene: &Scene) -> (Reached, String) {
    let [outcome] = &scene.analysis().gates[..] else { panic!("one gate") };
    (outcome.result, outcome.sentence.clone())
}

#[test]
fn the_whole_interval_has_to_be_on_the_right_side() {
    let ratio = gated("ratio >= 1").first().bars()[1].ratio.clone().unwrap().estimate;
    let (low, median, high) = (ratio.interval.low, ratio.median, ratio.interval.high);
    assert!(low < median && median < high);
    for (gate, result) in [
        (format!("ratio >= {low}"), Met),
        (format!("ratio > {low}"), Inconclusive),
        (format!("ratio >= {median}"), Inconclusive),
        (format!("ratio >= {high}"), Inconclusive),
        (format!("ratio > {high}"), NotMet),
        (format!("ratio <= {high}"), Met),
        (format!("ratio <= {median}"), Inconclusive),
        (format!("ratio < {low}"), NotMet),
    ] {
        assert_eq!(judged(&gated(&gate)).0, result, "{gate}");
    }
    let (_, sentence) = judged(&gated("ratio >= 2.55"));
    assert_eq!(
        sentence,
        "Gate ratio >= 2.55 (keys: rate of one core) inconclusive in 1 of 1 cell: 2.56x [2.51, 2.61] \
         (nginx, ECDSA P-256). More or longer trials narrow the intervals."
    );
}

#[test]
fn what_has_no_ratio_meets_no_gate() {
    let mut scene = gated("ratio >= 0.1");
    scene.keep(|_, round| round < 6);
    assert_eq!(judged(&scene).0, Met);
    scene.keep(|_, round| round < 5);
    let (result, sentence) = judged(&scene);
    assert!(
        result == Inconclusive && sentence.contains(", 5 trials where 6 are needed"),
        "{sentence}"
    );
    scene.lines.clear();
    assert_eq!(
        judged(&scene),
        (
            NotMet,
            "Gate ratio >= 0.1 (keys: rate of one core) NOT met by 1 of 1 cell: not measured \
             (nginx, ECDSA P-256)."
                .to_owned()
        )
    );
    // Nor does an answer that is not given, as its server is not installed.
    scene.skip(study::testing::server("nginx"));
    assert!(scene.analysis().answers.is_empty() && judged(&scene).0 == NotMet);
}

#[test]
fn every_metric_can_be_gated() {
    for metric in Metric::of_cells().filter(|metric| !metric.row().is_of_bodies) {
        let mut scene = Scene::handshakes();
        scene.study.answers[0].metric = metric;
        scene.study.answers[0].gates = vec!["ratio > 0.001".parse().unwrap()];
        for line in scene.lines.iter_mut().map(|trial| &mut trial.line) {
            let evidence = &mut line.verdict_mut().evidence;
            (evidence.server_busy, evidence.client_busy) = (Some(1.0), Some(0.5));
            line.latency_ns.mean = Some(1_500);
            line.traffic = Some(trial::Traffic {
                connections: 64,
                bytes_sent: 500.0,
                bytes_received: 1_500.0,
                packets_sent: 4.0,
                packets_received: 4.0,
            });
            line.memory = Some(trial::MemoryUse {
                source: observe::MemorySource::Resctrl,
                read_bytes: None,
                written_bytes: None,
                bytes: 1_000_000,
            });
            line.connection_memory = Some(trial::ConnectionMemory {
                connections: 1_000,
                process_bytes: 20_000_000,
                socket_buffer_bytes: 1_000_000,
            });
            line.energy = Some(trial::EnergyUse { joules: 100.0, idle_watts: 1.0 });
            (line.latency_ns.whole.p50, line.latency_ns.whole.p99) = (Some(1_000), Some(2_000));
            line.connections_per_s = Some(100.0);
            line.cpu_ns.backend = Some(1_000_000);
            line.littles_law = Some(trial::LittlesLaw {
                users: 64,
                rate_per_s: 64_000.0,
                response_ns: 1_000_000,
                think_ns: None,
                users_by_law: 64.0,
                deviation: 0.0,
                judged: true,
                cause: None,
            });
        }
        if metric.is_of_instructions() {
            scene.count_instructions("callgrind 3.19.0");
        }
        assert_eq!(judged(&scene).0, Met, "{metric}");
    }
}
