//! Runs with searches, on servers whose curves are known.

use std::collections::BTreeMap;
use std::time::SystemTime;
use study::{Metric, Only, Params};
use targets::Target;

use load::Outcome;

use super::*;
use answer::Mark;
use answer::analysis::{Analysis, SearchEnd};
use study::find::{Ceiling, Find, Over, Search, Standing};
use study::testing::{cell, server};
use trial::testing::example;
use trial::{Evidence, Limit, Mismatch, TrialRecord, Verdict};
use units::Nanos;

/// Each connection adds 1 Mb/s; the first byte takes a millisecond for each connection.
struct Hill {
    /// How long the first byte takes at least, by cell.
    least_ms: BTreeMap<String, u64>,
    /// From this many connections on a long hold has a first byte that takes ten seconds.
    held_breaks_from: usize,
    /// More connections cannot be made.
    most: usize,
    /// The suite is another one than asked for in these trials, counted from 0.
    mismatched_in: std::ops::Range<usize>,
    /// Too many operations fail from this many connections on.
    fails_from: usize,
    /// A rank is lost in these trials, counted from 0.
    rank_lost_in: Vec<usize>,
    /// The ranks do not come back for these.
    without_ranks_in: Vec<usize>,
    lacks_ranks: bool,
    /// An interrupt comes in this trial, counted from 0.
    interrupted_in: Option<usize>,
    trials: usize,
}

impl Default for Hill {
    fn default() -> Self {
        Self {
            least_ms: BTreeMap::new(),
            held_breaks_from: usize::MAX,
            most: usize::MAX,
            mismatched_in: 0..0,
            fails_from: usize::MAX,
            rank_lost_in: Vec::new(),
            without_ranks_in: Vec::new(),
            lacks_ranks: false,
            interrupted_in: None,
            trials: 0,
        }
    }
}

impl Bench for Hill {
    type Target = ();

    fn start(&mut self, _: &Target, _: Only, connections: usize) -> Result<(), Refusal> {
        assert_eq!(connections, 4096, "it has room for all that is searched");
        Ok(())
    }

    fn restart(&mut self, (): (), _: &Target, _: Only, _: usize) -> Result<(), Refusal> {
        unreachable!("a search and its trials share one process");
    }

    fn lacks_ranks(&self) -> bool {
        self.lacks_ranks
    }

    fn name(&self, (): &()) -> String {
        "hill".to_owned()
    }

    fn version(&self, (): &()) -> String {
        "1".to_owned()
    }

    fn probe(&mut self, (): &(), _: &Cell) -> Result<(), Refusal> {
        Ok(())
    }

    fn trial(
        &mut self,
        (): &mut (),
        Ask { cell, beyond_limit, .. }: Ask<'_>,
        interrupt: &AtomicBool,
        _: &mut dyn FnMut(Moment),
    ) -> Result<Measured, String> {
        let connections = cell.load.connections;
        if connections > self.most {
            return Err("no descriptors".to_owned());
        }
        let number = self.trials;
        self.trials += 1;
        self.lacks_ranks = self.without_ranks_in.contains(&number);
        if self.lacks_ranks {
            return Err("rank 2 on lg1 did not start".to_owned());
        }
        let mut line = example();
        // 1 Mb/s each, in a window of 600 ms.
        line.bytes.body = connections as u64 * 75_000;
        let mut line = line.with_rates();
        line.verdict = Some(Verdict::of(Evidence {
            completed: 9,
            server_busy: Some(0.5),
            beyond_limit,
            ..Evidence::default()
        }));
        if connections >= self.fails_from {
            line.valid = false;
            line.verdict_mut().limit = Limit::Errors;
        }
        if self.mismatched_in.contains(&number) {
            line.valid = false;
            let [what, asked, obtained] = ["suite", "A", "B in 64"].map(str::to_owned);
            line.receipt.mismatch.push(Mismatch { what, asked, obtained });
        }
        if self.interrupted_in == Some(number) {
            interrupt.store(true, Relaxed);
            line.interrupted = true;
        }
        if self.rank_lost_in.contains(&number) {
            line.valid = false;
            line.lost_ranks = vec![2];
            line.load_error = Some("rank 2 on lg1: no result".into());
        }
        let mut ms = (connections as u64).max(self.least_ms.get(&cell.name).copied().unwrap_or(0));
        if cell.load.duration == HOLD && connections >= self.held_breaks_from {
            ms = 10_000;
        }
        let mut outcome = Outcome::default();
        outcome.latencies.first_byte.record(ms * 1_000_000).unwrap();
        Ok(Measured { line, outcome })
    }
}

