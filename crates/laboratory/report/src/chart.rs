//! Charts: where everything of a figure lies. What it looks like is the template's and the style's.
//!
//! Lengths along the axis are percentages of the plot's width, heights are pixels. So one drawing
//! fits every screen and its text keeps its size, without a script. Right of the plot there is room
//! for text, in characters.

mod bars;
mod curve;
mod scale;
mod sparkline;

use answer::findings;
use serde::Serialize;

use bars::DrawnBars;
use curve::DrawnCurve;
pub(crate) use sparkline::sparkline;

/// A chart, drawn.
#[derive(Debug, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub(crate) enum DrawnChart {
    Bars(DrawnBars),
    Curve(DrawnCurve),
}

impl DrawnChart {
    pub(crate) fn of(chart: &findings::Chart) -> Self {
        match chart {
            findings::Chart::Bars(bars) => Self::Bars(DrawnBars::of(bars)),
            findings::Chart::Curve(curve) => Self::curve(curve),
        }
    }

    pub(crate) fn curve(curve: &findings::Curve) -> Self {
        Self::Curve(DrawnCurve::of(curve))
    }
}
