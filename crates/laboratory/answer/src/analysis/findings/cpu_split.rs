//! Where the CPU time went: the server's and the client's, side by side.

use super::cell_labels::{labels, unit};
use crate::analysis::Row;
use crate::analysis::row::operation;
use crate::findings::{Bar, BarRow, Bars, Chart, Series};
use load::Operation;
use study::Metric;
use study::metric::words_of;

/// CPU time per operation for pages and for cells without bodies, and CPU time per GB for others; a
/// chart for each of the two that there is.
pub(super) fn charts(cells: &[&Row]) -> Vec<Chart> {
    let has_bodies = |cell: &&Row| {
        cell.operation() != Operation::Session
            && GIGABYTE.iter().any(|metric| cell.figure(*metric).is_some())
    };
    let (with_bodies, without): (Vec<_>, Vec<_>) = cells.iter().copied().partition(has_bodies);
    let charts = [
        chart(&without, "CPU time per operation", OPERATION, ""),
        chart(&with_bodies, "CPU time per gigabyte", GIGABYTE, " for 10⁹ bytes of bodies"),
    ];
    charts.into_iter().flatten().map(Chart::Bars).collect()
}

/// The server's metric and the client's.
const OPERATION: [Metric; 2] = [Metric::ServerCpuPerOperation, Metric::ClientCpuPerOperation];
const GIGABYTE: [Metric; 2] = [Metric::ServerCpuPerGigabyte, Metric::ClientCpuPerGigabyte];

/// `None` where no cell has such figures.
fn chart(cells: &[&Row], title: &'static str, of: [Metric; 2], what_for: &str) -> Option<Bars> {
    let has_any = |cell: &&Row| of.iter().any(|of| cell.figure(*of).is_some());
    let cells: Vec<&Row> = cells.iter().copied().filter(has_any).collect();
    if cells.is_empty() {
        return None;
    }
    let unit = unit(of[0], cells.iter().copied());
    Some(Bars {
        title: words_of(operation(cells.iter().copied()), title).into_owned(),
        subtitle: "of the server and of the client that loads it".to_owned(),
        axis: format!("{} of CPU time{what_for}; lower is better", unit.name),
        unit,
        rows: cells.iter().zip(labels(&cells)).map(|(cell, label)| row(cell, label, of)).collect(),
        ..Bars::default()
    })
}

/// Both bars. This chart needs no marks: what an operation costs does not depend on what was
/// the limit.
fn row(cell: &Row, label: String, of: [Metric; 2]) -> BarRow {
    let both = [(Series::Server, "server"), (Series::Client, "client")];
    let bar = |((series, name), metric): ((Series, &str), Metric)| Bar {
        name: name.to_owned(),
        series,
        figure: cell.figure(metric),
        ..Bar::default()
    };
    let bars = both.into_iter().zip(of).map(bar);
    BarRow { label, bars: bars.filter(|bar| bar.figure.is_some()).collect(), lacking: None }
}
