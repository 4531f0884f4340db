//! Gates on journals made by hand.

use super::Reached::{Inconclusive, Met, NotMet};
use super::*;
use crate::analysis::tests::ciphers::ciphers;
use crate::analysis::tests::scene::{CBC, GCM, SPREAD, Scene};
use crate::compare::tests::{compared, compared_in, under};
use journal::primitive::RowLine;
use observe::{Fact, Machine};
use study::testing::server;
use trial::Traffic;

/// nginx with two suites: 8.5 and 2.2 Gb/s of one core.
fn bulk() -> Scene {
    bulk_at([8.5e9, 2.2e9])
}

fn bulk_at(figures: [f64; 2]) -> Scene {
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, CBC]);
    (0..).zip(figures).for_each(|(cell, figure)| scene.measure(cell, figure, &SPREAD));
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

/// Both runs on machines of which one is changed.
fn on_machines(change: impl Fn(&mut Machine), figures: [f64; 2]) -> [Scene; 2] {
    let machine = under(&serde_json::Value::Null, "0-1");
    let mut other = machine.clone();
    change(&mut other);
    let on = |machine, figures| Scene { machine: Some(machine), ..bulk_at(figures) };
    [on(machine, [8.5e9, 2.2e9]), on(other, figures)]
}

#[test]
fn a_regression_is_not_judged_between_two_machines() {
    type Change = fn(&mut Machine);
    let changes: [(&str, Change); 5] = [
        ("processor", |of| of.processor.model = Fact::Known("another".to_owned())),
        ("CPUs", |of| of.processor.online_cpus = Fact::Known(1_000)),
        ("CPU quota", |of| of.cgroup = under(&half(), "0-1").cgroup),
        ("allowed CPUs", |of| of.cgroup = under(&serde_json::Value::Null, "0").cgroup),
        ("kernel", |of| of.system.kernel_release = Fact::Known("9.9".to_owned())),
    ];
    for (what, change) in changes {
        // Half as fast, and as fast: neither is the program's doing.
        for figures in [[4.2e9, 1.1e9], [8.5e9, 2.2e9]] {
            let [a, b] = on_machines(change, figures);
            let comparison = compared(&a, &b);
            let first = &comparison.differences[0];
            assert_eq!((&*first.what, first.is_other_machine), (what, true));
            let words = comparison.other_machine().unwrap();
            for gate in ["regression<=5%", "regression<=80%"] {
                let gate = gate.parse::<Gate>().unwrap();
                for gate in [gate.by_median(), gate] {
                    let outcome = gate.judge_runs(&comparison).unwrap();
                    assert_eq!(outcome.result, Inconclusive, "{what}: {}", outcome.sentence);
                    assert!(
                        outcome
                            .sentence
                            .ends_with(&format!("in the same way, on one machine. {words}"))
                    );
                    assert!(outcome.cells.iter().all(|cell| cell.why.as_ref() == Some(&words)));
                }
            }
        }
    }
    // What is known of one machine only is no difference, nor is what no time depends on.
    let same: [Change; 2] = [|of| of.cgroup = None, |of| of.network.somaxconn = Fact::Known(7)];
    for change in same {
        let [a, b] = on_machines(change, [4.2e9, 2.2e9]);
        let gate: Gate = "regression<=5%".parse().unwrap();
        assert_eq!(gate.judge_runs(&compared(&a, &b)).unwrap().result, NotMet);
    }
}

#[test]
fn what_is_counted_is_judged_between_two_machines_too() {
    let [mut a, mut b] =
        on_machines(|of| of.system.kernel_release = Fact::Known("9.9".to_owned()), [8.5e9, 2.2e9]);
    for (scene, bytes) in [(&mut a, 3_000.0), (&mut b, 3_300.0)] {
        scene.lines.iter_mut().for_each(|trial| {
            trial.line.traffic = Some(Traffic {
                connections: 10,
                bytes_sent: 500.0,
                bytes_received: bytes,
                packets_sent: 5.0,
                packets_received: 5.0,
            });
        });
    }
    let judged = |metric| between(&a, &b, &[metric], "regression<=5%").unwrap().result;
    let metrics = [Metric::HandshakeBytesReceived, Metric::HandshakeBytesSent, Metric::Goodput];
    assert_eq!(metrics.map(judged), [NotMet, Met, Inconclusive]);
}

