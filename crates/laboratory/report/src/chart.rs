//! Charts: where everything of a figure lies. What it looks like is the template's and the style's.
//!
//! Lengths along the axis are percentages of the plot's width, heights are pixels. So one drawing
//! fits every screen and its text keeps its size, without a script. Right of the plot there is room
//! for text, in characters.

mod bars;
mod curve;
mod scale;
mod sparkline;

use answer::findings::Chart;
use minijinja::value::Value;

pub(crate) use curve::curve;
pub(crate) use sparkline::sparkline;

/// What the template draws of a chart.
pub(crate) fn chart(chart: &Chart) -> Value {
    match chart {
        Chart::Bars(bars) => bars::bars(bars),
        Chart::Curve(of) => curve(of),
    }
}
