//! The part of a run that measures a study's tables of primitives, and what it shows meanwhile.

use std::sync::atomic::AtomicBool;

use experiment::primitive::{Child, Event, Meter, run};
use experiment::{Ended, RunError};
use journal::primitive::RowLine;
use journal::{Entry, Results};
use primitives::row::{NoFigure, Reason};
use study::primitive::{Part, Primitives};
use units::Nanos;

use crate::progress::Progress;

/// How a run is shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown {
    /// As lines of JSON.
    pub(crate) json: bool,
    /// Without progress.
    pub(crate) quiet: bool,
}

/// Refuses what cannot be measured here, before anything is.
pub(crate) fn check(primitives: &Primitives) -> Result<(), RunError> {
    child()?.check(primitives).map_err(RunError::Start)
}

fn child() -> Result<Child, RunError> {
    Child::new().map_err(|error| RunError::Start(error.to_string()))
}

/// Measures what the journal lacks; `ran` counts the parts that were measured.
pub(crate) fn measure(
    primitives: &Primitives,
    results: &Results,
    shown: Shown,
    interrupted: &AtomicBool,
    ran: &mut usize,
) -> Result<Ended, RunError> {
    let is_wanted = !shown.json && !shown.quiet;
    let bar = Progress::new(is_wanted, "{bar:24} {pos}/{len} parts  {wide_msg}");
    let (mut measured, mut planned) = (0, 0);
    run(primitives, results, &mut child()?, interrupted, &mut |event| match event {
        Event::Begins { done, all } => {
            (measured, planned) = (done as u64, all as u64);
            if is_wanted {
                let to_come = all - done;
                let words = format!("Primitives: {to_come} of {all} parts to measure.\n");
                bar.beside(|| crate::print(&words));
            }
        }
        Event::Progress { part, remaining, elapsed } => {
            let seconds = elapsed.as_secs_f64();
            bar.show(measured, planned, || {
                format!("{}, {remaining} remaining  {seconds:.0}s", in_words(part))
            });
        }
        Event::Finished(entries) => {
            *ran += 1;
            measured += 1;
            bar.beside(|| show(entries, shown));
        }
    })
}

fn in_words(part: &Part<'_>) -> String {
    format!("{}, round {}", part.in_words(), part.round + 1)
}

/// All of it for a program, only what was refused for a person.
fn show(entries: &[Entry], shown: Shown) {
    for entry in entries {
        if shown.json {
            // It cannot fail: the same line has just been written to the journal.
            let _ = crate::print_json(entry);
        } else if !shown.quiet
            && let Entry::Row(RowLine { row, .. }) = entry
            && let Some(NoFigure { why, reason: Reason::Refused }) = row.outcome.no_figure()
        {
            let (algorithm, title) = (row.key.algorithm, &row.library_title);
            crate::print(&format!("Refused: {algorithm}, {title}: {why}.\n"));
        }
    }
}

/// How many processes, and how long they take: `12 parts; about 9s`.
pub(crate) fn forecast(primitives: &Primitives) -> String {
    let parts = primitives.parts().len();
    let seconds = primitives.forecast().0.div_ceil(1_000_000_000).max(1);
    format!("primitives in {parts} parts, about {}", Nanos(seconds * 1_000_000_000))
}

/// The commands of the first round.
pub(crate) fn commands(primitives: &Primitives) -> Vec<String> {
    let parts = primitives.parts();
    parts.iter().filter(|part| part.round == 0).map(Part::command).collect()
}
