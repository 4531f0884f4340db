//! Runs a study: servers started once or once per round and idle between trials, the trials of all cells
//! interleaved, each on disk before the next begins.
//!
//! Servers and loads are behind the trait [`Bench`], so that order, resumption, failure and interruption
//! are tested without servers and clocks.

mod agenda;
mod servers;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::bench::{Ask, Bench};
use super::description;
use super::length::time;
use super::order::trial_seed;
use crate::kind::{Ended, Event};
use crate::run_error::RunError;
use agenda::{Agenda, NextTrial};
use answer::analysis::widest_interval;
use journal::{
    Entries, Entry, ImpossibleStep, Journal, Place, Results, ResultsError, Role, TrialLine,
};
use servers::Servers;
use study::{Cell, Study};
use trial::{Measured, Moment, SCHEMA, latency_log};
use units::Nanos;

/// The shortest window in which CPU time is sampled: some thousand samples of a busy server.
const SAMPLED: Nanos = Nanos(2_000_000_000);

/// Runs what the journal of `results` lacks of the study; all of it in a new folder. Every server is
/// stopped when this returns, however it returns.
///
/// Trials that the journal has and that are not valid are run again.
///
/// # Errors
/// Why it could not begin or continue. The trials until then are in the journal.
pub fn run<B: Bench>(
    study: &Study,
    results: &Results,
    bench: &mut B,
    interrupt: &AtomicBool,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, RunError> {
    let (journal, entries) = results.journal()?;
    let cpus = results.most_cpus()?;
    let mut measured = entries.of_cells(study.cell_names(), cpus);
    let mut agenda = Agenda::new(study, &measured);
    let is_too_wide = |measured: &Entries| {
        study.until.is_some_and(|until| {
            widest_interval(study, measured) > f64::from(until.interval.get()) / 100.0
        })
    };
    if agenda.next().is_none() && is_too_wide(&measured) {
        agenda.grow();
    }
    let trials = &measured.trials;
    let wants = |cell| agenda.wants(cell);
    let mut servers = match Servers::start(study, trials, wants, results, bench, report) {
        // It may have failed because it was interrupted.
        Err(_) if interrupt.load(Relaxed) => return Ok(Ended::Interrupted),
        started => started?,
    };
    for index in (0..study.cells.len()).filter(|index| !servers.has(*index)) {
        agenda.leave_out(index);
    }
    if !trials.is_empty() {
        let (done, ahead) = (trials.len(), description::forecast(agenda.ahead()));
        report(Event::Says(format!("In the journal: {done} trials; to come: {ahead}.")));
    }
    // Lines may have been removed from the journal by hand: no place is taken twice.
    let last = trials.iter().map(|trial| trial.place.order).max();
    let mut order = last.map_or(0, |last| last.saturating_add(1));
    let mut run = Run {
        study,
        results,
        journal,
        interrupt,
        report,
        has_measured: false,
        not_sampled: Vec::new(),
    };
    // The cells whose last trial lost its server's machine, and those whose last one lost a rank or
    // could not begin without it.
    let mut lost = BTreeSet::new();
    let mut has_lost = BTreeSet::new();
    loop {
        let task = if let Some(task) = agenda.next() {
            task
        } else {
            if is_too_wide(&measured) && agenda.grow() {
                continue;
            }
            match agenda.next_profile() {
                Some(task) => task,
                None => return Ok(Ended::Complete),
            }
        };
        let serving = servers.serving(&task, bench);
        if interrupt.load(Relaxed) {
            return Ok(Ended::Interrupted);
        }
        let Some((server, process)) = serving? else {
            agenda.leave_out(task.cell);
            continue;
        };
        let became = run.trial(bench, (&mut *server, process), &agenda, &task, order)?;
        let is_lost = bench.is_lost(server);
        if !is_lost {
            lost.remove(&task.cell);
        }
        match became {
            Became::Trial(trial) => {
                agenda.note(&trial);
                // A machine that is lost is asked once more, by the next trial.
                if let Some(why) = &trial.line.target_error
                    && (!is_lost || !lost.insert(task.cell))
                {
                    return Err(RunError::TargetLost(why.clone()));
                }
                if trial.line.lost_ranks.is_empty() {
                    has_lost.remove(&task.cell);
                } else if !has_lost.insert(task.cell) {
                    let why = trial.line.load_error.clone().unwrap_or_default();
                    return Err(RunError::RankLost { cell: trial.place.cell.clone(), why });
                }
                order += 1;
                measured.trials.push(*trial);
            }
            Became::Impossible(step) => {
                agenda.note_impossible(task.cell, &step);
                measured.impossible.push(step);
            }
            Became::NotSampled => agenda.cannot_sample(task.cell),
            Became::Lost(why) if lost.insert(task.cell) => {
                (run.report)(Event::Says(format!("Note: {why}; it is started again.")));
            }
            Became::Lost(why) => {
                let part = study.cells[task.cell].name.clone();
                return Err(RunError::Part { part, why });
            }
            Became::WithoutRanks(why) if has_lost.insert(task.cell) => {
                (run.report)(Event::Says(format!("Note: {why}; the ranks are started again.")));
            }
            Became::WithoutRanks(why) => {
                let cell = study.cells[task.cell].name.clone();
                return Err(RunError::RankLost { cell, why });
            }
            Became::Interrupted => return Ok(Ended::Interrupted),
        }
    }
}

/// The outcome of a trial.
enum Became {
    /// It is in the journal.
    Trial(Box<TrialLine>),
    /// This load cannot be made here, which is in the journal.
    Impossible(ImpossibleStep),
    /// The server's CPU time cannot be sampled.
    NotSampled,
    /// It could not begin, since the server's machine was lost.
    Lost(String),
    /// It could not begin, since the ranks did not come back.
    WithoutRanks(String),
    Interrupted,
}

/// What all trials of a run share.
struct Run<'a, 'b> {
    study: &'a Study,
    results: &'a Results,
    journal: Journal,
    interrupt: &'a AtomicBool,
    report: &'a mut (dyn FnMut(Event<'_>) + 'b),
    /// Whether a trial of this run is in the journal.
    has_measured: bool,
    /// Why CPU time could not be sampled: each reason is reported once.
    not_sampled: Vec<String>,
}

