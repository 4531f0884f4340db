//! The path of each search: which loads were tried, and what they showed.

use answer::analysis::{CellSummary, Search, SearchStep};
use serde::Serialize;

use crate::search::found;
use units::Unit;

/// The search of one cell.
#[derive(Serialize)]
pub(super) struct View {
    title: String,
    /// What came of it.
    found: String,
    /// What was to hold.
    limit: String,
    over: &'static str,
    maximize: &'static str,
    unit: &'static str,
    steps: Vec<Step>,
    /// The drawing, 0 to 100 both ways.
    points: Vec<Point>,
}

#[derive(Serialize)]
struct Step {
    order: u32,
    load: String,
    figure: String,
    seen: String,
    holds: bool,
    is_held: bool,
}

/// A trial in the drawing: loads from left to right by their logarithm, figures upwards.
#[derive(Serialize)]
struct Point {
    x: f64,
    y: f64,
    holds: bool,
    is_held: bool,
    title: String,
}

/// The searches of all cells that have one.
pub(super) fn all(cells: &[CellSummary]) -> Vec<View> {
    let view = |cell: &CellSummary| {
        let search = cell.search.as_ref().filter(|search| !search.path.is_empty())?;
        Some(of(format!("{}: {}", cell.case, cell.label), search))
    };
    cells.iter().filter_map(view).collect()
}

fn of(title: String, search: &Search) -> View {
    let unit = search.maximize.row().quantity.unit_for(search.path.iter().map(|step| step.figure));
    let step = |step: &SearchStep| Step {
        order: step.order,
        load: step.load.clone(),
        figure: unit.number(step.figure),
        seen: step.seen.clone().unwrap_or_default(),
        holds: step.holds,
        is_held: step.is_held,
    };
    View {
        title,
        found: found(&search.end),
        limit: search.limit.clone(),
        over: search.over,
        maximize: search.maximize.name(),
        unit: unit.name,
        steps: search.path.iter().map(step).collect(),
        points: points(&search.path, &unit),
    }
}

fn points(path: &[SearchStep], unit: &Unit) -> Vec<Point> {
    let logs = || path.iter().map(|step| step.at.max(f64::MIN_POSITIVE).ln());
    let (low, high) = logs()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), log| (low.min(log), high.max(log)));
    let most = path.iter().map(|step| step.figure).fold(0.0, f64::max);
    let share = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.5 };
    // Away from the edges, where a point would be cut.
    let rounded = |share: f64| ((4.0 + 92.0 * share) * 100.0).round() / 100.0;
    path.iter()
        .zip(logs())
        .map(|(step, log)| Point {
            x: rounded(share(log - low, high - low)),
            y: rounded(1.0 - share(step.figure, most)),
            holds: step.holds,
            is_held: step.is_held,
            title: format!(
                "{}: {}, {}",
                step.load,
                unit.text(step.figure),
                if step.holds { "the limit held" } else { "the limit broke" }
            ),
        })
        .collect()
}
