//! Published figures beside ours: a range over the bar that it is about, named as published, so that it
//! cannot be mistaken for a measurement.

use study::{Metric, Published, PublishedUnit};

use crate::analysis::point::Point;
use crate::analysis::row_figure::RowFigure;
use crate::findings::Band;

/// The first of these figures that is shown next to a bar.
pub(super) fn beside<'a>(published: &'a [Published], bar: &RowFigure) -> Option<&'a Published> {
    published.iter().find(|of| match of.beside.is_empty() {
        true => !bar.is_baseline,
        false => of.beside.iter().all(|(key, value)| bar.row.has(key, value)),
    })
}

/// What was published, in the unit of the bars; a ratio is one to the baseline's figure.
pub(super) fn band(
    published: &Published,
    metric: Metric,
    baseline: Option<&RowFigure>,
) -> Option<Band> {
    let title = format!("published: {} had {}", published.who, published.says);
    let factor = match published.unit {
        PublishedUnit::Ratio => {
            let baseline = baseline?.figure.as_ref()?.median();
            let at = |ratio| {
                let (over, under) = metric.ratio(ratio, 1.0);
                baseline * over / under
            };
            let (one, other) = (at(published.low), at(published.high));
            return Some(Band { low: one.min(other), high: one.max(other), title });
        }
        PublishedUnit::Gbps
        | PublishedUnit::GbpsPerCore
        | PublishedUnit::PerSecond
        | PublishedUnit::Cpus
        | PublishedUnit::Share => published.unit.factor(),
        PublishedUnit::CyclesPerByte
        | PublishedUnit::GbpsOfDevice
        | PublishedUnit::Pace
        | PublishedUnit::Words => return None,
    };
    Some(Band { low: published.low * factor, high: published.high * factor, title })
}

/// What the outlines of an answer's chart are, in which the baseline is grey `shapes`.
pub(super) fn in_words(points: &[Point], shapes: &str) -> Option<String> {
    use PublishedUnit::{GbpsOfDevice, Pace, Words};
    let published = &points.first()?.rule.published;
    let is_plotted = |of: &&Published| {
        let mut bars = points.iter().flat_map(Point::shown);
        !matches!(of.unit, GbpsOfDevice | Pace | Words)
            && bars.any(|bar| beside(published, bar).is_some_and(|other| other == *of))
    };
    let plotted = published.iter().filter(is_plotted);
    let all: Vec<String> = plotted.map(|of| one_in_words(of, shapes)).collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// What was published of a ratio, of a bar that is compared.
pub(in crate::analysis) fn ratio<'a>(
    published: &'a [Published],
    bar: &RowFigure,
) -> Option<&'a Published> {
    beside(published, bar).filter(|of| of.unit == PublishedUnit::Ratio && !bar.is_baseline)
}

fn one_in_words(published: &Published, shapes: &str) -> String {
    let of = match published.unit {
        PublishedUnit::Ratio => format!(", drawn as a multiple of the grey {shapes}"),
        _ => String::new(),
    };
    format!(
        "Outlined, published and not measured here: {} had {}{of} ({}; {}).",
        published.who, published.says, published.what, published.source
    )
}