#[test]
fn a_cell_that_only_the_earlier_machine_measured_fails_a_regression() {
    let [a, mut b] =
        on_machines(|of| of.processor.online_cpus = Fact::Known(1_000), [8.5e9, 2.2e9]);
    b.study.cells.pop();
    assert_eq!(between(&a, &b, &[], "regression<=5%").unwrap().result, NotMet);
}

/// Two suites, of which an answer compares the second with the first.
fn compared_suites(servers: &[&'static targets::Server]) -> Scene {
    let scene = Scene::suites(servers, &[GCM, CBC]);
    scene.answer(Metric::GoodputPerServerCpu, "load.suite", GCM)
}

#[test]
fn the_values_that_answers_compare_are_judged_in_one_run() {
    let mut scene = compared_suites(&[server("nginx")]);
    let reversed: Vec<f64> = SPREAD.into_iter().rev().collect();
    scene.measure(0, 8.5e9, &SPREAD);
    scene.measure(1, 2.2e9, &reversed);
    let whole = scene.clone();
    // 2.2 of 8.5 Gb/s: 74% worse.
    for (gate, result) in [
        ("load.suite:regression<=5%", NotMet),
        ("load.suite:regression<=80%", Met),
        ("load.suite:regression<=74%", Inconclusive),
        ("load.suite:ratio>=0.3", NotMet),
        ("load.suite:ratio>=0.2", Met),
    ] {
        let outcome = judged(&scene, gate);
        assert_eq!((outcome.result, outcome.cells.len()), (result, 1), "{}", outcome.sentence);
        assert_eq!(outcome.cells[0].cell, "bulk-0002");
    }
    // A cost is worse where there is more of it.
    scene.study.answers[0].metric = Metric::ServerCpuPerGigabyte;
    assert_eq!(judged(&scene, "load.suite:regression<=5%").result, NotMet);
    assert_eq!(judged(&scene, "load.suite:ratio<=5").result, Met);
    assert!(refused(&scene, "load.suite:ratio>=0.95").contains("write load.suite:regression<=5%"));
    // What is not compared is refused before anything is measured.
    for gate in ["regression<=5%", "bulk:ratio>=1", "target.library:regression<=5%"] {
        let why = refused(&scene, gate);
        assert!(why.contains("compared with nothing") && why.contains("(load.suite)"), "{why}");
    }
    // Nothing passes because it was not measured: neither a value nor the baseline.
    for lost in [0, 1] {
        let mut scene = whole.clone();
        scene.keep(|cell, _| cell != lost);
        assert_eq!(judged(&scene, "load.suite:regression<=80%").result, NotMet);
    }
    scene.keep(|_, round| round < 5);
    let few = judged(&scene, "load.suite:regression<=5%");
    assert_eq!((few.result, few.cells[0].needed_trials), (Inconclusive, Some(6)));
}

#[test]
fn pairs_of_one_run_are_judged_together_and_without_what_drifts() {
    let mut scene = compared_suites(&[server("nginx"), server("haproxy")]);
    // Each round is slower than the one before, both cells alike: equal pairs.
    let drift = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4];
    for cell in 0..4 {
        scene.measure(cell, 8e9, &drift);
    }
    let outcome = judged(&scene, "load.suite:regression<=1%");
    assert_eq!((outcome.result, outcome.cells.len()), (Met, 2), "{}", outcome.sentence);
    // Six rounds decide both where they agree.
    scene.keep(|_, round| round < 6);
    assert_eq!(judged(&scene, "load.suite:regression<=1%").result, Met);
    scene.keep(|_, round| round < 5);
    let outcome = judged(&scene, "load.suite:regression<=1%");
    assert_eq!(outcome.result, Inconclusive, "{}", outcome.sentence);
    assert!(outcome.cells.iter().all(|cell| cell.needed_trials == Some(6)), "{outcome:?}");
}