impl Run<'_, '_> {
    fn trial<B: Bench>(
        &mut self,
        bench: &mut B,
        (target, process): (&mut B::Target, u32),
        agenda: &Agenda<'_>,
        task: &NextTrial,
        order: u32,
    ) -> Result<Became, RunError> {
        let cell = &self.study.cells[task.cell];
        let at = at(cell, task);
        let seed = seed(self.study.seed, cell, task);
        let report = &mut *self.report;
        let ahead = agenda.ahead();
        let mut progress = |moment: Moment| {
            report(Event::Progress {
                left: time(&ahead)
                    .saturating_sub(moment.prepared + moment.elapsed.min(moment.window)),
                words: &|| {
                    let doing = description::doing(&at, task.role);
                    (description::left(&ahead), format!("{doing}: {moment}"))
                },
            });
        };
        let ask = Ask {
            cell: &at,
            seed,
            beyond_limit: agenda.beyond(task),
            latency_file: Results::latency_file(order),
            profile: (task.role == Role::Profile).then(|| self.results.profile(&cell.name)),
        };
        let measured = match bench.trial(target, ask, self.interrupt, &mut progress) {
            Ok(measured) => measured,
            Err(_) if self.interrupt.load(Relaxed) => return Ok(Became::Interrupted),
            Err(why) if bench.is_lost(target) => return Ok(Became::Lost(why)),
            Err(why) if bench.lacks_ranks() => return Ok(Became::WithoutRanks(why)),
            Err(why) => return self.not_begun(cell, task, order, why),
        };
        if measured.line.interrupted {
            // It is shorter than the others and cannot be compared with them.
            return Ok(Became::Interrupted);
        }
        let sampled = task.role == Role::Profile;
        // Sampling slows the server, so its trial does not count in a search.
        let sought = cell
            .find
            .zip(task.load)
            .filter(|_| !sampled)
            .map(|(find, load)| find.sought(load, &measured));
        let Measured { line, outcome } = measured;
        let log = latency_log(&outcome.latencies, line.started_unix_ms, line.window_ns)
            .map_err(|source| ResultsError::latencies(self.results.folder(), source));
        log.and_then(|log| self.results.write_latencies(order, &log)).map_err(RunError::NotKept)?;
        let place = Place {
            case: cell.case.clone(),
            cell: cell.name.clone(),
            target: Some(bench.name(target)),
            params: cell.params.clone(),
            role: task.role,
            find: sought,
            round: task.round,
            again: task.again,
            process: Some(process),
            order,
        };
        let trial = Box::new(TrialLine { place, line });
        let entries = [Entry::Trial(trial.clone())];
        self.journal.append(&entries)?;
        self.has_measured = true;
        let wrong = trial.line.why_invalid();
        let wrong = wrong.map(|why| format!("Not valid: a trial of {}: {why}.", cell.name));
        (self.report)(Event::Finished { entries: &entries, wrong: wrong.into_iter().collect() });
        Ok(Became::Trial(trial))
    }

