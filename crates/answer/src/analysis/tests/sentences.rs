//! The words of answers, in full.

use super::scene::{CBC, CHACHA, ECDSA, GCM, SPREAD, Scene};
use study::Metric;
use study::testing::server;
use trial::Limit;

use super::{NONE, SUITE, bulk, limit};

#[test]
fn certificate_keys_are_compared_by_the_handshakes_of_a_core() {
    let answer = Scene::handshakes().first();
    assert_eq!(
        answer.sentence,
        "One core of this machine makes 1,640 [1,590, 1,690] full TLS 1.3 handshakes per second \
         with RSA-2048 and 4,200 [4,120, 4,280] with ECDSA P-256 (nginx): an ECDSA P-256 \
         certificate saves 61% [60, 62] of the handshake's CPU."
    );
    assert_eq!(
        answer.remedy.unwrap(),
        "Use an ECDSA P-256 certificate: the same CPU gives 2.6x [2.5, 2.6] the rate of RSA-2048; \
         keep RSA-2048 only for clients that cannot verify ECDSA."
    );
    assert_eq!(
        answer.purity.unwrap(),
        "These were handshakes: 1.00 full handshakes per connection, no request on any, the \
         server's descriptors not seen, no port lacking, the accept queue not seen."
    );
    assert_eq!(answer.caveats, [""; 0]);
    assert_eq!(answer.common["target.server"], "nginx");
    let [rsa, ecdsa] = answer.bars.as_slice() else { panic!("{:?}", answer.bars) };
    assert_eq!((rsa.label.as_str(), ecdsa.label.as_str()), ("RSA-2048", "ECDSA P-256"));
    assert_eq!((rsa.is_baseline, ecdsa.is_baseline), (true, false));
    assert_eq!((rsa.mark, ecdsa.mark, &rsa.ratio), (None, None, &None));
    assert_eq!(ecdsa.ratio.as_ref().unwrap().estimate.n, 7);
}

#[test]
fn suites_are_compared_by_what_a_core_sends() {
    let answer = bulk(Metric::GoodputPerServerCpu, GCM).first();
    assert_eq!(
        answer.sentence,
        "One core of this machine sends 40.0 [38.8, 41.2] Gb/s over plain HTTP, 8.50 [8.25, 8.76] \
         with AES-128-GCM, 4.70 [4.61, 4.79] with ChaCha20-Poly1305 and 2.20 [2.16, 2.24] with \
         AES-128-CBC-SHA (nginx, 1 MiB objects): AES-128-GCM sends the most of the suites \
         measured; against it, ChaCha20-Poly1305 \
         costs 81% [79, 83] more CPU and AES-128-CBC-SHA costs 3.86x [3.82, 3.90] the CPU."
    );
    assert_eq!(
        answer.remedy.unwrap(),
        "Prefer AES-128-GCM: on the same CPU it sends 1.81x [1.79, 1.83] what ChaCha20-Poly1305 \
         does and 3.86x [3.82, 3.90] what AES-128-CBC-SHA does; keep ChaCha20-Poly1305 for clients \
         without AES instructions."
    );
    let against_plain = bulk(Metric::GoodputPerServerCpu, NONE).first();
    assert!(
        against_plain.sentence.ends_with(
            "(nginx, 1 MiB objects): against plain HTTP, AES-128-GCM costs 4.71x [4.71, 4.71] the \
             CPU, ChaCha20-Poly1305 8.5x [8.4, 8.6] and AES-128-CBC-SHA 18.2x [18.0, 18.4]."
        ),
        "{}",
        against_plain.sentence
    );
}

#[test]
fn the_tax_is_what_tls_takes_of_plain() {
    let scene = bulk(Metric::TlsTax, NONE);
    let answer = scene.first();
    assert_eq!(
        answer.sentence,
        "TLS takes 78.8% [78.8, 78.8] with AES-128-GCM, 88.3% [88.1, 88.4] with ChaCha20-Poly1305 \
         and 94.5% [94.4, 94.6] with AES-128-CBC-SHA of what a core of this machine could send in \
         plain (nginx, 1 MiB objects)."
    );
    // Plain HTTP is not taxed.
    let labels: Vec<&str> = answer.bars.iter().map(|bar| bar.label.as_str()).collect();
    assert_eq!(labels, ["AES-128-GCM", "ChaCha20-Poly1305", "AES-128-CBC-SHA"]);
    for bar in &answer.bars {
        let (tax, kept) = (bar.figure.as_ref().unwrap(), bar.ratio.as_ref().unwrap());
        let (tax, kept) = (tax.estimate, kept.estimate);
        assert_eq!(tax.interval.low, 1.0 - kept.interval.high);
        assert_eq!(tax.interval.high, 1.0 - kept.interval.low);
        assert_eq!(tax.median, 1.0 - kept.median);
    }
}

