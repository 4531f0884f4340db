//! The shares of ranks: what each did of the load that they made together.

use std::collections::BTreeMap;

use trial::RankFigures;
use units::{Nanos, Quantity, percent};

use super::cell_labels::title;
use crate::analysis::Row;
use crate::findings::{Column, Section, Table, TableCell};
use crate::wording::brief;

/// `None` where all loads were made on toll's machine.
pub(super) fn section(cells: &[&Row]) -> Option<Section> {
    let tables: Vec<Table> = cells.iter().filter_map(|cell| table(cell)).collect();
    (!tables.is_empty()).then_some(Section {
        title: "Shares of the ranks",
        about: "What each rank did of the load that they made together: the means of a cell's valid \
                trials. Busy is the busiest load thread of a rank. No two clocks are compared; \
                the table has the longest time that a rank can have begun after toll's start signal.",
        tables,
    })
}

/// What a rank did in all valid trials of a cell.
#[derive(Default)]
struct Sum<'a> {
    /// Of the last trial, for what is the same in all.
    rank: Option<&'a RankFigures>,
    trials: f64,
    completed: u64,
    failed: u64,
    body: u64,
    window_ns: u64,
    cpu_ns: u64,
    busy: f64,
    begun_within_ns: u64,
}

fn table(cell: &Row) -> Option<Table> {
    let mut sums: BTreeMap<usize, Sum<'_>> = BTreeMap::new();
    for rank in cell.valid().flat_map(|line| &line.ranks) {
        sums.entry(rank.rank).or_default().add(rank);
    }
    let sums: Vec<(&RankFigures, &Sum<'_>)> =
        sums.values().filter_map(|sum| Some((sum.rank?, sum))).collect();
    let completed: u64 = sums.iter().map(|(_, sum)| sum.completed).sum();
    let words = |name: &str, of: &dyn Fn(&RankFigures) -> String| {
        Column::words(name, sums.iter().map(|(rank, _)| of(rank)))
    };
    let numbers = |name: &str, unit: &str, of: &dyn Fn(&Sum<'_>) -> (String, f64)| {
        Column::numbers(name, unit, sums.iter().map(|(_, sum)| of(sum)))
    };
    let share = |share: f64| (percent(share), share);
    let per_second = |sum: &Sum<'_>, count: u64| count as f64 / Nanos(sum.window_ns).seconds();
    let columns = vec![
        Column::words(
            "rank",
            sums.iter().map(|(rank, _)| TableCell::about(&cell.name, rank.name())),
        ),
        words("CPUs", &|rank| rank.cpus.to_string()),
        words("source", &|rank| rank.source.as_ref().map(ToString::to_string).unwrap_or_default()),
        words("to", &|rank| rank.to.to_string()),
        Column::numbers(
            "connections",
            "",
            sums.iter().map(|(rank, _)| (rank.connections.to_string(), rank.connections as f64)),
        ),
        numbers("share of completed", "", &|sum| {
            share(if completed > 0 { sum.completed as f64 / completed as f64 } else { 0.0 })
        }),
        numbers("completed", "per second", &|sum| {
            let rate = per_second(sum, sum.completed);
            (units::thousands(rate.round() as u64), rate)
        }),
        numbers("errors", "", &|sum| (units::thousands(sum.failed), sum.failed as f64)),
        numbers("goodput", "", &|sum| {
            let rate = per_second(sum, sum.body) * 8.0;
            (brief(Quantity::BitsPerSecond, rate), rate)
        }),
        numbers("CPU time", "per second", &|sum| {
            let cpu = sum.cpu_ns as f64 / sum.window_ns as f64;
            (format!("{cpu:.3} s"), cpu)
        }),
        numbers("busy", "", &|sum| share(sum.busy / sum.trials)),
        numbers("begun within", "at most", &|sum| {
            (Nanos(sum.begun_within_ns).to_string(), sum.begun_within_ns as f64)
        }),
    ];
    (!sums.is_empty()).then(|| Table { title: title(cell), columns, ..Table::default() })
}

impl<'a> Sum<'a> {
    fn add(&mut self, rank: &'a RankFigures) {
        self.rank = Some(rank);
        self.trials += 1.0;
        self.completed += rank.completed;
        self.failed += rank.errors.values().sum::<u64>();
        self.body += rank.body;
        self.window_ns += rank.window_ns;
        self.cpu_ns += rank.client.cpu_ns.unwrap_or(0);
        self.busy += rank.client.busy.unwrap_or(0.0);
        self.begun_within_ns = self.begun_within_ns.max(rank.begun_within_ns);
    }
}
