//! What the cost of a cipher predicts, beside what was measured.

use load::Operation;
use study::Metric;
use study::testing::server;

use super::scene::{SPREAD, Scene};
use crate::findings::Section;

const AES: &str = "target.aes";
const SUITE: &str = "TLS_RSA_WITH_AES_128_GCM_SHA256";

/// Pages of 16 KiB that take 400 µs of the server's CPU without AES instructions and 200 µs with them, at
/// these costs in ns/byte.
fn pages(ns_per_byte: [Option<f64>; 2]) -> Scene {
    let mut scene = Scene::new("shop", &[server("tomcat")], AES, &["off", "on"]).answer(
        Metric::Rate,
        AES,
        "off",
    );
    for cell in &mut scene.study.cells {
        cell.load.operation = Operation::Session;
    }
    for (cell, per_second) in [(0, 2_500.0), (1, 5_000.0)] {
        scene.measure(cell, per_second * 8.0 * f64::from(1 << 20), &SPREAD);
    }
    for trial in &mut scene.lines {
        let place = usize::from(trial.place.params[AES] == "on");
        trial.line.bytes.body = trial.line.operations.completed * 16_384;
        let obtained = &mut trial.line.receipt.obtained;
        obtained.suite = [(SUITE.to_owned(), 50)].into();
        let ns = ns_per_byte[place].map(|ns| ("AES/GCM/NoPadding".to_owned(), ns));
        obtained.ns_per_byte = ns.into_iter().collect();
    }
    scene
}

fn predicted(ns_per_byte: [Option<f64>; 2]) -> Option<String> {
    pages(ns_per_byte).first().predicted
}

#[test]
fn a_gain_that_the_cipher_explains_stands_beside_its_prediction() {
    // 200 µs less for 16,384 bytes.
    let scene = pages([Some(12.5), Some(12.5 - 200_000.0 / 16_384.0)]);
    assert_eq!(
        scene.first().predicted.unwrap(),
        "2.0x [1.9, 2.1] from 16.0 KiB per page x 12.2 ns/byte; measured 2.00x [2.00, 2.00]."
    );
    let findings = scene.analysis().findings(&scene.lines);
    assert_eq!(findings.answers[0].remarks[0].label, "Predicted");
    let is_it = |section: &&Section| section.title == "Predicted gains";
    let section = findings.tables.iter().find(is_it).unwrap();
    let row: Vec<String> = section.tables[0]
        .columns
        .iter()
        .map(|column| format!("{}: {}", column.name, column.cells[0].text))
        .collect();
    assert_eq!(
        row,
        [
            ": AES instructions",
            "body per page: 16.00",
            "cipher, baseline: 12.50",
            "cipher: 0.29",
            "server CPU per page, baseline: 400",
            "less, predicted: 200",
            "less, measured: 200",
            "predicted: 2.00x",
            "measured: 2.00x",
        ]
    );
}

#[test]
fn a_gain_beyond_what_the_cipher_explains_is_said() {
    let predicted = predicted([Some(6.5), Some(0.5)]).unwrap();
    assert_eq!(
        predicted,
        "1.33x [1.31, 1.34] from 16.0 KiB per page x 6.0 ns/byte; measured 2.00x [2.00, 2.00]. The two \
         differ beyond their intervals, so more than the cipher's cost changed, or the server's CPU \
         was not the limit."
    );
}

#[test]
fn an_equal_cost_explains_nothing() {
    let predicted = predicted([Some(0.5), Some(0.5)]).unwrap();
    assert!(
        predicted.starts_with("1.00x [1.00, 1.00] from 16.0 KiB per page x 0.0"),
        "{predicted}"
    );
    assert!(predicted.contains("does not explain the difference"), "{predicted}");
}

#[test]
fn without_the_ciphers_cost_nothing_is_predicted() {
    for costs in [[None, None], [Some(6.5), None], [None, Some(0.5)]] {
        assert_eq!(predicted(costs), None);
    }
    // More than a page costs.
    assert_eq!(predicted([Some(60.0), Some(0.5)]), None);
    let scene = pages([None, None]);
    let findings = scene.analysis().findings(&scene.lines);
    assert!(findings.tables.iter().all(|section| section.title != "Predicted gains"));
}
