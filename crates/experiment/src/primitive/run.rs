//! Runs the tables of a study, part by part, each on disk before the next begins.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crate::{Ended, RunError};
use journal::Entries;
use journal::Results;
use journal::primitive::{BoundLine, Line};
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

/// What happens in a run, for the progress display.
#[derive(Debug)]
pub enum Event<'a> {
    /// How many parts are in the journal already, and how many there are.
    Begins {
        /// Of an earlier run.
        done: usize,
        all: usize,
    },
    /// A part is being measured.
    Progress {
        /// This part, and those that are to be measured after it.
        lacking: &'a [Part<'a>],
        /// Since it began.
        elapsed: Duration,
    },
    /// A part has ended; its lines are on disk.
    Finished(&'a Reading),
}

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
    report(Event::Begins { done: all - lacking.len(), all });
    let mut journal = results.journal()?.0;
    let orders = entries.primitives.iter().map(|line| line.order);
    let last = orders.chain(entries.bounds.iter().map(|line| line.order)).max();
    let first = last.map_or(0, |last| last.saturating_add(1));
    for ((place, part), order) in lacking.iter().enumerate().zip(first..) {
        let mut progress =
            |elapsed| report(Event::Progress { lacking: &lacking[place..], elapsed });
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
        report(Event::Finished(&reading));
    }
    Ok(Ended::Complete)
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
