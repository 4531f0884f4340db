//! Costs by the size of messages, both by their logarithms: equal factors are equal distances.

use answer::primitive::{Curve, Point, Series};
use serde::Serialize;
use units::Bytes;

use super::rounded;

/// A drawing of costs.
#[derive(Debug, Serialize)]
pub(crate) struct CostCurve {
    title: String,
    /// The chart in words, for readers who cannot see it.
    description: String,
    /// Of the plot, in pixels.
    height: f64,
    legend: Vec<Key>,
    /// Sizes, in percent.
    sizes: Vec<Tick>,
    /// Costs, in pixels.
    costs: Vec<Tick>,
    lines: Vec<Segment>,
    dots: Vec<Dot>,
    published: Vec<Dot>,
    bound: Option<Tick>,
}

/// What a colour means.
#[derive(Debug, Serialize)]
struct Key {
    series: usize,
    label: String,
}

#[derive(Debug, Serialize)]
struct Tick {
    at: f64,
    label: String,
}

#[derive(Debug, Serialize)]
struct Segment {
    series: usize,
    x1: f64,
    y1: f64,
    x2: f64,
    y2: f64,
}

/// A figure with its quartiles.
#[derive(Debug, Serialize)]
struct Dot {
    series: usize,
    x: f64,
    y: f64,
    low: f64,
    high: f64,
    is_disturbed: bool,
    title: String,
}

const HEIGHT: f64 = 240.0;
/// Left and right of the first and the last size, in percent: room for labels.
const MARGIN: f64 = 9.0;

/// The place of costs and sizes.
struct Scales {
    smallest: f64,
    largest: f64,
    least: f64,
    most: f64,
}

/// Draws a curve. Numbers that are not positive, which no cost is, are left out.
pub(crate) fn cost_curve(curve: &Curve) -> CostCurve {
    let scales = Scales::around(curve);
    let mut dots = Vec::new();
    let mut lines = Vec::new();
    let mut published: Vec<Dot> = Vec::new();
    let mut others = 0;
    let mut legend = Vec::new();
    for of in &curve.series {
        let series = if of.is_baseline {
            0
        } else {
            others += 1;
            others
        };
        legend.push(Key { series, label: of.label.clone() });
        let drawn: Vec<Dot> = of.points.iter().filter_map(|p| scales.dot(series, of, p)).collect();
        lines.extend(drawn.windows(2).map(|pair| Segment {
            series,
            x1: pair[0].x,
            y1: pair[0].y,
            x2: pair[1].x,
            y2: pair[1].y,
        }));
        dots.extend(drawn);
        for point in &of.points {
            for (label, cost) in &point.published {
                let title = format!("published: {label}, {cost} cycles/byte");
                let at = scales.x(point.size_bytes as f64).zip(scales.y(*cost));
                let Some((x, y)) = at.filter(|_| !published.iter().any(|p| p.title == title))
                else {
                    continue;
                };
                published.push(Dot { series, x, y, low: y, high: y, is_disturbed: false, title });
            }
        }
    }
    let bound = curve.bound.as_ref().and_then(|(of, cost)| {
        Some(Tick { at: scales.y(*cost)?, label: format!("bound of {of}: {cost:.3} cycles/byte") })
    });
    CostCurve {
        title: curve.title.clone(),
        description: description(curve),
        height: HEIGHT,
        legend,
        sizes: scales.sizes(curve),
        costs: scales.costs(),
        lines,
        dots,
        published,
        bound,
    }
}

fn description(curve: &Curve) -> String {
    let point = |p: &Point| format!("{} {:.3}", Bytes(p.size_bytes), p.median);
    let series = |s: &Series| {
        let points: Vec<String> = s.points.iter().map(point).collect();
        format!("{}: {}.", s.label, points.join(", "))
    };
    let all: Vec<String> = curve.series.iter().map(series).collect();
    format!("Core cycles per byte. {}", all.join(" "))
}

impl Scales {
    fn around(curve: &Curve) -> Self {
        let points = || curve.series.iter().flat_map(|series| &series.points);
        let sizes = || points().map(|point| point.size_bytes as f64);
        let costs = points().flat_map(|point| {
            let published = point.published.iter().map(|(_, cost)| *cost);
            published.chain([point.low, point.median, point.high])
        });
        let costs: Vec<f64> = costs
            .chain(curve.bound.iter().map(|(_, cost)| *cost))
            .filter(|cost| cost.is_finite() && *cost > 0.0)
            .collect();
        let (least, most) = (
            costs.iter().copied().fold(f64::INFINITY, f64::min),
            costs.iter().copied().fold(0.0, f64::max),
        );
        let (least, most) = if most > 0.0 { (least, most) } else { (0.1, 1.0) };
        Self {
            smallest: sizes().fold(f64::INFINITY, f64::min).max(1.0),
            largest: sizes().fold(1.0, f64::max),
            least: steps().take_while(|step| *step <= least).last().unwrap_or(least),
            most: steps().find(|step| *step >= most).unwrap_or(most),
        }
    }

