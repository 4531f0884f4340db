//! Charts: where everything of a figure lies. What it looks like is the template's and the style's.
//!
//! Lengths along the axis are percentages of the chart's width, heights are pixels. So one drawing
//! fits every screen and its text keeps its size, without a script.

mod answer_chart;
mod cost_curve;
mod cpu_split;
mod curve;
mod published;
mod scale;
mod sparkline;

use answer::analysis::Figure;
use serde::Serialize;

pub(crate) use answer_chart::answer_chart;
pub(crate) use cost_curve::{CostCurve, cost_curve};
pub(crate) use cpu_split::cpu_splits;
pub(crate) use curve::curve_charts;
pub(crate) use published::Band;
pub(crate) use scale::Scale;
pub(crate) use sparkline::{Sparkline, sparkline};

use crate::figures::has_interval;
use units::Unit;

/// A horizontal bar chart.
#[derive(Debug, Serialize)]
pub(crate) struct Chart {
    /// What the bars are of.
    pub(crate) title: String,
    /// What they have in common.
    pub(crate) subtitle: String,
    /// The chart in words, for readers who cannot see it.
    pub(crate) description: String,
    /// What the axis counts, with the unit.
    pub(crate) axis: String,
    /// From left to right.
    pub(crate) ticks: Vec<Tick>,
    /// Where zero lies, in percent.
    pub(crate) zero: f64,
    /// Whether the axis shows a whole, so that what lacks to 100% is drawn too.
    pub(crate) is_share: bool,
    /// From top to bottom.
    pub(crate) rows: Vec<Row>,
    /// Of the rows, in pixels; the axis is below.
    pub(crate) height: f64,
    /// What each colour means, where there is more than one.
    pub(crate) legend: Vec<Series>,
    /// What was published and is drawn too, where there is such a thing.
    pub(crate) published: Option<String>,
}

/// A mark of the axis.
#[derive(Debug, Serialize)]
pub(crate) struct Tick {
    /// In percent.
    pub(crate) x: f64,
    pub(crate) label: String,
}

/// One label with its bars.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// Its upper end in pixels.
    pub(crate) y: f64,
    pub(crate) label: String,
    /// The figure in words, with its unit; a part for each bar.
    pub(crate) values: Vec<Value>,
    /// What is shown where there is no figure.
    pub(crate) lacking: String,
    /// The mark in words.
    pub(crate) mark: Option<&'static str>,
    pub(crate) bars: Vec<Bar>,
    /// Published ranges.
    pub(crate) bands: Vec<Band>,
}

/// A figure in words.
#[derive(Debug, Serialize)]
pub(crate) struct Value {
    pub(crate) series: Series,
    pub(crate) text: String,
    /// The interval, where there is one.
    pub(crate) interval: String,
}

/// What a colour means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Series {
    /// A figure of the server.
    Server,
    /// A figure of the client.
    Client,
    /// What the others are compared with.
    Baseline,
}

/// A bar with what was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Bar {
    pub(crate) series: Series,
    /// Whether the figure is not the server's maximum.
    pub(crate) is_hatched: bool,
    /// In pixels, below the row's upper end.
    pub(crate) y: f64,
    pub(crate) height: f64,
    /// Its left end and its length in percent.
    pub(crate) x: f64,
    pub(crate) width: f64,
    /// The ends of the interval in percent, where there is an interval.
    pub(crate) whisker: Option<[f64; 2]>,
    /// Every trial, in percent.
    pub(crate) dots: Vec<f64>,
    /// All of it in words.
    pub(crate) title: String,
}

/// Where a row has no figure.
const NOT_MEASURED: &str = "not measured";

/// A bar's label and value are in a line of this height above it.
const LINE: f64 = 22.0;
const GAP: f64 = 14.0;

/// How high the bar of a row with one bar is, and those of a row with two.
const ONE: f64 = 22.0;
const OF_TWO: f64 = 14.0;

impl Chart {
    /// Puts rows below each other, and sets the chart's height.
    fn stack(rows: Vec<Row>) -> (Vec<Row>, f64) {
        let mut y = 0.0;
        let mut stacked = rows;
        for row in &mut stacked {
            row.y = y;
            let height = if row.bars.len() > 1 { OF_TWO } else { ONE };
            for (i, bar) in row.bars.iter_mut().enumerate() {
                bar.y = LINE + i as f64 * (OF_TWO + 2.0);
                bar.height = height;
            }
            let bars =
                if row.bars.len() > 1 { row.bars.len() as f64 * (OF_TWO + 2.0) } else { ONE };
            y += LINE + bars + GAP;
        }
        (stacked, y)
    }
}

impl Bar {
    /// The bar of a figure, from zero to the median. `None` where it cannot be drawn, because an
    /// end is no finite number.
    fn of(
        figure: &Figure,
        series: Series,
        is_hatched: bool,
        scale: &Scale,
        title: String,
    ) -> Option<Self> {
        let Figure { estimate, samples } = figure;
        let at = |value: f64| scale.percent(value);
        let (zero, median) = (at(0.0)?, at(estimate.median)?);
        Some(Self {
            series,
            is_hatched,
            y: 0.0,
            height: 0.0,
            x: zero.min(median),
            width: rounded((median - zero).abs()),
            whisker: match has_interval(figure) {
                true => Some([at(estimate.interval.low)?, at(estimate.interval.high)?]),
                false => None,
            },
            dots: samples.iter().filter_map(|sample| at(*sample)).collect(),
            title,
        })
    }
}

/// Everything that a chart of these figures must have room for.
fn extent<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<f64> {
    figures
        .into_iter()
        .flat_map(|Figure { estimate, samples }| {
            let ends = [estimate.median, estimate.interval.low, estimate.interval.high];
            ends.into_iter().chain(samples.iter().copied())
        })
        .collect()
}

fn ticks(scale: &Scale, unit: &Unit) -> Vec<Tick> {
    let label = |value| unit.tick(value, scale.step());
    let tick = |value| Some(Tick { x: scale.percent(value)?, label: label(value) });
    scale.ticks().filter_map(tick).collect()
}

/// To a hundredth: less than a thousandth of a pixel would only make the page longer.
fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
