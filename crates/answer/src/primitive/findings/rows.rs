//! Every row of a table with all its figures.

use units::{Bytes, Hertz};

use crate::findings::{Cell, Column, Table};
use crate::primitive::{Cost, Row};

/// A column with what each row has there.
type Of = fn(&Row) -> Cell;

const COLUMNS: [(&str, &str, bool, Of); 13] = [
    ("algorithm", "", false, |row| words(row.key.algorithm.name())),
    ("library", "", false, |row| words(&row.library_title)),
    ("hardware", "", false, |row| words(&row.key.hardware.to_string())),
    ("data", "", false, |row| words(&row.key.cache.to_string())),
    ("message", "", true, size),
    ("cost", "cycles/byte; cycles", true, cost),
    ("rate", "", true, |row| of_cost(row, Cost::rate)),
    ("core", "", true, |row| of_cost(row, |c| (Hertz(c.core_hz).to_string(), c.core_hz))),
    ("bound", "times", true, times),
    ("published", "cycles/byte", false, published),
    ("at once", "messages", true, |row| {
        of_cost(row, |c| (c.messages_per_op.to_string(), c.messages_per_op as f64))
    }),
    ("quiet samples", "of all", true, |row| {
        of_cost(row, |c| {
            (format!("{} of {}", c.taken - c.dropped, c.taken), (c.taken - c.dropped) as f64)
        })
    }),
    ("confirmed by", "", false, |row| {
        words(row.cost.as_ref().map_or("", |cost| &cost.confirmed_by))
    }),
];

pub(super) fn table(name: &str, rows: &[&Row]) -> Table {
    let column = |(name, unit, is_number, of): &(&str, &str, bool, Of)| Column {
        is_number: *is_number,
        ..Column::numbers(name, unit, rows.iter().map(|row| of(row)))
    };
    let is_disturbed = rows.iter().filter_map(|row| row.cost.as_ref()).any(Cost::is_disturbed);
    let note = "!: in some round too few samples were quiet because other work used the core. The \
                figure is too high.";
    Table {
        title: format!("All figures of {name}"),
        count: format!("{} rows", rows.len()),
        columns: COLUMNS.iter().map(column).collect(),
        notes: is_disturbed.then(|| note.to_owned()).into_iter().collect(),
        ..Table::default()
    }
}

fn words(text: &str) -> Cell {
    text.to_owned().into()
}

fn of_cost(row: &Row, of: fn(&Cost) -> (String, f64)) -> Cell {
    row.cost.as_ref().map_or_else(|| words(""), |cost| of(cost).into())
}

fn size(row: &Row) -> Cell {
    let size = row.key.size_bytes;
    size.map_or_else(|| words(""), |size| (Bytes(size).to_string(), size as f64).into())
}

fn cost(row: &Row) -> Cell {
    let Some(cost) = &row.cost else {
        let why = row.no_figure.as_ref().map_or("not measured", |none| &none.why);
        return Cell { is_bad: row.is_refused(), key: None, ..words(why) };
    };
    let median = cost.cycles.median();
    let mark = if cost.is_disturbed() { " !" } else { "" };
    let (text, more) = match row.key.size_bytes {
        Some(_) => (format!("{median:.3}{mark}"), format!("{:.3} to {:.3}", cost.low, cost.high)),
        None => (format!("{median:.0}{mark}"), format!("{:.0} to {:.0}", cost.low, cost.high)),
    };
    Cell { more, ..(text, median).into() }
}

fn times(row: &Row) -> Cell {
    let times = row.times_the_bound;
    times.map_or_else(|| words(""), |times| (format!("{times:.2}"), times).into())
}

fn published(row: &Row) -> Cell {
    let of = row.published.iter().map(|of| format!("{} ({})", of.cycles_per_byte, of.label));
    words(&of.collect::<Vec<_>>().join(", "))
}
