//! Runs the tables of a study, part by part, each on disk before the next begins.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, SystemTime};

use crate::kind::{Ended, Event};
use crate::run_error::RunError;
use journal::primitive::{BoundLine, RowLine};
use journal::{Entries, Entry, Results};
use primitives::Row;
use primitives::instructions::Bound;
use primitives::row::{NoFigure, Reason};
use serde::Deserialize;
use study::primitive::{Part, Primitives, What};
use trial::SCHEMA;
use units::counted;

/// What measures a part.
pub trait Meter {
    /// Refuses a table that cannot be measured, before anything is.
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
    ) -> Result<Option<PartReading>, String>;
}

/// What a part gave.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct PartReading {
    /// Of a table.
    #[serde(default)]
    pub rows: Vec<Row>,
    /// Of the part of the bounds.
    #[serde(default)]
    pub bounds: Vec<Bound>,
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
    report(Event::Says(format!("Primitives: {} of {all} parts to measure.", lacking.len())));
    let mut journal = results.journal()?.0;
    let orders = entries.primitives.iter().map(|line| line.order);
    let last = orders.chain(entries.bounds.iter().map(|line| line.order)).max();
    let first = last.map_or(0, |last| last.saturating_add(1));
    for ((place, part), order) in lacking.iter().enumerate().zip(first..) {
        let started = SystemTime::now();
        let mut progress = |elapsed| report_progress(&lacking[place..], elapsed, report);
        let measured = match interrupt.load(Relaxed) {
            true => None,
            false => meter.measure(part, interrupt, &mut progress).map_err(|why| {
                RunError::Part { part: format!("primitives, {}", part.in_words()), why }
            })?,
        };
        let Some(reading) = measured else { return Ok(Ended::Interrupted) };
        let entries = reading.entries(part, order, started);
        journal.append(&entries)?;
        let wrong = entries.iter().filter_map(refused).collect();
        report(Event::Finished { entries: &entries, wrong });
    }
    Ok(Ended::Complete)
}

/// Says how far the first of these parts is, which are all that are left.
fn report_progress(lacking: &[Part<'_>], elapsed: Duration, report: &mut dyn FnMut(Event<'_>)) {
    let [part, ..] = lacking else { return };
    let all: u64 = lacking.iter().map(|part| part.forecast().0).sum();
    report(Event::Progress {
        left: Duration::from_nanos(all).saturating_sub(elapsed),
        words: &|| {
            let seconds = elapsed.as_secs();
            let doing = format!("{}, round {}: {seconds}s", part.in_words(), part.round + 1);
            (counted(lacking.len() as u64, "part"), doing)
        },
    });
}

/// That a library gives wrong results, where it does.
fn refused(entry: &Entry) -> Option<String> {
    let Entry::Row(RowLine { row, .. }) = entry else { return None };
    let NoFigure { why, reason: Reason::Refused } = row.outcome.no_figure()? else { return None };
    Some(format!("Refused: {}, {}: {why}.", row.key.algorithm, row.library_title))
}

impl PartReading {
    /// The lines of the journal.
    fn entries(self, part: &Part<'_>, order: u32, started: SystemTime) -> Vec<Entry> {
        let started = started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let started_unix_ms = u64::try_from(started.as_millis()).unwrap_or(u64::MAX);
        let round = part.round;
        let table = match part.what {
            What::Bounds(_) => "",
            What::Table { table, .. } => &table.name,
        };
        let rows = self.rows.into_iter().map(|row| {
            let table = table.to_owned();
            Entry::Row(RowLine { schema: SCHEMA, table, row, round, order, started_unix_ms })
        });
        let bounds = self.bounds.into_iter();
        let bounds =
            bounds.map(|bound| Entry::Bound(BoundLine { schema: SCHEMA, bound, round, order }));
        rows.chain(bounds).collect()
    }
}

/// Whether the journal has all of a part.
fn is_in(part: &Part<'_>, entries: &Entries) -> bool {
    match part.what {
        What::Bounds(_) => entries.bounds.iter().any(|line| line.round == part.round),
        What::Table { table, hardware, cache } => {
            table.combination(hardware, cache).iter().all(|key| {
                entries.primitives.iter().any(|line| {
                    line.round == part.round
                        && line.table == table.name
                        && line.row.key == *key
                        && line.row.contradiction().is_none()
                })
            })
        }
    }
}
