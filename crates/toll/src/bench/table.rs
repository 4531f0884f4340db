//! What `toll bench` prints: sentences, then tables, then what to know about them.

use std::fmt::Write;

use primitives::bench::Measurement;
use primitives::instructions::Bound;
use primitives::row::Measured;
use primitives::{Algorithm, Row, Unit, library};
use report::{Column, table};
use units::{Bytes, PerSecond};

use super::figures::{Context, gigabytes, mark, reference, significant};
use super::shown::{Figures, main_rows};
use super::{bounds, words};
use crate::screen;

/// The names of all algorithms and libraries.
pub(crate) fn listed() -> String {
    let mut text = String::from("Algorithms:\n");
    for algorithm in Algorithm::all() {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {algorithm}");
    }
    text += "Libraries (or the path of any libcrypto):\n";
    for name in library::NAMES {
        let _ = match library::open(name) {
            Ok(library) => writeln!(text, "  {name:<22} {}", library.title()),
            Err(why) => writeln!(text, "  {name:<22} not available here: {why}"),
        };
    }
    text
}

/// The sentences, the tables and the notes.
pub(crate) fn in_words(
    measurement: &Measurement,
    bounds: &[Bound],
    context: &Context<'_>,
) -> String {
    let mut text = screen::wrapped(&words::sentences(measurement, context));
    let main = (!context.shows_all).then(|| main_rows(measurement, context));
    let shown = main.as_ref().unwrap_or(measurement);
    for kind in [Kind::Primitive, Kind::Record] {
        text += &bytes_table(shown, kind);
    }
    text += &operations_table(shown);
    text += &bounds::table(bounds, Some((&measurement.rows, context)));
    text += &screen::wrapped(&words::notes(shown, context));
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

/// The rows with figures whose unit is this one.
fn of_unit(measurement: &Measurement, unit: Unit) -> impl Iterator<Item = Figures<'_>> {
    let rows = measurement.rows.iter().filter(move |row| row.key.algorithm.unit() == unit);
    rows.filter_map(|row| Some((row, row.outcome.measured()?)))
}

