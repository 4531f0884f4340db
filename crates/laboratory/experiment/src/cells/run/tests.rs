//! Runs on a bench without servers and clocks: what it does is written down instead.

use std::sync::Arc;
use std::time::SystemTime;
use targets::{IfMissing, Target};

use load::Outcome;

mod lost;
mod profiles;
mod restarts;
mod search;
mod until;

use super::*;
use crate::ErrorClass;
use crate::cells::order::interleaved;
use crate::testing::folder_in_memory;
use agent::Refusal;
use study::testing::{cell, server};
use study::{AnswerRule, Only};
use trial::testing::example;
use units::Nanos;

/// Two cells of each server, three trials of each cell.
fn study() -> Study {
    let servers = [server("embedded"), server("embedded"), server("nginx"), server("nginx")];
    Study {
        primitives: study::primitive::Primitives::default(),
        claims: Vec::new(),
        include: Vec::new(),
        reference: None,
        name: "test".into(),
        question: "What?".into(),
        seed: 7,
        trials: 3,
        until: None,
        restart: None,
        profile: None,
        hosts: study::Hosts::default(),
        ranks: Vec::new(),
        cells: (1..).zip(servers).map(|(number, server)| cell("bulk", number, server)).collect(),
        answers: Vec::<AnswerRule>::new(),
        cut: Vec::new(),
    }
}

/// What goes wrong, and what was done.
#[derive(Default)]
struct Stage {
    missing: Option<&'static targets::Server>,
    refuses: Option<&'static targets::Server>,
    /// The probe of this cell fails.
    unfit: Option<&'static str>,
    /// The server has died when this trial, counted from 0, ends.
    dies_in: Option<usize>,
    /// An interrupt comes in this trial.
    interrupted_in: Option<usize>,
    /// An interrupt comes before this trial has begun.
    interrupted_before: Option<usize>,
    /// This trial is not valid.
    invalid_in: Option<usize>,
    /// Connections came up late in these trials.
    late_in: Vec<usize>,
    /// All load threads end early in this trial.
    load_lost_in: Option<usize>,
    /// A rank is lost in these trials.
    rank_lost_in: Vec<usize>,
    /// The ranks do not come back for these trials.
    without_ranks_in: Vec<usize>,
    lacks_ranks: bool,
    /// Rates of trials go up and down by a fifth.
    wobbles: bool,
    /// But not from this trial on.
    settles_in: Option<usize>,
    /// The CPU time of these cells' servers cannot be sampled, and why.
    not_sampled: Vec<(&'static str, &'static str)>,
    /// The hypervisor takes a fifth of a CPU in these trials.
    disturbed_in: Vec<usize>,
    version: &'static str,
    /// The version that a server has when it was started again.
    becomes: Option<&'static str>,
    /// The server does not come back from this restart, counted from 1.
    gone_in: Option<usize>,
    /// The machine of the server is lost in these trials, and before these would begin.
    loses: Vec<usize>,
    loses_before: Vec<usize>,
    is_lost: bool,
    /// An interrupt comes in this restart, counted from 1.
    interrupted_at_restart: Option<usize>,
    interrupt: Arc<AtomicBool>,
    restarts: usize,
    log: Vec<String>,
    seeds: std::collections::BTreeSet<u64>,
    trials: usize,
    running: std::rc::Rc<std::cell::Cell<usize>>,
}

