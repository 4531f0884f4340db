//! When servers are started again.

use super::*;
use targets::Restart;

/// One cell of each of these servers.
fn study_of(servers: &[&str]) -> Study {
    let cells = (1..).zip(servers);
    let cells = cells.map(|(number, name)| cell("bulk", number, server(name))).collect();
    Study { cells, ..study() }
}

/// What is done in a run of a study.
fn scenario(study: &Study) -> Vec<String> {
    let mut stage = Stage::default();
    assert_eq!(Desk::new().run_of(study, &mut stage).unwrap(), Ended::Complete);
    stage.log
}

/// The cell, the round and the process of each trial.
fn processes(desk: &Desk) -> Vec<(String, u32, u32)> {
    let trials = desk.results.entries().unwrap().trials.into_iter();
    trials.map(|trial| trial.place).map(|p| (p.cell, p.round, p.process.unwrap())).collect()
}

#[test]
fn each_server_is_another_process_in_each_round() {
    let study = study_of(&["embedded", "nginx"]);
    assert_eq!(
        scenario(&study),
        [
            "start embedded",
            "start nginx",
            "bulk-0001",
            "bulk-0002",
            "restart nginx",
            "bulk-0002",
            "restart embedded",
            "bulk-0001",
            "restart nginx",
            "bulk-0002",
            "restart embedded",
            "bulk-0001",
        ]
    );
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    assert!(processes(&desk).iter().all(|(_, round, process)| round == process));
}

#[test]
fn a_study_can_have_a_process_for_each_trial() {
    // Two cells of one server, three rounds.
    let study = Study { restart: Some(Restart::Trial), ..study_of(&["nginx", "nginx"]) };
    let log = scenario(&study);
    let of = |start: &str| log.iter().filter(|what| what.starts_with(start)).count();
    assert_eq!((of("start"), of("bulk"), of("restart")), (1, 6, 5), "{log:?}");
    let round = Study { restart: Some(Restart::Round), ..study.clone() };
    assert!(study.forecast().time > round.forecast().time);
}

#[test]
fn a_study_and_a_server_can_keep_the_process() {
    let never = Study { restart: Some(Restart::Never), ..study_of(&["embedded", "nginx"]) };
    let restarts =
        |study: &Study| scenario(study).iter().filter(|what| what.starts_with("restart")).count();
    assert_eq!(restarts(&never), 0);
    for (name, expected) in
        [("haproxy", 2), ("apache", 2), ("tomcat", 0), ("command", 0), ("address", 0)]
    {
        assert_eq!(restarts(&study_of(&[name])), expected, "{name}");
    }
    let round = |name| Study { restart: Some(Restart::Round), ..study_of(&[name]) };
    assert_eq!((restarts(&round("tomcat")), restarts(&round("address"))), (2, 0));
}

#[test]
fn what_was_measured_stays_where_a_server_does_not_come_back() {
    let mut desk = Desk::new();
    let error = desk.run(&mut Stage { gone_in: Some(3), ..Stage::default() }).unwrap_err();
    assert!(matches!(&error, RunError::Part { part, .. } if part.contains("nginx")), "{error}");
    assert_eq!(desk.places().len(), 8);
    assert_eq!(desk.run(&mut Stage::default()).unwrap(), Ended::Complete);
    assert_eq!(desk.places().len(), 12);
}

#[test]
fn an_interrupt_during_a_restart_ends_the_run_before_the_next_trial() {
    // It fails, perhaps since it was interrupted.
    for gone_in in [None, Some(2)] {
        let mut desk = Desk::new();
        let mut stage = Stage {
            interrupted_at_restart: Some(2),
            interrupt: desk.interrupt.clone(),
            gone_in,
            ..Stage::default()
        };
        assert_eq!(desk.run(&mut stage).unwrap(), Ended::Interrupted);
        assert!(stage.log.last().unwrap().starts_with("restart "), "{:?}", stage.log);
        assert_eq!(desk.places().len(), stage.trials);
        assert_eq!(desk.run(&mut Stage::default()).unwrap(), Ended::Complete);
        assert_eq!(desk.places().len(), 12);
    }
}

#[test]
fn a_run_that_is_continued_has_processes_of_its_own() {
    let mut desk = Desk::new();
    desk.run(&mut Stage { interrupted_in: Some(6), ..Stage::default() }).unwrap();
    let before = processes(&desk);
    assert!(before.iter().all(|(_, round, process)| round == process));
    let mut stage = Stage::default();
    desk.run(&mut stage).unwrap();
    let restarts = stage.log.iter().filter(|what| what.starts_with("restart")).count();
    assert_eq!(
        (&stage.log[..2], restarts),
        (&["start embedded", "start nginx"].map(String::from)[..], 2)
    );
    for (cell, round, process) in &processes(&desk)[before.len()..] {
        assert_eq!(*process, round + 1, "{cell}");
    }
}

#[test]
fn another_version_after_a_restart_ends_the_run() {
    let mut desk = Desk::new();
    let mut stage = Stage { version: "1.22", becomes: Some("1.28"), ..Stage::default() };
    let error = desk.run(&mut stage).unwrap_err();
    assert!(matches!(&error, RunError::Part { part, .. } if part == "embedded"), "{error}");
    assert_eq!(error.class(), ErrorClass::Failed);
    assert_eq!(desk.places().len(), 4);
}

#[test]
fn the_forecast_has_the_restarts_and_shrinks_with_them() {
    let all = study();
    let never = Study { restart: Some(Restart::Never), ..study() };
    let restarts = |trials: &[TrialLine]| {
        let entries = Entries { trials: trials.to_vec(), ..Entries::default() };
        let time = |study| Agenda::new(study, &entries).ahead().time.0;
        (time(&all) - time(&never)) / targets::RESTART_TAKES.0
    };
    assert_eq!(all.forecast().time.0 - never.forecast().time.0, 4 * targets::RESTART_TAKES.0);
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    let trials = desk.results.entries().unwrap().trials;
    assert_eq!([0, 4, 8, 12].map(|done| restarts(&trials[..done])), [4, 2, 0, 0]);
}
