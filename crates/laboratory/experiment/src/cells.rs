//! Trials of cells: servers idle between trials, the trials of all cells interleaved.
//!
//! [`run()`] measures the cells that a journal lacks, on a [`Bench`]; [`ThisBench`] is the real one.

mod bench;
mod commands;
mod description;
mod found_server;
mod length;
mod order;
mod run;
mod sampling;
mod this_bench;
mod this_target;
mod warm_up;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use cluster::{Cluster, Hosts};
use cpus::CpuList;
use journal::Results;
use study::Study;

pub use bench::{Ask, Bench};
pub use commands::commands;
pub(crate) use description::too_few;
pub use run::run;
pub use this_bench::ThisBench;
pub use this_target::ThisTarget;

use crate::kind::{DryRun, Ended, Event, Experiment};
use crate::run_error::RunError;

/// The cells of a study.
struct Cells<'a>(&'a Study);

/// `None` where the study has none.
pub(crate) fn of(study: &Study) -> Option<Box<dyn Experiment + '_>> {
    (!study.cells.is_empty()).then(|| Box::new(Cells(study)) as _)
}

impl Experiment for Cells<'_> {
    fn forecast(&self) -> String {
        description::forecast_of(self.0)
    }

    fn time(&self) -> Duration {
        length::time(&self.0.forecast())
    }

    fn notes(&self) -> Vec<String> {
        description::notes(self.0)
    }

    fn plan(&self, folder: &Path) -> DryRun {
        let (cells, trials) = (self.0.cells.len(), self.0.trials);
        let least = if self.0.until.is_some() { "at least " } else { "" };
        DryRun {
            summary: format!("{cells} cells, {least}{trials} trials each, {}", self.forecast()),
            parts: description::list(self.0),
            heading: "Commands that would be started",
            commands: self.commands(folder),
        }
    }

    fn cpus(&self) -> Vec<CpuList> {
        let cells = self.0.cells.iter();
        let of_cell = |cell: &study::Cell| {
            let load = cell.load.ranks.is_none().then(|| cell.load.cpus.clone());
            [cell.target.pinned_here().cloned(), load]
        };
        cells.flat_map(of_cell).flatten().collect()
    }

    fn check(&self) -> Result<(), RunError> {
        match self.0.ranks.is_empty() {
            true => Ok(()),
            false => hosts(self.0).check().map(drop).map_err(RunError::Start),
        }
    }

    fn run(
        &self,
        results: &Results,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, RunError> {
        let study = &with_kept_sessions(self.0, results)?;
        // First, so that what a host lacks is known before a server is started.
        let cluster = (!study.ranks.is_empty())
            .then(|| Cluster::start(hosts(study), study.ranks.clone(), interrupt))
            .transpose();
        if cluster.is_err() && interrupt.load(Relaxed) {
            return Ok(Ended::Interrupted);
        }
        let cluster = cluster.map_err(RunError::Start)?;
        let mut bench = ThisBench::new(study, results.folder().to_owned(), cluster, interrupt)
            .map_err(|error| RunError::Start(error.to_string()))?;
        if let Some(note) = bench.note() {
            report(Event::Says(format!("Note: {note}.")));
        }
        reach_hosts(study, results, &mut bench, report)?;
        run(study, results, &mut bench, interrupt, report)
    }
}

/// Starts the agents of other machines, and records these machines; when a run is continued, checks that
/// they are the same.
fn reach_hosts(
    study: &Study,
    results: &Results,
    bench: &mut ThisBench<'_>,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<(), RunError> {
    let failed = |refusal: agent::Refusal| RunError::Start(refusal.why);
    let earlier = results.hosts()?;
    let mut machines = BTreeMap::new();
    for (host, cpus) in study.remote_cpus() {
        let reached = bench.host(&host).map_err(failed)?;
        if let Some(note) = reached.note() {
            report(Event::Says(format!("Note: on {host}: {note}.")));
        }
        let machine = reached.machine(&cpus).map_err(failed)?;
        let noise = reached.noise().map_err(failed)?;
        if !noise.is_empty() {
            let noise = noise.join("; ");
            report(Event::Says(format!("Note: {host} is noisy now: {noise}.")));
        }
        let name = host.to_string();
        let difference = earlier.get(&name).and_then(|earlier| machine.difference(earlier));
        if let Some(difference) = difference {
            return Err(RunError::MachineChanged(format!("{host}: {difference}")));
        }
        machines.insert(name, machine);
    }
    if !machines.is_empty() && earlier.is_empty() {
        results.write_hosts(&machines)?;
    }
    Ok(())
}

impl Cells<'_> {
    /// The commands that would be started, with the places that they would have in the result folder.
    fn commands(&self, folder: &Path) -> Vec<String> {
        let Study { ranks, .. } = self.0;
        let ranks = (!ranks.is_empty())
            .then(|| Cluster::command(&hosts(self.0), ranks).unwrap_or_else(|missing| missing));
        let servers = commands(self.0, "OBJECTS", &folder.display().to_string());
        ranks.into_iter().chain(servers).collect()
    }
}

/// How the study's ranks are reached.
fn hosts(study: &Study) -> Hosts {
    let study::Hosts { control, shell, silence } = study.hosts.clone();
    Hosts { program: Hosts::program(), control, shell, silence }
}

/// The study with the copies of its session files in the result folder, so that a continued run measures
/// the same pages, even if the files have changed.
fn with_kept_sessions(study: &Study, results: &Results) -> Result<Study, RunError> {
    let mut study = study.clone();
    let mut kept: Vec<(PathBuf, PathBuf)> = Vec::new();
    for session in study.cells.iter_mut().filter_map(|cell| cell.load.session.as_mut()) {
        if load::is_built_in(session) {
            continue;
        }
        let copy = match kept.iter().find(|(file, _)| file == session) {
            Some((_, copy)) => copy.clone(),
            None => {
                let name = format!("session-{}.toml", kept.len() + 1);
                let copy =
                    results.keep(&name, || load::session_text(session).map_err(RunError::Start))?;
                kept.push((session.clone(), copy.clone()));
                copy
            }
        };
        *session = copy;
    }
    Ok(study)
}
