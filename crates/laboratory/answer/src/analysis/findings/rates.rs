//! What every cell did: its rate and its latencies, as charts, and how the latencies of one are distributed.

use study::Metric;
use study::metric::words_of;
use trial::{LatencyNs, Percentiles};
use units::{Quantity, Unit};

use super::cell_labels::{labels, title, unit};
use super::headline::{Shown, of_figures};
use crate::analysis::row::operation;
use crate::analysis::{Figure, Row};
use crate::findings::{Bar, BarRow, Bars, Chart, Headline, Series, ShownAnswer};
use crate::wording::{capitalized, list_of};

/// All cells; with a headline where the study asks for no answer, and where nothing else is of them. `None` where
/// nothing was timed.
pub(super) fn answer(cells: &[&Row], is_alone: bool) -> Option<ShownAnswer> {
    // Counts of instructions have no times.
    let is_timed = |cell: &&Row| {
        cell.trials.done > 0 && cell.figure(Metric::InstructionsPerOperation).is_none()
    };
    let cells: Vec<&Row> = cells.iter().copied().filter(is_timed).collect();
    let (of_bytes, of_operations): (Vec<_>, Vec<_>) =
        cells.iter().partition(|cell| cell.is_of_bytes());
    let rates = [(Metric::Rate, of_operations), (Metric::Goodput, of_bytes)];
    let rates = rates.into_iter().filter(|(_, cells)| !cells.is_empty());
    let charts: Vec<Chart> = rates
        .map(|(metric, cells)| rate(&cells, metric))
        .chain((!cells.is_empty()).then(|| latencies(&cells)))
        .map(Chart::Bars)
        .collect();
    (!charts.is_empty()).then(|| ShownAnswer {
        title: "Rates and latencies".to_owned(),
        headline: is_alone.then(|| headline(&cells)).flatten(),
        charts,
        folded: cells.iter().filter_map(|cell| distribution(cell)).collect(),
        ..ShownAnswer::default()
    })
}

/// Of one cell its rate and its latencies; of several the lowest rate and the highest.
fn headline(cells: &[&Row]) -> Option<Headline> {
    let metric = if cells[0].is_of_bytes() { Metric::Goodput } else { Metric::Rate };
    let alike = cells.iter().filter(|cell| cell.is_of_bytes() == cells[0].is_of_bytes());
    let alike: Vec<&Row> = alike.copied().collect();
    let shown = labels(&alike).into_iter().zip(&alike).filter_map(|(label, cell)| {
        let (median, mark) = (cell.figure(metric)?.median(), cell.mark_of(metric));
        Some(Shown { label, median, mark, ratio: None })
    });
    let shown: Vec<Shown<'_>> = shown.collect();
    let name = shown.first()?.name();
    let headline = of_figures(metric, operation(alike.iter().copied()), shown)?;
    let [cell] = cells else { return Some(headline) };
    let beside = [("one core", metric.row().beside), ("p50", Metric::P50), ("p99", Metric::P99)];
    let beside = beside.into_iter().filter_map(|(name, metric)| {
        let median = cell.figure(metric)?.median();
        Some(format!("{name} {}", metric.row().quantity.unit_for([median]).text(median)))
    });
    let beside = list_of(beside);
    let sentence = if beside.is_empty() { headline.sentence } else { format!("{beside} ({name})") };
    Some(Headline { sentence, ..headline })
}

fn rate(cells: &[&Row], metric: Metric) -> Bars {
    let row = metric.row();
    let (operation, unit) = (operation(cells.iter().copied()), unit(metric, cells.iter().copied()));
    let axis = words_of(operation, row.axis);
    let axis = match row.quantity {
        Quantity::PerSecond => axis.into_owned(),
        _ => format!("{} {axis}", unit.name),
    };
    let bar = |cell: &Row| {
        let (figure, mark) = (cell.figure(metric), cell.mark_of(metric));
        vec![Bar { figure, mark, ..Bar::default() }]
    };
    Bars {
        title: capitalized(&words_of(operation, row.words)),
        subtitle: "of each cell".to_owned(),
        axis: format!("{axis}; higher is better"),
        unit,
        rows: rows(cells, bar),
        ..Bars::default()
    }
}

fn latencies(cells: &[&Row]) -> Bars {
    let both = [("p50", Series::Server, Metric::P50), ("p99", Series::Others, Metric::P99)];
    let unit = unit(Metric::P99, cells.iter().copied());
    let bar = |cell: &Row| {
        let of = |(name, series, metric): (&str, Series, Metric)| Bar {
            name: name.to_owned(),
            series,
            figure: cell.figure(metric),
            ..Bar::default()
        };
        both.map(of).to_vec()
    };
    Bars {
        title: "Latency".to_owned(),
        subtitle: "of each cell: half of all operations took at most p50, 99 of 100 at most p99"
            .to_owned(),
        axis: axis_of_times(&unit),
        unit,
        rows: rows(cells, bar),
        ..Bars::default()
    }
}

fn axis_of_times(unit: &Unit) -> String {
    format!("{} {}; lower is better", unit.name, Metric::P50.row().axis)
}

/// A row for each cell.
fn rows(cells: &[&Row], bars: impl Fn(&Row) -> Vec<Bar>) -> Vec<BarRow> {
    let row = |(label, cell): (String, &&Row)| BarRow {
        label,
        bars: bars(cell),
        lacking: cell.lacking.clone(),
    };
    labels(cells).into_iter().zip(cells).map(row).collect()
}

/// Percentiles of what was timed of one cell, in the trials of its figures.
fn distribution(cell: &Row) -> Option<(String, Chart)> {
    type Timed = fn(&LatencyNs) -> Percentiles;
    let kinds: [(&str, Series, Timed); 4] = [
        ("whole operation", Series::Server, |of| of.whole),
        ("without waiting to begin", Series::Interrupts, |of| of.service),
        ("first byte", Series::Client, |of| of.first_byte),
        ("connection", Series::Others, |of| of.connect),
    ];
    let timed: Vec<&LatencyNs> = cell.valid().map(|line| &line.latency_ns).collect();
    let figure = |of: Timed, place: usize| {
        let samples = timed.iter().filter_map(|times| of(times).all()[place].map(|ns| ns as f64));
        Figure::of(samples.collect())
    };
    let is_timed = |(_, _, of): &(&str, Series, Timed)| figure(*of, 0).is_some();
    let kinds: Vec<_> = kinds.into_iter().filter(is_timed).collect();
    let row = |(place, label): (usize, &str)| BarRow {
        label: label.to_owned(),
        bars: kinds
            .iter()
            .map(|(name, series, of)| Bar {
                name: (*name).to_owned(),
                series: *series,
                figure: figure(*of, place),
                ..Bar::default()
            })
            .collect(),
        lacking: None,
    };
    let rows: Vec<BarRow> =
        ["p50", "p90", "p99", "p99.9", "longest"].into_iter().enumerate().map(row).collect();
    let medians =
        rows.iter().flat_map(|row| &row.bars).filter_map(|bar| Some(bar.figure.as_ref()?.median()));
    let unit = Quantity::Nanos.unit_for(medians.collect::<Vec<_>>());
    let of = title(cell);
    (!kinds.is_empty()).then(|| {
        let chart = Bars {
            title: "Distribution of the latency".to_owned(),
            subtitle: of.clone(),
            axis: axis_of_times(&unit),
            unit,
            rows,
            ..Bars::default()
        };
        (of, Chart::Bars(chart))
    })
}
