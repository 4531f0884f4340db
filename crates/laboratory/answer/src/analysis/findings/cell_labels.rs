//! Words and units of cells, which their tables and charts share.

use keys::full;
use study::Metric;
use units::{Quantity, Unit};

use crate::analysis::row::Row;
use crate::analysis::search::SearchEnd;
use crate::label::without_what_is_common;
use crate::wording::{brief, brief_beside};

/// The load that was found, or why there is none: `64`, `infeasible (best 3.2s)`, `not valid`.
pub(super) fn found(cell: &Row) -> String {
    match cell.search.as_ref().map(|search| &search.end) {
        Some(SearchEnd::Found { load }) => load.clone(),
        Some(SearchEnd::Invalid { .. }) => "not valid".to_owned(),
        Some(SearchEnd::Unfinished) => "not found yet".to_owned(),
        Some(end @ SearchEnd::Infeasible { .. }) => end.infeasible().unwrap_or_default(),
        None => String::new(),
    }
}

/// How long the valid trials were: `in windows of 320 ms`; empty where their time is no figure.
pub(super) fn windows<'a>(cells: impl IntoIterator<Item = &'a Row>) -> String {
    let valid = cells.into_iter().flat_map(Row::valid);
    let timed = valid.filter(|line| line.counted.is_none());
    let mut windows: Vec<f64> = timed.map(|line| line.window_ns as f64).collect();
    windows.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (windows.first(), windows.last()) else { return String::new() };
    let (least, most) =
        (brief(Quantity::Nanos, *least), brief_beside(Quantity::Nanos, *most, *least));
    match least == most {
        true => format!("in windows of {least}"),
        false => format!("in windows of {least} to {most}"),
    }
}

/// What tells these cells from each other: where they are of several cases, with those.
pub(super) fn labels(cells: &[&Row]) -> Vec<String> {
    match cells.iter().all(|cell| cell.case == cells[0].case) {
        true => {
            let whole: Vec<_> = cells.iter().map(|cell| cell.label_parts()).collect();
            without_what_is_common(&whole)
        }
        false => cells.iter().map(|cell| title(cell)).collect(),
    }
}

pub(in crate::analysis) fn title(cell: &Row) -> String {
    format!("{}: {}", cell.case, cell.label)
}

pub(super) fn is_searched(cell: &Row) -> bool {
    cell.search.as_ref().is_some_and(|search| !search.path.is_empty())
}

/// The unit that these cells show a metric in: the same as that of the metric it is compared with.
pub(super) fn unit<'a>(metric: Metric, cells: impl IntoIterator<Item = &'a Row>) -> Unit {
    let both = [metric, metric.row().beside];
    let figures =
        cells.into_iter().flat_map(|cell| both.into_iter().filter_map(|of| cell.figure(of)));
    metric.row().quantity.unit_for(figures.map(|figure| figure.median()))
}

/// The axis of a key whose values are drawn by their logarithm: `connections (logarithmic)`.
pub(in crate::analysis) fn logarithmic(key: &str) -> String {
    format!("{} (logarithmic)", full::name(key))
}