/// Counts itself as running until it is dropped.
struct Running(&'static targets::Server, std::rc::Rc<std::cell::Cell<usize>>);

impl Drop for Running {
    fn drop(&mut self) {
        self.1.set(self.1.get() - 1);
    }
}

impl Bench for Stage {
    type Target = Running;

    fn start(&mut self, spec: &Target, _: Only, connections: usize) -> Result<Running, Refusal> {
        assert_eq!(connections, 64);
        self.log.push(format!("start {}", spec.server));
        if self.missing == Some(spec.server) {
            return Err(Refusal::missing(format!("{} is not installed", spec.server)));
        }
        if self.refuses == Some(spec.server) {
            return Err(Refusal::of("no free port"));
        }
        self.running.set(self.running.get() + 1);
        Ok(Running(spec.server, self.running.clone()))
    }

    fn restart(
        &mut self,
        running: Running,
        spec: &Target,
        _: Only,
        connections: usize,
    ) -> Result<Running, Refusal> {
        assert_eq!((running.0, connections), (spec.server, 64));
        self.restarts += 1;
        self.is_lost = false;
        self.log.push(format!("restart {}", spec.server));
        if self.interrupted_at_restart == Some(self.restarts) {
            self.interrupt.store(true, Relaxed);
        }
        if self.gone_in == Some(self.restarts) {
            return Err(Refusal::of("no free port"));
        }
        if let Some(version) = self.becomes {
            self.version = version;
        }
        Ok(running)
    }

    fn is_lost(&self, _: &Running) -> bool {
        self.is_lost
    }

    fn lacks_ranks(&self) -> bool {
        self.lacks_ranks
    }

    fn name(&self, target: &Running) -> String {
        target.0.to_string()
    }

    fn version(&self, target: &Running) -> String {
        format!("{} {}", target.0, self.version)
    }

    fn probe(&mut self, _: &Running, cell: &Cell) -> Result<(), Refusal> {
        match (self.unfit, cell.load.client) {
            (Some(name), _) if name == cell.name => Err(Refusal::of("no such suite")),
            (_, load::Client::Wrk) => Err(Refusal::missing("wrk is not installed")),
            _ => Ok(()),
        }
    }

    fn trial(
        &mut self,
        target: &mut Running,
        Ask { cell, seed, latency_file, profile, .. }: Ask<'_>,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<Measured, String> {
        assert_eq!(target.0, cell.target.server);
        if let Some((_, why)) =
            self.not_sampled.iter().find(|(name, _)| profile.is_some() && *name == cell.name)
        {
            return Err((*why).to_owned());
        }
        let number = self.trials;
        self.trials += 1;
        if self.interrupted_before == Some(number) {
            interrupt.store(true, Relaxed);
            return Err("interrupted".to_owned());
        }
        self.lacks_ranks = self.without_ranks_in.contains(&number);
        if self.lacks_ranks {
            return Err("rank 2 on lg1 did not start".to_owned());
        }
        if self.loses_before.contains(&number) {
            self.is_lost = true;
            return Err("the agent on server ended".to_owned());
        }
        self.log.push(match profile {
            Some(_) => format!("sample {} for {}", cell.name, cell.load.duration),
            None => cell.name.clone(),
        });
        self.seeds.insert(seed);
        progress(Moment {
            prepared: std::time::Duration::ZERO,
            elapsed: std::time::Duration::ZERO,
            window: std::time::Duration::from_secs(1),
            progress: ::load::Progress { completed: 0, failures: 0, body_bytes: 0 },
        });
        let mut line = example();
        line.latency_ns.file = Some(latency_file);
        line.valid = self.invalid_in != Some(number);
        if self.late_in.contains(&number) {
            line.valid = false;
            line.receipt.mismatch.push(trial::Mismatch {
                what: "connections up".to_owned(),
                asked: "64 kept open".to_owned(),
                obtained: "fewer".to_owned(),
            });
        }
        if self.wobbles && self.settles_in.is_none_or(|from| number < from) {
            line.operations.completed = if number.is_multiple_of(2) { 80 } else { 120 };
        } else {
            line.operations.completed = 100;
        }
        let mut line = line.with_rates();
        line.verdict_mut().evidence.steal =
            trial::testing::share(0.2).filter(|_| self.disturbed_in.contains(&number));
        if self.interrupted_in == Some(number) {
            interrupt.store(true, Relaxed);
            line.interrupted = true;
        }
        if self.dies_in == Some(number) {
            line.valid = false;
            line.target_error = Some("nginx died".into());
        }
        if self.loses.contains(&number) {
            self.is_lost = true;
            line.valid = false;
            line.target_error = Some("the agent on server ended".into());
        }
        if self.load_lost_in == Some(number) {
            line.valid = false;
            line.load_error = Some("a load thread ended early: no epoll".into());
        }
        if self.rank_lost_in.contains(&number) {
            line.valid = false;
            line.lost_ranks = vec![2];
            line.load_error = Some("rank 2 on lg1: no result".into());
        }
        let mut outcome = Outcome::default();
        outcome.latencies.whole.record(1 + number as u64).unwrap();
        Ok(Measured { line, outcome })
    }
}

struct Desk {
    _parent: tempfile::TempDir,
    results: Results,
    interrupt: Arc<AtomicBool>,
    events: Vec<String>,
}

impl Desk {
    fn new() -> Self {
        let parent = folder_in_memory();
        let results = Results::create(parent.path(), "test", SystemTime::UNIX_EPOCH).unwrap();
        Self { _parent: parent, results, interrupt: Arc::default(), events: Vec::new() }
    }

    fn run(&mut self, stage: &mut Stage) -> Result<Ended, RunError> {
        self.run_of(&study(), stage)
    }

    fn run_of(&mut self, study: &Study, stage: &mut Stage) -> Result<Ended, RunError> {
        self.interrupt.store(false, Relaxed);
        let told = &mut self.events;
        let ended = run(study, &self.results, stage, &self.interrupt, &mut |event| {
            told.push(match event {
                Event::Says(text) | Event::Started(text) | Event::Lacks(text) => text,
                Event::Progress { .. } => return,
                Event::Finished { entries, .. } => format!("finished {}", entries.len()),
            });
        });
        assert_eq!(stage.running.get(), 0, "a server is left running");
        ended
    }

    fn places(&self) -> Vec<(String, u32, u32)> {
        let lines = self.results.entries().unwrap().trials;
        let places = lines.into_iter().map(|trial| trial.place);
        places.map(|place| (place.cell, place.round, place.order)).collect()
    }
}

#[test]
fn every_round_has_all_cells_in_the_seeds_order() {
    let (mut desk, mut stage) = (Desk::new(), Stage::default());
    assert_eq!(desk.run(&mut stage).unwrap(), Ended::Complete);
    assert_eq!(stage.log[..2], ["start embedded", "start nginx"]);
    let expected: Vec<(String, u32, u32)> = (0u32..)
        .zip(
            interleaved(4, 3, 7)
                .into_iter()
                .enumerate()
                .flat_map(|(round, order)| order.into_iter().map(move |cell| (round as u32, cell))),
        )
        .map(|(order, (round, cell))| (format!("bulk-{:04}", cell + 1), round, order))
        .collect();
    assert_eq!(desk.places(), expected);
    assert!(desk.events[0].starts_with("embedded: embedded "), "{:?}", desk.events);
    assert!(desk.events[1].starts_with("nginx: nginx "), "{:?}", desk.events);
    assert_eq!(desk.events[2..], ["finished 1"; 12]);
    let targets = desk.results.targets().unwrap();
    assert_eq!(targets[1].cells, ["bulk-0003", "bulk-0004"]);
}

#[test]
fn what_is_left_has_the_warm_ups_of_servers_that_no_trial_was_made_of() {
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    let (over, none) = (desk.results.entries().unwrap(), Entries::default());
    let trials = &over.trials;
    let first = trials.iter().find(|trial| trial.place.cell == "bulk-0001").unwrap();
    let plain = Study { restart: Some(targets::Restart::Never), ..study() };
    let mut java = plain.clone();
    for cell in &mut java.cells[..2] {
        cell.target.server = server("tomcat");
        cell.target.warmup = Some(targets::WarmUp::For(Nanos(20_000_000_000)));
    }
    let preparations =
        |java: &Agenda<'_>, plain: &Agenda<'_>| java.ahead().time.0 - plain.ahead().time.0;
    let once = 20_000_000_000 + targets::CRYPTO_TAKES.0;
    let (mut agenda, mut other) = (Agenda::new(&java, &none), Agenda::new(&plain, &none));
    assert_eq!(preparations(&agenda, &other), once);
    assert_eq!(agenda.ahead(), java.forecast());
    agenda.note(first);
    other.note(first);
    assert_eq!(preparations(&agenda, &other), 0);
    // A run that is continued starts its servers again, where they are wanted.
    let begun = Entries { trials: vec![first.clone()], ..Entries::default() };
    let left = |trials| preparations(&Agenda::new(&java, trials), &Agenda::new(&plain, trials));
    assert_eq!((left(&begun), left(&over)), (once, 0));
}

#[test]
fn each_trial_has_a_seed_that_a_second_run_has_again() {
    let mut stages = [Stage::default(), Stage::default()];
    for stage in &mut stages {
        Desk::new().run(stage).unwrap();
    }
    assert_eq!((stages[0].seeds.len(), &stages[0].seeds), (12, &stages[1].seeds));
}

#[test]
fn each_trial_has_its_latencies_in_a_file_of_its_own() {
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    for (order, line) in desk.results.entries().unwrap().trials.iter().enumerate() {
        let file = line.line.latency_ns.file.clone().unwrap();
        assert_eq!(file, format!("latency/{order}.hlog"));
        let log = std::fs::read_to_string(desk.results.folder().join(file)).unwrap();
        assert!(log.lines().any(|line| line.starts_with("Tag=whole,")), "{log}");
    }
}

#[test]
fn a_missing_server_leaves_its_cells_out() {
    let mut desk = Desk::new();
    let mut stage = Stage { missing: Some(server("nginx")), ..Stage::default() };
    assert_eq!(desk.run(&mut stage).unwrap(), Ended::Complete);
    assert_eq!(desk.places().len(), 6);
    let targets = desk.results.targets().unwrap();
    let why = targets[1].skipped.as_deref().unwrap();
    assert!(desk.events[1].contains(why), "{:?}", desk.events);
    assert_eq!(desk.events[2], "finished 1");
}

#[test]
fn where_all_servers_are_missing_there_is_nothing_to_measure() {
    let mut desk = Desk::new();
    let mut only = study();
    only.cells.truncate(2);
    let mut stage = Stage { missing: Some(server("embedded")), ..Stage::default() };
    let error = run(&only, &desk.results, &mut stage, &desk.interrupt, &mut |_| {}).unwrap_err();
    assert!(matches!(error, RunError::NothingToMeasure(_)), "{error}");
    only.cells[0].target.if_missing = IfMissing::Fail;
    let error = run(&only, &desk.results, &mut stage, &desk.interrupt, &mut |_| {}).unwrap_err();
    assert_eq!(
        (error.class(), &*error.to_string()),
        (ErrorClass::Absent, "embedded is not installed")
    );
    let mut refusing = Stage { refuses: Some(server("nginx")), ..Stage::default() };
    assert_eq!(desk.run(&mut refusing).unwrap_err().class(), ErrorClass::Refused);
}

#[test]
fn a_missing_client_leaves_its_cells_out() {
    let mut desk = Desk::new();
    let mut with_wrk = study();
    for cell in [1, 3] {
        with_wrk.cells[cell].load.client = load::Client::Wrk;
    }
    assert_eq!(desk.run_of(&with_wrk, &mut Stage::default()).unwrap(), Ended::Complete);
    assert_eq!(desk.places().len(), 6);
    let targets = desk.results.targets().unwrap();
    assert_eq!(
        (targets.len(), &targets[1].cells[..]),
        (3, &["bulk-0002", "bulk-0004"].map(String::from)[..])
    );
    let why = targets[1].skipped.clone().unwrap();
    let is_skip = |said: &&String| said.contains(&why);
    assert_eq!(desk.events.iter().filter(is_skip).count(), 1);
    // It is installed now.
    assert_eq!(desk.run(&mut Stage::default()).unwrap(), Ended::Complete);
    assert_eq!(desk.places().len(), 12);
    assert!(desk.results.targets().unwrap().iter().all(|target| target.skipped.is_none()));

    with_wrk.cells[1].target.if_missing = IfMissing::Fail;
    let error = Desk::new().run_of(&with_wrk, &mut Stage::default()).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Absent);
    assert_eq!(error.to_string(), "bulk-0002: wrk is not installed");
    with_wrk.cells = vec![study().cells[0].clone()];
    with_wrk.cells[0].load.client = load::Client::Wrk;
    let error = Desk::new().run_of(&with_wrk, &mut Stage::default()).unwrap_err();
    assert!(matches!(error, RunError::NothingToMeasure(_)), "{error}");
}

