//! What `toll bench` prints: sentences, then tables, then what to know about them.

use std::fmt::Write;

use primitives::bench::{Measured, Outcome, Row};
use primitives::sampler::Quality;
use primitives::{Algorithm, Cache, Hardware, Library, Unit, library};
use units::{Bytes, PerSecond};

use crate::bench::UNAVAILABLE;
use crate::bench_json::reference;
use crate::bench_words;

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
pub(crate) fn names() -> String {
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
    let mut text = bench_words::sentences(outcome, context);
    for kind in [Kind::Primitive, Kind::Record] {
        text += &bytes_table(outcome, context, kind);
    }
    text += &operations_table(outcome, context);
    text += &bench_words::notes(outcome, context);
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
    let mut header: Vec<String> = vec![kind.title().into(), "library".into()];
    header.extend(sizes.iter().map(|&size| Bytes(size as u64).to_string()));
    header.push(format!("quartiles at {shown}"));
    header.push(format!("GB/s at {shown}"));
    header.push(format!("ns at {shown}"));
    header.push("quiet samples".into());
    header.extend(["Xeon v4".into(), "Xeon Scalable".into()]);
    let mut table = Table::new(header);
    for (algorithm, library) in groups(&rows) {
        let of_group = |size| {
            rows.iter().find(|row| {
                let place = row.place;
                (place.algorithm, place.library, place.size) == (algorithm, library, Some(size))
            })
        };
        let mut line = vec![algorithm.to_string(), context.libraries[library].title().to_owned()];
        line.extend(
            sizes.iter().map(|&size| of_group(size).map_or(String::new(), |row| median(row))),
        );
        let last = of_group(largest).and_then(|row| row.outcome.as_ref().ok());
        line.extend(last.map_or([const { String::new() }; 3], |measured| {
            let bytes = measured.message_bytes as f64;
            let cycles = measured.figure.cycles.per(bytes);
            [
                format!("{:.3} to {:.3}", cycles.low, cycles.high),
                format!("{:.2}", measured.runs_per_s * bytes / 1e9),
                match kind {
                    Kind::Primitive => String::new(),
                    Kind::Record => format!("{:.0}", measured.figure.nanos),
                },
            ]
        }));
        let measured: Vec<&Measured> = sizes
            .iter()
            .filter_map(|&size| of_group(size).and_then(|row| row.outcome.as_ref().ok()))
            .collect();
        line.push(quiet(&measured));
        let published = sizes.iter().find_map(|&size| {
            let row = of_group(size)?;
            reference(row, row.outcome.as_ref().ok()?.lanes)
        });
        line.extend(published.map_or([String::new(), String::new()], |published| {
            [format!("{:.2}", published.xeon_v4), format!("{:.2}", published.xeon_scalable)]
        }));
        table.line(line);
    }
    table.text()
}

/// Kilocycles and operations a second.
fn operations_table(outcome: &Outcome, context: &Context<'_>) -> String {
    let rows: Vec<&Row> = outcome.rows.iter().filter(|row| is_of(row, Unit::Operation)).collect();
    if rows.is_empty() {
        return String::new();
    }
    let header =
        ["per operation", "library", "kilocycles", "quartiles", "operations", "quiet samples"];
    let mut table = Table::new(header.map(str::to_owned).to_vec());
    for row in rows {
        let Ok(measured) = &row.outcome else { continue };
        let kilocycles = measured.figure.cycles.per(1e3);
        table.line(vec![
            row.place.algorithm.to_string(),
            context.libraries[row.place.library].title().to_owned(),
            format!("{:.1}{}", kilocycles.median, mark(measured)),
            format!("{:.1} to {:.1}", kilocycles.low, kilocycles.high),
            PerSecond(measured.runs_per_s).to_string(),
            quiet(&[measured]),
        ]);
    }
    table.text()
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

fn median(row: &Row) -> String {
    row.outcome.as_ref().map_or(String::new(), |measured| {
        let cycles = measured.figure.cycles.median / measured.message_bytes as f64;
        format!("{}{}", significant(cycles), mark(measured))
    })
}

/// Three decimals below ten, fewer above.
pub(crate) fn significant(cycles: f64) -> String {
    match cycles {
        below if below < 10.0 => format!("{below:.3}"),
        below if below < 100.0 => format!("{below:.2}"),
        above => format!("{above:.1}"),
    }
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

/// Columns as wide as their widest entry; names to the left, figures to the right.
pub(crate) struct Table {
    lines: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(header: Vec<String>) -> Self {
        Self { lines: vec![header] }
    }

    pub(crate) fn line(&mut self, line: Vec<String>) {
        self.lines.push(line);
    }

    /// Without the columns in which nothing stands below the header, and with a blank line behind.
    pub(crate) fn text(&self) -> String {
        let columns = 0..self.lines[0].len();
        let width = |column: usize| {
            let entries = || self.lines.iter().map(|line| line[column].as_str());
            let has_any = entries().skip(1).any(|entry| !entry.is_empty());
            if has_any { entries().map(|entry| entry.chars().count()).max() } else { None }
        };
        let widths: Vec<Option<usize>> = columns.map(width).collect();
        let mut text = String::new();
        let mut above = "";
        for line in &self.lines {
            let mut printed = String::new();
            for (column, (entry, width)) in line.iter().zip(&widths).enumerate() {
                let Some(width) = *width else { continue };
                let repeats = column == 0 && entry == above;
                let entry = if repeats { "" } else { entry.as_str() };
                let _ = match column {
                    0 | 1 => write!(printed, "{entry:<width$}  "),
                    _ => write!(printed, "{entry:>width$}  "),
                };
            }
            above = line[0].as_str();
            text += printed.trim_end();
            text.push('\n');
        }
        text.push('\n');
        text
    }
}

/// Whether a row says that a library does not do something.
pub(crate) fn is_unavailable(why: &str) -> bool {
    why.starts_with(UNAVAILABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_empty_ones_left_out() {
        let line = |entries: [&str; 4]| entries.map(str::to_owned).to_vec();
        let mut table = Table::new(line(["what", "library", "8KiB", "Xeon v4"]));
        table.line(line(["SHA-1", "ring", "1.5", ""]));
        table.line(line(["SHA-1", "openssl", "11.25", ""]));
        assert_eq!(
            table.text(),
            "what   library   8KiB\nSHA-1  ring       1.5\n       openssl  11.25\n\n"
        );
    }

    #[test]
    fn figures_keep_their_digits() {
        assert_eq!(significant(0.19712), "0.197");
        assert_eq!(significant(12.3456), "12.35");
        assert_eq!(significant(123.456), "123.5");
    }

    #[test]
    fn every_name_is_listed() {
        let names = names();
        assert!(names.contains("  AES-128-GCM\n") && names.contains("  rustcrypto "), "{names}");
    }
}
