//! What the cipher alone takes of the server's CPU, what a client that reads changes, and what plain HTTP by
//! sendfile does, over costs that are known.

use load::Receive;
use primitives::{Cache, Hardware};
use study::Metric;
use study::primitive::AlgorithmTable;
use study::testing::server;
use units::Bytes;

use super::bills::line;
use super::scene::{GCM, SPREAD, Scene, all_caveats};
use super::{NONE, SUITE};
use crate::Caveat;
use crate::analysis::Answer;

const TABLE: &str = "ciphers";

/// 40 Gb/s plain and 8 Gb/s with AES-128-GCM on a core of 2 GHz: 1 s per GB, beside a cipher that takes this
/// many cycles per byte.
pub(crate) fn ciphers(cycles_per_byte: f64) -> Scene {
    let mut scene =
        Scene::suites(&[server("embedded")], &[NONE, GCM]).answer(Metric::TlsTax, SUITE, NONE);
    scene.study.answers[0].nominal = Some(TABLE.to_owned());
    scene.measure(0, 40e9, &SPREAD);
    scene.measure(1, 8e9, &SPREAD);
    for trial in &mut scene.lines {
        (trial.line.core_hz.before, trial.line.core_hz.after) =
            (Some(1_900_000_000), Some(2_100_000_000));
    }
    let size = Bytes(16 << 10);
    let table = AlgorithmTable {
        name: TABLE.to_owned(),
        algorithms: vec!["AES-128-GCM".parse().unwrap()],
        libraries: vec!["openssl".to_owned()],
        sizes: vec![size],
        caches: vec![Cache::Warm],
        hardware: vec![Hardware::All],
        cpus: "0".parse().unwrap(),
        rounds: 3,
        samples: 10,
    };
    for round in 0..3 {
        for key in table.combination(Hardware::All, Cache::Warm) {
            let us = cycles_per_byte * size.0 as f64 / 2e3;
            scene.primitives.push(line(TABLE, key, round, us));
        }
    }
    scene.study.primitives.tables.push(table);
    scene
}

/// The cipher's seconds per GB and its share.
fn found(scene: &Scene) -> (Vec<(f64, f64)>, Answer) {
    let answer = scene.first();
    let bill = answer.bill.as_ref().unwrap();
    let rounded = |value: f64| (value * 1e6).round() / 1e6;
    let costs = bill
        .ciphers
        .iter()
        .map(|cost| (rounded(cost.s_per_gb.median()), rounded(cost.share.median)));
    (costs.collect(), answer)
}

#[test]
fn the_cipher_alone_is_at_the_frequency_of_the_trials() {
    let mut scene = ciphers(0.6);
    let (costs, answer) = found(&scene);
    assert_eq!(costs, [(0.3, 0.3)]);
    assert_eq!(answer.bill.unwrap().ciphers[0].cycles_per_byte.median(), 0.6);
    let tables = scene.analysis().answered().answers.remove(0).tables;
    assert!(tables.iter().any(|table| table.title.contains("the cipher alone")), "{tables:?}");
    // At half the frequency the same cycles take twice as long.
    for trial in &mut scene.lines {
        trial.line.core_hz.before = Some(900_000_000);
        trial.line.core_hz.after = Some(1_100_000_000);
    }
    assert_eq!(found(&scene).0, [(0.6, 0.6)]);
    // Where it is not known, it is that of the timing.
    scene.lines.iter_mut().for_each(|trial| trial.line.core_hz.before = None);
    assert_eq!(found(&scene).0, [(0.3, 0.3)]);
}

#[test]
fn a_cipher_that_the_server_does_not_run_is_not_its_cost() {
    let changes: [fn(&mut study::Cell); 4] = [
        |cell| cell.target.library = "rustls-ring".parse().unwrap(),
        |cell| cell.target.record_size = "4KiB".parse().unwrap(),
        |cell| cell.target.server = server("address"),
        |cell| cell.load.suite = None,
    ];
    for change in changes {
        let mut scene = ciphers(0.6);
        change(&mut scene.study.cells[1]);
        let (costs, answer) = found(&scene);
        assert!(costs.is_empty(), "{:?}", answer.bill);
    }
}

#[test]
fn a_cipher_that_takes_longer_than_all_is_no_part_of_it() {
    let (costs, answer) = found(&ciphers(3.0));
    assert_eq!(costs[0].1, 1.5);
    assert!(answer.caveats.iter().any(|caveat| caveat.contains("longer than the server")));
}

/// The scene with a cell of another case, whose client reads: its server uses this much of what it uses
/// with toll's walk.
fn read(cpu: f64) -> Scene {
    let mut scene = ciphers(0.6);
    let mut reads = scene.study.cells[1].clone();
    (reads.case, reads.name) = ("read".to_owned(), "read-0001".to_owned());
    reads.load.receive = Some(Receive::Decrypt);
    scene.study.cells.push(reads);
    scene.measure(2, 8e9 / cpu, &SPREAD);
    for trial in scene.lines.iter_mut().filter(|trial| trial.place.case == "read") {
        trial.line.receipt.asked.receive = Some(load::Receive::Decrypt);
    }
    scene
}

#[test]
fn what_a_client_that_reads_changes_is_a_doubt_where_the_interval_hides_it() {
    let caveats = |scene: &Scene| all_caveats(&scene.first());
    // The interval reaches 3%.
    assert!(caveats(&read(1.2)).contains("the server uses 20.0% [20.0, 20.0] more CPU per byte"));
    assert!(caveats(&read(0.9)).contains("uses 10.0% [10.0, 10.0] less CPU"));
    for small in [1.02, 1.0] {
        let answer = read(small).first();
        assert!(answer.caveats.iter().all(|caveat| !caveat.contains("reads")), "{answer:?}");
        assert_eq!(answer.following("client that reads").len(), 1);
    }
    // Another load is no measure of it.
    let mut scene = read(1.2);
    scene.study.cells[2].load.connections += 1;
    assert!(!caveats(&scene).contains("reads"));
}

#[test]
fn the_share_of_plain_http_by_sendfile_is_beside_that_of_the_same_path() {
    let mut scene =
        Scene::suites(&[server("nginx")], &[NONE, GCM]).answer(Metric::TlsTax, SUITE, NONE);
    scene.measure(0, 20e9, &SPREAD);
    scene.measure(1, 10e9, &SPREAD);
    let is_caveat = |caveat: &Caveat| caveat.contains("target.sendfile = false");
    assert!(scene.first().caveats.iter().any(is_caveat));
    for cell in &mut scene.study.cells {
        cell.target.sendfile = Some(false);
    }
    let answer = scene.first();
    assert!(!answer.caveats.iter().any(is_caveat) && answer.derived.is_empty());
    let mut fastest = scene.study.cells[0].clone();
    (fastest.case, fastest.name) = ("sendfile".to_owned(), "sendfile-0001".to_owned());
    fastest.target.sendfile = Some(true);
    scene.study.cells.push(fastest);
    scene.measure(2, 40e9, &SPREAD);
    let answer = scene.first();
    assert!((answer.bars()[0].figure.as_ref().unwrap().median() - 0.5).abs() < 1e-9);
    let [(with, share)] = answer.following("by sendfile")[..] else { panic!("{answer:?}") };
    assert_eq!((with, (share.figure.median() * 100.0).round()), ("with AES-128-GCM", 75.0));
    // With kernel TLS the baseline follows `send`.
    for cell in &mut scene.study.cells {
        (cell.target.sendfile, cell.target.send) = (None, tls::SendMode::KtlsSendfile);
    }
    assert!(!scene.first().caveats.iter().any(is_caveat));
}
