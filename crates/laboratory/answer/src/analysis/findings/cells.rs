//! The table of all cells with all their figures.

use super::cell_labels::{found, unit};
use crate::analysis::row::operation;
use crate::analysis::{Answer, Row};
use crate::findings::{Column, Table, TableCell};
use keys::full;
use study::metric::{Kind, words_of};
use study::{Metric, Param};
use units::Unit;

/// The metrics of the answers come first.
pub(super) fn table(cells: &[&Row], answers: &[Answer]) -> Table {
    let operation = operation(cells.iter().copied());
    let text = |name: &str, of: &dyn Fn(&Row) -> String| {
        Column::words(name, cells.iter().copied().map(of))
    };
    let label = |cell: &Row| TableCell::about(&cell.name, cell.label.clone());
    let trials = |cell: &Row| {
        let counts = cell.trials;
        (format!("{}/{}", counts.valid, counts.planned), counts.valid as f64)
    };
    let mut columns = vec![
        text("case", &|cell| cell.case.clone()),
        Column::words("cell", cells.iter().copied().map(label)),
        text("server", &|cell| {
            cell.params.get(full::SERVER).map(Param::to_string).unwrap_or_default()
        }),
        Column::numbers("trials", "valid/planned", cells.iter().copied().map(trials)),
        text("load", &found),
    ];
    let is_asked = |metric: &Metric| answers.iter().any(|answer| answer.rule().metric == *metric);
    let (asked, others): (Vec<Metric>, Vec<Metric>) = Metric::of_cells().partition(is_asked);
    for metric in asked.into_iter().chain(others) {
        let unit = unit(metric, cells.iter().copied());
        let figures = cells.iter().map(|cell| figure(cell, metric, &unit));
        let name = words_of(operation, metric.row().words);
        columns.push(Column::numbers(&name, unit.name, figures));
    }
    columns.push(text("limit", &limits));
    columns.push(text("mark", &|cell| cell.mark.map_or("", |mark| mark.name()).to_owned()));
    Table { columns, marks: cells.iter().map(|cell| cell.mark).collect(), ..Table::default() }
}

fn limits(cell: &Row) -> String {
    let limits = cell.limits.iter();
    let limits = limits.map(|(limit, trials)| format!("{limit} {trials}/{}", cell.trials.valid));
    limits.collect::<Vec<_>>().join(", ")
}

fn figure(cell: &Row, metric: Metric, unit: &Unit) -> TableCell {
    let Some(figure) = cell.figure(metric) else { return TableCell::default() };
    // With all intervals the table would be too wide; `cells.csv` has the others.
    let shows_interval = matches!(metric.row().kind, Kind::Throughput | Kind::PerCpu);
    match shows_interval {
        true => TableCell::figure(&figure, unit),
        false => (unit.number(figure.median()), figure.median()).into(),
    }
}
