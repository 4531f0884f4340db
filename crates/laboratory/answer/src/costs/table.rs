//! The costs by size: a line for each algorithm of a library, with what compares it.

use std::collections::BTreeSet;

use units::{Bytes, Hertz, Quantity, decimal};

use super::{AlgorithmRow, Cost, Costs};
use crate::findings::{Column, SmallPrint, Table, TableCell};
use crate::wording::{self, factor, grouped};

/// The rows of one algorithm of a library, by size.
struct LibraryRow<'a>(Vec<&'a AlgorithmRow>);

/// Columns that give way before the sizes do.
const MOST: usize = 100;

pub(super) fn table(name: &str, rows: &[&AlgorithmRow], costs: &Costs) -> Table {
    let is_disturbed = rows.iter().filter_map(|row| row.cost.as_ref()).any(Cost::is_disturbed);
    let note = "! too few quiet samples in some round: the figure is too high";
    let unit = match rows.iter().any(|row| row.key.size_bytes.is_some()) {
        true => "core cycles per byte",
        false => "kilocycles per operation",
    };
    Table {
        title: format!("{name}: {unit}"),
        columns: columns(rows, costs),
        notes: is_disturbed.then(|| note.to_owned()).into_iter().collect(),
        ..Table::default()
    }
}

/// Without quartiles beside each figure.
pub(super) fn brief(table: &Table) -> Table {
    let mut table = table.clone();
    let cells = table.columns.iter_mut().flat_map(|column| &mut column.cells);
    cells.for_each(|cell| cell.small_print = None);
    table
}

fn columns(rows: &[&AlgorithmRow], costs: &Costs) -> Vec<Column> {
    let key = |row: &AlgorithmRow| {
        let key = &row.key;
        (key.algorithm, key.library.clone(), key.hardware, key.cache)
    };
    let lines = grouped(rows.iter().map(|row| (key(row), *row))).into_iter();
    // What a library does not do is in the notes.
    let has_figure =
        |line: &LibraryRow<'_>| line.0.iter().any(|row| row.cost.is_some() || row.is_refused());
    let lines: Vec<LibraryRow<'_>> =
        lines.map(|(_, rows)| LibraryRow(rows)).filter(has_figure).collect();
    let sizes: BTreeSet<u64> = lines.iter().flat_map(LibraryRow::sizes).collect();
    let text = |name: &str, of: &dyn Fn(&AlgorithmRow) -> String| {
        Column::words(name, lines.iter().map(|line| of(line.0[0])))
    };
    let number = |name: &str, unit: &str, of: &dyn Fn(&LibraryRow<'_>) -> Option<String>| {
        Column::numbers(name, unit, lines.iter().map(|line| of(line).unwrap_or_default()))
    };
    let mut all = vec![
        text("", &|row| row.key.algorithm.to_string()),
        text("library", &|row| row.library_title.clone()),
    ];
    for (name, of) in [
        (
            "hardware",
            (|row: &AlgorithmRow| row.key.hardware.to_string()) as fn(&AlgorithmRow) -> String,
        ),
        ("data", |row| row.key.cache.to_string()),
    ] {
        if rows.iter().any(|row| of(row) != of(rows[0])) {
            all.push(text(name, &of));
        }
    }
    for (place, size) in sizes.iter().enumerate() {
        // The smallest sizes give way first.
        let yields_to = if place + 1 == sizes.len() { 0 } else { sizes.len() - place + 2 };
        all.push(cycles(&Bytes(*size).to_string(), Some(*size), &lines).yields_to(yields_to));
    }
    all.push(cycles("operation", None, &lines));
    let at = match sizes.last() {
        Some(size) if sizes.len() > 1 => format!("at {}", Bytes(*size)),
        _ => String::new(),
    };
    let last = |name: &str, of: &dyn Fn(&AlgorithmRow, &Cost) -> Option<String>| {
        number(name, &at, &|line| line.last().and_then(|(row, cost)| of(row, cost)))
    };
    let published = lines.iter().map(|line| {
        let of = line.0.iter().flat_map(|row| &row.published);
        of.map(|of| format!("{} {}", of.label, of.cycles_per_byte)).collect::<Vec<_>>().join(", ")
    });
    all.extend([
        last("rate", &|_, cost| Some(cost.rate().0)).yields_to(1),
        last("time", &time).yields_to(2),
        last("bound", &|row, _| Some(costs.bound(row)?.in_short())).yields_to(1),
        last("times", &|row, _| row.times_the_bound.map(factor)).yields_to(1),
        Column::words("published", published).yields_to(1),
        last("quartiles", &|row, cost| Some(quartiles(row, cost))).yields_to(MOST + 1),
        last("core", &|_, cost| Some(Hertz(cost.core_hz).to_string())).yields_to(MOST),
        number("quiet samples", "", &|line| line.quiet()).yields_to(MOST + 2),
        last("at once", &|_, cost| {
            (cost.messages_per_op > 1).then(|| format!("{} messages", cost.messages_per_op))
        })
        .yields_to(MOST + 1),
        last("confirmed by", &|_, cost| Some(cost.confirmed_by.clone())).yields_to(MOST + 3),
    ]);
    all
}

