//! The chart of an answer along numbers of users or sizes of messages: a curve for each compared value, and what
//! Little's law or the instructions allow.

use study::{Metric, Param};
use units::{Nanos, Quantity, Unit, counted, decimal};

use super::bars::axis;
use super::published::{band as band_of, beside, in_words};
use crate::analysis::{Answer, Figure, LittlesLawBounds, Point, RowFigure};
use crate::findings::{self, Axis, ChartLine, Dot, LineLimit};
use crate::wording::{capitalized, interval, list, unique};
use load::Operation;
use study::metric::words_of;

/// Along an axis of factors, straight lines between this many points look like the bound's curve.
const STEPS: i32 = 40;

/// `None` of an answer that is not drawn so.
pub(in crate::analysis) fn chart(answer: &Answer) -> Option<findings::Curve> {
    let metric = answer.rule().metric;
    let is_of_sizes = metric == Metric::CyclesPerByte && answer.points.len() > 1;
    let is_of_lines = answer.is_of_users() || is_of_sizes;
    let along = answer.rule().along.as_ref().filter(|_| is_of_lines)?;
    let figures = answer.shown().filter_map(|bar| bar.figure.as_ref());
    let unit = metric.row().quantity.unit_for(figures.map(Figure::median));
    // A value may lack a figure at some points.
    let values = unique(answer.shown().map(|of| &of.value));
    let lines: Vec<(&Param, ChartLine)> =
        values.into_iter().filter_map(|of| Some((of, line(answer, along, of, &unit)?))).collect();
    let x_axis = match (answer.is_of_users(), answer.operation()) {
        (false, _) => "size of a message",
        (true, Operation::Session) => "users",
        (true, _) => "connections",
    };
    let bound = bound(metric);
    let limit = |bounds: &LittlesLawBounds| {
        let line = lines.iter().position(|(value, _)| **value == bounds.value)?;
        Some(limit(bounds, line, &lines[line].1.dots, bound?))
    };
    let limits: Vec<LineLimit> = answer.bounds.iter().filter_map(limit).collect();
    let lines: Vec<ChartLine> = lines.into_iter().map(|(_, line)| line).collect();
    let allowed = (!limits.is_empty()).then(|| allowed(answer));
    let is_marked = lines.iter().flat_map(|line| &line.dots).any(|dot| dot.is_doubtful);
    let marked = is_marked.then(|| "Hollow: marked in the table of cells.".to_owned());
    let published = in_words(&answer.points, "line");
    Some(findings::Curve {
        title: capitalized(&words_of(answer.operation(), metric.row().words)),
        subtitle: answer.points[0].subtitle(),
        x_axis: format!("{x_axis} (logarithmic)"),
        y_axis: axis(answer, &unit),
        axis: match (answer.is_of_users(), metric.row().quantity) {
            (false, _) => Axis::Factors,
            (true, Quantity::Share) => Axis::Share(unit),
            (true, _) => Axis::FromZero(unit),
        },
        bound: answer.least(),
        lines,
        limits,
        notes: allowed.into_iter().chain(marked).chain(published).collect(),
        ..findings::Curve::default()
    })
}

/// The bars of one compared value.
fn line(answer: &Answer, along: &str, value: &Param, unit: &Unit) -> Option<ChartLine> {
    let points = || answer.points.iter();
    let bars = || points().flat_map(|point| point.shown().map(move |of| (point, of)));
    let bars = || bars().filter(|(_, of)| of.value == *value);
    let (_, first) = bars().next()?;
    Some(ChartLine {
        label: first.label.clone(),
        is_baseline: first.is_baseline,
        is_joined: true,
        dots: bars().filter_map(|(point, bar)| dot(answer, along, (point, bar), unit)).collect(),
    })
}

