//! What algorithms cost, which needs no server: the tables of a study.
//!
//! [`run()`] measures the tables in rounds, each part by a [`Meter`]; [`Child`] is the real one.

mod child;
mod output;
mod run;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use answer::findings::Findings;
use answer::primitive::Costs;
use cpus::CpuList;
use journal::Results;
use journal::primitive::{Line, Outcome};
use study::Study;
use study::primitive::Part;
use units::Nanos;

pub use child::Child;
pub use run::{Event, Failed, Meter, Reading, run};

use crate::{Ended, Experiment, Plan, Recorded, RunError};

/// The tables of a study.
struct Tables<'a>(&'a Study);

/// `None` where the study has none.
pub(crate) fn of(study: &Study) -> Option<Box<dyn Experiment + '_>> {
    if study.primitives.tables.is_empty() {
        return None;
    }
    Some(Box::new(Tables(study)))
}

impl Experiment for Tables<'_> {
    fn forecast(&self) -> String {
        let primitives = &self.0.primitives;
        let seconds = primitives.forecast().0.div_ceil(1_000_000_000).max(1);
        let (parts, time) = (primitives.parts().len(), Nanos(seconds * 1_000_000_000));
        format!("primitives in {parts} parts, about {time}")
    }

    fn plan(&self, _folder: &Path) -> Plan {
        let parts = self.0.primitives.parts();
        Plan {
            summary: self.forecast(),
            parts: Vec::new(),
            heading: "Commands that would measure primitives, once a round",
            commands: parts.iter().filter(|part| part.round == 0).map(Part::command).collect(),
        }
    }

    fn cpus(&self) -> Vec<CpuList> {
        self.0.primitives.tables.iter().map(|table| table.cpus.clone()).collect()
    }

    fn check(&self) -> Result<(), RunError> {
        child()?.check(&self.0.primitives).map_err(RunError::Start)
    }

    fn run(
        &self,
        results: &Results,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(crate::Event<'_>),
    ) -> Result<Ended, RunError> {
        run(&self.0.primitives, results, &mut child()?, interrupt, &mut |event| tell(event, report))
    }

    fn findings(&self, recorded: &Recorded<'_>) -> Findings {
        Costs::of(self.0, recorded.entries).findings()
    }
}

fn child() -> Result<Child, RunError> {
    Child::new().map_err(|error| RunError::Start(error.to_string()))
}

/// Says what happens in words.
fn tell(event: Event<'_>, report: &mut dyn FnMut(crate::Event<'_>)) {
    use crate::Event::{Finished, Progress, Says};
    match event {
        Event::Begins { done, all } => {
            report(Says(format!("Primitives: {} of {all} parts to measure.", all - done)));
        }
        Event::Progress { lacking, elapsed } => {
            let [part, ..] = lacking else { return };
            let all: u64 = lacking.iter().map(|part| part.forecast().0).sum();
            let parts = if lacking.len() == 1 { "part" } else { "parts" };
            report(Progress {
                left: Duration::from_nanos(all).saturating_sub(elapsed),
                words: &|| {
                    let seconds = elapsed.as_secs();
                    let doing =
                        format!("{}, round {}: {seconds}s", part.in_words(), part.round + 1);
                    (format!("{} {parts}", lacking.len()), doing)
                },
            });
        }
        Event::Finished(reading) => {
            let lines = reading.lines.iter().map(crate::json);
            report(Finished {
                lines: lines.chain(reading.bounds.iter().map(crate::json)).collect(),
                wrong: reading.lines.iter().filter_map(refused).collect(),
            });
        }
    }
}

/// That a library gives wrong results, where it does.
fn refused(line: &Line) -> Option<String> {
    match &line.outcome {
        Outcome::None { no_figure } if no_figure.starts_with("no figure") => {
            Some(format!("Refused: {}, {}: {no_figure}.", line.place.algorithm, line.library_title))
        }
        _ => None,
    }
}
