//! The bill of a handshake, over costs and trials that are known.

use journal::primitive::RowLine;
use primitives::row::{Measured, NoFigure, Outcome, Reason};
use primitives::sampler::{Quality, Quartiles};
use primitives::{Cache, CycleSource, Hardware, Row, RowKey};
use profile::Class;
use study::primitive::Table;
use tls::{Group, OrPlain, Version};

use super::scene::Scene;
use crate::findings::{Chart, Series};

const TABLE: &str = "private-key";
const SIGN: [&str; 2] = ["RSA-2048 sign", "ECDSA P-256 sign"];
const HANDSHAKE: [&str; 2] =
    ["TLS 1.3 RSA-2048 full handshake server", "TLS 1.3 P-256 full handshake server"];

/// Handshakes of 610 µs with RSA-2048 and of 238 µs with ECDSA P-256, beside rows of these times in µs.
fn bill(rows: &[(&str, f64)]) -> Scene {
    let mut scene = Scene::handshakes();
    scene.study.answers[0].nominal = Some(TABLE.to_owned());
    for cell in &mut scene.study.cells {
        cell.target.certificate_key = cell.params["target.certificate-key"].parse().unwrap();
        cell.load.tls = Some(OrPlain::Tls(Version::Tls13));
        cell.load.group = Some(Group::X25519);
    }
    let table = Table {
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

fn sentences(scene: &Scene) -> Vec<String> {
    scene.first().bill.unwrap().sentences
}

const NOMINAL: &str = "The private-key operation alone (OpenSSL 3.0.22) runs 2,000 [1,980, 2,020] times/s \
                       on a core, full handshakes 1,640 [1,590, 1,690] times/s: 82% [79, 85] with \
                       RSA-2048; 50,000 [49,500, 50,500] and 4,200 [4,120, 4,280]: 8.4% [8.1, 8.7] with \
                       ECDSA P-256 (nginx).";

#[test]
fn the_private_key_alone_stands_beside_full_handshakes() {
    let scene = bill(&[(SIGN[0], 500.0), (SIGN[1], 20.0)]);
    assert_eq!(sentences(&scene), [NOMINAL]);
    assert_eq!(scene.analysis().findings(&[]).answers[0].sentences[1], NOMINAL);
    // Without a version there is no handshake of the table to take.
    let all = [(SIGN[0], 500.0), (SIGN[1], 20.0), (HANDSHAKE[0], 560.0), (HANDSHAKE[1], 80.0)];
    let mut scene = bill(&all);
    scene.study.cells.iter_mut().for_each(|cell| cell.load.tls = None);
    assert_eq!(sentences(&scene), [NOMINAL]);
    scene.study.answers[0].nominal = None;
    assert_eq!(scene.first().bill, None);
}

#[test]
fn tls_1_3_has_a_bill_of_three_parts() {
    let all = [(SIGN[0], 500.0), (SIGN[1], 20.0), (HANDSHAKE[0], 560.0), (HANDSHAKE[1], 80.0)];
    let scene = bill(&all);
    assert_eq!(
        sentences(&scene),
        [
            NOMINAL,
            "A full handshake takes of the server's CPU: with RSA-2048 610 [592, 629] µs, of which \
             the private key takes 500 [495, 505], the rest of TLS 60.0 [49.4, 70.6] and the kernel, \
             sockets and server 49.8 [26.5, 74.5]; with ECDSA P-256 238 [233, 243] µs, of which the \
             private key takes 20.0 [19.8, 20.2], the rest of TLS 60.0 [59.0, 61.0] and the kernel, \
             sockets and server 158 [153, 164]."
        ]
    );
    let findings = scene.analysis().findings(&[]);
    let [_, Chart::Bars(stack)] = &findings.answers[0].charts[..] else { panic!() };
    assert!(stack.is_stacked);
    let parts: Vec<(Series, &str)> =
        stack.rows[0].bars.iter().map(|bar| (bar.series, bar.name.as_str())).collect();
    assert_eq!(
        parts,
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
    let all = [(SIGN[0], 500.0), (SIGN[1], 20.0), (HANDSHAKE[0], 560.0), (HANDSHAKE[1], 80.0)];
    let mut scene = bill(&all);
    // Of 610 µs.
    scene.sample(
        0,
        &[(Class::AsymmetricCrypto, 8_000), (Class::TlsLibrary, 1_000), (Class::TcpIp, 1_000)],
    );
    let sentence = "Sampled, cryptography with the TLS library and all else take 549 µs and 61.0 µs with \
                    RSA-2048 (by parts 560 µs and 49.8 µs).";
    assert_eq!(sentences(&scene)[2], sentence);
    let sampled = scene.first().bill.unwrap().cells[0].sampled.clone().unwrap();
    assert!((sampled.tls_ns / sampled.rest_ns - 9.0).abs() < 1e-9, "{sampled:?}");
    let profile = scene.lines.iter_mut().find_map(|trial| trial.line.profile.as_mut()).unwrap();
    profile.lost = 1;
    assert_eq!(sentences(&scene).len(), 2, "a profile that lost samples is no part of a bill");
}

#[test]
fn parts_that_exceed_the_whole_are_told_and_stay_what_they_are() {
    let all = [(SIGN[0], 500.0), (SIGN[1], 20.0), (HANDSHAKE[0], 700.0), (HANDSHAKE[1], 80.0)];
    let scene = bill(&all);
    let [_, within, exceeding] = &sentences(&scene)[..] else { panic!() };
    assert!(within.contains("with ECDSA P-256") && !within.contains("RSA-2048"), "{within}");
    assert_eq!(
        exceeding,
        "The parts exceed the whole: with RSA-2048 the private key takes 500 [495, 505] µs, the rest of \
         TLS 200 [188, 212] and the whole 610 [592, 629], which leaves -90 [-115, -64] for the kernel, \
         sockets and server. They were not measured alike: the library, the core's frequency or what \
         else used the core differed."
    );
    let findings = scene.analysis().findings(&[]);
    let [_, Chart::Bars(stack)] = &findings.answers[0].charts[..] else { panic!() };
    assert!(stack.values().iter().any(|end| (-91e3..-90e3).contains(end)), "{:?}", stack.values());
    // Within the interval of 610 µs.
    let all = [(SIGN[0], 500.0), (SIGN[1], 20.0), (HANDSHAKE[0], 612.0), (HANDSHAKE[1], 80.0)];
    let told = sentences(&bill(&all));
    assert!(told.len() == 2 && told[1].contains("sockets and server -2.2 ["), "{told:?}");
    // Without the parts, too.
    let told = sentences(&bill(&[(SIGN[0], 700.0), (SIGN[1], 20.0)]));
    assert!(told[0].contains("115% [110, 119] with RSA-2048"), "{told:?}");
    assert!(
        told[1].starts_with(
            "The parts exceed the whole: with RSA-2048 a core makes more handshakes than private-key \
             operations. "
        ),
        "{told:?}"
    );
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
            "Something else used the core while RSA-2048 sign was measured alone: the figure is too high."
        ]
    );
}
