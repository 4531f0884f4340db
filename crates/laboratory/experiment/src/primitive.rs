//! What algorithms cost, which needs no server: the tables of a study.
//!
//! [`run()`] measures the tables in rounds, each part by a [`Meter`]; [`Child`] is the real one.

mod child;
mod run;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cpus::CpuList;
use journal::Results;
use study::Study;
use study::primitive::{AlgorithmTable, Part};
use units::Nanos;

pub use child::Child;
pub use run::{Meter, PartReading, run};

use crate::cells::too_few;
use crate::kind::{DryRun, Ended, Event, Experiment};
use crate::run_error::RunError;

/// The tables of a study.
struct Tables<'a>(&'a Study);

/// `None` where the study has none.
pub(crate) fn of(study: &Study) -> Option<Box<dyn Experiment + '_>> {
    (!study.primitives.tables.is_empty()).then(|| Box::new(Tables(study)) as _)
}

impl Experiment for Tables<'_> {
    fn forecast(&self) -> String {
        let primitives = &self.0.primitives;
        let seconds = primitives.forecast().0.div_ceil(1_000_000_000).max(1);
        let (parts, time) = (primitives.parts().len(), Nanos(seconds * 1_000_000_000));
        format!("primitives in {parts} parts, about {time}")
    }

    fn time(&self) -> Duration {
        self.0.primitives.forecast().into()
    }

    fn plan(&self, _folder: &Path) -> DryRun {
        let parts = self.0.primitives.parts();
        DryRun {
            summary: self.forecast(),
            parts: Vec::new(),
            heading: "Commands that would measure primitives, once per round",
            commands: parts.iter().filter(|part| part.round == 0).map(Part::command).collect(),
        }
    }

    fn cpus(&self) -> Vec<CpuList> {
        self.0.primitives.tables.iter().map(|table| table.cpus.clone()).collect()
    }

    fn notes(&self) -> Vec<String> {
        let note = |table: &AlgorithmTable| {
            let note = too_few("rounds", table.rounds, self.0.most_comparisons_of(table)?)?;
            Some(format!("primitives {}: {note}", table.name))
        };
        self.0.primitives.tables.iter().filter_map(note).collect()
    }

    fn check(&self) -> Result<(), RunError> {
        child()?.check(&self.0.primitives).map_err(RunError::Start)
    }

    fn run(
        &self,
        results: &Results,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Event<'_>),
    ) -> Result<Ended, RunError> {
        run(&self.0.primitives, results, &mut child()?, interrupt, report)
    }
}

fn child() -> Result<Child, RunError> {
    Child::new().map_err(RunError::Start)
}