fn dot(
    answer: &Answer,
    along: &str,
    (point, bar): (&Point, &RowFigure),
    unit: &Unit,
) -> Option<Dot> {
    let (rule, label) = (answer.rule(), point.label_at(along));
    let figure = bar.figure.as_ref()?;
    let estimate = figure.estimate;
    let x = point.number(along)?;
    let mark = bar.mark.map_or(String::new(), |mark| format!(" ({})", mark.name()));
    let y_label = unit.text(estimate.median);
    let band = beside(&rule.published, bar);
    let band = band.and_then(|of| band_of(of, rule.metric, point.baseline()));
    let published = band.into_iter().flat_map(|band| {
        let ends = [("", band.low), (", upper end", band.high)];
        let count = if band.low == band.high { 1 } else { 2 };
        ends.into_iter()
            .take(count)
            .map(|(end, value)| (format!("{label}, {}{end}", band.title), value))
            .collect::<Vec<_>>()
    });
    let own = bar.row.published().iter().map(|of| {
        let cost = of.cycles_per_byte;
        (format!("published: {}, {cost} cycles/byte", of.label), cost)
    });
    Some(Dot {
        x,
        x_label: if answer.is_of_users() { decimal(x, 0) } else { label.clone() },
        y: estimate.median,
        title: format!("{label}, {}: {y_label} {}{mark}", bar.label, interval(figure, unit)),
        y_label,
        range: figure.has_interval().then_some((estimate.interval.low, estimate.interval.high)),
        is_doubtful: bar.mark.is_some(),
        is_large: false,
        published: published.chain(own).collect(),
    })
}

/// What Little's law says of a metric.
type OfUsers = fn(&LittlesLawBounds, f64) -> f64;

fn bound(metric: Metric) -> Option<OfUsers> {
    match metric {
        Metric::Rate => Some(LittlesLawBounds::most_per_second),
        Metric::ResponseTime => Some(LittlesLawBounds::least_response),
        _ => None,
    }
}

/// From the least to the most users that the line has.
fn limit(bounds: &LittlesLawBounds, line: usize, dots: &[Dot], bound: OfUsers) -> LineLimit {
    let users = || dots.iter().map(|dot| dot.x);
    let (least, most) = (users().fold(f64::INFINITY, f64::min), users().fold(0.0, f64::max));
    let knee = Some(bounds.knee()).filter(|knee| (least..=most).contains(knee));
    let steps =
        (0..=STEPS).map(|step| least * (most / least).powf(f64::from(step) / f64::from(STEPS)));
    let mut all: Vec<f64> = steps.chain(knee).collect();
    all.sort_by(f64::total_cmp);
    let at = |users: f64| (users, bound(bounds, users));
    let words = |knee: f64| format!("{}: knee at {} users", bounds.label, decimal(knee, 1));
    LineLimit {
        line,
        points: all.into_iter().map(at).collect(),
        knee: knee.map(|knee| (words(knee), at(knee))),
    }
}

/// What the thin lines are, and from what they were computed.
fn allowed(answer: &Answer) -> String {
    let formula = match answer.rule().metric {
        Metric::ResponseTime => "at least max(D, N x D / cores - Z)",
        _ => "at most min(N / (D + Z), cores / D)",
    };
    let nanos = |ns: f64| Nanos(ns.round() as u64);
    let of = |bounds: &LittlesLawBounds| {
        format!(
            "D = {}, Z = {}, N* = {} with {} (D at {})",
            nanos(bounds.demand_ns),
            nanos(bounds.think_ns),
            decimal(bounds.knee(), 1),
            bounds.label,
            bounds.demand_at
        )
    };
    let cores = answer.bounds.first().map_or(0, |bounds| bounds.cores);
    format!(
        "Thin: what Little's law allows N users of {}, {formula}. D is the server's {}, \
         where it was least; Z the time between two of them; rings mark the knee N* = cores x (D + Z) \
         / D. {}.",
        counted(cores as u64, "core"),
        words_of(answer.operation(), "CPU time per operation"),
        list(answer.bounds.iter().map(of))
    )
}
