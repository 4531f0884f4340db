//! Figures in words.

use answer::analysis::{Analysis, CellSummary, Figure};
use study::Metric;

use crate::text::trials;
use units::Unit;

/// Whether the figure has an interval: one trial has none.
pub(crate) fn has_interval(figure: &Figure) -> bool {
    figure.estimate.interval.coverage > 0.0
}

/// `[7.05, 7.31]`; empty where there is no interval.
pub(crate) fn interval(figure: &Figure, unit: &Unit) -> String {
    let interval = figure.estimate.interval;
    match has_interval(figure) {
        true => format!("[{}, {}]", unit.number(interval.low), unit.number(interval.high)),
        false => String::new(),
    }
}

/// How sure the intervals of a run are, by the number of trials, in parts of a sentence.
pub(crate) fn coverages(analysis: &Analysis) -> Vec<String> {
    let figures = analysis.cells.iter().filter_map(|cell| cell.figures.get(Metric::Rate));
    let mut coverages: Vec<(usize, f64)> =
        figures.map(|figure| (figure.estimate.n, figure.estimate.interval.coverage)).collect();
    coverages.sort_by_key(|(n, _)| std::cmp::Reverse(*n));
    coverages.dedup_by_key(|(n, _)| *n);
    let in_words = |(n, coverage)| match n {
        1 => "with 1 trial there is no interval".to_owned(),
        _ => format!(
            "with {} it covers the true median in {} of runs",
            trials(n),
            units::percent(coverage)
        ),
    };
    coverages.into_iter().map(in_words).collect()
}

/// Two words with a space between, or the first alone.
pub(crate) fn joined(first: &str, second: &str) -> String {
    let space = if second.is_empty() { "" } else { " " };
    format!("{first}{space}{second}")
}

/// The unit in which a metric of these cells is written: the same as of what stands beside it.
pub(crate) fn unit<'a>(metric: Metric, cells: impl IntoIterator<Item = &'a CellSummary>) -> Unit {
    let both = [metric, metric.row().beside];
    let figures =
        cells.into_iter().flat_map(|cell| both.into_iter().filter_map(|of| cell.figures.get(of)));
    metric.row().quantity.unit_for(figures.map(|figure| figure.estimate.median))
}
