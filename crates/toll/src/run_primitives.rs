//! The part of a run that measures a study's tables of primitives, and what it shows meanwhile.

use std::sync::atomic::AtomicBool;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use journal::Results;
use journal::primitive::Outcome;
use serde::Serialize;
use study::primitive::{Child, Event, Meter, Part, Primitives, Reading, run};
use study::{Ended, RunError};
use units::Nanos;

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
    let bar = bar(!shown.json && !shown.quiet);
    let ended = run(primitives, results, &mut child()?, interrupted, &mut |event| match event {
        Event::Begins { done, all } => {
            bar.set_length(all as u64);
            bar.set_position(done as u64);
            if !shown.json && !shown.quiet {
                let to_come = all - done;
                let words = format!("Primitives: {to_come} of {all} parts to measure.\n");
                bar.suspend(|| crate::print(&words));
            }
        }
        Event::Progress { part, behind, elapsed } => {
            let seconds = elapsed.as_secs_f64();
            bar.set_message(format!("{}, {behind} behind it  {seconds:.0}s", in_words(part)));
        }
        Event::Finished(reading) => {
            *ran += 1;
            bar.inc(1);
            bar.suspend(|| tell_of(reading, shown));
        }
    });
    bar.finish_and_clear();
    ended
}

fn bar(is_wanted: bool) -> ProgressBar {
    let target = match is_wanted {
        true => ProgressDrawTarget::stderr_with_hz(5),
        false => ProgressDrawTarget::hidden(),
    };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    // The template is a constant; were it wrong, indicatif's own would do.
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} parts  {wide_msg}") {
        bar.set_style(style.progress_chars("━╸─"));
    }
    bar
}

fn in_words(part: &Part<'_>) -> String {
    format!("{}, round {}", part.in_words(), part.round + 1)
}

/// All of it for a program, only what was refused for a person.
fn tell_of(reading: &Reading, shown: Shown) {
    if shown.json {
        reading.lines.iter().for_each(print_json);
        reading.bounds.iter().for_each(print_json);
    } else if !shown.quiet {
        for line in &reading.lines {
            if let Outcome::None { no_figure } = &line.outcome
                && no_figure.starts_with("no figure")
            {
                let place = &line.place;
                crate::print(&format!(
                    "Refused: {}, {}: {no_figure}.\n",
                    place.algorithm, line.library_title
                ));
            }
        }
    }
}

fn print_json(line: &impl Serialize) {
    // It cannot fail: the same line has just been written to the journal.
    if let Ok(text) = serde_json::to_string(line) {
        crate::print(&format!("{text}\n"));
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
