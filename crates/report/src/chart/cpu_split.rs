//! Where the CPU time went: the server's and the client's, side by side.

use answer::analysis::{CellSummary, Figure};

use super::answer_chart::description;
use super::{Bar, Chart, NOT_MEASURED, Row, Scale, Series, Value, extent, ticks};
use crate::figures::{interval, joined};
use crate::text::without_what_is_common;
use study::Metric;
use units::Unit;

/// CPU time per operation for cells without bodies, and CPU time a GB for those with; a chart for
/// each of the two that there is.
pub(crate) fn cpu_splits(cells: &[CellSummary]) -> Vec<Chart> {
    let has_bodies =
        |cell: &CellSummary| GIGABYTE.iter().any(|metric| cell.figures.get(*metric).is_some());
    let (with_bodies, without): (Vec<_>, Vec<_>) = cells.iter().partition(|cell| has_bodies(cell));
    let per_operation = Split {
        title: "CPU time per operation",
        of: OPERATION,
        axis: |unit| format!("{} of CPU time per operation", unit.name),
    };
    let per_gigabyte = Split {
        title: "CPU time per gigabyte",
        of: GIGABYTE,
        axis: |unit| format!("{} (CPU time for 10⁹ bytes of bodies)", unit.name),
    };
    [per_operation.chart(&without), per_gigabyte.chart(&with_bodies)]
        .into_iter()
        .flatten()
        .collect()
}

/// The server's figure and the client's.
type Both<'a> = [Option<&'a Figure>; 2];

const OPERATION: [Metric; 2] = [Metric::ServerCpuPerOperation, Metric::ClientCpuPerOperation];
const GIGABYTE: [Metric; 2] = [Metric::ServerCpuPerGigabyte, Metric::ClientCpuPerGigabyte];

struct Split {
    title: &'static str,
    /// The server's metric and the client's.
    of: [Metric; 2],
    axis: fn(&Unit) -> String,
}

impl Split {
    fn both<'a>(&self, cell: &'a CellSummary) -> Both<'a> {
        self.of.map(|metric| cell.figures.get(metric))
    }

    /// `None` where no cell has such figures.
    fn chart(&self, cells: &[&CellSummary]) -> Option<Chart> {
        let cells: Vec<_> =
            cells.iter().filter(|cell| self.both(cell).iter().any(Option::is_some)).collect();
        let figures = || cells.iter().flat_map(|cell| self.both(cell)).flatten();
        figures().next()?;
        let unit =
            self.of[0].row().quantity.unit_for(figures().map(|figure| figure.estimate.median));
        let scale = Scale::around(extent(figures()));
        let of_one_case = cells.iter().all(|cell| cell.case == cells[0].case);
        let labels: Vec<String> = match of_one_case {
            true => {
                let whole: Vec<_> = cells.iter().map(|cell| cell.label.clone()).collect();
                without_what_is_common(&whole)
            }
            false => cells.iter().map(|cell| format!("{}: {}", cell.case, cell.label)).collect(),
        };
        let rows = cells
            .iter()
            .zip(labels)
            .map(|(cell, label)| row(label, self.both(cell), &scale, &unit))
            .collect();
        let (rows, height) = Chart::stack(rows);
        Some(Chart {
            title: self.title.to_owned(),
            subtitle: "of the server and of the client that loads it".to_owned(),
            description: description(&rows),
            axis: (self.axis)(&unit),
            ticks: ticks(&scale, &unit),
            zero: scale.percent(0.0).unwrap_or(0.0),
            is_share: false,
            rows,
            height,
            published: None,
            legend: vec![Series::Server, Series::Client],
        })
    }
}

/// Both bars. A mark is no matter of this chart: what an operation costs does not depend on who was
/// the limit.
fn row(label: String, figures: Both<'_>, scale: &Scale, unit: &Unit) -> Row {
    let both = [(Series::Server, "server"), (Series::Client, "client")];
    let known: Vec<_> =
        both.into_iter().zip(figures).filter_map(|(who, figure)| Some((who, figure?))).collect();
    let bar = |((series, name), figure): &((Series, &str), &Figure)| {
        let words = joined(&unit.text(figure.estimate.median), &interval(figure, unit));
        Bar::of(figure, *series, false, scale, format!("{label}, {name}: {words}"))
    };
    // The unit follows only the last of the two numbers.
    let value = |(i, ((series, _), figure)): (usize, &((Series, &str), &Figure))| Value {
        series: *series,
        text: match i + 1 == known.len() {
            true => unit.text(figure.estimate.median),
            false => unit.number(figure.estimate.median),
        },
        interval: String::new(),
    };
    Row {
        lacking: NOT_MEASURED.to_owned(),
        y: 0.0,
        values: known.iter().enumerate().map(value).collect(),
        mark: None,
        bars: known.iter().filter_map(bar).collect(),
        bands: Vec::new(),
        label,
    }
}
