//! What a paced load keeps busy, and a server that falls behind it.

use study::testing::server;
use study::{Metric, Reference};
use trial::Limit;

use super::limit;
use super::scene::{SPREAD, Scene, all_caveats};
use crate::Mark;
use crate::analysis::Answer;
use crate::compare::Comparison;
use crate::gate::{Gate, Reached};

const SEND: &str = "target.send";

/// Objects at 1 Gb/s from nginx, which keeps 0.6 CPUs busy with TLS in user space, 0.3 with kTLS
/// write and 0.2 with kTLS sendfile, at 2 GHz.
fn video(metric: Metric) -> Scene {
    let modes = ["user", "ktls-write", "ktls-sendfile"];
    let mut scene =
        Scene::new("video", &[server("nginx")], SEND, &modes).answer(metric, SEND, "user");
    for cell in &mut scene.study.cells {
        cell.load.arrival = "paced 1Gb/s".parse().unwrap();
    }
    for (cell, cpus) in [0.6, 0.3, 0.2].into_iter().enumerate() {
        scene.measure(cell, 1e9, &SPREAD);
        for (round, factor) in (0..).zip(SPREAD) {
            let line = scene.trial(cell, round);
            line.cpu_ns.server = Some((cpus * factor * 1e9) as u64);
            (line.core_hz.before, line.core_hz.after) = (Some(1_900_000_000), Some(2_100_000_000));
            line.receipt.obtained.pace_bps = Some(1_000_000_000);
            line.verdict_mut().limit = Limit::OfferedLoad;
        }
    }
    scene
}

#[test]
fn what_a_served_load_keeps_busy_is_compared_and_no_lack_of_load_is_held_against_it() {
    let answer = video(Metric::ServerCpus).first();
    let median = |answer: &Answer, label| answer.bar(label).figure.as_ref().unwrap().median();
    assert!((median(&answer, "user") - 0.6).abs() < 1e-6, "{answer:?}");
    let ratio = answer.bar("kTLS write").ratio.unwrap();
    assert!((ratio.median() - 0.5).abs() < 1e-6 && ratio.decision.is_sure(), "{ratio:?}");
    assert_eq!(answer.caveats, [""; 0]);
    assert!(answer.bars().iter().all(|bar| bar.mark.is_none()), "{:?}", answer.bars());
    let cycles = median(&video(Metric::ServerCycles).first(), "user");
    assert!((cycles / 1.2e9 - 1.0).abs() < 1e-6, "{cycles}");
}

#[test]
fn a_mode_that_fell_behind_is_named_and_not_compared() {
    let mut scene = video(Metric::ServerCpus);
    limit(&mut scene, 1, 2, Limit::ServerCpu);
    let answer = scene.first();
    assert_eq!(
        answer.caveats,
        [
            "Not measured with kTLS write: the server fell behind what it was asked for in 1 of 7 trials \
          (the server's CPU was the limit)."
        ]
    );
    let [user, write, sendfile] = &answer.bars()[..] else { panic!("{:?}", answer.bars()) };
    assert_eq!(
        (&write.figure, &write.ratio, write.mark),
        (&None, &None, Some(Mark::NotOfferedLoad))
    );
    assert_eq!((user.mark, sendfile.mark), (None, None));
    assert!(sendfile.ratio.is_some());
    // The load was served, but the client was so busy that its costs may be others.
    let mut slow = video(Metric::ServerCpus);
    limit(&mut slow, 1, 2, Limit::ClientCpu);
    slow.trial(1, 2).verdict_mut().evidence.offered_served = Some(1.01);
    let caveats = all_caveats(&slow.first());
    let said = "all that was asked for was served, but was not the limit in 1 of 7 trials (the client's CPU";
    assert!(caveats.contains(said), "{caveats}");
    // With what it is compared with, too.
    limit(&mut scene, 0, 0, Limit::ClientCpu);
    let caveats = all_caveats(&scene.first());
    assert!(
        caveats.contains("in 1 of 7 trials (the client's CPU was the limit); nothing is"),
        "{caveats}"
    );
    // All of them.
    limit(&mut scene, 2, 0, Limit::Unknown);
    assert!(scene.first().bars().iter().all(|bar| bar.figure.is_none()));
    // A rate is what the server did, whatever was asked for.
    assert!(video(Metric::Rate).first().bars().iter().all(|bar| bar.figure.is_some()));
}

#[test]
fn less_work_meets_no_gate_and_is_in_no_comparison_of_runs() {
    let mut scene = video(Metric::ServerCpus);
    scene.study.answers[0].gates.push("ratio < 1".parse().unwrap());
    let gate: Gate = "server-cpus<=0.7CPUs".parse().unwrap();
    let judged = |scene: &Scene| gate.judge(&scene.study, &scene.analysis()).unwrap();
    assert_eq!([judged(&scene).result, scene.analysis().gates[0].result], [Reached::Met; 2]);
    let whole = scene.clone();
    limit(&mut scene, 1, 2, Limit::ServerCpu);
    for outcome in [judged(&scene), scene.analysis().gates[0].clone()] {
        assert_eq!(outcome.result, Reached::NotMet, "{outcome:?}");
        assert!(
            outcome
                .sentence
                .contains("the offered load was not the limit in all trials (nginx, kTLS write)"),
            "{outcome:?}"
        );
    }
    let compared = Comparison::of(&whole.run(), &scene.run(), &[Metric::ServerCpus]);
    let [user, write, _] = &compared.metrics[0].cells[..] else { panic!("{compared:?}") };
    assert!(user.ratio.is_some() && write.ratio.is_none());
    // That the offered load was the limit is no mark, as in answers.
    assert_eq!((write.mark_a, write.mark_b), (None, Some(Mark::NotOfferedLoad)));
}

#[test]
fn the_published_pace_stands_beside_that_which_was_kept() {
    let mut scene = video(Metric::ServerCycles);
    let reference = Reference::find("xeon-gold-6142").unwrap();
    let figures = ["video-cycles", "video-memory"].map(|name| reference.figure(name).unwrap());
    scene.study.answers[0].published = figures.into();
    let answer = scene.first();
    let said = "This ran over loopback at 1.00 Gb/s, 1.4% of the 70.00 Gb/s that Intel's Xeon Gold 6142 had.";
    assert_eq!(answer.notes, [said]);
    for cell in 0..3 {
        for round in 0..7 {
            scene.trial(cell, round).receipt.obtained.pace_bps = Some(35_000_000_000);
        }
    }
    assert!(
        scene.first().notes[0].contains("at 35.00 Gb/s, 50.0% of"),
        "{:?}",
        scene.first().notes
    );
}