#[test]
fn what_cannot_be_loaded_is_reported_before_the_first_trial() {
    let mut desk = Desk::new();
    let mut stage = Stage { unfit: Some("bulk-0004"), ..Stage::default() };
    let error = desk.run(&mut stage).unwrap_err();
    assert_eq!(error.class(), ErrorClass::Refused);
    assert_eq!(error.to_string(), "bulk-0004: no such suite");
    assert_eq!((stage.trials, desk.places()), (0, vec![]));
}

#[test]
fn an_interrupted_run_goes_on_where_it_was() {
    let mut whole = Desk::new();
    whole.run(&mut Stage::default()).unwrap();
    for trial in 0..12 {
        let mut desk = Desk::new();
        let mut stage = Stage { interrupted_in: Some(trial), ..Stage::default() };
        assert_eq!(desk.run(&mut stage).unwrap(), Ended::Interrupted);
        assert_eq!(stage.trials, trial + 1);
        assert_eq!(desk.places(), whole.places()[..trial], "the trial under way was kept");
        assert_eq!(desk.run(&mut Stage::default()).unwrap(), Ended::Complete);
        assert_eq!(desk.places(), whole.places());
    }
}

#[test]
fn an_interrupt_before_a_server_serves_is_no_failure() {
    let desk = Desk::new();
    desk.interrupt.store(true, Relaxed);
    let mut stage = Stage { refuses: Some(server("nginx")), ..Stage::default() };
    let ended = run(&study(), &desk.results, &mut stage, &desk.interrupt, &mut |_| {});
    assert!(matches!(ended, Ok(Ended::Interrupted)), "{ended:?}");
}

