//! Two journals made by hand.

use super::*;
use crate::analysis::tests::scene::{CBC, CHACHA, GCM, SPREAD, Scene};
use proptest::prelude::*;
use stats::{Decision, Direction, Estimate};
use study::testing::server;
use trial::{Limit, Obtained};

fn bulk(figures: &[f64]) -> Scene {
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, CHACHA, CBC]);
    for (cell, figure) in figures.iter().enumerate() {
        scene.measure(cell, *figure, &SPREAD);
    }
    scene
}

pub(crate) fn compared_in(a: &Scene, b: &Scene, measures: &[Metric]) -> Comparison {
    Comparison::of(&a.run(), &b.run(), measures)
}

pub(crate) fn compared(a: &Scene, b: &Scene) -> Comparison {
    compared_in(a, b, &[])
}

#[test]
fn each_cell_is_above_below_or_not_significantly_different() {
    let a = bulk(&[8.0e9, 4.0e9, 2.0e9]);
    let b = bulk(&[10.0e9, 4.05e9, 1.6e9]);
    let comparison = compared(&a, &b);
    let [metric] = &comparison.metrics[..] else { panic!("{comparison:?}") };
    assert_eq!(metric.metric, Metric::GoodputPerServerCpu);
    let verdicts: Vec<Option<Decision>> = metric.cells.iter().map(|pair| pair.verdict).collect();
    assert_eq!(
        verdicts,
        [
            Some(Decision::Sure(Direction::Above)),
            Some(Decision::NoDifference),
            Some(Decision::Sure(Direction::Below))
        ]
    );
    let ratio = Estimate::from(metric.cells[0].ratio.as_ref().unwrap());
    assert!((ratio.median - 1.25).abs() < 1e-6);
    // Each run is 2% faster in its second half.
    assert!([metric.drift_in_a, metric.drift_in_b].iter().all(|drift| (drift - 0.02).abs() < 1e-6));
    assert!(ratio.interval.coverage >= 0.95);
    assert_eq!(
        comparison.sentences(),
        ["In goodput of one core, of 3 cells: B above A in 1 (1.25x), B below A in 1 \
          (0.80x) and no significant difference in 1 (1.01x). Furthest: 1.25x [1.17, 1.34], nginx, \
          AES-128-GCM (bulk)."]
    );
    assert_eq!((comparison.differences, comparison.only), (vec![], vec![]));
}

#[test]
fn one_cell_is_one_ratio() {
    let one = |figure| {
        let mut scene = Scene::suites(&[server("nginx")], &[GCM]);
        scene.measure(0, figure, &SPREAD);
        scene
    };
    assert_eq!(
        compared(&one(8e9), &one(16e9)).sentences(),
        ["B is 2.00x [1.87, 2.14] A in goodput of one core (bulk: nginx, AES-128-GCM)."]
    );
    let same = compared(&one(8e9), &one(8e9));
    assert!(same.sentences()[0].ends_with("AES-128-GCM), which is no significant difference."));
}

#[test]
fn servers_under_other_congestion_controls_are_named() {
    let under = |control: Option<&str>| {
        let mut scene = bulk(&[8e9, 4e9, 2e9]);
        for trial in &mut scene.lines {
            let seen = control.map(|control| (control.to_owned(), 64));
            trial.line.receipt.obtained.server_congestion = seen.into_iter().collect();
        }
        scene
    };
    assert_eq!(compared(&under(Some("bbr")), &under(Some("bbr"))).differences, []);
    let differences = compared(&under(None), &under(Some("cubic"))).differences;
    let [one] = &differences[..] else { panic!("{differences:?}") };
    assert_eq!((one.a.as_str(), one.b.as_str(), one.cells), ("not known", "cubic", None));
}

#[test]
fn rows_that_were_received_differently_have_no_ratio() {
    let received = |way| {
        let mut scene = bulk(&[8e9, 4e9, 2e9]);
        (0..7).for_each(|round| scene.trial(0, round).receipt.asked.receive = Some(way));
        scene
    };
    use load::Receive::{Decrypt, Walk};
    let has_ratio = |a, b| {
        let comparison = compared(&received(a), &received(b));
        let pairs = comparison.metrics[0].cells.iter();
        pairs.map(|pair| (pair.ratio.is_some(), pair.why.is_some())).collect::<Vec<_>>()
    };
    assert_eq!(has_ratio(Walk, Walk), [(true, false); 3]);
    assert_eq!(has_ratio(Walk, Decrypt), [(false, true), (true, false), (true, false)]);
}

