//! What holds whatever was measured.

use journal::TrialLine;
use proptest::prelude::*;

use super::scene::{CBC, GCM, RSA, Scene};
use crate::Mark;
use crate::analysis::{Analysis, TrialCounts};
use study::Metric;
use trial::Limit;

use super::{NONE, SUITE, bulk};

/// A subset of the scene's trials, changed at will: the subset and the changes by number.
fn changed(mut scene: Scene, changes: &[(u8, u64)]) -> Scene {
    let mut changes = changes.iter().cycle();
    scene.lines.retain_mut(|TrialLine { line, .. }| {
        let (kind, value) = changes.next().unwrap();
        match kind % 8 {
            0 => return false,
            1 => line.valid = false,
            2 => line.cpu_ns.server = None,
            3 => line.cpu_ns.server = Some(*value),
            4 => (line.rate_per_s, line.operations.completed, line.bytes.body) = (Some(0.0), 0, 0),
            5 => {
                (line.rate_per_s, line.goodput_bps) = (Some(*value as f64 * 1e289), Some(*value));
                (line.operations.completed, line.bytes.body) = (*value, *value);
            }
            6 => line.verdict_mut().limit = Limit::ClientCpu,
            _ => {}
        }
        true
    });
    scene
}

fn scenes() -> Vec<Scene> {
    let mut handshakes = Scene::handshakes();
    for metric in [Metric::Rate, Metric::Goodput, Metric::TlsTax] {
        handshakes = handshakes.answer(metric, "target.certificate-key", RSA);
    }
    let mut bulk = bulk(Metric::Rate, GCM);
    for metric in [Metric::Goodput, Metric::GoodputPerServerCpu, Metric::TlsTax] {
        bulk = bulk.answer(metric, SUITE, NONE).answer(metric, SUITE, CBC);
    }
    vec![handshakes, bulk]
}

proptest! {
    // Each case is many journals.
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_was_measured_there_is_an_answer(
        changes in prop::collection::vec((any::<u8>(), any::<u64>()), 1..30)
    ) {
        for scene in scenes() {
            let scene = changed(scene, &changes);
            let analysis = scene.analysis();
            prop_assert_eq!(analysis.answers.len(), scene.study.answers.len());
            for answer in &analysis.answers {
                let caveats = answer.caveats.iter().map(|of| &of.text);
                for sentence in caveats.chain(&answer.notes) {
                    prop_assert!(sentence.ends_with('.'));
                    for word in ["NaN", "..", "  ", "-0%", " ,"] {
                        prop_assert!(!sentence.contains(word), "{}", sentence);
                    }
                }
                for bar in &answer.bars() {
                    prop_assert_eq!(bar.figure.is_none(), bar.mark == Some(Mark::NotMeasured));
                }
            }
            for cell in &analysis.cells {
                let TrialCounts { done, valid, .. } = cell.trials;
                let of_cell = |trial: &&TrialLine| {
                    trial.place.cell == cell.name
                };
                let lines = scene.lines.iter().filter(of_cell);
                prop_assert_eq!(lines.clone().count(), done);
                prop_assert_eq!(lines.filter(|trial| trial.line.valid).count(), valid);
                let samples = cell.figure(Metric::ClientBusy).map_or(0, |figure| figure.samples.len());
                prop_assert_eq!(samples, valid);
            }
            let invalid = scene.lines.iter().filter(|trial| !trial.line.valid).count();
            prop_assert_eq!(analysis.invalid.len(), invalid);
        }
    }

    #[test]
    fn the_order_of_the_journal_does_not_matter(
        shuffled in Just((0..32).collect::<Vec<usize>>()).prop_shuffle()
    ) {
        let scene = bulk(Metric::GoodputPerServerCpu, GCM).answer(Metric::TlsTax, SUITE, NONE);
        let lines = shuffled.iter().map(|index| scene.lines[*index].clone()).collect();
        let other = Scene { lines, ..scene.clone() };
        prop_assert_eq!(other.analysis(), scene.analysis());
    }

    #[test]
    fn a_machine_twice_as_fast_pays_the_same_tax(power in 0u32..20) {
        let scene = bulk(Metric::GoodputPerServerCpu, GCM).answer(Metric::TlsTax, SUITE, NONE);
        let mut faster = scene.clone();
        for TrialLine { line, .. } in &mut faster.lines {
            line.bytes.body <<= power;
            line.goodput_bps = line.goodput_bps.map(|bits| bits << power);
        }
        let (before, after): (Analysis, Analysis) = (scene.analysis(), faster.analysis());
        for (before, after) in before.answers[0].bars().iter().zip(&after.answers[0].bars()) {
            prop_assert_eq!(&before.ratio, &after.ratio);
        }
        let [before, after] =
            [before, after].map(|of| serde_json::to_string_pretty(&of.answers[1]).unwrap());
        prop_assert_eq!(before, after);
    }
}
