//! Servers beside each other, as tables.

use crate::analysis::{ServerFigure, Servers};
use crate::findings::{Cell, Column, Table};
use crate::wording::factor;
use stats::Decision;
use units::{Unit, decimal, places};

/// A row for each server, a column for each value that is compared.
pub(super) fn tables(all: &[Servers]) -> Vec<Table> {
    all.iter().map(table).collect()
}

fn table(of: &Servers) -> Table {
    let figures = of.rows.iter().flat_map(|row| &row.figures).flatten();
    let medians = figures.map(|figure| figure.figure.median());
    let unit = of.metric.row().quantity.unit_for(medians);
    let mut columns = vec![Column::words("server", of.rows.iter().map(|row| row.server.clone()))];
    for (place, value) in of.values.iter().enumerate() {
        let cells = of.rows.iter().map(|row| cell(row.figures[place].as_ref(), &unit));
        columns.push(Column::numbers(value, unit.name, cells));
    }
    Table {
        title: format!("Servers compared: {}", of.metric.row().words),
        count: std::iter::once(&of.case).chain(&of.common).cloned().collect::<Vec<_>>().join(", "),
        about: "In small print or brackets is the ratio to the best server of the column; ≈ is no significant \
                difference from it, ? too few trials to compare."
            .to_owned(),
        columns,
        ..Table::default()
    }
}

fn cell(of: Option<&ServerFigure>, unit: &Unit) -> Cell {
    let Some(ServerFigure { figure, ratio }) = of else { return Cell::default() };
    let more = ratio.as_ref().map(|ratio| {
        let about = match ratio.decision {
            Decision::Sure(_) => "",
            Decision::NoDifference => "≈ ",
            Decision::TooFew => "? ",
        };
        format!("{about}{}", factor(ratio.median()))
    });
    let median = figure.median();
    let scaled = unit.scaled(median);
    let number = decimal(scaled, places(scaled, 3).max(0));
    Cell { more: more.unwrap_or_default(), ..(number, median).into() }
}