#[test]
fn a_single_trial_proves_no_difference() {
    let mut a = bulk(&[8e9, 4e9, 2e9]);
    a.keep(|_, round| round == 0);
    let comparison = compared(&a, &bulk(&[80e9, 40e9, 20e9]));
    let cells = &comparison.metrics[0].cells;
    assert!(cells.iter().all(|pair| pair.verdict == Some(Decision::TooFew)), "{cells:?}");
}

#[test]
fn handshakes_are_compared_by_their_rate_and_other_metrics_where_they_are_asked_for() {
    let (a, b) = (Scene::handshakes(), Scene::handshakes());
    assert_eq!(compared(&a, &b).metrics[0].metric, Metric::RatePerServerCpu);
    let asked = compared_in(&a, &b, &[Metric::Rate, Metric::Goodput]);
    assert_eq!(asked.metrics[0].cells.len(), 2);
    assert_eq!(
        asked.metrics[1].sentence,
        "Nothing can be compared in goodput: no cell has a figure in both runs."
    );
}

#[test]
fn a_study_of_requests_is_compared_by_them() {
    let of = |metric| bulk(&[8e9, 4e9, 2e9]).answer(metric, "load.suite", GCM);
    let metric = |scene: &Scene| compared(scene, scene).metrics[0].metric;
    assert_eq!(metric(&of(Metric::Rate)), Metric::RatePerServerCpu);
    assert_eq!(metric(&of(Metric::TlsTax)), Metric::GoodputPerServerCpu);
    assert_eq!(metric(&bulk(&[8e9, 4e9, 2e9])), Metric::GoodputPerServerCpu);
}

#[test]
fn what_one_run_lacks_is_reported() {
    let a = bulk(&[8e9, 4e9, 2e9]);
    let mut b = bulk(&[8e9, 4e9, 2e9]);
    (0..7).for_each(|round| b.fail(1, round));
    b.study.cells[2].params.set("load.suite", "none");
    let comparison = compared(&a, &b);
    let only: Vec<_> = comparison.only.iter().map(|only| (only.run, only.cell.as_str())).collect();
    assert_eq!(only, [("a", "bulk-0003"), ("b", "bulk-0003")]);
    assert_eq!((comparison.invalid_in_a.len(), comparison.invalid_in_b.len()), (0, 7));
    assert_eq!(comparison.invalid_in_b[0].why, "nginx died");
    let metric = &comparison.metrics[0];
    assert_eq!(metric.cells[1].verdict, None);
    assert!(metric.sentence.contains("not compared in 1"), "{}", metric.sentence);
    b.study.cells.iter_mut().for_each(|cell| cell.case = "other".to_owned());
    let nothing = compared(&a, &b);
    assert!(nothing.sentences()[0].contains("no common cell"));
    assert_eq!(nothing.only.len(), 6);
}

#[test]
fn what_else_differs_is_shown_with_its_cells() {
    let mut a = bulk(&[8e9, 4e9, 2e9]);
    let mut b = bulk(&[8e9, 4e9, 2e9]);
    a.skip(server("nginx"));
    a.targets[0].version = Some("nginx/1.22.1, OpenSSL 3.0.22".to_owned());
    b.targets = a.targets.clone();
    b.targets[0].version = Some("nginx/1.22.1, OpenSSL 4.0.3".to_owned());
    b.study.cells[1].load.connections += 1;
    let machine = observe::Machine::read(&cpus::CpuList::from(
        cpus::CpuList::allowed().unwrap().as_slice()[0],
    ));
    let mut machine = machine;
    let settings = machine.settings.as_mut().unwrap();
    settings.turbo = observe::Fact::Known(true);
    settings.microcode = observe::Fact::unknown("not readable");
    let mut later = observe::Machine { openssl: "OpenSSL 9".to_owned(), ..machine.clone() };
    let settings = later.settings.as_mut().unwrap();
    settings.turbo = observe::Fact::Known(false);
    settings.microcode = observe::Fact::Known("0x1".to_owned());
    b.hosts.insert("me@server".to_owned(), later.clone());
    a.hosts.insert("me@server".to_owned(), machine.clone());
    b.machine = Some(later);
    a.machine = Some(machine);
    let told: Vec<(String, String, Option<usize>)> = compared(&a, &b)
        .differences
        .into_iter()
        .map(|difference| (difference.what, difference.b, difference.cells))
        .collect();
    let connections = b.study.cells[1].load.connections.to_string();
    assert_eq!(
        told,
        [
            ("OpenSSL of toll".to_owned(), "OpenSSL 9".to_owned(), None),
            ("turbo".to_owned(), "off".to_owned(), None),
            ("OpenSSL of toll of me@server".to_owned(), "OpenSSL 9".to_owned(), None),
            ("turbo of me@server".to_owned(), "off".to_owned(), None),
            ("nginx".to_owned(), "nginx/1.22.1, OpenSSL 4.0.3".to_owned(), None),
            ("load.connections".to_owned(), connections, Some(1)),
        ]
    );
}

