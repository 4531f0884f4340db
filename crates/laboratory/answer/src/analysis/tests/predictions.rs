//! What the cost of a cipher predicts, beside what was measured.

use load::Operation;
use study::Metric;
use study::testing::server;

use super::scene::{SPREAD, Scene, all_caveats};
use crate::analysis::WhyLeftOut;
use crate::findings::Section;

const AES: &str = "target.aes";
const SUITE: &str = "TLS_RSA_WITH_AES_128_GCM_SHA256";

/// Pages of 16 KiB that take 400 µs of the server's CPU without AES instructions and 200 µs with them, at
/// these costs in ns/byte.
pub(super) fn pages(ns_per_byte: [Option<f64>; 2]) -> Scene {
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
        let place = usize::from(trial.place.params[AES].to_string() == "on");
        trial.line.bytes.body = trial.line.operations.completed * 16_384;
        let obtained = &mut trial.line.receipt.obtained;
        obtained.suite = [(SUITE.to_owned(), 50)].into();
        let ns = ns_per_byte[place].map(|ns| ("AES/GCM/NoPadding".to_owned(), ns));
        obtained.ns_per_byte = ns.into_iter().collect();
    }
    scene
}

/// The predicted and the measured ratio, and what is doubted.
fn predicted(ns_per_byte: [Option<f64>; 2]) -> Option<([f64; 2], String)> {
    let answer = pages(ns_per_byte).first();
    let of = answer.predictions.first()?;
    let ratios = [of.predicted.as_ref()?.median(), of.measured.median()];
    Some((ratios.map(|ratio| (ratio * 100.0).round() / 100.0), all_caveats(&answer)))
}

#[test]
fn a_gain_that_the_cipher_explains_stands_beside_its_prediction() {
    // 200 µs less for 16,384 bytes.
    let costs = [Some(12.5), Some(12.5 - 200_000.0 / 16_384.0)];
    assert_eq!(predicted(costs), Some(([2.0, 2.0], String::new())));
    let scene = pages(costs);
    let findings = scene.analysis().answered();
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
fn a_gain_beyond_what_the_cipher_explains_is_doubted() {
    let (ratios, doubts) = predicted([Some(6.5), Some(0.5)]).unwrap();
    assert_eq!(ratios, [1.33, 2.0]);
    assert!(doubts.contains("differ beyond their intervals"), "{doubts}");
    let (ratios, doubts) = predicted([Some(0.5), Some(0.5)]).unwrap();
    assert_eq!(ratios, [1.0, 2.0]);
    assert!(doubts.contains("does not explain the difference"), "{doubts}");
}

#[test]
fn without_the_ciphers_cost_nothing_is_predicted() {
    for costs in [[None, None], [Some(6.5), None], [None, Some(0.5)]] {
        assert_eq!(predicted(costs), None);
    }
    let scene = pages([None, None]);
    let findings = scene.analysis().answered();
    assert!(findings.tables.iter().all(|section| section.title != "Predicted gains"));
}

#[test]
fn rounds_that_are_left_out_are_counted_with_their_reasons() {
    use WhyLeftOut::{MoreThanTheServer, NoCost, OtherCipher};
    let mut scene = pages([Some(6.5), Some(0.5)]);
    let rounds = scene.first().predictions[0].rounds;
    let name = || "AES/GCM/NoPadding".to_owned();
    // In one round a byte costs more than its page, in another the server reports nothing, in a third the suite
    // is another.
    scene.trial(0, 1).receipt.obtained.ns_per_byte = [(name(), 60.0)].into();
    scene.trial(1, 2).receipt.obtained.ns_per_byte.clear();
    let other = &mut scene.trial(1, 3).receipt.obtained;
    other.suite = [("TLS_RSA_WITH_AES_128_CBC_SHA".to_owned(), 50)].into();
    other.ns_per_byte = [("AES/CBC/NoPadding".to_owned(), 0.5)].into();
    let prediction = scene.first().predictions.remove(0);
    assert_eq!(
        prediction.left_out.0,
        [(MoreThanTheServer, 1), (NoCost, 1), (OtherCipher, 1)].into()
    );
    assert_eq!(prediction.predicted.unwrap().samples.len(), rounds - 3);
    let findings = scene.analysis().answered();
    let is_it = |section: &&Section| section.title == "Predicted gains";
    let section = findings.tables.iter().find(is_it).unwrap();
    assert_eq!(section.tables[0].notes.len(), 1);
    let json = serde_json::to_value(&scene.first().predictions[0]).unwrap();
    assert_eq!(json["left_out"]["more-than-the-server"], 1);
    // More than a page costs, in all of them.
    let none = pages([Some(60.0), Some(0.5)]).first().predictions.remove(0);
    assert_eq!((none.predicted, none.left_out.0), (None, [(MoreThanTheServer, rounds)].into()));
}
