//! The path of each search: which loads were tried, and what they showed.

use super::cell_labels::{found, is_searched, logarithmic, title};
use crate::analysis::{Row, SearchPath, SearchStep};
use crate::findings::{Axis, ChartLine, Column, Curve, Dot, Table, TableCell};
use units::Unit;

/// A table for each cell whose load was searched for.
pub(super) fn tables(cells: &[&Row]) -> Vec<Table> {
    let table = |cell: &&Row| Some(table(cell, cell.search.as_ref()?));
    cells.iter().filter(|cell| is_searched(cell)).filter_map(table).collect()
}

fn table(cell: &Row, search: &SearchPath) -> Table {
    let SearchPath { maximize, over, limit, path, impossible, .. } = search;
    let unit = maximize.row().quantity.unit_for(path.iter().map(|step| step.figure));
    let holds = |step: &SearchStep| {
        let words = match (&step.invalid, step.holds) {
            (Some(_), _) => "not valid",
            (None, true) => "holds",
            (None, false) => "breaks",
        };
        TableCell { is_bad: !step.holds, ..words.to_owned().into() }
    };
    let lacking: Vec<String> = impossible
        .iter()
        .map(|of| format!(" {} cannot be made here: {}.", of.load, of.why))
        .collect();
    let is = |step: &SearchStep| if step.is_held { "held" } else { "a step" }.to_owned();
    let seen = |step: &SearchStep| step.seen.clone().unwrap_or_default();
    let figure = |step: &SearchStep| (unit.number(step.figure), step.figure);
    Table {
        title: title(cell),
        count: found(cell),
        about: format!("The most {maximize} over {over}, while {limit}.{}", lacking.concat()),
        chart: Some(Curve {
            title: format!("{maximize} by load: {}", found(cell)),
            subtitle: "filled: the limit held; hollow: it broke; large: measured for longer"
                .to_owned(),
            x_axis: logarithmic(over),
            y_axis: format!("{maximize}, {}; higher is better", unit.name),
            axis: Axis::FromZero(unit),
            lines: vec![ChartLine {
                label: maximize.to_string(),
                is_baseline: false,
                is_joined: false,
                dots: path
                    .iter()
                    .filter(|step| step.invalid.is_none())
                    .map(|step| dot(step, &unit))
                    .collect(),
            }],
            ..Curve::default()
        }),
        columns: vec![
            Column::numbers(
                "trial",
                "",
                path.iter().map(|step| (step.order.to_string(), step.order.into())),
            ),
            Column::words("load", path.iter().map(|step| step.load.clone())),
            Column::numbers(maximize.name(), unit.name, path.iter().map(figure)),
            Column::numbers("limit is on", "", path.iter().map(seen)),
            Column::words("limit", path.iter().map(holds)),
            Column::words("trial is", path.iter().map(is)),
        ],
        ..Table::default()
    }
}

fn dot(step: &SearchStep, unit: &Unit) -> Dot {
    let end = if step.holds { "the limit held" } else { "the limit broke" };
    Dot {
        x: step.at,
        x_label: step.load.clone(),
        y: step.figure,
        y_label: unit.text(step.figure),
        title: format!("{}: {}, {end}", step.load, unit.text(step.figure)),
        is_doubtful: !step.holds,
        is_large: step.is_held,
        ..Dot::default()
    }
}