#[test]
fn one_trial_that_negotiated_something_else_is_named_with_its_cell() {
    type Change = fn(&mut Obtained, String);
    let all: [(&str, [&str; 2], Change); 9] = [
        ("HTTP", ["HTTP/1.1", "HTTP/2"], |of, http| of.http = [(http, 64)].into()),
        ("TLS", ["1.2", "1.3"], |of, tls| of.tls = [(tls, 64)].into()),
        ("suite", [GCM, CHACHA], |of, suite| of.suite = [(suite, 64)].into()),
        ("group", ["secp256r1", "x25519"], |of, group| of.group = [(group, 64)].into()),
        ("signature scheme", ["ecdsa_secp256r1_sha256", "ed25519"], |of, scheme| {
            of.signature_scheme = [(scheme, 64)].into();
        }),
        ("certificate key", ["ecdsa:p256", "rsa:2048"], |of, key| {
            of.certificate_key = [(key, 64)].into();
        }),
        ("server's system", ["Debian 12", "Debian 13"], |of, system| of.system = vec![system]),
        ("TLS library", ["libssl.so.3 3.0.19", "libssl.so.3 3.5.4"], |of, library| {
            of.library = vec![library];
        }),
        ("QUIC by", ["SSL_set_quic_method", "SSL_set_quic_tls_cbs"], |of, functions| {
            of.quic_api = Some(functions);
        }),
    ];
    for (what, [usual, other], set) in all {
        let with = |value: &str| {
            let mut scene = bulk(&[8e9, 4e9, 2e9]);
            for round in 0..7 {
                let value = if round == 3 { value } else { usual };
                set(&mut scene.trial(1, round).receipt.obtained, value.to_owned());
            }
            scene
        };
        assert_eq!(compared(&with(usual), &with(usual)).differences, [], "{what}");
        let differences = compared(&with(usual), &with(other)).differences;
        let [one] = &differences[..] else { panic!("{what}: {differences:?}") };
        assert_eq!((one.what.as_str(), one.a.as_str()), (what, usual));
        assert_eq!((&one.b, one.cells), (&format!("{usual}, {other}"), Some(1)), "{what}");
    }
}

/// A machine whose control groups allow toll this.
pub(crate) fn under(quota: &serde_json::Value, cpus: &str) -> observe::Machine {
    let unknown = serde_json::json!({ "not_available_here": "test" });
    let cgroup = serde_json::json!({
        "cpu_quota": quota, "cpus": cpus, "memory_bytes": null, "memory_pressure": unknown
    });
    let first = cpus::CpuList::allowed().unwrap().as_slice()[0];
    observe::Machine {
        cgroup: serde_json::from_value(cgroup).unwrap(),
        ..observe::Machine::read(&cpus::CpuList::from(first))
    }
}

#[test]
fn another_quota_or_other_cpus_are_another_machine() {
    let half = serde_json::json!({ "quota_us": 50_000, "period_us": 100_000 });
    let on = |machine| Scene { machine: Some(machine), ..bulk(&[8e9, 4e9, 2e9]) };
    let free = on(under(&serde_json::Value::Null, "0-1"));
    assert_eq!(compared(&free, &free).other_machine(), None);
    let limited = compared(&free, &on(under(&half, "0")));
    assert_eq!(
        limited.other_machine().unwrap(),
        "The machines of A and B differ: CPU quota none in A, 0.50 CPUs (50ms in each 100ms) in B; allowed CPUs \
         0-1 in A, 0 in B."
    );
    let json = serde_json::to_string(&limited).unwrap();
    assert!(json.find("is_other_machine") < json.find("ratio"), "{json}");
    let mut elsewhere = [free.clone(), free];
    elsewhere[0].hosts.insert("web".to_owned(), under(&serde_json::Value::Null, "0-1"));
    elsewhere[1].hosts.insert("web".to_owned(), under(&half, "0-1"));
    let words = compared(&elsewhere[0], &elsewhere[1]).other_machine().unwrap();
    assert!(words.contains("CPU quota of web none in A, 0.50 CPUs"), "{words}");
}

