//! What `toll bench` prints: sentences, then tables, then what to know about them.

use std::fmt::Write;

use primitives::bench::{Measured, Outcome, Row};
use primitives::sampler::Quality;
use primitives::{Algorithm, Cache, Hardware, Library, Unit, library};
use report::{Column, table};
use units::{Bytes, PerSecond, decimal, places};

use crate::bench::UNAVAILABLE;
use crate::bench_json::reference;
use crate::{bench_words, screen};

/// How it was measured.
pub(crate) struct Context<'a> {
    pub(crate) libraries: &'a [Box<dyn Library>],
    pub(crate) cache: Cache,
    pub(crate) threads: usize,
    pub(crate) hardware: Hardware,
}

/// Marks a figure that is too high.
pub(crate) const MARK: &str = "!";

/// The names of all algorithms and libraries.
pub(crate) fn listed() -> String {
    let mut text = String::from("Algorithms:\n");
    for algorithm in Algorithm::all() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {algorithm}");
    }
    text += "Libraries, beside the path of any libcrypto:\n";
    for name in library::NAMES {
        let _ = match library::open(name) {
            Ok(library) => writeln!(text, "  {name:<22} {}", library.title()),
            Err(why) => writeln!(text, "  {name:<22} not available here: {why}"),
        };
    }
    text
}

/// Everything.
pub(crate) fn in_words(outcome: &Outcome, context: &Context<'_>) -> String {
    let mut text = screen::wrapped(&bench_words::sentences(outcome, context));
    for kind in [Kind::Primitive, Kind::Record] {
        text += &bytes_table(outcome, context, kind);
    }
    text += &operations_table(outcome, context);
    text += &screen::wrapped(&bench_words::notes(outcome, context));
    text
}

/// What goes over bytes: two tables, because records end at 16 KiB.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Primitive,
    Record,
}

impl Kind {
    fn of(algorithm: Algorithm) -> Self {
        if algorithm.takes_a_connection() { Self::Record } else { Self::Primitive }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Primitive => "core cycles per byte",
            Self::Record => "in memory, core cycles per byte",
        }
    }
}

fn is_of(row: &&Row, unit: Unit) -> bool {
    row.place.algorithm.unit() == unit && row.outcome.is_ok()
}

