//! Where the CPU time went: the server's and the client's, side by side.

use super::cell_labels::{operation, title, unit};
use crate::analysis::CellSummary;
use crate::findings::{Bar, BarRow, Bars, Chart, Series};
use crate::label::without_what_is_common;
use load::Operation;
use study::Metric;
use study::metric::words_of;
use units::Unit;

/// CPU time per operation for pages and for cells without bodies, and CPU time per GB for others; a
/// chart for each of the two that there is.
pub(super) fn charts(cells: &[CellSummary]) -> Vec<Chart> {
    let has_bodies = |cell: &&CellSummary| {
        cell.operation != Operation::Session
            && GIGABYTE.iter().any(|metric| cell.figures.get(*metric).is_some())
    };
    let (with_bodies, without): (Vec<_>, Vec<_>) = cells.iter().partition(has_bodies);
    let per_operation = Split {
        title: "CPU time per operation",
        of: OPERATION,
        axis: |unit| format!("{} of CPU time; lower is better", unit.name),
    };
    let per_gigabyte = Split {
        title: "CPU time per gigabyte",
        of: GIGABYTE,
        axis: |unit| format!("{} of CPU time for 10⁹ bytes of bodies; lower is better", unit.name),
    };
    let charts = [per_operation.chart(&without), per_gigabyte.chart(&with_bodies)];
    charts.into_iter().flatten().map(Chart::Bars).collect()
}

const OPERATION: [Metric; 2] = [Metric::ServerCpuPerOperation, Metric::ClientCpuPerOperation];
const GIGABYTE: [Metric; 2] = [Metric::ServerCpuPerGigabyte, Metric::ClientCpuPerGigabyte];

struct Split {
    title: &'static str,
    /// The server's metric and the client's.
    of: [Metric; 2],
    axis: fn(&Unit) -> String,
}

impl Split {
    /// `None` where no cell has such figures.
    fn chart(&self, cells: &[&CellSummary]) -> Option<Bars> {
        let has_any =
            |cell: &&CellSummary| self.of.iter().any(|metric| cell.figures.get(*metric).is_some());
        let cells: Vec<&CellSummary> = cells.iter().copied().filter(has_any).collect();
        let first = cells.first()?;
        let labels: Vec<String> = match cells.iter().all(|cell| cell.case == first.case) {
            true => {
                let whole: Vec<_> = cells.iter().map(|cell| cell.label_parts.clone()).collect();
                without_what_is_common(&whole)
            }
            false => cells.iter().map(|cell| title(cell)).collect(),
        };
        let unit = unit(self.of[0], cells.iter().copied());
        Some(Bars {
            title: words_of(operation(cells.iter().copied()), self.title).into_owned(),
            subtitle: "of the server and of the client that loads it".to_owned(),
            axis: (self.axis)(&unit),
            unit,
            rows: cells.iter().zip(labels).map(|(cell, label)| self.row(cell, label)).collect(),
            ..Bars::default()
        })
    }

    /// Both bars. This chart needs no marks: what an operation costs does not depend on what was
    /// the limit.
    fn row(&self, cell: &CellSummary, label: String) -> BarRow {
        let both = [(Series::Server, "server"), (Series::Client, "client")];
        let bar = |((series, name), metric): ((Series, &str), Metric)| Bar {
            name: name.to_owned(),
            series,
            figure: cell.figures.get(metric).cloned(),
            ..Bar::default()
        };
        let bars = both.into_iter().zip(self.of).map(bar);
        BarRow { label, bars: bars.filter(|bar| bar.figure.is_some()).collect(), lacking: None }
    }
}
