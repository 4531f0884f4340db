//! The table of a case's cells.

use std::collections::BTreeSet;

use answer::analysis::{CellSummary, Figure};
use study::Metric;
use unicode_width::UnicodeWidthStr;

use super::Column;
use crate::figures::{interval, unit};
use crate::mark;
use crate::search::found;
use crate::text::{on_one_line, without_what_is_common};

/// The figures of one column.
struct Figures {
    name: &'static str,
    metric: Metric,
    /// As of [`Column`].
    gives_way: usize,
    /// The same of the column of intervals, where there is to be one.
    intervals_give_way: Option<usize>,
}

/// A row for each cell.
pub(super) fn columns(cells: &[&CellSummary]) -> Vec<Column> {
    let has_bodies = cells.iter().any(|cell| cell.figures.get(Metric::Goodput).is_some());
    let symbol = |cell: &&CellSummary| cell.mark.map(mark::symbol).unwrap_or_default().to_owned();
    let trials = |cell: &&CellSummary| format!("{}/{}", cell.trials.valid, cell.trials.planned);
    let mut all = vec![
        Column::words("", labels(cells)),
        Column::words("", cells.iter().map(symbol)),
        Column::words("load", cells.iter().map(load)),
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

/// The load that was found, or that there is none.
fn load(cell: &&CellSummary) -> String {
    cell.search.as_ref().map(|search| found(&search.end)).unwrap_or_default()
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

/// What distinguishes the cells, as short as it may be.
fn labels(cells: &[&CellSummary]) -> Vec<String> {
    // Columns that a label has room for, and those that it takes where it would be ambiguous
    // otherwise.
    const USUAL: usize = 32;
    const MOST: usize = 64;
    let whole: Vec<String> = cells.iter().map(|cell| on_one_line(&cell.label)).collect();
    let own = without_what_is_common(&whole);
    let shortened = |most| own.iter().map(|label| short(label, most)).collect::<Vec<_>>();
    let usual = shortened(USUAL);
    let distinct = |labels: &[String]| labels.iter().collect::<BTreeSet<_>>().len();
    if distinct(&usual) == distinct(&own) { usual } else { shortened(MOST) }
}

/// A label of at most this many columns.
fn short(label: &str, most: usize) -> String {
    if label.width() <= most {
        return label.to_owned();
    }
    let mut short = String::new();
    for c in label.chars() {
        if format!("{short}{c}").width() >= most {
            break;
        }
        short.push(c);
    }
    short + "…"
}
