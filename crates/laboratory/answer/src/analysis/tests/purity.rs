//! What proves that handshakes were measured, and what makes each part of it false.

use load::Operation;
use study::Metric;
use trial::TrialRecord;

use super::{GCM, Scene, bulk};

/// Trials in which all is as it should be.
fn pure() -> Scene {
    let mut scene = Scene::handshakes();
    for trial in &mut scene.lines {
        let line = &mut trial.line;
        line.receipt.obtained.connections = Some(64);
        let evidence = &mut line.verdict_mut().evidence;
        evidence.server_descriptors = Some(0.0034);
        (evidence.accept_queue_drops, evidence.connects_repeated) = (Some(0), Some(0));
        evidence.accept_queue_loss = Some(0.0);
    }
    scene
}

/// The sentence where one trial was changed.
fn purity(change: impl FnOnce(&mut TrialRecord)) -> String {
    let mut scene = pure();
    change(scene.trial(1, 3));
    scene.first().purity.unwrap()
}

#[test]
fn handshakes_are_proven_by_receipts_and_evidence() {
    assert_eq!(
        pure().first().purity.unwrap(),
        "These were handshakes: 1.00 full handshakes per connection, no request on any, at most 64 \
         connections open, 0.3% of the server's descriptors used, no port lacking, no connection \
         lost in the accept queue."
    );
    let few = purity(|line| {
        line.verdict_mut().evidence.accept_queue_drops = Some(3);
        line.verdict_mut().evidence.accept_queue_loss = Some(0.012);
    });
    assert!(
        few.starts_with("These were handshakes: ")
            && few.ends_with(
                ", 3 connections lost in the accept queue, at most 1.2% of their time in a trial."
            ),
        "{few}"
    );
}

#[test]
fn what_quic_has_not_and_what_counts_do_not_look_at_is_not_said() {
    let mut scene = pure();
    for trial in &mut scene.lines {
        trial.line.receipt.obtained.quic = Some(Default::default());
    }
    let quic = scene.first().purity.unwrap();
    assert!(!quic.contains("accept queue") && quic.contains("no port lacking"), "{quic}");
    let mut scene = pure();
    scene.study.answers[0].metric = Metric::InstructionsPerOperation;
    scene.count_instructions("callgrind 3.19.0");
    let counted = scene.first().purity.unwrap();
    assert!(!counted.contains("port lacking"), "{counted}");
}

#[test]
fn resumption_that_was_asked_for_is_as_it_should_be() {
    let mut scene = pure();
    for trial in &mut scene.lines {
        let receipt = &mut trial.line.receipt;
        receipt.asked.resumption_percent = Some(50);
        receipt.obtained.resumed = receipt.obtained.full;
    }
    let said = scene.first().purity.unwrap();
    let expected = "These were handshakes: 0.50 full and 0.50 resumed handshakes per connection, as \
                    asked, no request on any";
    assert!(said.starts_with(expected), "{said}");
}

#[test]
fn two_answers_of_the_same_trials_are_proven_once() {
    let mut scene = pure();
    scene.study.answers.push(scene.study.answers[0].clone());
    let analysis = scene.analysis();
    assert_eq!(analysis.answers[0].purity, analysis.answers[1].purity);
    let findings = analysis.answered();
    let counts: Vec<usize> = findings.answers.iter().map(|of| of.notes.len()).collect();
    assert_eq!(counts, [1, 0]);
}

#[test]
fn what_is_not_as_it_should_be_is_named_with_what_it_means() {
    type Change = fn(&mut TrialRecord);
    let changes: [(Change, &str); 6] = [
        (
            |line| line.receipt.obtained.resumed = Some(128),
            "0.88 full handshakes per connection and 128 resumed (a resumed handshake costs the \
             server less, so",
        ),
        (
            |line| line.receipt.obtained.kept_open = Some(2),
            "no request on any and 2 kept open by the server after it (the client waited",
        ),
        (
            |line| line.verdict_mut().evidence.server_descriptors = Some(1.0),
            "all of the server's descriptors used (the figure is what descriptors allow",
        ),
        (
            |line| line.verdict_mut().evidence.descriptors_lacking = 1_000,
            "no descriptor of the client's for 1,000 connections (the figure is what descriptors",
        ),
        (
            |line| line.verdict_mut().evidence.ports_lacking = 1_000,
            "no port for 1,000 connections (the figure is what ports allow",
        ),
        (
            |line| {
                line.verdict_mut().evidence.accept_queue_drops = Some(30);
                line.verdict_mut().evidence.accept_queue_loss = Some(0.3);
            },
            "30 connections lost in the accept queue, at most 30.0% of their time in a trial (they \
             wait a second each",
        ),
    ];
    for (change, expected) in changes {
        let sentence = purity(change);
        assert!(sentence.starts_with("These were not handshakes alone: "), "{sentence}");
        assert!(sentence.contains(expected), "{sentence}");
    }
}

#[test]
fn invalid_trials_other_programs_loads_and_requests_prove_nothing() {
    let mut scene = pure();
    scene.trial(1, 3).receipt.obtained.resumed = Some(128);
    scene.fail(1, 3);
    assert_eq!(scene.first().purity, pure().first().purity);
    for trial in &mut scene.lines {
        trial.line.receipt.obtained.full = None;
    }
    assert_eq!(scene.first().purity, None);
    assert_eq!(bulk(Metric::GoodputPerServerCpu, GCM).first().purity, None);
}

#[test]
fn what_was_asked_on_each_connection_is_said() {
    let with = |operations: [Operation; 2]| {
        let mut scene = pure();
        for (cell, operation) in scene.study.cells.iter_mut().zip(operations) {
            cell.load.operation = operation;
        }
        scene.first().purity
    };
    let one = Operation::OneRequestPerConnection;
    assert!(with([one; 2]).unwrap().contains(", one request on each, "));
    let both = with([Operation::Handshakes, one]).unwrap();
    assert!(both.contains(", at most one request on each, "), "{both}");
    assert_eq!(with([Operation::Requests, one]), None);
}
