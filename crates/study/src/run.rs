//! Runs a study: servers started once and idle between trials, the trials of all cells interleaved,
//! each on disk before the next begins.
//!
//! What it needs of the world is a [`Bench`], so that order, resumption, failure and interruption
//! are tested without servers and clocks.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::journal::{Journal, JournalError};
use crate::latency_log::latency_log;
use crate::line::{Line, Place, Role};
use crate::order::{interleaved, trial_seed};
use crate::results::{Results, ResultsError};
use crate::study::{Cell, IfMissing, Server, Study, TargetSpec};
use crate::target_record::TargetRecord;
use crate::trial::{Measured, Moment};

/// What a run needs of the world: servers, and something that loads them.
pub trait Bench {
    /// A server that runs.
    type Target;

    /// Starts a server and returns when it answers.
    ///
    /// # Errors
    /// Why it does not.
    fn start(&mut self, spec: &TargetSpec, connections: usize) -> Result<Self::Target, StartError>;

    /// Its name in this run, unique.
    fn name(&self, target: &Self::Target) -> String;

    /// Server and TLS library.
    fn version(&self, target: &Self::Target) -> String;

    /// Does the cell's operation once.
    ///
    /// # Errors
    /// Why the server cannot be loaded in that way.
    fn probe(&mut self, target: &Self::Target, cell: &Cell) -> Result<(), String>;

    /// Runs one trial, in which what is random follows from the seed.
    ///
    /// # Errors
    /// Why it could not begin. What fails later is told in the line.
    fn trial(
        &mut self,
        target: &mut Self::Target,
        cell: &Cell,
        seed: u64,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<Measured, String>;
}

/// Why a server does not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StartError {
    /// Its program is not installed; the sentence says how to get it.
    Missing(String),
    /// Anything else.
    Failed(String),
}

