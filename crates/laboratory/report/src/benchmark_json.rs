//! Figures for github-action-benchmark, in its two formats of the user's own: `customBiggerIsBetter` and
//! `customSmallerIsBetter`. Both are an array of entries (the action's README, "Custom benchmark"); which side is better
//! is said of a whole file.
//!
//! A figure has the smallest unit of its quantity: the action compares the numbers of commits, and a unit that grew with
//! the figure would be read as a change. What was not measured has no entry.

use answer::tracked::TrackedFigure;
use serde::Serialize;
use study::metric::Better;
use units::significant;

use crate::text::on_one_line;

#[derive(Serialize)]
struct Entry {
    name: String,
    unit: &'static str,
    value: f64,
    /// The farther end of the interval: the action knows only symmetric ones.
    #[serde(skip_serializing_if = "Option::is_none")]
    range: Option<String>,
    /// What is shown where somebody points at the figure.
    extra: String,
}

/// Those figures of which this side is the better one.
///
/// # Errors
/// What JSON cannot have, which is a fault of toll.
pub fn benchmark_json(figures: &[TrackedFigure], better: Better) -> serde_json::Result<String> {
    let own = figures.iter().filter(|of| of.metric.better() == Some(better));
    let entries: Vec<Entry> = own.map(Entry::of).collect();
    Ok(serde_json::to_string_pretty(&entries)? + "\n")
}

impl Entry {
    fn of(TrackedFigure { case, params, label, metric, figure, mark }: &TrackedFigure) -> Self {
        let estimate = figure.estimate;
        let unit = metric.row().quantity.least_unit();
        let number = |value: f64| significant(unit.scaled(value), 6);
        let interval = estimate.interval;
        let [low, high] = [interval.low, interval.high];
        let farther = (high - estimate.median).max(estimate.median - low);
        let has_interval = interval.coverage > 0.0;
        let mut extra = format!("{label}, {}", units::counted(estimate.n as u64, "trial"));
        if has_interval {
            extra += &format!(", interval {} to {}", number(low), number(high));
        }
        if let Some(mark) = mark {
            extra += &format!("\n{}: {}", mark.name(), mark.meaning());
        }
        // Of keys and values, which stay: words change with the version of a library, and would begin another series.
        let params = params.iter().map(|(key, value)| format!(" {key}={value}"));
        Self {
            name: on_one_line(&format!("{case}{} {metric}", params.collect::<String>())),
            unit: unit.name,
            value: number(estimate.median),
            range: has_interval.then(|| format!("± {}", number(farther))),
            extra,
        }
    }
}