    fn x(&self, size: f64) -> Option<f64> {
        let share = share(size, self.smallest, self.largest)?;
        Some(rounded(MARGIN + (100.0 - 2.0 * MARGIN) * share))
    }

    fn y(&self, cost: f64) -> Option<f64> {
        Some(rounded(HEIGHT * (1.0 - share(cost, self.least, self.most)?)))
    }

    fn dot(&self, series: usize, of: &Series, point: &Point) -> Option<Dot> {
        let Point { median, low, high, .. } = point;
        let disturbed = if point.is_disturbed { ", disturbed: too high" } else { "" };
        Some(Dot {
            series,
            x: self.x(point.size_bytes as f64)?,
            y: self.y(*median)?,
            low: self.y(*low)?,
            high: self.y(*high)?,
            is_disturbed: point.is_disturbed,
            title: format!(
                "{}, {}: {median:.3} cycles/byte, quartiles {low:.3} to {high:.3}{disturbed}",
                of.label,
                Bytes(point.size_bytes)
            ),
        })
    }

    fn sizes(&self, curve: &Curve) -> Vec<Tick> {
        let points = curve.series.iter().flat_map(|series| &series.points);
        let mut sizes: Vec<u64> = points.map(|point| point.size_bytes).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let tick =
            |size: u64| Some(Tick { at: self.x(size as f64)?, label: Bytes(size).to_string() });
        sizes.into_iter().filter_map(tick).collect()
    }

    fn costs(&self) -> Vec<Tick> {
        /// More would touch each other.
        const MOST: usize = 8;
        let within: Vec<f64> =
            steps().filter(|step| (self.least..=self.most).contains(step)).collect();
        let is_many = within.len() > MOST;
        let is_power = |step: &f64| step.log10().fract().abs() < 1e-9;
        let shown = within.into_iter().filter(|step| !is_many || is_power(step));
        shown.filter_map(|step| Some(Tick { at: self.y(step)?, label: step.to_string() })).collect()
    }
}

/// 0.001, 0.002, 0.005, 0.01 and so on, to 5,000.
fn steps() -> impl Iterator<Item = f64> {
    let of_power = |power: i32| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power));
    // Through text, so that 0.2 is 0.2.
    let exact = |step: f64| format!("{step:.3}").parse().unwrap_or(step);
    (-3..4).flat_map(of_power).map(exact)
}

/// Where a value lies between two, by its logarithm.
fn share(value: f64, low: f64, high: f64) -> Option<f64> {
    if !(value.is_finite() && value > 0.0) {
        return None;
    }
    let width = (high / low).ln();
    let share = if width > 0.0 { (value / low).ln() / width } else { 0.5 };
    share.is_finite().then_some(share)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(size_bytes: u64, median: f64) -> Point {
        Point {
            size_bytes,
            median,
            low: median * 0.9,
            high: median * 1.1,
            is_disturbed: false,
            published: Vec::new(),
        }
    }

    fn curve(points: Vec<Point>) -> Curve {
        let series = Series { label: "a".to_owned(), is_baseline: true, points };
        Curve { title: "t".to_owned(), series: vec![series], bound: None }
    }

    #[test]
    fn equal_factors_are_equal_distances() {
        let drawn = cost_curve(&curve(vec![point(64, 4.0), point(256, 2.0), point(1024, 1.0)]));
        let [a, b, c] = &drawn.dots[..] else { panic!() };
        assert!((b.x - a.x - (c.x - b.x)).abs() < 0.02, "{drawn:?}");
        assert!((b.y - a.y - (c.y - b.y)).abs() < 0.02, "{drawn:?}");
        assert_eq!((a.x, c.x), (MARGIN, 100.0 - MARGIN));
        assert!(a.high < a.y && a.y < a.low, "upwards is more");
        assert_eq!(
            drawn.costs.iter().map(|t| t.label.as_str()).collect::<Vec<_>>(),
            ["0.5", "1", "2", "5"]
        );
        assert_eq!(drawn.lines.len(), 2);
    }

    #[test]
    fn published_costs_and_bounds_have_their_place() {
        let mut curve = curve(vec![point(64, 4.0), point(8192, 1.0)]);
        curve.series[0].points[1].published = vec![("Xeon".to_owned(), 2.64)];
        curve.bound = Some((primitives::instructions::Bounded::Gcm, 0.5));
        let drawn = cost_curve(&curve);
        assert_eq!(drawn.published.len(), 1);
        assert_eq!(drawn.published[0].x, drawn.dots[1].x);
        assert_eq!(drawn.bound.unwrap().at, HEIGHT);
    }

    #[test]
    fn what_is_no_cost_is_not_drawn() {
        let drawn =
            cost_curve(&curve(vec![point(64, f64::NAN), point(256, 0.0), point(1024, 1.0)]));
        assert_eq!(drawn.dots.len(), 1);
        assert!(cost_curve(&curve(Vec::new())).dots.is_empty());
    }
}