#[test]
fn a_tax_without_trials_is_none() {
    let mut scene =
        Scene::suites(&[server("nginx")], &[NONE, GCM, CHACHA]).answer(Metric::TlsTax, SUITE, NONE);
    scene.measure(0, 4e9, &[1.0; 7]);
    scene.measure(1, 4e9, &SPREAD);
    scene.measure(2, 5e9, &SPREAD);
    assert_eq!(
        scene.first().sentence,
        "No significant difference from plain HTTP in what a core of this machine sends with \
         AES-128-GCM (0.0% [-3.0, 3.0]); a core of this machine sends more than in plain by 25% \
         [21, 29] with ChaCha20-Poly1305 (nginx, 1 MiB objects)."
    );
}

#[test]
fn a_ratio_across_1_shows_no_difference() {
    let mut scene = Scene::handshakes();
    scene.keep(|cell, _| cell == 0);
    scene.measure(1, 1_650.0, &[1.0; 7]);
    let answer = scene.first();
    let expected = "(nginx): no significant difference from RSA-2048 with ECDSA P-256 (0.99x \
                    [0.96, 1.02] the CPU).";
    assert!(answer.sentence.ends_with(expected), "{}", answer.sentence);
    assert!(!answer.sentence.contains("saves"));
    assert_eq!(answer.remedy, None);
}

#[test]
fn a_higher_cost_is_stated() {
    let mut scene = Scene::handshakes();
    scene.study.answers[0].baseline = ECDSA.to_owned();
    let sentence = scene.first().sentence;
    assert!(
        sentence.ends_with(": an RSA-2048 certificate costs 2.6x [2.5, 2.6] the CPU."),
        "{sentence}"
    );
    // What to change does not depend on what is compared with what.
    assert_eq!(scene.first().remedy, Scene::handshakes().first().remedy);
}

#[test]
fn a_rate_is_not_called_the_servers_maximum_where_something_else_was_the_limit() {
    let mut scene = Scene::handshakes();
    scene.study.answers[0].metric = Metric::Rate;
    let sentence = "The server (on CPU 0) makes 1,640 [1,590, 1,690] full TLS 1.3 handshakes per \
                    second with RSA-2048 and 4,200 [4,120, 4,280] with ECDSA P-256 (nginx): an \
                    ECDSA P-256 certificate gives 2.6x [2.5, 2.6] the rate.";
    assert_eq!(scene.first().sentence, sentence);
    assert!(scene.first().remedy.is_some());
    limit(&mut scene, 1, 2, Limit::ClientCpu);
    limit(&mut scene, 1, 3, Limit::Unknown);
    let answer = scene.first();
    assert_eq!(
        answer.sentence,
        format!(
            "{sentence} This is not the server's maximum with ECDSA P-256 (in 1 of 7 trials the \
             client's CPU was the limit and in 1 of 7 trials no limit was found)."
        )
    );
    assert_eq!(answer.remedy, None);
}

#[test]
fn servers_are_compared_and_one_that_is_missing_is_named() {
    let mut scene = Scene::suites(&[server("embedded"), server("nginx")], &[GCM]).answer(
        Metric::GoodputPerServerCpu,
        "target.server",
        "embedded",
    );
    scene.measure(0, 8.5e9, &SPREAD);
    scene.measure(1, 8.1e9, &SPREAD);
    assert_eq!(
        scene.first().sentence,
        "One core of this machine sends 8.50 [8.25, 8.76] Gb/s with toll's own server and 8.10 \
         [7.86, 8.34] with nginx (1 MiB objects, AES-128-GCM): nginx costs 4.9% [4.9, 4.9] more \
         CPU."
    );
    scene.keep(|cell, _| cell == 0);
    scene.skip(server("nginx"));
    let answer = scene.first();
    assert_eq!(
        answer.sentence,
        "One core of this machine sends 8.50 [8.25, 8.76] Gb/s with toll's own server (1 MiB \
         objects, AES-128-GCM)."
    );
    // That it is not installed is said once, for the whole report.
    assert_eq!((answer.caveats.len(), answer.bars.len()), (0, 1));
}

