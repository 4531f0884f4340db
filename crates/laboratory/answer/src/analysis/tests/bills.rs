//! The bill of a handshake, over costs and trials that are known.

use journal::primitive::RowLine;
use primitives::row::{Measured, NoFigure, Outcome, Reason};
use primitives::sampler::{Quality, Quartiles};
use primitives::{Cache, CycleSource, Hardware, Row, RowKey};
use profile::Class;
use study::primitive::AlgorithmTable;
use tls::{Group, OrPlain, Version};

use super::scene::Scene;
use crate::analysis::Parts;
use crate::findings::{self, Chart, Series};

const TABLE: &str = "private-key";
const SIGN: [&str; 2] = ["RSA-2048 sign", "ECDSA P-256 sign"];
const HANDSHAKE: [&str; 2] =
    ["TLS 1.3 RSA-2048 full handshake server", "TLS 1.3 P-256 full handshake server"];

/// Handshakes of 610 µs with RSA-2048 and of 238 µs with ECDSA P-256, beside rows of these times in µs.
pub(super) fn bill(rows: &[(&str, f64)]) -> Scene {
    let mut scene = Scene::handshakes();
    scene.study.answers[0].nominal = Some(TABLE.to_owned());
    for cell in &mut scene.study.cells {
        cell.target.certificate_key =
            cell.params["target.certificate-key"].to_string().parse().unwrap();
        cell.load.tls = Some(OrPlain::Tls(Version::Tls13));
        cell.load.group = Some(Group::X25519);
    }
    let table = AlgorithmTable {
        name: TABLE.to_owned(),
        algorithms: rows.iter().map(|(name, _)| name.parse().unwrap()).collect(),
        libraries: vec!["openssl".to_owned()],
        sizes: Vec::new(),
        caches: vec![Cache::Warm],
        hardware: vec![Hardware::All],
        cpus: "0".parse().unwrap(),
        rounds: 7,
        samples: 10,
    };
    for (round, factor) in (0..).zip([1.0, 0.99, 1.01, 1.0, 0.99, 1.01, 1.0]) {
        for (key, (_, us)) in table.combination(Hardware::All, Cache::Warm).into_iter().zip(rows) {
            scene.primitives.push(line(TABLE, key, round, us * factor));
        }
    }
    scene.study.primitives.tables.push(table);
    scene
}

/// A row of a round on a core of 2 GHz.
pub(super) fn line(table: &str, key: RowKey, round: u32, us: f64) -> RowLine {
    let quartiles = |median: f64| Quartiles { low: median * 0.9, median, high: median * 1.1 };
    let cycles = us * 2e3;
    let measured = Measured {
        cycles_per_byte: key.size_bytes.map(|size| quartiles(cycles / size as f64)),
        cycles_per_op: quartiles(cycles),
        core_hz: 2e9,
        ops_per_s: 1e6 / us,
        bytes_per_s: key.size_bytes.map(|size| size as f64 * 1e6 / us),
        messages_per_op: 1,
        samples: 10,
        dropped_shared: 0,
        dropped_unsteady: 0,
        quality: Quality::Quiet,
        confirmed_by: "ring".to_owned(),
    };
    RowLine {
        schema: trial::SCHEMA,
        table: table.to_owned(),
        row: Row {
            key,
            library_title: "OpenSSL 3.0.22".to_owned(),
            cycles_source: CycleSource::MeasuredFrequency,
            outcome: Outcome::Measured(Box::new(measured)),
        },
        round,
        order: round,
        started_unix_ms: 0,
    }
}

/// The median parts of the cells in µs: whole, private key, rest of TLS and rest.
fn parts(scene: &Scene) -> Vec<[f64; 4]> {
    let cells = scene.first().bill.unwrap().cells;
    let parts = cells.into_iter().filter_map(|cell| cell.parts).map(|parts| {
        let Parts { whole_ns, private_key_ns, tls_ns, rest_ns } = parts;
        [whole_ns.median(), private_key_ns.median(), tls_ns.median, rest_ns.median]
    });
    parts.map(|parts| parts.map(|ns| (ns / 1e3).round())).collect()
}

pub(super) const ALL: [(&str, f64); 4] =
    [(SIGN[0], 500.0), (SIGN[1], 20.0), (HANDSHAKE[0], 560.0), (HANDSHAKE[1], 80.0)];

#[test]
fn the_private_key_alone_stands_beside_full_handshakes() {
    let scene = bill(&ALL[..2]);
    let cells = scene.first().bill.unwrap().cells;
    let shares: Vec<f64> = cells.iter().map(|cell| (cell.share.median * 100.0).round()).collect();
    assert_eq!((shares, cells[0].private_key_per_s.median()), (vec![82.0, 8.0], 2_000.0));
    let tables = scene.analysis().answered().answers.remove(0).tables;
    let rows: Vec<usize> = tables.iter().map(findings::Table::rows).collect();
    assert_eq!(rows, [2, 2], "its figures, and its bill");
    // Without a version there is no handshake of the table to take.
    let mut scene = bill(&ALL);
    scene.study.cells.iter_mut().for_each(|cell| cell.load.tls = None);
    assert!(parts(&scene).is_empty());
    scene.study.answers[0].nominal = None;
    assert_eq!(scene.first().bill, None);
}

