//! The chart of an answer that says where one thing gets ahead of another: paired ratios along the key,
//! with a mark from which value on the whole interval lies above 1.

use super::cell_labels::logarithmic;
use super::published;
use crate::analysis::{Answer, Crossover, Point};
use crate::findings::{self, Axis, ChartLine, Dot};
use crate::wording::{capitalized, times};

/// `None` where no crossover is asked for, or the key's values are no numbers.
pub(super) fn chart(answer: &Answer) -> Option<findings::Curve> {
    let along = answer.rule().along.as_ref().filter(|_| !answer.crossovers.is_empty())?;
    let xs = answer.points.iter().map(|point| point.number(along));
    let xs = xs.collect::<Option<Vec<f64>>>()?;
    let baseline = answer.points.first()?.baseline()?.label.clone();
    let mark = |of: &Crossover| {
        let x = *xs.get(of.from_point?)?;
        Some((format!("{} is ahead from {} on", of.label, of.from.as_ref()?), x))
    };
    let words = answer.rule().metric.row().words;
    Some(findings::Curve {
        title: format!("{} as a ratio to {baseline}", capitalized(words)),
        subtitle: answer.subtitle(),
        x_axis: logarithmic(along),
        y_axis: "ratio (logarithmic); above 1 is ahead".to_owned(),
        axis: Axis::Factors,
        lines: answer.crossovers.iter().map(|of| line(answer, along, &xs, of)).collect(),
        bound: Some((baseline, 1.0)),
        marks: answer.crossovers.iter().filter_map(mark).collect(),
        ..findings::Curve::default()
    })
}

fn line(answer: &Answer, along: &str, xs: &[f64], of: &Crossover) -> ChartLine {
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
            published: published::ratio(&answer.rule().published, bar)
                .map(|of| (format!("published: {} had {}", of.who, of.says), of.low))
                .into_iter()
                .collect(),
        })
    };
    ChartLine {
        label: of.label.clone(),
        is_baseline: false,
        is_joined: true,
        dots: answer.points.iter().zip(xs).filter_map(dot).collect(),
    }
}
