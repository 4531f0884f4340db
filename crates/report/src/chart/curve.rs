//! The charts of an answer along a swept key: the figure at each of its values, and the share of its CPUs
//! that the server used meanwhile.

use answer::analysis::{Answer, Curve, Figure, Point};
use answer::wording::capitalized;
use study::metric::Kind;

use super::answer_chart::{axis, description};
use super::published::Bands;
use super::{Bar, Chart, NOT_MEASURED, Row, Scale, Series, Value, extent, ticks};
use crate::figures::{interval, joined};
use crate::mark;
use units::{Quantity, Unit};

/// What one of the charts shows of a bar of a point.
type Of = fn(&Point, usize) -> Option<&Figure>;

/// Both charts; the second only of what all CPUs do together, where their time is known.
pub(crate) fn curve_charts(answer: &Answer, curve: &Curve) -> Vec<Chart> {
    let of_bar: Of = |point, bar| point.bars[bar].figure.as_ref();
    let of_busy: Of = |point, bar| point.busy.get(bar)?.as_ref();
    let quantity = answer.metric.row().quantity;
    let unit = quantity.unit_for(figures(curve, of_bar).map(|figure| figure.estimate.median));
    let first = Chart {
        title: capitalized(answer.metric.row().words),
        axis: axis(answer.metric, &unit),
        ..chart(answer, curve, of_bar, &unit, true)
    };
    let unit = Quantity::Share.unit_for(figures(curve, of_busy).map(|f| f.estimate.median));
    // Beside what a CPU-second gives, it would say nothing.
    let has_busy =
        answer.metric.row().kind == Kind::Throughput && figures(curve, of_busy).next().is_some();
    let second = has_busy.then(|| Chart {
        title: "CPU that the server used".to_owned(),
        axis: format!("{} of the server's CPUs", unit.name),
        is_share: true,
        ..chart(answer, curve, of_busy, &unit, false)
    });
    std::iter::once(first).chain(second).collect()
}

fn figures(curve: &Curve, of: Of) -> impl Iterator<Item = &Figure> {
    let bars = |point: &Point| 0..point.bars.len();
    let points = curve.points.iter();
    points.flat_map(move |point| bars(point).filter_map(move |bar| of(point, bar)))
}

/// Without its title and what its axis counts.
fn chart(answer: &Answer, curve: &Curve, of: Of, unit: &Unit, has_published: bool) -> Chart {
    let published = answer.published.as_ref().filter(|_| has_published);
    let bands = |point: &Point| published.map(|published| Bands::of(published, &point.bars));
    let of_bands = curve.points.iter().filter_map(bands).flat_map(|bands| bands.extent());
    let whole = (!has_published).then_some(1.0);
    let scale = Scale::around(extent(figures(curve, of)).into_iter().chain(of_bands).chain(whole));
    let rows = curve.points.iter().map(|point| Row {
        bands: bands(point).map(|bands| bands.drawn(&scale)).unwrap_or_default(),
        ..row(point, of, &scale, unit)
    });
    let (rows, height) = Chart::stack(rows.collect());
    let common = answer.common.iter().map(|(key, value)| answer::label(key, value));
    let subtitle: Vec<String> =
        std::iter::once(answer.case.clone()).chain(common).chain(colours(curve)).collect();
    Chart {
        title: String::new(),
        subtitle: subtitle.join(", "),
        description: description(&rows),
        axis: String::new(),
        ticks: ticks(&scale, unit),
        zero: scale.percent(0.0).unwrap_or(0.0),
        is_share: false,
        rows,
        height,
        legend: Vec::new(),
        published: published.map(super::published::in_words),
    }
}

/// Which bar is of which value of the compared key: the same in every row.
fn colours(curve: &Curve) -> Option<String> {
    let bars = &curve.points.first()?.bars;
    let name = |bar: &answer::analysis::Bar| match bar.is_baseline {
        true => format!("{} (grey)", bar.label),
        false => bar.label.clone(),
    };
    let names: Vec<String> = bars.iter().map(name).collect();
    Some(format!("from above: {}", names.join(", ")))
}