#[test]
fn tls_1_3_has_a_bill_of_three_parts() {
    let scene = bill(&ALL);
    assert_eq!(parts(&scene), [[610.0, 500.0, 60.0, 50.0], [238.0, 20.0, 60.0, 158.0]]);
    let findings = scene.analysis().answered();
    let [_, Chart::Bars(stack)] = &findings.answers[0].charts[..] else { panic!() };
    assert!(stack.is_stacked);
    let series: Vec<(Series, &str)> =
        stack.rows[0].bars.iter().map(|bar| (bar.series, bar.name.as_str())).collect();
    assert_eq!(
        series,
        [
            (Series::PrivateKey, "private key"),
            (Series::Tls, "rest of TLS"),
            (Series::Rest, "kernel, sockets and server"),
        ]
    );
    assert_eq!(stack.axis, "µs of the server's CPU time per full handshake; lower is better");
    let begins: Vec<f64> = stack.rows[0].stacked().iter().map(|ns| ns.round()).collect();
    assert_eq!((&*stack.rows[0].label, begins), ("RSA-2048", vec![0.0, 500e3, 560e3]));
}

#[test]
fn a_bill_has_what_was_sampled_beside_what_was_measured() {
    let mut scene = bill(&ALL);
    // Of 610 µs.
    scene.sample(
        0,
        &[(Class::AsymmetricCrypto, 8_000), (Class::TlsLibrary, 1_000), (Class::TcpIp, 1_000)],
    );
    let sampled = |scene: &Scene| scene.first().bill.unwrap().cells[0].sampled.clone();
    let of_key = sampled(&scene).unwrap();
    assert!((of_key.tls_ns / of_key.rest_ns - 9.0).abs() < 1e-9, "{of_key:?}");
    let profile = scene.lines.iter_mut().find_map(|trial| trial.line.profile.as_mut()).unwrap();
    profile.lost = 1;
    assert_eq!(sampled(&scene), None, "a profile that lost samples is no part of a bill");
}

#[test]
fn parts_that_exceed_the_whole_are_told_and_stay_what_they_are() {
    let doubts = |scene: &Scene| {
        let caveats = scene.first().caveats.into_iter();
        caveats.filter(|caveat| caveat.contains("parts exceed the whole")).collect::<Vec<_>>()
    };
    let scene = bill(&[ALL[0], ALL[1], (HANDSHAKE[0], 700.0), ALL[3]]);
    assert_eq!(parts(&scene)[0], [610.0, 500.0, 200.0, -90.0]);
    let [doubt] = &doubts(&scene)[..] else { panic!() };
    assert!(doubt.starts_with("Of RSA-2048 the parts"), "{doubt}");
    let findings = scene.analysis().answered();
    let [_, Chart::Bars(stack)] = &findings.answers[0].charts[..] else { panic!() };
    assert!(stack.values().iter().any(|end| (-91e3..-90e3).contains(end)), "{:?}", stack.values());
    // Within the interval of 610 µs.
    let within = bill(&[ALL[0], ALL[1], (HANDSHAKE[0], 612.0), ALL[3]]);
    assert_eq!((parts(&within)[0][3], doubts(&within).len()), (-2.0, 0));
    // Without the parts, too.
    let [doubt] = &doubts(&bill(&[(SIGN[0], 700.0), (SIGN[1], 20.0)]))[..] else { panic!() };
    assert!(doubt.starts_with("Of RSA-2048 the parts"), "{doubt}");
}

#[test]
fn a_bill_says_what_it_lacks() {
    let mut scene = bill(&[(SIGN[0], 500.0), (SIGN[1], 20.0)]);
    for line in &mut scene.primitives {
        if line.row.key.algorithm.name() == SIGN[1] {
            let why = "not available: it is slow".to_owned();
            line.row.outcome = Outcome::None(NoFigure { why, reason: Reason::Unavailable });
        }
    }
    let answer = scene.first();
    assert_eq!(answer.bill.unwrap().cells.len(), 1);
    assert_eq!(
        answer.caveats,
        ["The bill lacks ECDSA P-256 sign with OpenSSL 3.0.22: not available: it is slow."]
    );
}

#[test]
fn a_part_that_was_disturbed_is_told() {
    let mut scene = bill(&[(SIGN[0], 500.0), (SIGN[1], 20.0)]);
    let Outcome::Measured(measured) = &mut scene.primitives[0].row.outcome else { panic!() };
    measured.quality = Quality::Disturbed;
    assert_eq!(
        scene.first().caveats,
        [
            "Something else used the core while RSA-2048 sign was timed alone: the figure is too high."
        ]
    );
}