/// Cycles per byte by size; of the largest size the quartiles, the rate, the time of a record and what
/// was published.
fn bytes_table(measurement: &Measurement, kind: Kind) -> String {
    let groups = groups(
        of_unit(measurement, Unit::Byte).filter(|(row, _)| Kind::of(row.key.algorithm) == kind),
    );
    let mut sizes: Vec<u64> =
        groups.iter().flatten().filter_map(|(row, _)| row.key.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let Some(&largest) = sizes.last() else { return String::new() };
    let shown = Bytes(largest);
    let column = |name: &str, of: &dyn Fn(&[Figures<'_>]) -> Option<String>| {
        Column::numbers(name, "", groups.iter().map(|group| of(group).unwrap_or_default()))
    };
    let at_largest = |name: &str, of: &dyn Fn(&Measured) -> String| {
        column(&format!("{name} at {shown}"), &|group| Some(of(at(group, largest)?)))
    };
    let published =
        |group: &[Figures<'_>]| group.iter().find_map(|(row, measured)| reference(row, measured));
    // Of the sizes; all else than figures goes before them.
    const MOST: usize = 100;
    let mut columns = names(kind.title(), groups.iter().map(|group| group[0].0));
    for (place, &size) in sizes.iter().enumerate() {
        // The smallest sizes give way first, the largest never does.
        let gives_way = match sizes.len() - 1 - place {
            0 => 0,
            larger => larger + 2,
        };
        let median = |group: &[Figures<'_>]| Some(median(at(group, size)?));
        columns.push(column(&Bytes(size).to_string(), &median).gives_way(gives_way));
    }
    columns.push(
        at_largest("quartiles", &|measured| {
            let cycles = measured.cycles();
            format!("{:.3} to {:.3}", cycles.low, cycles.high)
        })
        .gives_way(MOST + 2),
    );
    columns.push(at_largest("GB/s", &gigabytes).gives_way(1));
    if kind == Kind::Record {
        let nanos = |measured: &Measured| format!("{:.0}", measured.ns_per_op());
        columns.push(at_largest("ns", &nanos).gives_way(2));
    }
    columns.push(column("quiet samples", &|group| Some(quiet(group))).gives_way(MOST + 3));
    let xeon_v4 = |group: &[Figures<'_>]| Some(format!("{:.2}", published(group)?.xeon_v4));
    columns.push(column("Xeon v4", &xeon_v4).gives_way(MOST + 1));
    let xeon_scalable =
        |group: &[Figures<'_>]| Some(format!("{:.2}", published(group)?.xeon_scalable));
    columns.push(column("Xeon Scalable", &xeon_scalable).gives_way(MOST + 1));
    table(columns, screen::width(), screen::style())
}

/// The figures of a group at a size.
fn at<'a>(group: &[Figures<'a>], size: u64) -> Option<&'a Measured> {
    let is_of = |(row, _): &&Figures<'_>| row.key.size_bytes == Some(size);
    group.iter().find(is_of).map(|(_, measured)| *measured)
}

/// Kilocycles and operations per second.
fn operations_table(measurement: &Measurement) -> String {
    let rows: Vec<Figures<'_>> = of_unit(measurement, Unit::Operation).collect();
    if rows.is_empty() {
        return String::new();
    }
    let column = |name: &str, of: &dyn Fn(&Measured) -> String| {
        Column::numbers(name, "", rows.iter().map(|(_, measured)| of(measured)))
    };
    let kilocycles = |measured: &Measured| measured.cycles_per_op.per(1e3);
    let mut columns = names("per operation", rows.iter().map(|(row, _)| *row));
    columns.extend([
        column("kilocycles", &|measured| {
            format!("{:.1}{}", kilocycles(measured).median, mark(measured))
        }),
        column("quartiles", &|measured| {
            format!("{:.1} to {:.1}", kilocycles(measured).low, kilocycles(measured).high)
        })
        .gives_way(2),
        column("operations", &|measured| PerSecond(measured.ops_per_s).to_string()),
        Column::numbers("quiet samples", "", rows.iter().map(|row| quiet(&[*row]))).gives_way(1),
    ]);
    table(columns, screen::width(), screen::style())
}

/// The columns of the algorithm, where it differs from the line above, and the library.
fn names<'a>(title: &str, rows: impl Iterator<Item = &'a Row> + Clone) -> Vec<Column> {
    let mut above = None;
    let algorithms = rows.clone().map(|row| match above.replace(row.key.algorithm) {
        Some(above) if above == row.key.algorithm => String::new(),
        _ => row.key.algorithm.to_string(),
    });
    let libraries = rows.map(|row| row.library_title.clone());
    vec![Column::words(title, algorithms), Column::words("library", libraries)]
}

/// The lines of a table: all sizes of an algorithm of a library.
fn groups<'a>(rows: impl Iterator<Item = Figures<'a>>) -> Vec<Vec<Figures<'a>>> {
    let key = |row: &'a Row| (row.key.algorithm, &row.key.library);
    let mut groups: Vec<Vec<Figures<'a>>> = Vec::new();
    for row in rows {
        match groups.iter_mut().find(|group| key(group[0].0) == key(row.0)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    groups
}

fn median(measured: &Measured) -> String {
    format!("{}{}", significant(measured.cycles().median), mark(measured))
}

/// `60 of 72`: those that count, of all that were taken.
fn quiet(rows: &[Figures<'_>]) -> String {
    let taken: u64 = rows.iter().map(|(_, measured)| measured.taken()).sum();
    let quiet: u64 = rows.iter().map(|(_, measured)| measured.quiet()).sum();
    format!("{quiet} of {taken}")
}

#[cfg(test)]
mod tests {
    use primitives::instructions::Bounded;
    use primitives::row::{Outcome, RowKey};
    use primitives::sampler::{Quality, Quartiles};
    use primitives::{Cache, CycleSource, Hardware};

    use super::*;

    /// A figure of a library at 16 KiB on a core of 3 GHz.
    fn row(algorithm: &str, library: &str, cycles_per_byte: f64) -> Row {
        let quartiles = |median| Quartiles { low: median, median, high: median };
        let cycles_per_op = cycles_per_byte * 16384.0;
        Row {
            key: RowKey {
                algorithm: algorithm.parse().unwrap(),
                library: library.to_owned(),
                size_bytes: Some(16384),
                hardware: Hardware::All,
                cache: Cache::Warm,
                threads: 1,
            },
            library_title: library.to_owned(),
            cycles_source: CycleSource::MeasuredFrequency,
            outcome: Outcome::Measured(Box::new(Measured {
                cycles_per_byte: Some(quartiles(cycles_per_byte)),
                cycles_per_op: quartiles(cycles_per_op),
                core_hz: 3e9,
                ops_per_s: 3e9 / cycles_per_op,
                bytes_per_s: Some(3e9 / cycles_per_byte),
                messages_per_op: 1,
                samples: 30,
                dropped_shared: 0,
                dropped_unsteady: 0,
                quality: Quality::Quiet,
                confirmed_by: "another".to_owned(),
            })),
        }
    }

    /// What is printed of rows, with the bound that AES-GCM once had on Zen 3.
    fn printed(rows: Vec<Row>, shows_all: bool) -> String {
        let source = CycleSource::MeasuredFrequency;
        let measurement = Measurement { rows, source, interrupted: false };
        let bound = Bound { of: Bounded::Gcm, cycles_per_byte: 0.499, arithmetic: String::new() };
        let context = Context {
            libraries: &[],
            cache: Cache::Warm,
            threads: 1,
            hardware: Hardware::All,
            samples: 30,
            shows_all,
        };
        in_words(&measurement, &[bound], &context)
    }

    #[test]
    fn from_few_quiet_samples_libraries_are_not_compared() {
        let text = |quiet| {
            let mut few = row("SHA-256", "isa-l", 0.8);
            let Outcome::Measured(measured) = &mut few.outcome else { unreachable!() };
            (measured.samples, measured.dropped_shared) = (quiet, 120 - quiet);
            printed(vec![row("SHA-256", "openssl", 0.9), few], true)
        };
        assert!(text(30).contains("as fast"), "{}", text(30));
        let few = text(7);
        assert!(!few.contains("as fast") && few.contains("37 of 150"), "{few}");
    }

    /// Marks a row as one that other work disturbed.
    fn disturbed(mut row: Row) -> Row {
        let Outcome::Measured(measured) = &mut row.outcome else { unreachable!() };
        (measured.quality, measured.dropped_shared) = (Quality::Disturbed, 2);
        row
    }

    #[test]
    fn nothing_is_compared_with_a_disturbed_row_or_called_the_fastest_beside_it() {
        let gcm = |library, cycles| row("AES-128-GCM", library, cycles);
        let all = || vec![gcm("openssl", 0.811), gcm("ring", 0.6), gcm("aws-lc", 0.393)];
        let quiet = printed(all(), false);
        assert!(quiet.contains("as fast") && quiet.contains("not a bound"), "{quiet}");
        assert!(!quiet.contains("ring"), "{quiet}");
        for place in 0..3 {
            let mut rows = all();
            rows[place] = disturbed(rows[place].clone());
            let text = printed(rows, false);
            for claim in ["as fast", "costs the same", "the next", " with ring", " with aws-lc"] {
                assert!(!text.contains(claim), "{place}, {claim}: {text}");
            }
            // A quiet library below the bound still refutes it; a disturbed one does not.
            assert_eq!(text.contains("not a bound"), place != 2, "{text}");
            // As none is known to be the fastest, each is in the table.
            let rows = text.lines().filter(|line| !line.ends_with('.') && !line.ends_with(','));
            let rows: Vec<&str> = rows.collect();
            for library in ["openssl", "ring", "aws-lc"] {
                assert!(rows.iter().any(|row| row.contains(library)), "{place}: {text}");
            }
        }
    }

    #[test]
    fn a_library_below_a_bound_shows_that_it_is_none() {
        let with = |ring| {
            let gcm = |library, cycles| row("AES-128-GCM", library, cycles);
            printed(vec![gcm("openssl", 0.811), gcm("ring", ring)], false)
        };
        let beaten = with(0.393);
        assert!(beaten.contains("ring: not a bound"), "{beaten}");
        let near = with(0.512);
        assert!(near.contains("0.512 with ring") && near.contains("estimate"), "{near}");
        assert!(!near.contains("not a bound"), "{near}");
        let other = printed(vec![row("SHA-1", "openssl", 1.0)], false);
        assert!(!other.contains("estimate"), "only the bounds of what was measured: {other}");
    }

    #[test]
    fn openssl_and_the_fastest_library_are_shown_and_with_all_every_one() {
        let rows = || {
            let gcm = |library, cycles| row("AES-128-GCM", library, cycles);
            let cbc = |library, cycles| row("AES-128-CBC encrypt", library, cycles);
            vec![
                gcm("openssl", 0.8),
                gcm("ring", 0.6),
                gcm("aws-lc", 0.7),
                cbc("openssl", 2.5),
                cbc("aws-lc", 2.6),
            ]
        };
        let count = |text: &str, library: &str| {
            let named = |line: &&str| line.split_whitespace().any(|word| word == library);
            // Sentences and notes end with a full stop, rows of tables do not.
            text.lines().filter(|line| !line.ends_with('.')).filter(named).count()
        };
        let main = printed(rows(), false);
        assert_eq!((count(&main, "openssl"), count(&main, "aws-lc")), (2, 0), "{main}");
        assert!(main.contains("--all"), "{main}");
        let all = printed(rows(), true);
        assert_eq!((count(&all, "openssl"), count(&all, "aws-lc")), (2, 2), "{all}");
    }

    #[test]
    fn every_name_is_listed() {
        let names = listed();
        assert!(names.contains("  AES-128-GCM\n") && names.contains("  rustcrypto "), "{names}");
    }
}