/// A row has the bars of all values of the compared key.
fn row(point: &Point, of: Of, scale: &Scale, unit: &Unit) -> Row {
    let mut values = Vec::new();
    let mut bars = Vec::new();
    for (index, bar) in point.bars.iter().enumerate() {
        let series = if bar.is_baseline { Series::Baseline } else { Series::Server };
        let Some(figure) = of(point, index) else { continue };
        let (text, interval) = (unit.text(figure.estimate.median), interval(figure, unit));
        let title = format!("{}, {}: {}", point.label, bar.label, joined(&text, &interval));
        let is_hatched = bar.mark.is_some_and(mark::is_not_a_maximum);
        bars.extend(Bar::of(figure, series, is_hatched, scale, title));
        values.push(Value { series, text, interval: String::new() });
    }
    let infeasible = point.bars.iter().find_map(|bar| bar.infeasible.clone());
    Row {
        lacking: infeasible.unwrap_or_else(|| NOT_MEASURED.to_owned()),
        y: 0.0,
        label: point.label.clone(),
        values,
        mark: point.bars.iter().filter_map(|bar| bar.mark).min().map(mark::name),
        bars,
        bands: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use answer::analysis::Bar as Bar_;
    use stats::Estimate;
    use study::{Metric, Reference};

    use super::*;

    fn figure(value: f64) -> Option<Figure> {
        let samples = vec![value; 3];
        Some(Figure { estimate: Estimate::of(&samples).ok()?, samples })
    }

    fn bar(label: &str, value: f64) -> Bar_ {
        Bar_ {
            label: label.to_owned(),
            cell: "c-0001".to_owned(),
            is_baseline: label == "CBC",
            figure: figure(value),
            ratio: None,
            mark: None,
            infeasible: None,
        }
    }

    fn answer() -> Answer {
        let point = |label: &str, factor: f64| Point {
            label: label.to_owned(),
            bars: vec![bar("CBC", 3e9 * factor), bar("GCM", 9e9 * factor)],
            busy: vec![figure(0.99), figure(0.9)],
        };
        let curve = Curve {
            along: "target.object".to_owned(),
            points: vec![point("1 MiB objects", 0.9), point("4 MiB objects", 1.0)],
        };
        Answer {
            sentence: String::new(),
            remedy: None,
            caveats: Vec::new(),
            case: "files".to_owned(),
            metric: Metric::Goodput,
            compare: "load.suite".to_owned(),
            common: BTreeMap::new(),
            bars: Vec::new(),
            published: Reference::find("xeon-e5-v3-2014").unwrap().figure("nginx-large-files"),
            curve: Some(curve),
        }
    }

    #[test]
    fn one_chart_has_the_figures_and_one_the_cpu() {
        let answer = answer();
        let charts = curve_charts(&answer, answer.curve.as_ref().unwrap());
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["Goodput", "CPU that the server used"]);
        assert!(charts[0].description.starts_with("1 MiB objects: 2.70 Gb/s, 8.10 Gb/s."));
        assert!(charts[1].description.contains("4 MiB objects: 99.0%, 90.0%."));
        assert_eq!(charts[0].rows[0].bars.len(), 2);
        assert_eq!(charts[0].subtitle, "files, from above: CBC (grey), GCM");
        assert!(charts[1].published.is_none() && charts[1].rows[0].bands.is_empty());
    }

    #[test]
    fn the_published_range_lies_at_the_baseline_times_its_ratio() {
        let answer = answer();
        let chart = curve_charts(&answer, answer.curve.as_ref().unwrap()).remove(0);
        let words = chart.published.unwrap();
        assert!(words.contains("Intel's Xeon E5 v3 had 2 to 2.4x"), "{words}");
        for row in &chart.rows {
            let [baseline, _] = &row.bars[..] else { panic!() };
            let [band] = &row.bands[..] else {
                panic!("one band, beside the bar that is compared")
            };
            assert!((band.x - 2.0 * baseline.width).abs() < 0.05);
            assert!((band.x + band.width - 2.4 * baseline.width).abs() < 0.05);
        }
    }
}