/// Cycles per byte by size; of the largest size the quartiles, the rate, the time of a record and what
/// was published.
fn bytes_table(outcome: &Outcome, context: &Context<'_>, kind: Kind) -> String {
    let rows = outcome.rows.iter().filter(|row| is_of(row, Unit::Byte));
    let rows: Vec<&Row> = rows.filter(|row| Kind::of(row.place.algorithm) == kind).collect();
    let mut sizes: Vec<usize> = rows.iter().filter_map(|row| row.place.size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let Some(&largest) = sizes.last() else { return String::new() };
    let shown = Bytes(largest as u64);
    let groups = groups(&rows);
    // The figures of a group by size.
    let measured = |&(algorithm, library): &(Algorithm, usize), size| {
        let place = |row: &&&Row| {
            let place = row.place;
            (place.algorithm, place.library, place.size) == (algorithm, library, Some(size))
        };
        let row = rows.iter().find(place)?;
        Some((*row, row.outcome.as_ref().ok()?))
    };
    let column = |name: &str, of: &dyn Fn(&(Algorithm, usize)) -> Option<String>| {
        Column::numbers(name, "", groups.iter().map(|group| of(group).unwrap_or_default()))
    };
    let at_largest = |name: &str, of: &dyn Fn(&Measured) -> String| {
        column(&format!("{name} at {shown}"), &|group| Some(of(measured(group, largest)?.1)))
    };
    let published = |group: &(Algorithm, usize)| {
        let all = sizes.iter().filter_map(|&size| measured(group, size));
        all.filter_map(|(row, measured)| reference(row, measured.lanes)).next()
    };
    // Of the sizes; all else than figures goes before them.
    const MOST: usize = 100;
    let mut columns = names(kind.title(), groups.iter().copied(), context);
    for (place, &size) in sizes.iter().enumerate() {
        // The smallest sizes give way first, the largest never does.
        let gives_way = match sizes.len() - 1 - place {
            0 => 0,
            larger => larger + 2,
        };
        let name = Bytes(size as u64).to_string();
        let median = |group: &_| measured(group, size).map(|(_, measured)| median(measured));
        columns.push(column(&name, &median).gives_way(gives_way));
    }
    columns.push(
        at_largest("quartiles", &|measured| {
            let cycles = measured.figure.cycles.per(measured.message_bytes as f64);
            format!("{:.3} to {:.3}", cycles.low, cycles.high)
        })
        .gives_way(MOST + 2),
    );
    let gigabytes = |measured: &Measured| measured.runs_per_s * measured.message_bytes as f64 / 1e9;
    columns
        .push(at_largest("GB/s", &|measured| format!("{:.2}", gigabytes(measured))).gives_way(1));
    if kind == Kind::Record {
        let nanos = |measured: &Measured| format!("{:.0}", measured.figure.nanos);
        columns.push(at_largest("ns", &nanos).gives_way(2));
    }
    let samples = |group: &_| {
        let all = sizes.iter().filter_map(|&size| Some(measured(group, size)?.1));
        Some(quiet(&all.collect::<Vec<_>>()))
    };
    columns.push(column("quiet samples", &samples).gives_way(MOST + 3));
    let xeon_v4 = |group: &_| Some(format!("{:.2}", published(group)?.xeon_v4));
    columns.push(column("Xeon v4", &xeon_v4).gives_way(MOST + 1));
    let xeon_scalable = |group: &_| Some(format!("{:.2}", published(group)?.xeon_scalable));
    columns.push(column("Xeon Scalable", &xeon_scalable).gives_way(MOST + 1));
    table(columns, screen::width(), screen::style())
}

/// Kilocycles and operations per second.
fn operations_table(outcome: &Outcome, context: &Context<'_>) -> String {
    let rows = outcome.rows.iter().filter(|row| is_of(row, Unit::Operation));
    let rows: Vec<(&Row, &Measured)> =
        rows.filter_map(|row| Some((row, row.outcome.as_ref().ok()?))).collect();
    if rows.is_empty() {
        return String::new();
    }
    let column = |name: &str, of: &dyn Fn(&Measured) -> String| {
        Column::numbers(name, "", rows.iter().map(|(_, measured)| of(measured)))
    };
    let kilocycles = |measured: &Measured| measured.figure.cycles.per(1e3);
    let places = rows.iter().map(|(row, _)| (row.place.algorithm, row.place.library));
    let mut columns = names("per operation", places, context);
    columns.extend([
        column("kilocycles", &|measured| {
            format!("{:.1}{}", kilocycles(measured).median, mark(measured))
        }),
        column("quartiles", &|measured| {
            format!("{:.1} to {:.1}", kilocycles(measured).low, kilocycles(measured).high)
        })
        .gives_way(2),
        column("operations", &|measured| PerSecond(measured.runs_per_s).to_string()),
        column("quiet samples", &|measured| quiet(&[measured])).gives_way(1),
    ]);
    table(columns, screen::width(), screen::style())
}

/// The columns of the algorithm, where it differs from the line above, and the library.
fn names(
    title: &str,
    places: impl Iterator<Item = (Algorithm, usize)> + Clone,
    context: &Context<'_>,
) -> Vec<Column> {
    let mut above = None;
    let algorithms = places.clone().map(|(algorithm, _)| match above.replace(algorithm) {
        Some(above) if above == algorithm => String::new(),
        _ => algorithm.to_string(),
    });
    let libraries = places.map(|(_, library)| context.libraries[library].title().to_owned());
    vec![Column::words(title, algorithms), Column::words("library", libraries)]
}

/// The lines of a table: each algorithm of each library once.
fn groups(rows: &[&Row]) -> Vec<(Algorithm, usize)> {
    let mut groups = Vec::new();
    for row in rows {
        let group = (row.place.algorithm, row.place.library);
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    groups.sort_by_key(|&(algorithm, library)| {
        (Algorithm::all().position(|other| other == algorithm), library)
    });
    groups
}

fn median(measured: &Measured) -> String {
    let cycles = measured.figure.cycles.median / measured.message_bytes as f64;
    format!("{}{}", significant(cycles), mark(measured))
}

/// Four digits, with one to three decimals.
pub(crate) fn significant(cycles: f64) -> String {
    decimal(cycles, places(cycles, 4).clamp(1, 3))
}

pub(crate) fn mark(measured: &Measured) -> &'static str {
    if measured.figure.quality == Quality::Disturbed { MARK } else { "" }
}

/// `60 of 72`: those that count, of all that were taken.
fn quiet(measured: &[&Measured]) -> String {
    let (mut good, mut all) = (0, 0);
    for one in measured {
        let dropped = one.figure.dropped_shared + one.figure.dropped_unsteady;
        match one.figure.quality {
            // The figure is of all samples then.
            Quality::Disturbed => {
                good += one.figure.samples - dropped;
                all += one.figure.samples;
            }
            Quality::Quiet | Quality::Unknown => {
                good += one.figure.samples;
                all += one.figure.samples + dropped;
            }
        }
    }
    format!("{good} of {all}")
}

/// Whether a row says that a library does not do something.
pub(crate) fn is_unavailable(why: &str) -> bool {
    why.starts_with(UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_keep_their_digits() {
        assert_eq!(significant(0.19712), "0.197");
        assert_eq!(significant(12.3456), "12.35");
        assert_eq!(significant(123.456), "123.5");
        assert_eq!(significant(1170.12), "1,170.1");
    }

    #[test]
    fn every_name_is_listed() {
        let names = listed();
        assert!(names.contains("  AES-128-GCM\n") && names.contains("  rustcrypto "), "{names}");
    }
}