#[test]
fn an_interrupt_before_a_trial_has_begun_is_no_failure() {
    let mut desk = Desk::new();
    let mut stage = Stage { interrupted_before: Some(1), ..Stage::default() };
    assert_eq!(desk.run(&mut stage).unwrap(), Ended::Interrupted);
    assert_eq!(desk.places().len(), 1);
}

#[test]
fn a_torn_last_line_is_measured_again() {
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    let (whole, journal) = (desk.places(), desk.results.folder().join("journal.jsonl"));
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..bytes.len() - 20]).unwrap();
    let mut stage = Stage::default();
    desk.run(&mut stage).unwrap();
    assert_eq!((stage.trials, desk.places()), (1, whole));
}

#[test]
fn a_complete_run_starts_nothing_again() {
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    let targets = desk.results.targets().unwrap();
    let mut stage = Stage::default();
    assert_eq!(desk.run(&mut stage).unwrap(), Ended::Complete);
    assert_eq!((stage.log.len(), desk.places().len()), (0, 12));
    assert_eq!(desk.results.targets().unwrap(), targets);
}

#[test]
fn a_trial_that_is_not_valid_stays_and_is_measured_again_on_request() {
    let mut desk = Desk::new();
    assert_eq!(
        desk.run(&mut Stage { invalid_in: Some(5), ..Stage::default() }).unwrap(),
        Ended::Complete
    );
    assert_eq!(desk.places().len(), 12);
    let mut stage = Stage::default();
    desk.run(&mut stage).unwrap();
    let places = desk.places();
    assert_eq!((stage.trials, places.len()), (1, 13));
    assert_eq!((&places[12].0, places[12].1, places[12].2), (&places[5].0, places[5].1, 12));
}

