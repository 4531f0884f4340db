//! Trials of cells: servers started once and idle between trials, the trials of all cells interleaved.
//!
//! [`run()`] measures the cells that a journal lacks, on a [`Bench`]; [`ThisBench`] is the real one.

mod elsewhere;
mod order;
mod run;
mod this_bench;
mod warm_up;
mod words;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use answer::findings::Findings;
use cpus::CpuList;
use journal::{Entry, Results};
use study::Study;

pub use run::{Ask, Bench, Event, StartError, run};
pub use this_bench::{ThisBench, ThisTarget, commands};

use crate::{Ended, Experiment, Plan, Recorded, RunError};

/// The cells of a study.
struct Cells<'a>(&'a Study);

/// `None` where the study has none.
pub(crate) fn of(study: &Study) -> Option<Box<dyn Experiment + '_>> {
    if study.cells.is_empty() {
        return None;
    }
    Some(Box::new(Cells(study)))
}

impl Experiment for Cells<'_> {
    fn forecast(&self) -> String {
        words::forecast(self.0.forecast())
    }

    fn notes(&self) -> Vec<String> {
        words::notes(self.0)
    }

    fn plan(&self, folder: &Path) -> Plan {
        let (cells, trials) = (self.0.cells.len(), self.0.trials);
        Plan {
            summary: format!("{cells} cells, {trials} trials each, {}", self.forecast()),
            parts: words::list(self.0),
            heading: "Commands that would be started, each for the whole run",
            commands: commands(self.0, "OBJECTS", &folder.display().to_string()),
        }
    }

    fn cpus(&self) -> Vec<CpuList> {
        let cells = self.0.cells.iter();
        let of_cell =
            |cell: &study::Cell| [cell.target.pinned_to().cloned(), Some(cell.load.cpus.clone())];
        cells.flat_map(of_cell).flatten().collect()
    }

    fn run(
        &self,
        results: &Results,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(crate::Event<'_>),
    ) -> Result<Ended, RunError> {
        let mut bench = ThisBench::new(self.0, results.folder().to_owned())
            .map_err(|error| RunError::Start(error.to_string()))?;
        if let Some(note) = bench.note() {
            report(crate::Event::Says(format!("Note: {note}.")));
        }
        run(self.0, results, &mut bench, interrupt, &mut |event| tell(event, report))
    }

    fn findings(&self, recorded: &Recorded<'_>) -> Findings {
        recorded.analysis.findings(&recorded.entries.trials)
    }
}

/// Says what happens in words.
fn tell(event: Event<'_>, report: &mut dyn FnMut(crate::Event<'_>)) {
    use crate::Event::{Finished, Progress, Says};
    match event {
        Event::Skipped(target) => {
            report(Says(format!("Skipped: {}.", target.skipped.as_deref().unwrap_or_default())));
        }
        Event::Started(target) => report(Says(format!(
            "{}: {} answers ({}).",
            target.name,
            target.version.as_deref().unwrap_or("the server"),
            target.settings
        ))),
        Event::Begins { done: 0, .. } => {}
        Event::Begins { done, ahead } => report(Says(format!(
            "In the journal: {done} trials; to come: {}.",
            words::forecast(ahead)
        ))),
        Event::Progress { cell, role, ahead, moment } => report(Progress {
            left: words::time(&ahead).saturating_sub(moment.elapsed.min(moment.window)),
            words: &|| (words::left(&ahead), format!("{}: {moment}", words::doing(cell, role))),
        }),
        Event::Impossible { cell, load, why } => {
            report(Says(format!("Note: {} cannot go to {load}: {why}.", cell.name)));
        }
        Event::Finished(trial) => {
            let wrong = trial.line.why_invalid();
            let cell = &trial.place.cell;
            let wrong = wrong.map(|why| format!("Not valid: a trial of {cell}: {why}."));
            report(Finished {
                entries: &[Entry::Trial(Box::new(trial.clone()))],
                wrong: wrong.into_iter().collect(),
            });
        }
    }
}
