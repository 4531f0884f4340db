//! From which value of a key on one thing is ahead of another: where that is [decided](Decision).

use serde::Serialize;
use stats::{Decision, Direction};
use study::Param;

use super::findings::cell_labels::logarithmic;
use super::findings::published;
use super::point::Point;
use crate::figure::Decided;
use crate::findings::{Axis, ChartLine, Curve, Dot};
use crate::wording::{capitalized, list, times};

const BELOW: Decision = Decision::Sure(Direction::Below);

/// Where one compared value is ahead of the baseline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Crossover {
    /// The compared value in words: `kTLS sendfile`.
    pub label: String,
    /// The point from which on it is ahead at all points, in words; `None` where there is none.
    pub from: Option<String>,
    /// `kTLS sendfile is ahead of user TLS from 64 KiB objects on`.
    pub sentence: String,
    /// The compared value.
    #[serde(skip)]
    pub(super) value: Param,
    /// The point from which on it is ahead, by its place among all.
    #[serde(skip)]
    pub(super) from_point: Option<usize>,
    /// Whether it is not known, because trials are too few.
    #[serde(skip)]
    pub(super) has_too_few: bool,
}

/// One value of the key that an answer goes along: its place, its words, and the ratio there.
pub(super) type RatioAt = (usize, String, Decided);

impl Crossover {
    /// Of `name` against `baseline`, at the points where the two were compared; `None` where there are
    /// none.
    pub(super) fn of(
        value: &Param,
        name: &str,
        baseline: &str,
        points: &[RatioAt],
    ) -> Option<Self> {
        let runs = runs(points);
        let last = points.len().checked_sub(1)?;
        let is_too_few = |(_, _, ratio): &RatioAt| ratio.decision == Decision::TooFew;
        let has_too_few = points.iter().any(is_too_few);
        let from = match runs[..] {
            [(first, end)] if end == last && !has_too_few => Some(&points[first]),
            _ => None,
        };
        let at = |place: usize| &points[place].1;
        let run = |&(first, end): &(usize, usize)| match first == end {
            _ if end == last => format!("from {} on", at(first)),
            true => format!("at {}", at(first)),
            false => format!("from {} to {}", at(first), at(end)),
        };
        let sentence = match &runs[..] {
            _ if has_too_few => {
                format!("too few trials to say where {name} is ahead of {baseline}")
            }
            [] if points.iter().all(|(_, _, ratio)| ratio.decision == BELOW) => {
                format!("{name} is never ahead of {baseline}")
            }
            [] => format!("{name} is nowhere shown to be ahead of {baseline}"),
            [one] if from.is_some() => format!("{name} is ahead of {baseline} {}", run(one)),
            [one] => format!("{name} is ahead of {baseline} only {}", run(one)),
            several => format!(
                "{name} gets ahead of {baseline} more than once: {}",
                list(several.iter().map(run))
            ),
        };
        Some(Self {
            label: name.to_owned(),
            from: from.map(|(_, label, _)| label.clone()),
            sentence,
            value: value.clone(),
            from_point: from.map(|(point, _, _)| *point),
            has_too_few,
        })
    }

    /// The same with a capital and a full stop.
    pub(super) fn note(&self) -> String {
        format!("{}.", capitalized(&self.sentence))
    }
}

/// The first and the last of each row of points that lie ahead.
fn runs(points: &[RatioAt]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (place, (_, _, ratio)) in points.iter().enumerate() {
        if ratio.decision != Decision::Sure(Direction::Above) {
            continue;
        }
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == place => *end = place,
            _ => runs.push((place, place)),
        }
    }
    runs
}

/// Paired ratios along the key, with a mark from which value on the whole interval lies above 1. `None` where no
/// crossover is asked for, or the key's values are no numbers.
pub(super) fn chart(points: &[Point], crossovers: &[Crossover]) -> Option<Curve> {
    let first = points.first().filter(|_| !crossovers.is_empty())?;
    let along = first.rule.along.as_ref()?;
    let xs = points.iter().map(|point| point.number(along));
    let xs = xs.collect::<Option<Vec<f64>>>()?;
    let baseline = first.baseline()?.label.clone();
    let mark = |of: &Crossover| {
        let x = *xs.get(of.from_point?)?;
        Some((format!("{} is ahead from {} on", of.label, of.from.as_ref()?), x))
    };
    let words = first.rule.metric.row().words;
    Some(Curve {
        title: format!("{} as a ratio to {baseline}", capitalized(words)),
        subtitle: first.subtitle(),
        x_axis: logarithmic(along),
        y_axis: "ratio (logarithmic); above 1 is ahead".to_owned(),
        axis: Axis::Factors,
        lines: crossovers.iter().map(|of| line(points, along, &xs, of)).collect(),
        bound: Some((baseline, 1.0)),
        marks: crossovers.iter().filter_map(mark).collect(),
        ..Curve::default()
    })
}

fn line(points: &[Point], along: &str, xs: &[f64], of: &Crossover) -> ChartLine {
    let dot = |(point, x): (&Point, &f64)| {
        let bar = point.figure_of(&of.value)?;
        let ratio = bar.ratio.as_ref()?;
        let interval = ratio.estimate.interval;
        Some(Dot {
            x: *x,
            x_label: point.short_label(along),
            y: ratio.median(),
            y_label: times(ratio),
            range: ratio.has_interval().then_some((interval.low, interval.high)),
            title: format!("{}, {}: {}", of.label, point.label_at(along), times(ratio)),
            is_doubtful: bar.mark.is_some(),
            is_large: false,
            published: published::ratio(&point.rule.published, bar)
                .map(|of| (format!("published: {} had {}", of.who, of.says), of.low))
                .into_iter()
                .collect(),
        })
    };
    ChartLine {
        label: of.label.clone(),
        is_baseline: false,
        is_joined: true,
        dots: points.iter().zip(xs).filter_map(dot).collect(),
    }
}