const HOLD: Nanos = Nanos(120_000_000_000);

/// Three cells in which connections are searched for, up to 64 ms until the first byte, and one
/// whose load is given.
fn study() -> Study {
    let find = Find {
        maximize: Metric::Goodput,
        over: Over::Connections,
        from: 1,
        to: 4096,
        ceiling: "first-byte-max <= 64ms".parse::<Ceiling>().unwrap(),
        plateau: "2%".parse().unwrap(),
        step: Nanos(3_000_000_000),
        hold: HOLD,
    };
    let cells = (1..=4).map(|number| {
        let mut cell = cell("bulk", number, server("embedded"));
        cell.find = (number < 4).then_some(find);
        cell
    });
    Study {
        name: "test".into(),
        question: "What?".into(),
        seed: 7,
        trials: 2,
        until: None,
        restart: None,
        profile: None,
        hosts: study::Hosts::default(),
        ranks: Vec::new(),
        cells: cells.collect(),
        answers: Vec::new(),
        primitives: study::primitive::Primitives::default(),
        claims: Vec::new(),
        include: Vec::new(),
        reference: None,
        cut: Vec::new(),
    }
}

struct Desk {
    _parent: tempfile::TempDir,
    results: Results,
}

impl Desk {
    fn new() -> Self {
        let parent = folder_in_memory();
        let results = Results::create(parent.path(), "test", SystemTime::UNIX_EPOCH).unwrap();
        Self { _parent: parent, results }
    }

    fn run(&self, hill: &mut Hill) -> Ended {
        let interrupt = AtomicBool::new(false);
        run(&study(), &self.results, hill, &interrupt, &mut |_| {}).unwrap()
    }

    /// Role, cell, load and round of each trial.
    fn places(&self) -> Vec<(Role, String, Option<String>, u32)> {
        let place = |line: TrialLine| {
            let place = line.place;
            (place.role, place.cell, place.find.map(|find| find.load), place.round)
        };
        self.results.entries().unwrap().trials.into_iter().map(place).collect()
    }

    fn analysis(&self) -> Analysis {
        Analysis::of(&study(), &self.results.entries().unwrap(), &[], None)
    }
}

