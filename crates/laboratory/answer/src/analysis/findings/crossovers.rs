//! The chart of an answer that says where one thing gets ahead of another: paired ratios along the key,
//! with a mark from which value on the whole interval lies above 1.

use super::cell_labels::logarithmic;
use super::published;
use crate::analysis::{Answer, AnswerCurve, AnswerPoint, Crossover};
use crate::findings::{self, Axis, ChartLine, Dot};
use crate::wording::{capitalized, times};

/// `None` where no crossover is asked for, or the key's values are no numbers.
pub(super) fn chart(answer: &Answer, curve: &AnswerCurve) -> Option<findings::Curve> {
    if curve.crossovers.is_empty() {
        return None;
    }
    let xs = curve.points.iter().map(|point| point.place(&curve.along));
    let xs = xs.collect::<Option<Vec<f64>>>()?;
    let baseline = curve.points.first()?.bars.iter().find(|bar| bar.is_baseline)?.label.clone();
    let mark = |of: &Crossover| {
        let x = *xs.get(of.from_point?)?;
        Some((format!("{} is ahead from {} on", of.label, of.from.as_ref()?), x))
    };
    let words = answer.metric.row().words;
    Some(findings::Curve {
        title: format!("{} as a ratio to {baseline}", capitalized(words)),
        subtitle: answer.subtitle(),
        x_axis: logarithmic(&curve.along),
        y_axis: "ratio (logarithmic); above 1 is ahead".to_owned(),
        axis: Axis::Factors,
        lines: curve.crossovers.iter().map(|of| line(answer, curve, &xs, of)).collect(),
        bound: Some((baseline, 1.0)),
        marks: curve.crossovers.iter().filter_map(mark).collect(),
        ..findings::Curve::default()
    })
}

fn line(answer: &Answer, curve: &AnswerCurve, xs: &[f64], of: &Crossover) -> ChartLine {
    let dot = |(point, x): (&AnswerPoint, &f64)| {
        let bar = point.bars.iter().find(|bar| bar.has(&answer.compare, &of.value))?;
        let ratio = bar.ratio.as_ref()?;
        let interval = ratio.estimate.interval;
        Some(Dot {
            x: *x,
            x_label: point.short_label(&curve.along),
            y: ratio.median(),
            y_label: times(ratio),
            range: ratio.has_interval().then_some((interval.low, interval.high)),
            title: format!("{}, {}: {}", of.label, point.label, times(ratio)),
            is_doubtful: bar.mark.is_some(),
            is_large: false,
            published: published::ratio(&answer.published, bar)
                .map(|of| (format!("published: {} had {}", of.who, of.says), of.low))
                .into_iter()
                .collect(),
        })
    };
    ChartLine {
        label: of.label.clone(),
        is_baseline: false,
        is_joined: true,
        dots: curve.points.iter().zip(xs).filter_map(dot).collect(),
    }
}