#[test]
fn a_trial_whose_connections_were_late_is_made_once_more_after_its_round() {
    let again = |late_in: Vec<usize>| {
        let mut desk = Desk::new();
        let mut stage = Stage { late_in, ..Stage::default() };
        assert_eq!(desk.run(&mut stage).unwrap(), Ended::Complete);
        let entries = desk.results.entries().unwrap();
        let again: Vec<usize> =
            (0..entries.trials.len()).filter(|at| entries.trials[*at].place.again).collect();
        let shortfall = answer::analysis::Analysis::of(&study(), &entries, &[], None).shortfall();
        (again, shortfall.is_none())
    };
    // Four cells a round.
    assert_eq!(again(vec![]), (vec![], true));
    assert_eq!(again(vec![1]), (vec![4], true));
    assert_eq!(again(vec![1, 2]), (vec![4, 5], true));
    // The second try is late too: that is the last one of its cell.
    assert_eq!(again((0..100).collect()).0.len(), 4);
    assert!(!again(vec![1, 4]).1);
}

#[test]
fn a_load_that_ends_by_itself_is_no_interrupt() {
    let mut desk = Desk::new();
    let mut stage = Stage { load_lost_in: Some(3), ..Stage::default() };
    assert_eq!(desk.run(&mut stage).unwrap(), Ended::Complete);
    let lines = desk.results.entries().unwrap().trials;
    assert_eq!(lines.len(), 12);
    assert!(
        !lines[3].line.valid && !lines[3].line.interrupted && lines[3].line.load_error.is_some()
    );
}

