//! The table of cells, which can be sorted by each of its columns.

use answer::analysis::CellSummary;
use serde::Serialize;
use study::Metric;
use study::metric::Kind;

use crate::figures::{interval, unit};
use crate::mark;
use crate::search::found;
use units::Unit;

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
    let figures: Vec<(Metric, Unit)> = Metric::of_cells()
        .filter(|metric| cells.iter().any(|cell| cell.figures.get(*metric).is_some()))
        .map(|metric| (metric, unit(metric, cells)))
        .collect();
    let text = |name| Column { name, unit: "", is_number: false };
    let numbers = figures.iter().map(|(metric, unit)| Column {
        name: metric.row().words,
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

fn row(cell: &CellSummary, figures: &[(Metric, Unit)], is_searched: bool) -> Row {
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
    fields.extend(figures.iter().map(|(metric, unit)| Field::figure(cell, *metric, unit)));
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

    fn figure(cell: &CellSummary, metric: Metric, unit: &Unit) -> Self {
        let figure = cell.figures.get(metric);
        Self {
            text: figure.map(|figure| unit.number(figure.estimate.median)).unwrap_or_default(),
            more: figure
                .filter(|_| shows_interval(metric))
                .map(|figure| interval(figure, unit))
                .unwrap_or_default(),
            key: figure.map(|figure| Key::Number(figure.estimate.median)),
        }
    }
}

/// With all of them the table would be too wide; `cells.csv` has the others.
fn shows_interval(metric: Metric) -> bool {
    matches!(metric.row().kind, Kind::Throughput | Kind::PerCpu)
}
