//! The costs by size, for a terminal.

use units::{Bytes, Hertz};

use crate::findings::{Column, Table};
use crate::primitive::{Cost, Row};
use crate::wording::grouped;

pub(super) fn table(name: &str, rows: &[&Row]) -> Table {
    let is_disturbed = rows.iter().filter_map(|row| row.cost.as_ref()).any(Cost::is_disturbed);
    let note = "! too few quiet samples in some round: the figure is too high";
    Table {
        title: format!("{name}: core cycles per byte, or per operation"),
        columns: columns(rows),
        notes: is_disturbed.then(|| note.to_owned()).into_iter().collect(),
        ..Table::default()
    }
}

/// A line for all sizes of an algorithm of a library, and for each operation.
fn columns(rows: &[&Row]) -> Vec<Column> {
    let key = |row: &Row| {
        let key = &row.key;
        (key.algorithm, key.library.clone(), key.hardware, key.cache)
    };
    let groups = grouped(rows.iter().map(|row| (key(row), *row)));
    let groups: Vec<Vec<&Row>> = groups.into_iter().map(|(_, group)| group).collect();
    let mut sizes: Vec<Option<u64>> = rows.iter().map(|row| row.key.size_bytes).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let text = |name: &str, of: &dyn Fn(&Row) -> String| {
        Column::words(name, groups.iter().map(|group| of(group[0])))
    };
    let mut all = vec![
        text("", &|row| row.key.algorithm.to_string()),
        text("library", &|row| row.library_title.clone()),
    ];
    let differ = |of: &dyn Fn(&Row) -> String| rows.iter().any(|row| of(row) != of(rows[0]));
    for (name, of) in [
        ("hardware", (|row: &Row| row.key.hardware.to_string()) as fn(&Row) -> String),
        ("data", |row| row.key.cache.to_string()),
    ] {
        if differ(&of) {
            all.push(text(name, &of));
        }
    }
    for (place, size) in sizes.iter().enumerate() {
        let of = |group: &Vec<&Row>| {
            let row = group.iter().find(|row| row.key.size_bytes == *size);
            row.map(|row| cycles(row)).unwrap_or_default()
        };
        let name = size.map_or_else(|| "operation".to_owned(), |size| Bytes(size).to_string());
        // The smallest sizes give way first.
        let gives_way = if place + 1 == sizes.len() { 0 } else { sizes.len() - place + 2 };
        all.push(number(&name, groups.iter().map(of).collect(), gives_way));
    }
    let last = |of: fn(&Row, &Cost) -> String| {
        let of_group = |group: &Vec<&Row>| {
            let row = group.iter().rfind(|row| row.cost.is_some());
            row.and_then(|row| Some(of(row, row.cost.as_ref()?))).unwrap_or_default()
        };
        groups.iter().map(of_group).collect::<Vec<String>>()
    };
    all.push(number("rate", last(|_, cost| cost.rate().0), 1));
    all.push(number("core", last(|_, cost| Hertz(cost.core_hz).to_string()), 2));
    let bound = last(|row, _| row.times_the_bound.map_or_else(String::new, |t| format!("{t:.2}x")));
    all.push(number("bound", bound, 1));
    let published = groups.iter().map(|group| {
        let of = group.iter().flat_map(|row| &row.published);
        of.map(|of| format!("{} {}", of.label, of.cycles_per_byte)).collect::<Vec<_>>().join(", ")
    });
    all.push(Column::words("published", published).gives_way(1));
    all
}

fn number(name: &str, cells: Vec<String>, gives_way: usize) -> Column {
    Column::numbers(name, "", cells).gives_way(gives_way)
}

fn cycles(row: &Row) -> String {
    let Some(cost) = &row.cost else {
        return if row.is_refused() { "refused" } else { "-" }.to_owned();
    };
    let mark = if cost.is_disturbed() { "!" } else { "" };
    let median = cost.cycles.median();
    match row.key.size_bytes {
        Some(_) => format!("{median:.3}{mark}"),
        None => format!("{median:.0}{mark}"),
    }
}