/// What happens in a run, for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// A server is not installed, and its cells are left out; the sentence says how to get it.
    Skipped(&'a TargetRecord),
    /// A server answers.
    Started(&'a TargetRecord),
    /// All servers answer; so many trials are in the journal already, and so many are to come.
    Begins {
        /// Of an earlier run.
        done: usize,
        /// To be run now.
        to_do: usize,
    },
    /// A trial goes on.
    Progress {
        /// Of which cell.
        cell: &'a Cell,
        /// How far it is.
        moment: Moment,
    },
    /// A trial has ended; its line is on disk.
    Finished(&'a Line),
}

/// How a run ended that could begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All trials of the study are in the journal.
    Complete,
    /// It was interrupted; the trial under way then is not in the journal.
    Interrupted,
}

/// Why a run could not begin, or go on. Each trial that was done is in the journal.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A server could not be started.
    #[error("{0}")]
    Start(String),
    /// Every server of the study is missing.
    #[error("no server of this study is installed: {0}")]
    NothingToMeasure(String),
    /// A server cannot be loaded as the study wants.
    #[error("{cell}: {why}")]
    Probe {
        /// Of which cell.
        cell: String,
        /// Why.
        why: String,
    },
    /// A server is another one than that of the trials which are in the journal.
    #[error("{was} was measured before, and {is} runs now; begin a new run")]
    ServerChanged {
        /// In the journal.
        was: String,
        /// Now.
        is: String,
    },
    /// This machine is another one than that of the trials which are in the journal.
    #[error("this is another machine than the one that was measured before: {0}; begin a new run")]
    MachineChanged(String),
    /// A trial could not begin.
    #[error("{cell}: {why}")]
    Trial {
        /// Of which cell.
        cell: String,
        /// Why.
        why: String,
    },
    /// The server is no longer the one that was started; its last trial is not valid.
    #[error("{0}")]
    TargetLost(String),
    /// The journal could not be read or written.
    #[error("{0}")]
    Journal(#[from] JournalError),
    /// Another file of the results could not be read or written.
    #[error("{0}")]
    Results(#[from] ResultsError),
}

/// Runs what the journal of `results` lacks of the study; all of it in a new folder. Every server is
/// stopped when this returns, however it returns.
///
/// Trials that the journal has and that are not valid are run again.
///
/// # Errors
/// What kept it from beginning or from going on. The trials until then are in the journal.
pub fn run<B: Bench>(
    study: &Study,
    results: &Results,
    bench: &mut B,
    interrupt: &AtomicBool,
    tell: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, RunError> {
    let (journal, lines) = results.journal()?;
    let trials = outstanding(study, &lines);
    let mut servers = Servers::start(study, &trials, results, bench, tell)?;
    let trials: Vec<_> = trials.into_iter().filter(|(_, cell)| servers.has(*cell)).collect();
    for (index, cell) in study.cells.iter().enumerate() {
        if trials.iter().any(|(_, wanted)| *wanted == index)
            && let Some(target) = servers.of_cell(index)
        {
            bench
                .probe(target, cell)
                .map_err(|why| RunError::Probe { cell: cell.name.clone(), why })?;
        }
    }
    tell(Event::Begins { done: lines.len(), to_do: trials.len() });
    // Lines may have been removed from the journal by hand: no place is taken twice.
    let last = lines.iter().filter_map(|line| line.place.as_ref()).map(|place| place.order).max();
    let mut order = last.map_or(0, |last| last.saturating_add(1));
    let mut run = Run { results, journal, interrupt, tell };
    for (round, index) in trials {
        if interrupt.load(Relaxed) {
            return Ok(Ended::Interrupted);
        }
        let Some(target) = servers.of_cell(index) else { continue };
        let cell = &study.cells[index];
        let at = At { cell, seed: trial_seed(study.seed, &cell.name, round), round, order };
        if run.trial(bench, target, &at)? == Ended::Interrupted {
            return Ok(Ended::Interrupted);
        }
        order += 1;
    }
    Ok(Ended::Complete)
}

/// The round and the cell of each trial that the journal lacks, in the order of the study's seed.
fn outstanding(study: &Study, lines: &[Line]) -> Vec<(u32, usize)> {
    let done: BTreeSet<(&str, u32)> = lines
        .iter()
        .filter(|line| line.valid)
        .filter_map(|line| line.place.as_ref())
        .filter(|place| place.role == Role::Measure)
        .map(|place| (place.cell.as_str(), place.round))
        .collect();
    let rounds = interleaved(study.cells.len(), study.trials, study.seed);
    (0..)
        .zip(rounds)
        .flat_map(|(round, order)| order.into_iter().map(move |cell| (round, cell)))
        .filter(|(round, cell)| !done.contains(&(study.cells[*cell].name.as_str(), *round)))
        .collect()
}

/// The servers that run, and which cell is whose.
struct Servers<T> {
    running: Vec<T>,
    /// For each cell of the study, the index of its server if that runs.
    of_cell: Vec<Option<usize>>,
}

impl<T> Servers<T> {
    /// Starts the servers of the cells that are still to be measured, and writes down all.
    fn start<B: Bench<Target = T>>(
        study: &Study,
        trials: &[(u32, usize)],
        results: &Results,
        bench: &mut B,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<Self, RunError> {
        let earlier = results.targets()?;
        // Those of an earlier session are named by the trials that are in the journal.
        let mut records: Vec<TargetRecord> =
            earlier.iter().filter(|record| record.skipped.is_none()).cloned().collect();
        let mut servers = Self { running: Vec::new(), of_cell: vec![None; study.cells.len()] };
        for (spec, cells) in by_target(study) {
            let names: Vec<String> =
                cells.iter().map(|cell| study.cells[*cell].name.clone()).collect();
            let known = earlier.iter().rfind(|record| record.cells == names);
            if !trials.iter().any(|(_, cell)| cells.contains(cell)) {
                continue;
            }
            let loads = cells.iter().map(|cell| study.cells[*cell].load.connections);
            let connections = loads.max().unwrap_or(0);
            let mut record = TargetRecord {
                name: spec.server.to_string(),
                server: spec.server.to_string(),
                settings: settings_in_words(spec),
                version: None,
                skipped: None,
                cells: names,
            };
            match bench.start(spec, connections) {
                Ok(target) => {
                    record.name = bench.name(&target);
                    record.version = Some(bench.version(&target));
                    check_same(known, &record)?;
                    tell(Event::Started(&record));
                    for cell in cells {
                        servers.of_cell[cell] = Some(servers.running.len());
                    }
                    servers.running.push(target);
                }
                Err(StartError::Missing(why)) if spec.if_missing == IfMissing::Skip => {
                    record.skipped = Some(why);
                    tell(Event::Skipped(&record));
                }
                Err(StartError::Missing(why) | StartError::Failed(why)) => {
                    return Err(RunError::Start(why));
                }
            }
            records.push(record);
        }
        if let Some(why) = records.iter().find_map(|record| record.skipped.clone())
            && records.iter().all(|record| record.skipped.is_some())
        {
            return Err(RunError::NothingToMeasure(why));
        }
        results.write_targets(&records)?;
        Ok(servers)
    }

    fn has(&self, cell: usize) -> bool {
        self.of_cell[cell].is_some()
    }

    fn of_cell(&mut self, cell: usize) -> Option<&mut T> {
        self.of_cell[cell].and_then(|index| self.running.get_mut(index))
    }
}

/// The study's different servers, each with the indices of its cells.
pub(crate) fn by_target(study: &Study) -> Vec<(&TargetSpec, Vec<usize>)> {
    let mut groups: Vec<(&TargetSpec, Vec<usize>)> = Vec::new();
    for (index, cell) in study.cells.iter().enumerate() {
        match groups.iter_mut().find(|(spec, _)| **spec == cell.target) {
            Some((_, cells)) => cells.push(index),
            None => groups.push((&cell.target, vec![index])),
        }
    }
    groups
}

fn settings_in_words(spec: &TargetSpec) -> String {
    let only = |what: Option<String>| what.map(|what| format!(", only {what}")).unwrap_or_default();
    let on = |is_on, what: &str| if is_on { format!(", {what}") } else { String::new() };
    if let Server::Address(address) = &spec.server {
        return address.url.to_string();
    }
    let environment = spec.environment.to_string();
    let library =
        spec.library_path.folder().map(|folder| format!(", library in {}", folder.display()));
    format!(
        "{} certificate, CPU {}{}{}{}{}{}{}{}",
        spec.certificate_key,
        spec.cpus,
        on(spec.tickets, "tickets"),
        on(spec.session_cache, "session cache"),
        on(spec.encrypt_then_mac, "encrypt-then-MAC"),
        library.unwrap_or_default(),
        on(spec.environment != Default::default(), &environment),
        only(match (spec.only.suite, spec.only.version) {
            (Some(suite), _) => Some(suite.to_string()),
            (None, version) => version.map(|version| version.to_string()),
        }),
        only(spec.only.group.map(|group| group.to_string())),
    )
}

/// Trials of two versions of a server are not of one thing.
fn check_same(known: Option<&TargetRecord>, now: &TargetRecord) -> Result<(), RunError> {
    match (known.and_then(|record| record.version.as_ref()), &now.version) {
        (Some(was), Some(is)) if was != is => {
            Err(RunError::ServerChanged { was: was.clone(), is: is.clone() })
        }
        _ => Ok(()),
    }
}

/// What all trials of a run share.
struct Run<'a, 'b> {
    results: &'a Results,
    journal: Journal,
    interrupt: &'a AtomicBool,
    tell: &'a mut (dyn FnMut(Event<'_>) + 'b),
}

/// Which trial of the study it is.
struct At<'a> {
    cell: &'a Cell,
    seed: u64,
    round: u32,
    order: u32,
}

impl Run<'_, '_> {
    fn trial<B: Bench>(
        &mut self,
        bench: &mut B,
        target: &mut B::Target,
        at: &At<'_>,
    ) -> Result<Ended, RunError> {
        let At { cell, seed, round, order } = *at;
        let tell = &mut *self.tell;
        let mut progress = |moment| tell(Event::Progress { cell, moment });
        let Measured { mut line, latencies } = bench
            .trial(target, cell, seed, self.interrupt, &mut progress)
            .map_err(|why| RunError::Trial { cell: cell.name.clone(), why })?;
        if line.load_error.is_some() {
            // The load ended by itself, which is no interrupt: the trial is kept, as not valid.
            line.interrupted = false;
        }
        if line.interrupted {
            // Shorter than the others, it could not stand beside them.
            return Ok(Ended::Interrupted);
        }
        line.place = Some(Place {
            case: cell.case.clone(),
            cell: cell.name.clone(),
            target: Some(bench.name(target)),
            params: cell.params.clone(),
            role: Role::Measure,
            round,
            order,
        });
        let log = latency_log(&latencies, line.started_unix_ms, line.window_ns)
            .map_err(|source| ResultsError::latencies(self.results.folder(), source))?;
        line.latency_ns.file = Some(self.results.write_latencies(order, &log)?);
        self.journal.append(&line)?;
        (self.tell)(Event::Finished(&line));
        match line.target_error {
            Some(why) => Err(RunError::TargetLost(why)),
            None => Ok(Ended::Complete),
        }
    }
}

#[cfg(test)]
mod tests;
