//! Gates on journals made by hand.

use super::*;
use crate::analysis::scene::{CBC, GCM, SPREAD, Scene};
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
    assert!(met.met);
    assert_eq!(
        met.sentence,
        "Gate goodput>=2Gb/s met by 2 cells: the nearest is 2.20 [2.13, 2.27] Gb/s \
         (nginx, AES-128-CBC-SHA)."
    );
    let failed = judged(&scene, "goodput>=5Gb/s");
    assert!(!failed.met && failed.cells[0].met && !failed.cells[1].met);
    assert_eq!(
        failed.sentence,
        "Gate goodput>=5Gb/s NOT met by 1 of 2 cells: 2.20 [2.13, 2.27] Gb/s (nginx, \
         AES-128-CBC-SHA)."
    );
    assert!(judged(&scene, "bulk-0001:goodput>=5Gb/s").met);
    assert!(!judged(&scene, "bulk:goodput>=5Gb/s").met);
    assert!(!judged(&scene, "goodput<8.5Gb/s").met);
    assert!(judged(&scene, "goodput<=8.51Gb/s").met);
}

#[test]
fn the_median_counts_and_an_interval_across_the_limit_is_mentioned() {
    let scene = bulk();
    for (gate, met) in
        [("bulk-0002:goodput>=2.19Gb/s", true), ("bulk-0002:goodput>=2.22Gb/s", false)]
    {
        let outcome = judged(&scene, gate);
        assert_eq!(outcome.met, met);
        let said = " In 1 the interval includes the limit; the median counts.";
        assert!(outcome.sentence.ends_with(said), "{}", outcome.sentence);
    }
}

#[test]
fn an_unmeasured_cell_never_passes() {
    let mut scene = bulk();
    (0..7).for_each(|round| scene.fail(1, round));
    let outcome = judged(&scene, "goodput>=1b/s");
    assert!(!outcome.met);
    assert_eq!(
        outcome.sentence,
        "Gate goodput>=1b/s NOT met by 1 of 2 cells: not measured (nginx, AES-128-CBC-SHA)."
    );
    assert!(!judged(&scene, "goodput<=99Gb/s").met);
    scene.lines.clear();
    assert!(!judged(&scene, "goodput>=1b/s").met);
    // A server that is not installed.
    scene.skip(server("nginx"));
    assert!(!judged(&scene, "goodput>=1b/s").met);
    // Without the server's CPU time there is no figure per CPU-second.
    let mut scene = bulk();
    scene.lines.iter_mut().for_each(|trial| trial.line.cpu_ns.server = None);
    assert!(judged(&scene, "goodput>=1b/s").met);
    assert!(!judged(&scene, "goodput-per-server-cpu>=1b/s").met);
}

#[test]
fn what_cannot_be_judged_at_all_is_a_wrong_request() {
    let scene = bulk();
    assert_eq!(
        refused(&scene, "bluk:goodput>=1Gb/s"),
        "gate bluk:goodput>=1Gb/s: the study has no case or cell bluk; it has bulk"
    );
    assert!(refused(&scene, "ratio>=0.9").contains("use this gate with toll compare A B"));
    let handshakes = Scene::handshakes();
    let message = refused(&handshakes, "goodput>=1Gb/s");
    assert!(message.contains("none of its cells has goodput"), "{message}");
    assert!(judged(&handshakes, "rate>=1_500/s").met);
}

#[test]
fn ratios_are_judged_for_every_cell_of_the_earlier_run() {
    let (earlier, mut later) = (bulk(), bulk());
    let judged = |later: &Scene, gate: &str| {
        let gate: Gate = gate.parse().unwrap();
        let (comparison, analysis) = (compared(&earlier, later), later.analysis());
        gate.judge_later(&earlier.study, (&later.study, &analysis), &comparison).unwrap()
    };
    assert!(judged(&later, "ratio>=0.95").met);
    assert!(judged(&later, "goodput>=2Gb/s").met);
    later.lines.clear();
    later.measure(0, 9.0e9, &SPREAD);
    later.measure(1, 2.0e9, &SPREAD);
    let slower = judged(&later, "ratio>=0.95");
    assert!(!slower.met);
    assert!(
        slower.sentence.starts_with("Gate ratio>=0.95 NOT met by 1 of 2 cells: 0.91x ["),
        "{}",
        slower.sentence
    );
    assert!(judged(&later, "bulk-0001:ratio>=0.95").met);
    // A cell that the later run does not have has no ratio.
    later.study.cells.pop();
    let lacking = judged(&later, "ratio>=0.1");
    assert!(!lacking.met && lacking.sentence.contains("not measured"), "{}", lacking.sentence);
}