#[test]
fn a_cell_that_loses_a_rank_twice_running_ends_the_run() {
    // Which trials, counted from 0, are of the first one's cell.
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    let cells: Vec<String> =
        desk.results.entries().unwrap().trials.into_iter().map(|trial| trial.place.cell).collect();
    let of_first: Vec<usize> = (0..12).filter(|trial| cells[*trial] == cells[0]).collect();
    let [first, second, third] = of_first[..] else { panic!("{cells:?}") };

    let ended = |rank_lost_in: Vec<usize>| {
        let mut desk = Desk::new();
        let ended = desk.run(&mut Stage { rank_lost_in, ..Stage::default() });
        (ended.map_err(|error| error.to_string()), desk.results.entries().unwrap().trials.len())
    };
    let words =
        format!("{} lost a rank in two consecutive trials: rank 2 on lg1: no result", cells[0]);
    assert_eq!(ended(vec![first, second]), (Err(words), second + 1));
    // Others lose one too, or it comes back for a trial.
    assert_eq!(ended(vec![first, first + 1]), (Ok(Ended::Complete), 12));
    assert_eq!(ended(vec![first, third]), (Ok(Ended::Complete), 12));
}

#[test]
fn a_line_removed_by_hand_is_measured_again_in_a_place_of_its_own() {
    let mut desk = Desk::new();
    desk.run(&mut Stage::default()).unwrap();
    let path = desk.results.folder().join("journal.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let kept: Vec<&str> =
        text.lines().enumerate().filter(|(i, _)| *i != 4).map(|(_, l)| l).collect();
    std::fs::write(&path, kept.join("\n") + "\n").unwrap();
    desk.run(&mut Stage::default()).unwrap();
    let orders: Vec<u32> = desk.places().into_iter().map(|(_, _, order)| order).collect();
    assert_eq!(orders, [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 12]);
}

#[test]
fn a_server_that_dies_ends_the_run_and_its_trial_is_kept() {
    let mut desk = Desk::new();
    let mut stage = Stage { dies_in: Some(4), ..Stage::default() };
    let error = desk.run(&mut stage).unwrap_err();
    assert!(matches!(&error, RunError::TargetLost(why) if why == "nginx died"), "{error}");
    let lines = desk.results.entries().unwrap().trials;
    assert_eq!(lines.len(), 5);
    assert!(!lines[4].line.valid && lines[..4].iter().all(|line| line.line.valid));
    desk.run(&mut Stage::default()).unwrap();
    assert_eq!(desk.places().len(), 13);
}

#[test]
fn another_version_of_a_server_does_not_go_on_with_an_earlier_run() {
    let mut desk = Desk::new();
    let mut stage = Stage { interrupted_in: Some(3), version: "1.22", ..Stage::default() };
    desk.run(&mut stage).unwrap();
    let error = desk.run(&mut Stage { version: "1.28", ..Stage::default() }).unwrap_err();
    let RunError::ServerChanged { was, is } = &error else { panic!("{error}") };
    assert_eq!((was.as_str(), is.as_str()), ("embedded 1.22", "embedded 1.28"));
    assert_eq!(desk.places().len(), 3);
}
