//! The cells of each case with the figures that matter most, for a terminal.

use super::cell_labels::{found, unit, windows};
use crate::analysis::{Answer, Figure, Row};
use crate::findings::{Column, Table};
use crate::label::without_what_is_common;
use crate::wording::{grouped, interval};
use load::Operation;
use study::Metric;

/// A table for each case; its columns follow the metrics of the answers about it.
pub(super) fn tables(cells: &[&Row], answers: &[Answer]) -> Vec<Table> {
    let table = |(case, cells): (&str, Vec<&Row>)| Table {
        title: case.to_owned(),
        count: windows(cells.iter().copied()),
        columns: columns(&cells, &figures(&cells, case, answers)),
        marks: cells.iter().map(|cell| cell.mark).collect(),
        ..Table::default()
    };
    let by_case = cells.iter().map(|cell| (cell.case.as_str(), *cell));
    grouped(by_case).into_iter().map(table).collect()
}

/// The columns of figures: of bytes, of operations or of both, as the answers are, and first what
/// else they are of. Without answers, what the cells have: pages have bodies, but it is the pages that
/// are counted.
fn figures(cells: &[&Row], case: &str, answers: &[Answer]) -> Vec<Figures> {
    let metrics: Vec<Metric> =
        answers.iter().filter(|of| of.rule().case == case).map(|of| of.rule().metric).collect();
    let is_of = |columns: &[Figures]| {
        metrics.iter().any(|metric| {
            let metric =
                if *metric == Metric::TlsTax { Metric::GoodputPerServerCpu } else { *metric };
            columns.iter().any(|column| column.metric == metric)
        })
    };
    let has_bodies =
        cells.iter().any(|cell| cell.operation() != Operation::Session && cell.is_of_bytes());
    let is_counted =
        cells.iter().any(|cell| cell.figure(Metric::InstructionsPerOperation).is_some());
    let mut columns = match (is_of(&OF_BODIES), is_of(&OF_OPERATIONS)) {
        _ if is_counted => OF_INSTRUCTIONS.to_vec(),
        (true, true) => [&OF_BODIES[..], &OF_OPERATIONS[..]].concat(),
        (true, false) => OF_BODIES.to_vec(),
        (false, true) => OF_OPERATIONS.to_vec(),
        (false, false) if has_bodies => OF_BODIES.to_vec(),
        (false, false) => OF_OPERATIONS.to_vec(),
    };
    columns.extend(LATENCIES);
    let mut others = Vec::new();
    for metric in metrics.into_iter().filter(|metric| *metric != Metric::TlsTax) {
        match columns.iter_mut().find(|column| column.metric == metric) {
            Some(column) => column.yields_to = 0,
            None if others.iter().any(|of: &Figures| of.metric == metric) => {}
            None => others.push(Figures::of(metric.row().words, metric, 0, Some(9))),
        }
    }
    others.into_iter().chain(columns).collect()
}

/// A row for each cell.
fn columns(cells: &[&Row], figures: &[Figures]) -> Vec<Column> {
    let labels: Vec<_> = cells.iter().map(|cell| cell.label_parts()).collect();
    let symbol = |cell: &&Row| cell.mark.map_or("", |mark| mark.symbol()).to_owned();
    let trials = |cell: &&Row| format!("{}/{}", cell.trials.valid, cell.trials.planned);
    let mut all = vec![
        Column::words("", without_what_is_common(&labels)),
        Column::words("", cells.iter().map(symbol)),
        Column::words("load", cells.iter().map(|cell| found(cell))),
        Column::numbers("trials", "", cells.iter().map(trials)).yields_to(6),
    ];
    for figures in figures {
        all.extend(figures.columns(cells));
    }
    all.push(Column::words("limit", cells.iter().map(|cell| limits(cell))).yields_to(3));
    all
}

/// The figures of one column.
#[derive(Clone, Copy)]
struct Figures {
    name: &'static str,
    metric: Metric,
    yields_to: usize,
    /// The same of the column of intervals, where there is to be one.
    intervals_give_way: Option<usize>,
}

const OF_OPERATIONS: [Figures; 4] = [
    Figures::of("rate", Metric::Rate, 0, Some(9)),
    Figures::of("one core", Metric::RatePerServerCpu, 0, Some(1)),
    Figures::of("server CPU", Metric::ServerCpuPerOperation, 2, None),
    Figures::of("client CPU", Metric::ClientCpuPerOperation, 4, None),
];

const OF_BODIES: [Figures; 4] = [
    Figures::of("goodput", Metric::Goodput, 0, Some(9)),
    Figures::of("one core", Metric::GoodputPerServerCpu, 0, Some(1)),
    Figures::of("server CPU", Metric::ServerCpuPerGigabyte, 2, None),
    Figures::of("client CPU", Metric::ClientCpuPerGigabyte, 4, None),
];

/// The only ones of cells whose instructions were counted.
const OF_INSTRUCTIONS: [Figures; 2] = [
    Figures::of("instructions per operation", Metric::InstructionsPerOperation, 0, Some(9)),
    Figures::of("per KiB", Metric::InstructionsPerKib, 0, Some(9)),
];

const LATENCIES: [Figures; 2] =
    [Figures::of("p50", Metric::P50, 8, None), Figures::of("p99", Metric::P99, 7, None)];

impl Figures {
    const fn of(
        name: &'static str,
        metric: Metric,
        yields_to: usize,
        intervals_give_way: Option<usize>,
    ) -> Self {
        Self { name, metric, yields_to, intervals_give_way }
    }

    fn columns(&self, cells: &[&Row]) -> Vec<Column> {
        let unit = unit(self.metric, cells.iter().copied());
        let column = |name: &str, yields_to, words: &dyn Fn(&Figure) -> String| {
            let word =
                |cell: &&Row| cell.figure(self.metric).as_ref().map(words).unwrap_or_default();
            Column::numbers(name, unit.name, cells.iter().map(word)).yields_to(yields_to)
        };
        let numbers = column(self.name, self.yields_to, &|figure| unit.number(figure.median()));
        let intervals = self
            .intervals_give_way
            .map(|yields_to| column("interval", yields_to, &|figure| interval(figure, &unit)));
        [Some(numbers), intervals].into_iter().flatten().collect()
    }
}

/// The limits, that of most trials first; numbers only where there are several.
pub(super) fn limits(cell: &Row) -> String {
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
