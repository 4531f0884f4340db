//! The cells of each case with the figures that matter most, for a terminal.

use super::words::{found, unit};
use crate::analysis::{CellSummary, Figure};
use crate::findings::{Column, Table};
use crate::label::without_what_is_common;
use crate::wording::interval;
use load::Operation;
use study::Metric;

/// A table for each case.
pub(super) fn tables(cells: &[CellSummary]) -> Vec<Table> {
    let mut cases: Vec<&str> = Vec::new();
    for cell in cells {
        if !cases.contains(&cell.case.as_str()) {
            cases.push(&cell.case);
        }
    }
    let table = |case: &str| {
        let cells: Vec<&CellSummary> = cells.iter().filter(|cell| cell.case == case).collect();
        Table {
            title: case.to_owned(),
            columns: columns(&cells),
            marks: cells.iter().map(|cell| cell.mark).collect(),
            ..Table::default()
        }
    };
    cases.into_iter().map(table).collect()
}

/// The figures of one column.
struct Figures {
    name: &'static str,
    metric: Metric,
    gives_way: usize,
    /// The same of the column of intervals, where there is to be one.
    intervals_give_way: Option<usize>,
}

/// A row for each cell. Pages have bodies, but it is the pages that are counted.
fn columns(cells: &[&CellSummary]) -> Vec<Column> {
    let has_bodies = cells.iter().any(|cell| {
        cell.operation != Operation::Session && cell.figures.get(Metric::Goodput).is_some()
    });
    let labels: Vec<String> = cells.iter().map(|cell| cell.label.clone()).collect();
    let symbol = |cell: &&CellSummary| cell.mark.map_or("", |mark| mark.symbol()).to_owned();
    let trials = |cell: &&CellSummary| format!("{}/{}", cell.trials.valid, cell.trials.planned);
    let mut all = vec![
        Column::words("", without_what_is_common(&labels)),
        Column::words("", cells.iter().map(symbol)),
        Column::words("load", cells.iter().map(|cell| found(cell))),
        Column::numbers("trials", "", cells.iter().map(trials)).gives_way(6),
    ];
    for figures in if has_bodies { &WITH_BODIES[..] } else { &WITHOUT[..] } {
        all.extend(figures.columns(cells));
    }
    all.push(Column::words("limit", cells.iter().map(limits)).gives_way(3));
    all
}

const WITHOUT: [Figures; 6] = [
    Figures::of("rate", Metric::Rate, 0, Some(9)),
    Figures::of("one core", Metric::RatePerServerCpu, 0, Some(1)),
    Figures::of("server CPU", Metric::ServerCpuPerOperation, 2, None),
    Figures::of("client CPU", Metric::ClientCpuPerOperation, 4, None),
    Figures::of("p50", Metric::P50, 8, None),
    Figures::of("p99", Metric::P99, 7, None),
];

const WITH_BODIES: [Figures; 6] = [
    Figures::of("goodput", Metric::Goodput, 0, Some(9)),
    Figures::of("one core", Metric::GoodputPerServerCpu, 0, Some(1)),
    Figures::of("server CPU", Metric::ServerCpuPerGigabyte, 2, None),
    Figures::of("client CPU", Metric::ClientCpuPerGigabyte, 4, None),
    Figures::of("p50", Metric::P50, 8, None),
    Figures::of("p99", Metric::P99, 7, None),
];

impl Figures {
    const fn of(
        name: &'static str,
        metric: Metric,
        gives_way: usize,
        intervals_give_way: Option<usize>,
    ) -> Self {
        Self { name, metric, gives_way, intervals_give_way }
    }

    fn columns(&self, cells: &[&CellSummary]) -> Vec<Column> {
        let unit = unit(self.metric, cells.iter().copied());
        let column = |name: &str, gives_way, words: &dyn Fn(&Figure) -> String| {
            let word =
                |cell: &&CellSummary| cell.figures.get(self.metric).map(words).unwrap_or_default();
            Column::numbers(name, unit.name, cells.iter().map(word)).gives_way(gives_way)
        };
        let numbers =
            column(self.name, self.gives_way, &|figure| unit.number(figure.estimate.median));
        let intervals = self
            .intervals_give_way
            .map(|gives_way| column("interval", gives_way, &|figure| interval(figure, &unit)));
        [Some(numbers), intervals].into_iter().flatten().collect()
    }
}

/// The limits, that of most trials first; numbers only where there are several.
fn limits(cell: &&CellSummary) -> String {
    let mut limits: Vec<_> = cell.limits.iter().collect();
    limits.sort_by_key(|(_, trials)| std::cmp::Reverse(**trials));
    match limits[..] {
        [(limit, _)] => limit.to_string(),
        _ => limits
            .iter()
            .map(|(limit, n)| format!("{limit} {n}/{}", cell.trials.valid))
            .collect::<Vec<_>>()
            .join(", "),
    }
}