/// What the table beside the gate decides, the gate does: by ratios whose rounds agree, seven of them as well.
#[test]
fn four_values_are_judged_by_seven_rounds() {
    const KEY: &str = "target.certificate-key";
    let keys = ["ecdsa:p256", "rsa:2048", "rsa:3072", "rsa:4096", "ecdsa:p384"];
    let mut scene = Scene::keys(&keys).answer(Metric::RatePerServerCpu, KEY, keys[0]);
    for (cell, figure) in [4_200.0, 1_640.0, 610.0, 280.0, 900.0].into_iter().enumerate() {
        scene.measure(cell, figure, &SPREAD);
    }
    scene.study.answers[0].gates.push("ratio >= 0.95".parse().unwrap());
    let bars = scene.first().bars();
    assert!(bars.iter().filter_map(|bar| bar.ratio.as_ref()).all(|of| of.decision.is_sure()));
    let outcome = judged(&scene, "target.certificate-key:regression<=5%");
    let results: Vec<_> = outcome.cells.iter().map(|of| (of.result, of.needed_trials)).collect();
    assert_eq!(results, [(NotMet, None); 4], "{}", outcome.sentence);
    assert_eq!(scene.analysis().gates[0].result, NotMet);
}

#[test]
fn trials_that_decide_nothing_are_refused_before_the_run() {
    let few = |error: GateError| match error {
        GateError::TooFewTrials { trials, fewest, needed, .. } => (trials, fewest, needed),
        error => panic!("{error:?}"),
    };
    let mut scene = compared_suites(&[server("nginx"), server("haproxy")]);
    scene.study.answers[0].gates.push("ratio >= 0.1".parse().unwrap());
    let gates = ["goodput>=1Gb/s", "load.suite:regression<=5%"].map(|g| g.parse::<Gate>().unwrap());
    for trials in 1..8 {
        scene.study.trials = trials;
        let checks = gates.iter().map(|gate| gate.check_trials(&scene.study));
        for check in checks.chain([check_answers(&scene.study)]) {
            assert_eq!(check.is_err(), trials < 6, "{trials}");
            if let Err(error) = check {
                assert_eq!(few(error), (trials, 6, 8));
            }
        }
    }
    // What the caller shortened is the caller's business, where the gate is the study's.
    scene.study.set_trials(3);
    assert_eq!(check_answers(&scene.study), Ok(()));
    assert!(gates[0].check_trials(&scene.study).is_err());
    assert_eq!(gates[0].by_median().check_trials(&scene.study), Ok(()));
    // More may follow.
    scene.study.until = Some(study::Until {
        interval: "5%".parse().unwrap(),
        at_most: units::Nanos(1_000_000_000),
    });
    assert_eq!(gates[0].check_trials(&scene.study), Ok(()));
}

#[test]
fn a_latency_that_is_gated_is_measured_without_pauses() {
    let woken = |gate: &str| {
        let mut scene = bulk();
        gate.parse::<Gate>().unwrap().settle(&mut scene.study.cells);
        scene.study.cells.iter().map(|cell| cell.load.wakeups).collect::<Vec<_>>()
    };
    let each = Some(load::Wakeups::Each);
    assert_eq!(woken("p99<=5ms"), [each, each]);
    assert_eq!(woken("bulk-0002:p99<=5ms"), [None, each]);
    assert_eq!(woken("goodput>=1Gb/s"), [None, None]);
}

#[test]
fn a_gate_that_is_not_met_names_another_machine() {
    let [a, b] = on_machines(|of| of.cgroup = under(&half(), "0-1").cgroup, [4.2e9, 2.2e9]);
    let comparison = compared(&a, &b);
    let (analysis, machine) = (b.analysis(), comparison.other_machine().unwrap());
    for (gate, result) in [
        ("ratio>=0.9", NotMet),
        ("bulk-0002:ratio>=0.99", Inconclusive),
        ("ratio>=0.2", Met),
        ("goodput>=5Gb/s", NotMet),
        ("goodput>=1Gb/s", Met),
    ] {
        let gate: Gate = gate.parse().unwrap();
        let outcome = gate.judge_later((&b.study, &analysis), &comparison).unwrap();
        assert_eq!(outcome.result, result, "{}", outcome.sentence);
        assert_eq!(outcome.sentence.ends_with(&machine), result != Met, "{}", outcome.sentence);
    }
}