    /// A trial that could not begin ends the run, unless a search asked for too much.
    fn not_begun(
        &mut self,
        cell: &Cell,
        task: &NextTrial,
        order: u32,
        why: String,
    ) -> Result<Became, RunError> {
        match (cell.find, task.load, task.role) {
            (Some(find), Some(load), Role::Search) if load > find.from => {
                let (name, at) = (&cell.name, find.over.value(load));
                (self.report)(Event::Says(format!("Note: {name} cannot go to {at}: {why}.")));
                let step = ImpossibleStep {
                    schema: SCHEMA,
                    case: cell.case.clone(),
                    cell: name.clone(),
                    over: find.over.key().to_owned(),
                    load: at,
                    why,
                    order,
                };
                self.journal.append(&[Entry::Impossible(step.clone())])?;
                Ok(Became::Impossible(step))
            }
            (_, _, Role::Profile) => {
                if !self.not_sampled.contains(&why) {
                    (self.report)(Event::Lacks(format!("No profile: {why}.")));
                    self.not_sampled.push(why.clone());
                }
                let mut targets = self.results.targets().map_err(RunError::NotKept)?;
                if let Some(of) = targets.iter_mut().find(|of| of.cells.contains(&cell.name)) {
                    of.not_sampled = Some(why);
                }
                self.results.write_targets(&targets).map_err(RunError::NotKept)?;
                Ok(Became::NotSampled)
            }
            _ if !self.has_measured => Err(RunError::Start(format!("{}: {why}", cell.name))),
            _ => Err(RunError::Part { part: cell.name.clone(), why }),
        }
    }
}

/// What is random in a trial follows from this; no two trials share it.
fn seed(study: u64, cell: &Cell, task: &NextTrial) -> u64 {
    let what = match task.role {
        Role::Measure if task.again => ", again",
        Role::Measure => "",
        Role::Search => ", searched",
        Role::Profile => ", sampled",
    };
    trial_seed(study, &format!("{}{what}", cell.name), task.round)
}

/// The cell as it is in this trial.
fn at(cell: &Cell, task: &NextTrial) -> Cell {
    match (&cell.find, task.load, task.role) {
        (Some(find), Some(load), Role::Search) => find.at(cell, load, find.step),
        (Some(find), Some(load), Role::Measure) => find.at(cell, load, find.hold),
        (find, load, Role::Profile) => {
            let found = find.zip(load).map(|(find, load)| find.at(cell, load, find.hold));
            let mut at = found.unwrap_or_else(|| cell.clone());
            at.load.duration = at.load.duration.max(SAMPLED);
            at
        }
        _ => cell.clone(),
    }
}

#[cfg(test)]
mod tests;
