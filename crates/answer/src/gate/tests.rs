//! Gates on journals made by hand.

use super::Reached::{Inconclusive, Met, NotMet};
use super::*;
use crate::analysis::tests::scene::{CBC, GCM, SPREAD, Scene};
use crate::compare::tests::compared;
use study::testing::server;

/// nginx with two suites: 8.5 and 2.2 Gb/s of one core.
fn bulk() -> Scene {
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, CBC]);
    scene.measure(0, 8.5e9, &SPREAD);
    scene.measure(1, 2.2e9, &SPREAD);
    scene
}

fn judged(scene: &Scene, gate: &str) -> GateOutcome {
    let gate: Gate = gate.parse().unwrap();
    gate.judge(&scene.study, &scene.analysis()).unwrap()
}

fn refused(scene: &Scene, gate: &str) -> String {
    let gate: Gate = gate.parse().unwrap();
    gate.check(&scene.study).unwrap_err().to_string()
}

#[test]
fn every_cell_has_to_meet_it() {
    let scene = bulk();
    let met = judged(&scene, "goodput>=2Gb/s");
    assert_eq!(met.result, Met);
    assert_eq!(
        met.sentence,
        "Gate goodput>=2Gb/s met by 2 cells: the nearest is 2.20 Gb/s [2.13, 2.27] \
         (nginx, AES-128-CBC-SHA)."
    );
    let failed = judged(&scene, "goodput>=5Gb/s");
    assert_eq!(failed.result, NotMet);
    assert_eq!(failed.cells.iter().map(|cell| cell.result).collect::<Vec<_>>(), [Met, NotMet]);
    assert_eq!(
        failed.sentence,
        "Gate goodput>=5Gb/s NOT met by 1 of 2 cells: 2.20 Gb/s [2.13, 2.27] (nginx, \
         AES-128-CBC-SHA)."
    );
    assert_eq!(judged(&scene, "bulk-0001:goodput>=5Gb/s").result, Met);
    assert_eq!(judged(&scene, "bulk:goodput>=5Gb/s").result, NotMet);
    assert_eq!(judged(&scene, "goodput<8Gb/s").result, NotMet);
    assert_eq!(judged(&scene, "goodput<=9Gb/s").result, Met);
}

#[test]
fn a_limit_within_the_interval_is_neither_met_nor_missed() {
    let scene = bulk();
    let outcome = judged(&scene, "goodput>=2.15Gb/s");
    assert_eq!(outcome.result, Inconclusive);
    assert_eq!(
        outcome.sentence,
        "Gate goodput>=2.15Gb/s inconclusive in 1 of 2 cells, whose interval includes the limit: \
         2.20 Gb/s [2.13, 2.27] (nginx, AES-128-CBC-SHA). More or longer trials narrow it."
    );
    // A cell that misses it decides.
    assert_eq!(judged(&scene, "goodput>=8.45Gb/s").result, NotMet);
    let by_median = |gate: &str| {
        let gate = gate.parse::<Gate>().unwrap().by_median();
        gate.judge(&scene.study, &scene.analysis()).unwrap().result
    };
    let gates = ["goodput>=2.15Gb/s", "goodput>=2.2Gb/s", "goodput>=2.21Gb/s"];
    assert_eq!(gates.map(by_median), [Met, Met, NotMet]);
}

#[test]
fn too_few_trials_meet_no_gate() {
    let mut scene = bulk();
    scene.keep(|_, round| round < 6);
    assert_eq!(judged(&scene, "goodput>=1Gb/s").result, Met);
    scene.keep(|cell, round| cell == 0 || round < 5);
    let outcome = judged(&scene, "goodput>=1Gb/s");
    assert_eq!(outcome.result, NotMet);
    assert!(outcome.sentence.contains("], 5 trials are too few"), "{}", outcome.sentence);
}

#[test]
fn an_unmeasured_cell_never_passes() {
    let mut scene = bulk();
    (0..7).for_each(|round| scene.fail(1, round));
    let outcome = judged(&scene, "goodput>=1b/s");
    assert_eq!(outcome.result, NotMet);
    assert_eq!(
        outcome.sentence,
        "Gate goodput>=1b/s NOT met by 1 of 2 cells: not measured (nginx, AES-128-CBC-SHA)."
    );
    assert_eq!(judged(&scene, "goodput<=99Gb/s").result, NotMet);
    scene.lines.clear();
    assert_eq!(judged(&scene, "goodput>=1b/s").result, NotMet);
    // A server that is not installed.
    scene.skip(server("nginx"));
    assert_eq!(judged(&scene, "goodput>=1b/s").result, NotMet);
    // Without the server's CPU time there is no figure per CPU-second.
    let mut scene = bulk();
    scene.lines.iter_mut().for_each(|trial| trial.line.cpu_ns.server = None);
    assert_eq!(judged(&scene, "goodput>=1b/s").result, Met);
    assert_eq!(judged(&scene, "goodput-per-server-cpu>=1b/s").result, NotMet);
}

#[test]
fn what_cannot_be_judged_at_all_is_a_wrong_request() {
    let scene = bulk();
    assert_eq!(
        refused(&scene, "bluk:goodput>=1Gb/s"),
        "gate bluk:goodput>=1Gb/s: the study has no case, table or cell bluk; it has bulk"
    );
    assert!(refused(&scene, "ratio>=0.9").contains("use this gate with toll compare A B"));
    let handshakes = Scene::handshakes();
    let message = refused(&handshakes, "goodput>=1Gb/s");
    assert!(message.contains("none of its rows has goodput"), "{message}");
    assert_eq!(judged(&handshakes, "rate>=1_500/s").result, Met);
}

#[test]
fn ratios_are_judged_for_every_cell_of_the_earlier_run() {
    let (earlier, mut later) = (bulk(), bulk());
    let judged = |later: &Scene, gate: &str| {
        let gate: Gate = gate.parse().unwrap();
        let (comparison, analysis) = (compared(&earlier, later), later.analysis());
        gate.judge_later((&later.study, &analysis), &comparison).unwrap()
    };
    // The same again: its interval is around 1.
    assert_eq!(judged(&later, "ratio>=0.9").result, Met);
    assert_eq!(judged(&later, "ratio>=0.99").result, Inconclusive);
    assert_eq!(judged(&later, "goodput>=2Gb/s").result, Met);
    later.lines.clear();
    later.measure(0, 9.0e9, &SPREAD);
    later.measure(1, 1.8e9, &SPREAD);
    let slower = judged(&later, "ratio>=0.95");
    assert_eq!(slower.result, NotMet);
    assert!(
        slower.sentence.starts_with("Gate ratio>=0.95 NOT met by 1 of 2 cells: 0.82x ["),
        "{}",
        slower.sentence
    );
    assert_eq!(judged(&later, "bulk-0001:ratio>=0.95").result, Met);
    // A cell that the later run does not have has no ratio.
    later.study.cells.pop();
    let lacking = judged(&later, "ratio>=0.1");
    assert!(
        lacking.result == NotMet && lacking.sentence.contains("not measured"),
        "{}",
        lacking.sentence
    );
}