impl<'a> LibraryRow<'a> {
    fn sizes(&self) -> impl Iterator<Item = u64> {
        self.0.iter().filter_map(|row| row.key.size_bytes)
    }

    fn at(&self, size: Option<u64>) -> Option<&'a AlgorithmRow> {
        self.0.iter().find(|row| row.key.size_bytes == size).copied()
    }

    /// The row of the largest size that has a cost.
    fn last(&self) -> Option<(&'a AlgorithmRow, &'a Cost)> {
        self.0.iter().rev().find_map(|row| Some((*row, row.cost.as_ref()?)))
    }

    /// `60 of 72`: those that count, of all that were taken.
    fn quiet(&self) -> Option<String> {
        let costs = || self.0.iter().filter_map(|row| row.cost.as_ref());
        let taken: u64 = costs().map(|cost| cost.taken).sum();
        let quiet = taken - costs().map(|cost| cost.dropped).sum::<u64>();
        (taken > 0).then(|| format!("{quiet} of {taken}"))
    }
}

/// Of a record or another call that has a size: how long it takes.
fn time(row: &AlgorithmRow, cost: &Cost) -> Option<String> {
    let is_record = row.key.algorithm.takes_a_connection() && row.key.size_bytes.is_some();
    is_record.then(|| wording::brief(Quantity::Nanos, cost.ns_per_op.median()))
}

/// The costs at a size.
fn cycles(name: &str, size: Option<u64>, lines: &[LibraryRow<'_>]) -> Column {
    let cell = |row: &AlgorithmRow| {
        let Some(cost) = &row.cost else {
            let text = if row.is_refused() { "refused" } else { "-" }.to_owned();
            return TableCell { is_bad: row.is_refused(), key: None, ..text.into() };
        };
        let mark = if cost.is_disturbed() { "!" } else { "" };
        let median = cost.cycles.median();
        let cell = TableCell::from((format!("{}{mark}", short(row, median)), median));
        TableCell { small_print: Some(SmallPrint::Remark(quartiles(row, cost))), ..cell }
    };
    let cells = lines.iter().map(|line| line.at(size).map(cell).unwrap_or_default());
    Column::numbers(name, "", cells)
}

fn quartiles(row: &AlgorithmRow, cost: &Cost) -> String {
    format!("{} to {}", short(row, cost.low), short(row, cost.high))
}

/// Cycles per byte, or kilocycles.
fn short(row: &AlgorithmRow, cycles: f64) -> String {
    match row.key.size_bytes {
        Some(_) => decimal(cycles, 3),
        None => decimal(cycles / 1e3, 1),
    }
}