#[test]
fn cores_are_those_of_the_machine_that_the_server_runs_on() {
    let scene = bulk(Metric::GoodputPerServerCpu, GCM);
    let of = |hosts: [Option<&str>; 2]| {
        let mut scene = scene.clone();
        for (cell, host) in scene.study.cells.iter_mut().zip(hosts.into_iter().cycle()) {
            cell.target.host = host.map(|host| host.parse().unwrap());
        }
        scene.first().sentence
    };
    assert!(of([None, None]).starts_with("One core of this machine sends "));
    assert!(of([Some("me@new"), Some("me@new")]).starts_with("One core of me@new sends "));
    assert!(of([Some("me@old"), Some("me@new")]).starts_with("One core of its machine sends "));
}

#[test]
fn any_other_key_has_words_too() {
    let mut scene = Scene::handshakes();
    for (cell, connections) in scene.study.cells.iter_mut().zip(["1", "16"]) {
        cell.params.remove("target.certificate-key");
        cell.params.insert("load.connections".to_owned(), connections.to_owned());
    }
    let rule = &mut scene.study.answers[0];
    (rule.compare, rule.baseline) = ("load.connections".to_owned(), "1".to_owned());
    assert_eq!(
        scene.first().sentence,
        "One core of this machine makes 1,640 [1,590, 1,690] full TLS 1.3 handshakes per second \
         with 1 connection and 4,200 [4,120, 4,280] with 16 connections (nginx): with 16 \
         connections a handshake costs 61% [60, 62] less CPU."
    );
    scene.study.answers[0].metric = Metric::Rate;
    let sentence = scene.first().sentence;
    let expected = ": with 16 connections the server gives 2.6x [2.5, 2.6] the rate.";
    assert!(sentence.ends_with(expected), "{sentence}");
}

#[test]
fn requests_are_named_with_what_they_ask_for() {
    let mut scene = bulk(Metric::RatePerServerCpu, GCM);
    scene.study.cells.truncate(2);
    for cell in &mut scene.study.cells {
        cell.load.operation = load::Operation::OneRequestPerConnection;
    }
    let sentence = scene.first().sentence;
    let expected = "One core of this machine serves 4,770 [4,630, 4,910] requests per second over \
                    plain HTTP and 1,010 [980, 1,040] with AES-128-GCM (nginx, 1 MiB objects, one \
                    request per connection): plain HTTP saves 78.8% [78.8, 78.8] of the request's \
                    CPU.";
    assert_eq!(sentence, expected);
}

#[test]
fn the_pages_of_a_session_are_named_with_it() {
    let mut scene = bulk(Metric::RatePerServerCpu, GCM);
    scene.study.cells.truncate(2);
    for cell in &mut scene.study.cells {
        cell.load.operation = load::Operation::Session;
        cell.load.session = Some("petstore".into());
    }
    let sentence = scene.first().sentence;
    let expected = "One core of this machine serves 4,770 [4,630, 4,910] pages per second over \
                    plain HTTP and 1,010 [980, 1,040] with AES-128-GCM (nginx, session petstore): \
                    plain HTTP saves 78.8% [78.8, 78.8] of the page's CPU.";
    assert_eq!(sentence, expected);
}

#[test]
fn different_operations_on_a_connection_are_counted_as_connections() {
    const OPERATION: &str = "load.operation";
    let mut scene = bulk(Metric::RatePerServerCpu, GCM);
    scene.study.cells.truncate(2);
    let both = [load::Operation::Handshakes, load::Operation::OneRequestPerConnection];
    for (cell, operation) in scene.study.cells.iter_mut().zip(both) {
        cell.load.operation = operation;
        cell.params.insert(OPERATION.to_owned(), operation.to_string());
    }
    let rule = &mut scene.study.answers[0];
    (rule.compare, rule.baseline) = (OPERATION.to_owned(), "handshakes".to_owned());
    for cell in &mut scene.study.cells {
        cell.params.remove("load.suite");
    }
    let sentence = scene.first().sentence;
    let expected = "makes 4,770 [4,630, 4,910] connections per second with handshakes and 1,010 ";
    assert!(sentence.contains(expected), "{sentence}");
}

