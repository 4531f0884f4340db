//! The table of cells, which can be sorted by each of its columns.

use answer::analysis::CellSummary;
use serde::Serialize;

use crate::figures::{
    FIGURES, GOODPUT, GOODPUT_OF_ONE_CORE, Named, RATE, RATE_OF_ONE_CORE, interval,
};
use crate::mark;
use crate::quantity::Unit;
use crate::search::found;

#[derive(Serialize)]
pub(super) struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

#[derive(Serialize)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) unit: &'static str,
    pub(super) is_number: bool,
}

#[derive(Serialize)]
struct Row {
    fields: Vec<Field>,
}

/// What one field shows and is sorted by.
#[derive(Serialize)]
struct Field {
    text: String,
    /// The interval, where there is one.
    more: String,
    /// What it is sorted by; `None` comes last.
    key: Option<Key>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Key {
    Number(f64),
    Text(String),
}

/// The table of all cells. A figure that no cell has gets no column.
pub(super) fn table(cells: &[CellSummary]) -> Table {
    let figures: Vec<(&Named, Unit)> = FIGURES
        .iter()
        .filter(|named| cells.iter().any(|cell| (named.of)(cell).is_some()))
        .map(|named| (named, named.unit(cells)))
        .collect();
    let text = |name| Column { name, unit: "", is_number: false };
    let numbers = figures.iter().map(|(figures, unit)| Column {
        name: figures.words,
        unit: unit.name,
        is_number: true,
    });
    let trials = Column { name: "trials", unit: "valid/planned", is_number: true };
    let mut columns = vec![text("case"), text("cell"), text("server"), trials];
    let is_searched = cells.iter().any(|cell| cell.search.is_some());
    columns.extend(is_searched.then(|| text("load")));
    columns.extend(numbers);
    columns.extend([text("limit"), text("mark")]);
    Table { columns, rows: cells.iter().map(|cell| row(cell, &figures, is_searched)).collect() }
}

fn row(cell: &CellSummary, figures: &[(&Named, Unit)], is_searched: bool) -> Row {
    let limits: Vec<String> = cell
        .limits
        .iter()
        .map(|(limit, trials)| format!("{limit} {trials}/{}", cell.trials.valid))
        .collect();
    let server = cell.params.get("target.server").map(String::as_str).unwrap_or_default();
    let mut fields =
        vec![Field::text(&cell.case), Field::text(&cell.label), Field::text(server), trials(cell)];
    let load = || cell.search.as_ref().map(|search| found(&search.end)).unwrap_or_default();
    fields.extend(is_searched.then(|| Field::text(&load())));
    fields.extend(figures.iter().map(|(figures, unit)| Field::figure(cell, figures, unit)));
    fields.push(Field::text(&limits.join(", ")));
    fields.push(Field::text(cell.mark.map(mark::name).unwrap_or_default()));
    Row { fields }
}

fn trials(cell: &CellSummary) -> Field {
    Field {
        text: format!("{}/{}", cell.trials.valid, cell.trials.planned),
        more: String::new(),
        key: Some(Key::Number(cell.trials.valid as f64)),
    }
}

impl Field {
    fn text(text: &str) -> Self {
        let key = (!text.is_empty()).then(|| Key::Text(text.to_owned()));
        Self { text: text.to_owned(), more: String::new(), key }
    }

    fn figure(cell: &CellSummary, named: &Named, unit: &Unit) -> Self {
        let figure = (named.of)(cell);
        Self {
            text: figure.map(|figure| unit.number(figure.estimate.median)).unwrap_or_default(),
            more: figure
                .filter(|_| shows_interval(named))
                .map(|figure| interval(figure, unit))
                .unwrap_or_default(),
            key: figure.map(|figure| Key::Number(figure.estimate.median)),
        }
    }
}

/// With all of them the table would be too wide; `cells.csv` has the others.
fn shows_interval(named: &Named) -> bool {
    [RATE, GOODPUT, RATE_OF_ONE_CORE, GOODPUT_OF_ONE_CORE]
        .iter()
        .any(|with| with.name == named.name)
}
