//! Published figures beside ours: a range over the bar that it is about, drawn as an outline and named as
//! published, so that it cannot be mistaken for a measurement.

use answer::analysis::Bar;
use serde::Serialize;
use study::{Published, PublishedUnit};

use super::{LINE, OF_TWO, ONE, Scale, rounded};

/// A range over a bar.
#[derive(Debug, Serialize)]
pub(crate) struct Band {
    /// Its left end and its length in percent; a single figure is a thin mark.
    pub(crate) x: f64,
    pub(crate) width: f64,
    /// In pixels, below the row's upper end.
    pub(crate) y: f64,
    pub(crate) height: f64,
    /// In words.
    pub(crate) title: String,
}

/// What was published, in the unit of the bars of a row.
pub(crate) struct Bands<'a> {
    published: &'a Published,
    /// Each with the place of its bar.
    ranges: Vec<(usize, f64, f64)>,
    bars: usize,
}

const GIGA: f64 = 1e9;

/// A single figure is a mark: what has no width is not drawn at all.
const LEAST_WIDTH: f64 = 0.4;

impl<'a> Bands<'a> {
    /// Of all bars of a row but the baseline; a ratio is one to the baseline's figure.
    pub(crate) fn of(published: &'a Published, bars: &[Bar]) -> Self {
        Self::beside(published, bars, bars.iter().find(|bar| bar.is_baseline))
    }

    /// Of bars whose baseline is in another chart.
    pub(crate) fn beside(published: &'a Published, bars: &[Bar], baseline: Option<&Bar>) -> Self {
        let baseline = baseline.and_then(|bar| Some(bar.figure.as_ref()?.estimate.median));
        let factor = match published.unit {
            PublishedUnit::Ratio => baseline,
            PublishedUnit::Gbps | PublishedUnit::GbpsPerCore => Some(GIGA),
            PublishedUnit::CyclesPerByte => None,
        };
        let range = |place| {
            let factor = factor?;
            Some((place, published.low * factor, published.high * factor))
        };
        let places = bars.iter().enumerate().filter(|(_, bar)| !bar.is_baseline);
        let ranges = places.filter_map(|(place, _)| range(place)).collect();
        Self { published, ranges, bars: bars.len() }
    }

    /// What a chart must have room for.
    pub(crate) fn extent(&self) -> Vec<f64> {
        self.ranges.iter().flat_map(|(_, low, high)| [*low, *high]).collect()
    }

    pub(crate) fn drawn(&self, scale: &Scale) -> Vec<Band> {
        let band = |(place, low, high): &(usize, f64, f64)| {
            let (low, high) = (scale.percent(*low)?, scale.percent(*high)?);
            let (y, height) = match self.bars {
                1 => (LINE, ONE),
                _ => (LINE + *place as f64 * (OF_TWO + 2.0), OF_TWO),
            };
            Some(Band {
                x: low,
                width: rounded((high - low).max(LEAST_WIDTH)),
                y: y - 2.0,
                height: height + 4.0,
                title: format!("published: {} had {}", self.published.who, self.published.says),
            })
        };
        self.ranges.iter().filter_map(band).collect()
    }
}

/// What the outlines of a chart are.
pub(crate) fn in_words(published: &Published) -> String {
    let of = match published.unit {
        PublishedUnit::Ratio => ", here times the grey bar",
        _ => "",
    };
    format!(
        "Outlined, published and not measured here: {} had {}{of} ({}; {}).",
        published.who, published.says, published.what, published.source
    )
}