#[test]
fn a_machine_of_which_no_quota_was_recorded_is_the_same() {
    let on = |machine| Scene { machine: Some(machine), ..bulk(&[8e9, 4e9, 2e9]) };
    let half = serde_json::json!({ "quota_us": 50_000, "period_us": 100_000 });
    let earlier = observe::Machine { cgroup: None, ..under(&half, "0") };
    let comparison = compared(&on(earlier), &on(under(&half, "0")));
    assert_eq!((comparison.other_machine(), comparison.differences), (None, vec![]));
}

#[test]
fn marks_of_both_runs_are_kept() {
    let a = bulk(&[8e9, 4e9, 2e9]);
    let mut b = bulk(&[8e9, 4e9, 2e9]);
    b.trial(0, 3).verdict_mut().limit = Limit::ClientCpu;
    let pair = &compared(&a, &b).metrics[0].cells[0];
    assert_eq!((pair.mark_a, pair.mark_b), (None, Some(crate::Mark::ClientBound)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The figures of a sentence are read as a person reads them, by the words before them.
    #[test]
    fn what_is_above_is_above_in_the_table(
        a in prop::array::uniform3(1e9f64..4e9), b in prop::array::uniform3(1e9f64..4e9)
    ) {
        let comparison = compared(&bulk(&a), &bulk(&b));
        let metric = &comparison.metrics[0];
        for (place, pair) in metric.cells.iter().enumerate() {
            let ratio = Estimate::from(pair.ratio.as_ref().unwrap()).median;
            prop_assert!((ratio / (b[place] / a[place]) - 1.0).abs() < 1e-3);
            let expected = match ratio > 1.0 {
                true => Decision::Sure(Direction::Above),
                false => Decision::Sure(Direction::Below),
            };
            prop_assert!([Some(expected), Some(Decision::NoDifference)].contains(&pair.verdict));
        }
        let sentence = &metric.sentence;
        let range = |words: &str| {
            let (_, rest) = sentence.split_once(words)?;
            let (_, range) = rest.split_once('(')?;
            let range = range.split_once(')')?.0;
            let ratios = range.split(" to ").map(|ratio| ratio.trim_end_matches('x').parse::<f64>());
            Some(ratios.collect::<Result<Vec<_>, _>>().unwrap())
        };
        prop_assert!(range("B above A in ").into_iter().flatten().all(|x| x > 1.0), "{}", sentence);
        prop_assert!(range("B below A in ").into_iter().flatten().all(|x| x < 1.0), "{}", sentence);
        let count = |decision| metric.cells.iter().filter(|pair| pair.verdict == Some(decision)).count();
        let above = count(Decision::Sure(Direction::Above));
        prop_assert_eq!(sentence.contains(&format!("B above A in {above} (")), above > 0);
        let below = count(Decision::Sure(Direction::Below));
        prop_assert_eq!(sentence.contains(&format!("B below A in {below} (")), below > 0);
    }
}

#[test]
fn counts_of_instructions_are_compared_by_process_and_never_between_two_sources() {
    let scene = |source, factor: f64| {
        let mut scene = Scene::handshakes();
        scene.count_instructions(source);
        for counted in scene.lines.iter_mut().filter_map(|trial| trial.line.counted.as_mut()) {
            counted.per_operation *= factor;
        }
        scene
    };
    let old = scene("callgrind 3.19.0", 1.0);
    let comparison = compared(&old, &scene("callgrind 3.19.0", 1.01));
    let [metric] = &comparison.metrics[..] else { panic!("{comparison:?}") };
    assert_eq!(metric.metric, Metric::InstructionsPerOperation);
    for pair in &metric.cells {
        assert_eq!(pair.verdict, Some(Decision::Sure(Direction::Above)), "{pair:?}");
        let ratio = Estimate::from(pair.ratio.as_ref().unwrap());
        assert!((ratio.median - 1.01).abs() < 1e-4, "{ratio:?}");
    }
    for other in ["callgrind 3.22.0", "perf instructions:u"] {
        let comparison = compared(&old, &scene(other, 1.01));
        let [metric] = &comparison.metrics[..] else { panic!("{comparison:?}") };
        for pair in &metric.cells {
            assert_eq!((pair.verdict, &pair.ratio), (None, &None), "{pair:?}");
        }
        let shown = format!("{:?}", metric.cells[0]);
        assert!(shown.contains("not counted by the same source"), "{shown}");
    }
}