/// The load that the search of a cell found.
fn found(analysis: &Analysis, cell: usize) -> usize {
    match &analysis.cells[cell].search.as_ref().unwrap().end {
        SearchEnd::Found { load } => load.parse().unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn searches_come_first_and_what_they_found_is_measured_in_rounds() {
    let desk = Desk::new();
    assert_eq!(desk.run(&mut Hill::default()), Ended::Complete);
    let places = desk.places();
    let first = places.iter().position(|place| place.0 == Role::Measure).unwrap();
    assert!(places[first..].iter().all(|place| place.0 == Role::Measure), "{places:?}");
    assert_eq!(places[first..].len(), 4 * 2);
    let rounds: Vec<u32> = places[first..].iter().map(|place| place.3).collect();
    assert_eq!(rounds, [0, 0, 0, 0, 1, 1, 1, 1]);
    let analysis = desk.analysis();
    assert!((58..=64).contains(&found(&analysis, 0)), "{analysis:?}");
    assert_eq!(analysis.cells[3].search, None);
    for cell in &analysis.cells[..3] {
        assert_eq!((cell.trials.planned, cell.trials.valid), (2, 2));
        // Steps are in no figure.
        assert_eq!(cell.figure(Metric::Goodput).unwrap().samples.len(), 2);
        assert_eq!(
            cell.search.as_ref().unwrap().path.iter().filter(|step| step.is_held).count(),
            2
        );
    }
}

#[test]
fn a_maximum_that_the_limit_ends_has_the_limit_as_its_verdict() {
    let desk = Desk::new();
    desk.run(&mut Hill::default());
    for line in desk.results.entries().unwrap().trials {
        let place = &line.place;
        let is_found = place.role == Role::Measure && place.find.is_some();
        assert_eq!(line.line.limit() == Some(Limit::LatencyLimit), is_found, "{line:?}");
        assert_eq!(
            line.line.evidence().unwrap().beyond_limit.is_some_and(|over| over > 1.0),
            is_found
        );
    }
    let analysis = desk.analysis();
    assert_eq!(analysis.cells[0].mark, None, "the maximum under a limit is what was asked for");
    assert_eq!(analysis.cells[3].mark, Some(Mark::NotServerBound));
}

#[test]
fn a_limit_that_no_load_meets_leaves_the_cell_unmeasured_with_its_best() {
    let desk = Desk::new();
    let mut hill = Hill { least_ms: [("bulk-0002".into(), 3_200)].into(), ..Hill::default() };
    assert_eq!(desk.run(&mut hill), Ended::Complete);
    let of_cell: Vec<_> =
        desk.places().into_iter().filter(|place| place.1 == "bulk-0002").collect();
    assert!(of_cell.iter().all(|place| place.0 == Role::Search), "{of_cell:?}");
    let analysis = desk.analysis();
    let cell = &analysis.cells[1];
    let infeasible = cell.search.as_ref().unwrap().end.infeasible().unwrap();
    assert_eq!(infeasible, "infeasible (best 3.2s)");
    assert_eq!((cell.mark, cell.trials.planned), (Some(Mark::Infeasible), 0));
    // A resumed run has nothing to do.
    let mut again = Hill::default();
    desk.run(&mut again);
    assert_eq!(again.trials, 0);
}

#[test]
fn where_a_held_trial_breaks_the_limit_all_figures_are_of_the_smaller_load() {
    let desk = Desk::new();
    desk.run(&mut Hill { held_breaks_from: 50, ..Hill::default() });
    let analysis = desk.analysis();
    for index in 0..3 {
        let load = found(&analysis, index);
        assert!((25..50).contains(&load), "{load}");
        let samples = &analysis.cells[index].figure(Metric::Goodput).unwrap().samples;
        assert_eq!(*samples, [load as f64 * 1e6; 2]);
    }
    let broken = desk.results.entries().unwrap().trials.into_iter().filter(|line| {
        let place = &line.place;
        place.role == Role::Measure && place.find.as_ref().is_some_and(|find| !find.holds)
    });
    assert!(broken.count() >= 3, "the trials that broke the limit stay in the journal");
}

#[test]
fn a_search_that_was_interrupted_goes_on_where_it_was() {
    let whole = Desk::new();
    let mut hill = Hill { held_breaks_from: 50, ..Hill::default() };
    whole.run(&mut hill);
    // Each is a whole run, so that some stand for all: the steps of three searches, and the rounds.
    for trial in (0..hill.trials).step_by(9) {
        let desk = Desk::new();
        let stop = Some(trial);
        let mut cut = Hill { held_breaks_from: 50, interrupted_in: stop, ..Hill::default() };
        assert_eq!(desk.run(&mut cut), Ended::Interrupted);
        assert_eq!(desk.places(), whole.places()[..trial]);
        desk.run(&mut Hill { held_breaks_from: 50, ..Hill::default() });
        assert_eq!(desk.places(), whole.places());
    }
}

#[test]
fn a_load_that_this_machine_cannot_make_ends_the_search_and_not_the_run() {
    let desk = Desk::new();
    let mut hill = Hill { most: 20, ..Hill::default() };
    let interrupt = AtomicBool::new(false);
    let mut only = study();
    only.cells.truncate(2);
    let mut told = Vec::new();
    run(&only, &desk.results, &mut hill, &interrupt, &mut |event| {
        if let Event::Says(text) = event {
            told.push(text);
        }
    })
    .unwrap();
    let note = "Note: bulk-0001 cannot go to 32: no descriptors.";
    assert!(told.iter().any(|text| text == note), "{told:?}");
    let held: Vec<_> = desk.places().into_iter().filter(|p| p.0 == Role::Measure).collect();
    assert_eq!(held.len(), 4);
    assert!(held.iter().all(|place| place.2.as_deref() == Some("20")), "{held:?}");
    // The report reads the same from the journal, and a continued run has nothing to do.
    let entries = desk.results.entries().unwrap();
    let steps: Vec<(&str, &str)> =
        entries.impossible.iter().map(|step| (step.cell.as_str(), step.load.as_str())).collect();
    assert!(steps.contains(&("bulk-0001", "32")) && steps.contains(&("bulk-0002", "32")));
    let analysis = Analysis::of(&only, &entries, &[], None);
    for (index, cell) in analysis.cells.iter().enumerate() {
        assert_eq!((found(&analysis, index), cell.trials.valid), (20, 2));
    }
    // A continued run tries each smallest one again, and finds the same.
    let trials = hill.trials;
    run(&only, &desk.results, &mut hill, &interrupt, &mut |_| {}).unwrap();
    let again = desk.results.entries().unwrap();
    assert_eq!((hill.trials, &again.trials), (trials, &entries.trials));
    assert_eq!(again.impossible.len(), entries.impossible.len() + 2);
    assert_eq!(Analysis::of(&only, &again, &[], None).cells, analysis.cells);
    // With a higher limit of descriptors it goes on from there.
    let mut freed = Hill { most: 50, ..Hill::default() };
    run(&only, &desk.results, &mut freed, &interrupt, &mut |_| {}).unwrap();
    let analysis = Analysis::of(&only, &desk.results.entries().unwrap(), &[], None);
    for (index, cell) in analysis.cells.iter().enumerate() {
        let found = found(&analysis, index);
        assert!((47..=50).contains(&found) && cell.trials.valid == 2, "{found}");
        let impossible = &cell.search.as_ref().unwrap().impossible;
        assert!(
            impossible.iter().all(|of| of.load.parse::<usize>().unwrap() > 50),
            "{impossible:?}"
        );
    }
}

/// A step of the first cell's search.
fn step(order: u32, load: u64, change: impl FnOnce(&mut TrialRecord)) -> TrialLine {
    let find = study().cells[0].find.unwrap();
    let mut outcome = Outcome::default();
    outcome.latencies.first_byte.record(1_000_000 * load).unwrap();
    let mut measured = Measured { line: example(), outcome };
    change(&mut measured.line);
    let place = Place {
        case: "bulk".into(),
        cell: "bulk-0001".into(),
        target: None,
        params: Params::default(),
        role: Role::Search,
        find: Some(find.sought(load, &measured)),
        round: order,
        again: false,
        process: Some(0),
        order,
    };
    TrialLine { place, line: measured.line }
}

#[test]
fn a_report_reads_from_the_journal_where_a_run_stood() {
    let find = study().cells[0].find.unwrap();
    let lost = |line: &mut TrialRecord| {
        line.valid = false;
        line.load_error = Some("a load thread ended early".into());
    };
    let trials = [step(0, 1, |_| {}), step(1, 2, lost), step(2, 2, lost)];
    let impossible = ImpossibleStep {
        schema: SCHEMA,
        case: "bulk".into(),
        cell: "bulk-0001".into(),
        over: find.over.key().to_owned(),
        load: "2".into(),
        why: "no descriptors".into(),
        order: 2,
    };
    let mut run = Search::of(find, &trials[..2], []);
    assert_eq!(run.standing(), Standing::Try(2));
    run.note_impossible(&impossible);
    run.note(&trials[2]);
    assert_eq!(Search::of(find, &trials, [&impossible]).standing(), run.standing());
    assert_eq!(run.standing(), Standing::Hold(1));
    // Without it the search is given up, and a continued run makes the step again.
    let given_up = Search::of(find, &trials, []);
    assert!(matches!(given_up.standing(), Standing::Invalid(_, 2)), "{given_up:?}");
    // A load that was made since, or a larger one, can be made.
    let since = [step(0, 1, |_| {}), step(2, 4, |_| {})];
    assert!(Search::of(find, &since, [&impossible]).impossible().is_empty());
    let mut again = Search::of(find, &since[..1], [&impossible]);
    assert_eq!((again.impossible().len(), again.ended_by_impossible()), (1, Some(2)));
    // It is not tried for ever.
    trials[1..].iter().for_each(|lost| again.note(lost));
    assert_eq!(again.ended_by_impossible(), None);
}

#[test]
fn the_best_of_a_limit_that_no_load_meets_is_of_what_was_asked() {
    let find = Find { from: 100, ..study().cells[0].find.unwrap() };
    let mismatched = |line: &mut TrialRecord| {
        line.valid = false;
        let [what, asked, obtained] = ["suite", "A", "B in 64"].map(str::to_owned);
        line.receipt.mismatch.push(Mismatch { what, asked, obtained });
    };
    let mut quicker = step(2, 100, mismatched);
    quicker.place.find.as_mut().unwrap().seen_ns = Some(1);
    let trials = [step(0, 100, |_| {}), step(1, 100, |_| {}), quicker];
    let standing = Search::of(find, &trials, []).standing();
    assert!(matches!(standing, Standing::Infeasible(Some(best)) if best > 99e6), "{standing:?}");
}

#[test]
fn steps_that_are_not_what_was_asked_say_nothing_of_the_limit() {
    let desk = Desk::new();
    let mut hill = Hill { mismatched_in: 0..usize::MAX, ..Hill::default() };
    assert_eq!(desk.run(&mut hill), Ended::Complete);
    let analysis = desk.analysis();
    for cell in &analysis.cells[..3] {
        let search = cell.search.as_ref().unwrap();
        assert!(matches!(search.end, SearchEnd::Invalid { .. }), "{search:?}");
        assert_eq!((search.path.len(), cell.mark), (2, Some(Mark::NotMeasured)));
        assert!(cell.trials.valid < cell.trials.planned);
    }
    // Two steps of each search, and both trials of the cell whose load is given.
    assert_eq!(analysis.invalid.len(), 3 * 2 + 2);
    // It is measured when what was asked for is there.
    desk.run(&mut Hill::default());
    let analysis = desk.analysis();
    assert!((58..=64).contains(&found(&analysis, 0)), "{analysis:?}");
    assert!(analysis.cells.iter().all(|cell| cell.trials.valid == cell.trials.planned));
}

#[test]
fn one_step_that_is_not_what_was_asked_is_made_again() {
    let search = |hill: &mut Hill| {
        let desk = Desk::new();
        desk.run(hill);
        found(&desk.analysis(), 0)
    };
    let mut hill = Hill { mismatched_in: 5..6, ..Hill::default() };
    assert_eq!(search(&mut hill), search(&mut Hill::default()));
}

#[test]
fn a_load_under_which_operations_fail_breaks_the_limit() {
    let desk = Desk::new();
    desk.run(&mut Hill { fails_from: 30, ..Hill::default() });
    let analysis = desk.analysis();
    assert!((27..30).contains(&found(&analysis, 0)), "{analysis:?}");
    assert_eq!(analysis.invalid.iter().filter(|trial| trial.cell == "bulk-0001").count(), 0);
}

#[test]
fn a_lost_rank_says_nothing_to_a_search() {
    let search = |hill: &mut Hill| {
        let desk = Desk::new();
        assert_eq!(desk.run(hill), Ended::Complete);
        let analysis = desk.analysis();
        let places = desk.places().into_iter().filter(|place| place.0 == Role::Search);
        (found(&analysis, 0), found(&analysis, 1), places.count())
    };
    let (first, second, steps) = search(&mut Hill::default());
    // Every third trial loses one, or cannot begin: each load is tried until there was one without.
    let third: Vec<usize> = (0..7).map(|number| 3 * number).collect();
    let mut loses = Hill { rank_lost_in: third.clone(), ..Hill::default() };
    let (one, two, more) = search(&mut loses);
    assert_eq!((one, two), (first, second));
    assert!(more > steps, "{more} {steps}");
    let mut lacks = Hill { without_ranks_in: third, ..Hill::default() };
    assert_eq!(search(&mut lacks), (first, second, steps));
}

#[test]
fn the_forecast_is_no_less_than_what_is_done() {
    let desk = Desk::new();
    desk.run(&mut Hill::default());
    let whole = study().forecast();
    assert_eq!(Agenda::new(&study(), &Entries::default()).ahead(), whole);
    let steps = desk.places().iter().filter(|place| place.0 == Role::Search).count() as u64;
    assert!(0 < steps && steps <= whole.searching, "{steps} of {whole:?}");
    assert_eq!(whole.held, 8);
    // Three cells of two holds and their steps, and one of two trials of a second.
    assert_eq!(whole.time, Nanos(3 * 2 * HOLD.0 + whole.searching * 3_000_000_000 + 2_000_000_000));
}
