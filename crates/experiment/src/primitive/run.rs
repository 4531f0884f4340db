//! Runs the tables of a study, part by part, each on disk before the next begins.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::{Ended, Event, RunError};
use journal::Entries;
use journal::Results;
use journal::primitive::{BoundLine, Line, Outcome};
use study::primitive::Primitives;
use study::primitive::{Part, What};

/// What measures a part.
pub trait Meter {
    /// Refuses a table that cannot be measured, before anything is.
    ///
    /// # Errors
    /// Why, in one line.
    fn check(&self, primitives: &Primitives) -> Result<(), String>;

    /// Measures a part; `None` after an interrupt. `report` gets the time since it began, now and
    /// then.
    ///
    /// # Errors
    /// Why it has no figures at all.
    fn measure(
        &mut self,
        part: &Part<'_>,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<Option<Reading>, Failed>;
}

/// What a part gave.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reading {
    /// A line for each row.
    pub lines: Vec<Line>,
    /// Of the part of the bounds.
    pub bounds: Vec<BoundLine>,
}

/// Why a part could not be measured.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Failed(pub String);

/// Measures the parts that the journal of `results` lacks; all of them in a new folder.
///
/// # Errors
/// What kept it from beginning or from going on. The parts until then are in the journal.
pub fn run(
    primitives: &Primitives,
    results: &Results,
    meter: &mut dyn Meter,
    interrupt: &AtomicBool,
    report: &mut dyn FnMut(Event<'_>),
) -> Result<Ended, RunError> {
    let entries = results.entries()?;
    let parts = primitives.parts();
    let all = parts.len();
    let lacking: Vec<Part<'_>> = parts.into_iter().filter(|part| !is_in(part, &entries)).collect();
    if lacking.is_empty() {
        return Ok(Ended::Complete);
    }
    report(Event::Says(format!("Primitives: {} of {all} parts to measure.", lacking.len())));
    let mut journal = results.journal()?.0;
    let orders = entries.primitives.iter().map(|line| line.order);
    let last = orders.chain(entries.bounds.iter().map(|line| line.order)).max();
    let first = last.map_or(0, |last| last.saturating_add(1));
    for ((place, part), order) in lacking.iter().enumerate().zip(first..) {
        let mut progress = |elapsed| tell_progress(&lacking[place..], elapsed, report);
        let measured = match interrupt.load(Relaxed) {
            true => None,
            false => {
                meter.measure(part, interrupt, &mut progress).map_err(|why| RunError::Part {
                    part: format!("primitives, {}", part.in_words()),
                    why: why.to_string(),
                })?
            }
        };
        let Some(mut reading) = measured else { return Ok(Ended::Interrupted) };
        reading.lines.iter_mut().for_each(|line| line.order = order);
        reading.bounds.iter_mut().for_each(|line| line.order = order);
        journal.append_all(&reading.lines)?;
        journal.append_all(&reading.bounds)?;
        let lines = reading.lines.iter().map(crate::json);
        report(Event::Finished {
            lines: lines.chain(reading.bounds.iter().map(crate::json)).collect(),
            wrong: reading.lines.iter().filter_map(refused).collect(),
        });
    }
    Ok(Ended::Complete)
}

/// Says how far the first of these parts is, which are all that are left.
fn tell_progress(lacking: &[Part<'_>], elapsed: Duration, report: &mut dyn FnMut(Event<'_>)) {
    let [part, ..] = lacking else { return };
    let all: u64 = lacking.iter().map(|part| part.forecast().0).sum();
    let parts = if lacking.len() == 1 { "part" } else { "parts" };
    report(Event::Progress {
        left: Duration::from_nanos(all).saturating_sub(elapsed),
        words: &|| {
            let seconds = elapsed.as_secs();
            let doing = format!("{}, round {}: {seconds}s", part.in_words(), part.round + 1);
            (format!("{} {parts}", lacking.len()), doing)
        },
    });
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

/// Whether the journal has all of a part.
fn is_in(part: &Part<'_>, entries: &Entries) -> bool {
    match part.what {
        What::Bounds(_) => entries.bounds.iter().any(|line| line.round == part.round),
        What::Table { table, hardware, cache } => {
            table.combination(hardware, cache).iter().all(|place| {
                entries.primitives.iter().any(|line| {
                    line.round == part.round
                        && line.place == *place
                        && line.contradiction().is_none()
                })
            })
        }
    }
}