#[test]
fn of_two_suites_alike_the_baseline_is_preferred() {
    const GCM_256: &str = "TLS_AES_256_GCM_SHA384";
    let mut scene = Scene::suites(&[server("nginx")], &[GCM, GCM_256, CHACHA]).answer(
        Metric::GoodputPerServerCpu,
        SUITE,
        GCM,
    );
    scene.measure(0, 8.5e9, &[1.0; 7]);
    scene.measure(1, 8.6e9, &SPREAD);
    scene.measure(2, 4.7e9, &SPREAD);
    let answer = scene.first();
    let expected = ": against AES-128-GCM, ChaCha20-Poly1305 costs 81% [76, 86] more CPU; no \
                    significant difference from AES-128-GCM with AES-256-GCM (0.99x [0.96, 1.02] \
                    the CPU).";
    assert!(answer.sentence.ends_with(expected), "{}", answer.sentence);
    assert!(answer.remedy.as_ref().unwrap().starts_with("Prefer AES-128-GCM: "), "{answer:?}");
    // Where the other is shown to give more, it is the one to take.
    scene.keep(|cell, _| cell != 1);
    scene.measure(1, 9.5e9, &SPREAD);
    assert!(scene.first().remedy.unwrap().starts_with("Prefer AES-256-GCM: "));
}

#[test]
fn of_suites_alike_beside_another_baseline_the_first_is_preferred() {
    const GCM_256: &str = "TLS_AES_256_GCM_SHA384";
    for order in [[CHACHA, GCM, GCM_256], [CHACHA, GCM_256, GCM]] {
        let mut scene = Scene::suites(&[server("nginx")], &order).answer(
            Metric::GoodputPerServerCpu,
            SUITE,
            CHACHA,
        );
        scene.measure(0, 4.7e9, &[1.0; 7]);
        scene.measure(1, 8.5e9, &[1.0; 7]);
        scene.measure(2, 8.6e9, &SPREAD);
        let expected =
            if order[1] == GCM { "Prefer AES-128-GCM: " } else { "Prefer AES-256-GCM: " };
        let remedy = scene.first().remedy.unwrap();
        assert!(remedy.starts_with(expected), "{remedy}");
    }
}

#[test]
fn a_baseline_may_have_another_name_than_its_cell() {
    let alias = bulk(Metric::GoodputPerServerCpu, "ECDHE-RSA-AES128-SHA");
    let iana = bulk(Metric::GoodputPerServerCpu, CBC);
    assert_eq!(alias.first(), iana.first());
    assert!(iana.first().bars[3].is_baseline);
}

#[test]
fn the_same_advice_is_given_once() {
    let mut scene = bulk(Metric::GoodputPerServerCpu, GCM).answer(Metric::TlsTax, SUITE, NONE);
    let answers = scene.analysis().answers;
    assert!(answers[0].remedy.is_some() && answers[1].remedy.is_none());
    scene.study.answers.remove(0);
    assert_eq!(scene.first().remedy, answers[0].remedy);
}

#[test]
fn what_an_operation_costs_is_lower_or_higher() {
    let mut scene = Scene::clients(&["toll", "wrk", "ab"]).answer(
        Metric::ClientCpuPerOperation,
        "load.client",
        "toll",
    );
    for (cell, times) in [(0, 1), (1, 4), (2, 1)] {
        scene.measure(cell, 8e9, &SPREAD);
        for round in 0..7 {
            let line = scene.trial(cell, round);
            line.cpu_ns.client = line.cpu_ns.client.map(|ns| ns * times);
            line.receipt.obtained.client = Some(format!("client {cell}"));
        }
    }
    assert_eq!(
        scene.first().sentence,
        "The client CPU per operation is 105 [102, 108] µs with toll's client, 420 [407, 432] with \
         wrk and 105 [102, 108] with ab (nginx, 1 MiB objects): against toll's client, with wrk it is \
         4.00x [4.00, 4.00] as high; no significant difference from toll's client with ab (1.00x \
         [1.00, 1.00])."
    );
    scene.study.answers[0].baseline = "wrk".to_owned();
    assert!(scene.first().sentence.contains("it is 75.0% [75.0, 75.0] lower"));
    // Some trials lack the figure.
    scene.trial(0, 0).cpu_ns.client = None;
    let caveats = scene.first().caveats.join(" ");
    assert!(caveats.contains("the client CPU per operation is not known"), "{caveats}");
}
