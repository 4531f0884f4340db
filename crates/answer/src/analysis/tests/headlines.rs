//! What is said where the study's author wrote nothing.

use proptest::prelude::*;
use stats::Decision;
use study::Metric;
use study::testing::server;

use super::projections::{ratios, sizes};
use super::scene::{CBC, CHACHA, ECDSA, EIGHT, GCM, RSA, Scene};
use super::{NONE, SUITE, bulk};
use crate::findings::Headline;
use crate::wording::factor;

fn headline(scene: &Scene) -> Headline {
    scene.first().headline.unwrap()
}

/// Of two servers, each combination of whose cells is one comparison.
fn two_servers() -> Scene {
    let servers = [server("embedded"), server("nginx")];
    let mut scene =
        Scene::suites(&servers, &[CBC, GCM]).answer(Metric::GoodputPerServerCpu, SUITE, CBC);
    for (cell, bps) in [2e9, 8e9, 3e9, 9e9].into_iter().enumerate() {
        scene.measure(cell, bps, &EIGHT);
    }
    scene
}

#[test]
fn each_kind_of_comparison_has_its_sentence() {
    let mut same = Scene::handshakes();
    same.keep(|cell, _| cell == 0);
    same.measure(1, 1_650.0, &[1.0; 7]);
    let mut alike = bulk(Metric::GoodputPerServerCpu, GCM);
    alike.keep(|cell, _| cell != 2);
    alike.measure(2, 8.5e9, &[1.0, 0.98, 1.01, 0.99, 1.02, 0.99, 1.01, 1.0]);
    let mut one = Scene::handshakes();
    one.keep(|cell, _| cell == 0);
    let mut uphill = ratios([0.8, 0.9, 1.2, 1.3]);
    uphill.study.answers[0].show.insert(study::Show::Crossover);
    let scenes = [
        ("two", Scene::handshakes()),
        ("two without a difference", same),
        ("two, of each of two servers", two_servers()),
        ("several", bulk(Metric::GoodputPerServerCpu, GCM)),
        ("several, two of them alike", alike),
        ("several costs", bulk(Metric::ServerCpuPerGigabyte, GCM)),
        ("one", one),
        ("a tax", bulk(Metric::TlsTax, NONE)),
        ("along a key", sizes()),
        ("along a key with a crossover", uphill),
    ];
    support::assert_golden!(scenes.map(|(of, scene)| {
        let Headline { value, unit, sentence, .. } = headline(&scene);
        (of, format!("{value} | {unit}\n{sentence}"))
    }));
}

#[test]
fn along_a_key_the_value_that_differs_most_is_said_and_where_nothing_does() {
    // At the smallest size there is no difference.
    let mut scene = ratios([1.0, 1.5, 2.0, 2.5]);
    scene.study.answers[0].show.clear();
    let told = headline(&scene);
    assert_eq!(told.value, "1.50x to 2.5x");
    assert!(told.sentence.contains(", no significant difference at 1 KiB objects"), "{told:?}");
    // Without pairs the figures are said.
    for round in 0..8 {
        [0, 2, 4, 6].into_iter().for_each(|cell| scene.fail(cell, round));
    }
    let told = headline(&scene);
    assert!(told.value.ends_with("Gb/s") && told.sentence.contains("AES-128-GCM"), "{told:?}");
}

/// A factor for each of eight rounds.
fn rounds() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec(0.8f64..1.25, 8)
}

proptest! {
    // Each case is a journal.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_headline_says_of_two_cells_what_their_row_says(
        one in rounds(), other in rounds(), faster in 0.7f64..1.4, is_inverted: bool
    ) {
        let mut scene = Scene::handshakes();
        scene.study.answers[0].baseline = if is_inverted { ECDSA } else { RSA }.to_owned();
        scene.lines.clear();
        scene.measure(0, 1_000.0, &one);
        scene.measure(1, 1_000.0 * faster, &other);
        let answer = scene.first();
        let bar = answer.bars.iter().find(|bar| !bar.is_baseline).unwrap();
        let ratio = bar.ratio.as_ref().unwrap();
        let Headline { value, sentence, .. } = answer.headline.unwrap();
        let place = |label: &str| sentence.find(label).unwrap();
        match ratio.decision {
            Decision::Sure(_) => {
                // The median of inverses of an even number is not quite the inverse of the median.
                let both = [factor(ratio.median()), factor(ratio.inverse().unwrap().median())];
                prop_assert!(both.contains(&value), "{} {:?}", value, both);
                let is_ecdsa_more = (ratio.median() > 1.0) != is_inverted;
                prop_assert_eq!(place("ECDSA") < place("RSA"), is_ecdsa_more, "{}", sentence);
            }
            _ => prop_assert!(value == "≈" && sentence.contains("no significant difference"), "{}", sentence),
        }
    }

    #[test]
    fn the_best_of_several_is_none_that_another_surely_beats(
        figures in prop::array::uniform3(0.7f64..1.4), factors in prop::array::uniform3(rounds())
    ) {
        let suites = [GCM, CHACHA, CBC];
        let mut scene = Scene::suites(&[server("nginx")], &suites).answer(Metric::GoodputPerServerCpu, SUITE, GCM);
        for (cell, (figure, factors)) in figures.iter().zip(&factors).enumerate() {
            scene.measure(cell, 1e10 * figure, factors);
        }
        let answer = scene.first();
        let Headline { value, sentence, .. } = answer.headline.clone().unwrap();
        let is_any_sure = answer.bars.iter().filter_map(|bar| bar.ratio.as_ref()).any(|of| of.decision.is_sure());
        // Against the baseline a difference is shown: then one is not the best.
        prop_assert!(!is_any_sure || value != "≈", "{}", sentence);
        if let Some((_, best)) = sentence.split_once("best with ") {
            let best = answer.bars.iter().find(|bar| best.starts_with(&bar.label)).unwrap();
            let beaten = answer.bars.iter().filter_map(|bar| bar.ratio.as_ref()).any(|ratio| {
                best.is_baseline && ratio.decision == Decision::Sure(stats::Direction::Above)
            });
            prop_assert!(!beaten, "{}", sentence);
        }
    }
}
