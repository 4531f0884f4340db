//! The table of all cells with all their figures.

use super::found;
use crate::analysis::CellSummary;
use crate::findings::{Cell, Column, Table};
use crate::named::{
    FIGURES, GOODPUT, GOODPUT_OF_ONE_CORE, Named, RATE, RATE_OF_ONE_CORE, interval,
};
use crate::quantity::Unit;

pub(super) fn table(cells: &[CellSummary]) -> Table {
    let text =
        |name: &str, of: &dyn Fn(&CellSummary) -> String| Column::words(name, cells.iter().map(of));
    let label = |cell: &CellSummary| Cell {
        evidence: Some(cell.cell.clone()),
        ..Cell::from(cell.label.clone())
    };
    let trials = |cell: &CellSummary| {
        let counts = cell.trials;
        (format!("{}/{}", counts.valid, counts.planned), counts.valid as f64)
    };
    let mut columns = vec![
        text("case", &|cell| cell.case.clone()),
        Column::words("cell", cells.iter().map(label)),
        text("server", &|cell| cell.params.get("target.server").cloned().unwrap_or_default()),
        Column::numbers("trials", "valid/planned", cells.iter().map(trials)),
        text("load", &found),
    ];
    for named in &FIGURES {
        let unit = named.unit(cells);
        let figures = cells.iter().map(|cell| figure(cell, named, &unit));
        columns.push(Column::numbers(named.words, unit.name, figures));
    }
    columns.push(text("limit", &limits));
    columns.push(text("mark", &|cell| cell.mark.map_or("", |mark| mark.name()).to_owned()));
    Table { columns, marks: cells.iter().map(|cell| cell.mark).collect(), ..Table::default() }
}

fn limits(cell: &CellSummary) -> String {
    let limits = cell.limits.iter();
    let limits = limits.map(|(limit, trials)| format!("{limit} {trials}/{}", cell.trials.valid));
    limits.collect::<Vec<_>>().join(", ")
}

fn figure(cell: &CellSummary, named: &Named, unit: &Unit) -> Cell {
    let Some(figure) = (named.of)(cell) else { return Cell::default() };
    let median = figure.estimate.median;
    // With all intervals the table would be too wide; `cells.csv` has the others.
    let with_intervals = [RATE, GOODPUT, RATE_OF_ONE_CORE, GOODPUT_OF_ONE_CORE];
    let shows_interval = with_intervals.iter().any(|with| with.name == named.name);
    let more = if shows_interval { interval(figure, unit) } else { String::new() };
    Cell { more, ..(unit.number(median), median).into() }
}