fn half() -> serde_json::Value {
    serde_json::json!({ "quota_us": 50_000, "period_us": 100_000 })
}

#[test]
fn a_limit_within_the_interval_is_neither_met_nor_missed() {
    let scene = bulk();
    let outcome = judged(&scene, "goodput>=2.15Gb/s");
    assert_eq!(outcome.result, Inconclusive);
    assert_eq!(
        outcome.sentence,
        "Gate goodput>=2.15Gb/s inconclusive in 1 of 2 cells: 2.20 Gb/s [2.13, 2.27] (nginx, \
         AES-128-CBC-SHA). More or longer trials narrow the intervals."
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
fn too_few_trials_decide_nothing_and_say_how_many_would() {
    let mut scene = bulk();
    scene.keep(|_, round| round < 6);
    assert_eq!(judged(&scene, "goodput>=1Gb/s").result, Met);
    scene.keep(|cell, round| cell == 0 || round < 5);
    for gate in ["goodput>=1Gb/s", "goodput>=9Gb/s"] {
        let outcome = judged(&scene, gate);
        let few = &outcome.cells[1];
        assert_eq!((few.result, few.needed_trials), (Inconclusive, Some(6)), "{outcome:?}");
    }
    assert_eq!(judged(&scene, "bulk-0002:goodput>=9Gb/s").result, Inconclusive);
    // Medians decide at once.
    let by_median = "bulk-0002:goodput>=9Gb/s".parse::<Gate>().unwrap().by_median();
    assert_eq!(by_median.judge(&scene.study, &scene.analysis()).unwrap().result, NotMet);
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
    later = bulk_at([9.0e9, 1.8e9]);
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

#[test]
fn cells_of_several_cases_that_are_called_alike_have_their_case() {
    let mut scene = bulk();
    let outcome = judged(&scene, "goodput>=9Gb/s");
    assert!(outcome.sentence.contains("(nginx, AES-128-GCM)"), "{}", outcome.sentence);
    // The same with small objects.
    let mut small = scene.study.cells[0].clone();
    (small.case, small.name) = ("small".to_owned(), "small-0001".to_owned());
    scene.study.cells.push(small);
    scene.measure(2, 1e9, &SPREAD);
    let outcome = judged(&scene, "goodput>=9Gb/s");
    for words in
        ["(bulk: nginx, AES-128-GCM)", "(nginx, AES-128-CBC-SHA)", "(small: nginx, AES-128-GCM)"]
    {
        assert!(outcome.sentence.contains(words), "{}", outcome.sentence);
    }
}

#[test]
fn what_is_0_in_both_runs_is_no_regression() {
    let idle = || {
        let mut scene = bulk();
        scene.lines.iter_mut().for_each(|trial| trial.line.latency_ns.whole.p99 = Some(0));
        scene
    };
    let outcome = between(&idle(), &idle(), &[Metric::P99], "regression<=5%").unwrap();
    assert_eq!(outcome.result, Met, "{outcome:?}");
    let outcome = between(&idle(), &bulk(), &[Metric::P99], "regression<=5%").unwrap();
    assert_eq!(outcome.result, NotMet, "{outcome:?}");
}

/// A cipher of these cycles per byte, in seven rounds.
fn cipher(cycles_per_byte: f64) -> Scene {
    let mut scene = ciphers(cycles_per_byte);
    let first = scene.primitives[0].clone();
    scene.primitives = (0..7).map(|round| RowLine { round, ..first.clone() }).collect();
    scene.study.primitives.tables[0].rounds = 7;
    scene.study.cells.clear();
    scene.study.answers.clear();
    scene.lines.clear();
    scene
}

fn between(a: &Scene, b: &Scene, metrics: &[Metric], gate: &str) -> Result<GateOutcome, GateError> {
    gate.parse::<Gate>().unwrap().judge_runs(&compared_in(a, b, metrics))
}

/// Whichever way a metric points, worse is worse.
#[test]
fn a_regression_is_what_got_worse() {
    let usual = bulk();
    let (worse, better) = (bulk_at([6.8e9, 1.76e9]), bulk_at([10.2e9, 2.64e9]));
    // A rate that falls, and what an operation costs, which rises.
    for metric in [Metric::Goodput, Metric::GoodputPerServerCpu] {
        let result = |b| between(&usual, b, &[metric], "regression<=5%").unwrap().result;
        assert_eq!([&worse, &better].map(result), [NotMet, Met], "{metric}");
        let swapped = |a| between(a, &usual, &[metric], "regression<=5%").unwrap().result;
        assert_eq!([&worse, &better].map(swapped), [Met, NotMet], "{metric}");
    }
    let (mut slow, mut fast) = (bulk(), bulk());
    for (scene, p99) in [(&mut slow, 2_000_000), (&mut fast, 1_000_000)] {
        scene.lines.iter_mut().for_each(|trial| trial.line.latency_ns.whole.p99 = Some(p99));
    }
    let p99 = |a, b| between(a, b, &[Metric::P99], "regression<=5%").unwrap().result;
    assert_eq!([p99(&fast, &slow), p99(&slow, &fast), p99(&fast, &fast)], [NotMet, Met, Met]);
    let of_cycles = |a, b| between(&cipher(a), &cipher(b), &[], "regression<=5%").unwrap().result;
    assert_eq!([of_cycles(1.0, 2.0), of_cycles(2.0, 1.0), of_cycles(1.0, 1.0)], [NotMet, Met, Met]);
}

#[test]
fn a_ratio_is_limited_on_the_side_that_is_worse() {
    let meant = |error: GateError| match error {
        GateError::WrongSide { meant, .. } => meant,
        error => panic!("{error:?}"),
    };
    let rates = |gate| between(&bulk(), &bulk(), &[], gate);
    let costs = |gate| between(&cipher(1.0), &cipher(1.0), &[], gate);
    assert!(rates("ratio>=0.95").is_ok() && costs("ratio<=1.05").is_ok());
    assert_eq!(meant(costs("ratio>=0.95").unwrap_err()), "regression<=5%");
    assert_eq!(meant(costs("ciphers:ratio>0.9").unwrap_err()), "ciphers:regression<=10%");
    assert_eq!(meant(rates("ratio<=1.05").unwrap_err()), "regression<=5%");
    assert_eq!(meant(costs("ratio>=2").unwrap_err()), "ciphers:ratio<=0.50");
    assert_eq!(meant(rates("ratio<=0.5").unwrap_err()), "bulk:ratio>=2.00");
    let busy = between(&bulk(), &bulk(), &[Metric::ServerBusy], "regression<=5%");
    assert_eq!(
        busy.unwrap_err(),
        GateError::NoWorseSide { gate: "regression<=5%".to_owned(), metric: Metric::ServerBusy }
    );
    assert!(between(&bulk(), &bulk(), &[Metric::ServerBusy], "ratio<=1.5").is_ok());
}

#[test]
fn the_cells_of_two_runs_are_judged_together() {
    let (mut a, mut b) = (bulk(), bulk_at([6.8e9, 2.2e9]));
    let cells = |a: &Scene, b: &Scene| {
        let outcome = between(a, b, &[], "regression<=5%").unwrap();
        outcome.cells.iter().map(|of| (of.result, of.needed_trials)).collect::<Vec<_>>()
    };
    assert_eq!(cells(&a, &b), [(NotMet, None), (Inconclusive, None)]);
    // Four trials in each run decide one ratio, five two.
    [&mut a, &mut b].into_iter().for_each(|scene| scene.keep(|_, round| round < 4));
    assert_eq!(cells(&a, &b), [(Inconclusive, Some(5)); 2]);
    let one = between(&a, &b, &[], "bulk-0001:regression<=5%").unwrap();
    assert_eq!((one.result, one.cells[0].needed_trials), (NotMet, None));
    // One that only A has fails it, and one that only B has does not.
    let mut fewer = bulk();
    fewer.study.cells.pop();
    assert_eq!(cells(&bulk(), &fewer).last(), Some(&(NotMet, None)));
    assert_eq!(cells(&fewer, &bulk()).len(), 1);
}

#[test]
fn what_neither_run_has_a_server_for_is_not_judged_and_what_only_the_later_lacks_fails() {
    let gate: Gate = "regression<=20%".parse().unwrap();
    let judged = |skipped: [bool; 2]| {
        let [a, b] = skipped.map(|skipped| {
            let mut scene = Scene::suites(&[server("nginx"), server("haproxy")], &[GCM]);
            (0..2).for_each(|cell| scene.measure(cell, 8e9, &SPREAD));
            if skipped {
                scene.keep(|cell, _| cell == 0);
                scene.skip(server("haproxy"));
            }
            scene
        });
        let outcome = gate.judge_runs(&compared(&a, &b)).unwrap();
        (outcome.result, outcome.cells.len())
    };
    assert_eq!(judged([false, false]), (Met, 2));
    assert_eq!(judged([true, true]), (Met, 1));
    assert_eq!(judged([true, false]), (Met, 1));
    assert_eq!(judged([false, true]), (NotMet, 2));
}

#[test]
fn rows_that_may_not_be_divided_fail_a_gate_with_the_reason() {
    let received = |way| {
        let mut scene = bulk();
        (0..7).for_each(|round| scene.trial(0, round).receipt.asked.receive = Some(way));
        scene
    };
    let (a, b) = (received(load::Receive::Walk), received(load::Receive::Decrypt));
    let gate: Gate = "regression<=5%".parse().unwrap();
    let outcome = gate.judge_runs(&compared(&a, &b)).unwrap();
    assert_eq!(outcome.result, NotMet);
    let why = outcome.cells[0].why.as_ref().unwrap();
    assert!(outcome.sentence.contains(why) && outcome.cells[1].why.is_none(), "{outcome:?}");
    // Where it is so of all cells, the comparison says it too.
    let [a, b] = [a, b].map(|mut scene| {
        scene.keep(|cell, _| cell == 0);
        scene.study.cells.pop();
        scene
    });
    let comparison = compared(&a, &b);
    assert!(comparison.sentences()[0].contains(why), "{:?}", comparison.sentences());
}

#[test]
fn one_percent_more_instructions_fail_a_gate_and_another_source_decides_nothing() {
    let counted = |source, factor: f64| {
        let mut scene = Scene::handshakes();
        scene.count_instructions(source);
        for counted in scene.lines.iter_mut().filter_map(|trial| trial.line.counted.as_mut()) {
            counted.per_operation *= factor;
        }
        scene
    };
    let usual = counted("callgrind 3.19.0", 1.0);
    // However often one process was counted, it is one sample.
    let mut of_one = counted("callgrind 3.19.0", 1.01);
    of_one.lines.iter_mut().for_each(|trial| trial.place.process = Some(0));
    // Libraries choose their code by the processor.
    let on = |model: &str, factor| {
        let mut machine = under(&serde_json::Value::Null, "0-1");
        machine.processor.model = Fact::Known(model.to_owned());
        Scene { machine: Some(machine), ..counted("callgrind 3.19.0", factor) }
    };
    let outcome = between(&on("one", 1.0), &on("another", 1.01), &[], "regression<=0.5%").unwrap();
    assert_eq!(outcome.result, Inconclusive, "{outcome:?}");
    let outcome = between(&on("one", 1.0), &on("one", 1.01), &[], "regression<=0.5%").unwrap();
    assert_eq!(outcome.result, NotMet, "{outcome:?}");
    for (other, expected) in [
        (of_one, Inconclusive),
        (counted("callgrind 3.19.0", 1.0), Met),
        (counted("callgrind 3.19.0", 1.004), Met),
        (counted("callgrind 3.19.0", 1.01), NotMet),
        (counted("callgrind 3.22.0", 1.0), Inconclusive),
    ] {
        let outcome = between(&usual, &other, &[], "regression<=0.5%").unwrap();
        assert_eq!(outcome.result, expected, "{outcome:?}");
    }
}
