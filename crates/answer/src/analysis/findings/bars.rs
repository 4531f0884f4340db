//! The charts of an answer: a bar for each value of the compared key, and where the study asks for it
//! along another key, with the share of its CPUs that the server used meanwhile.

use study::Published;

use super::published::{band, beside, in_words};
use crate::analysis::{Answer, Bar, Curve, Figure, Point};
use crate::findings::{self, BarRow, Bars, Series};
use crate::wording::capitalized;
use study::metric::{Kind, words_of};
use units::{Quantity, Unit};

/// The bars of an answer, next to those of `all`: answers to one question about different servers have
/// the same axis, so that their bars can be compared.
pub(super) fn side_by_side(answer: &Answer, all: &[Answer]) -> Bars {
    let key = |answer: &Answer| (answer.metric, answer.case.clone(), answer.compare.clone());
    let alike: Vec<&Answer> = all.iter().filter(|other| key(other) == key(answer)).collect();
    let figures =
        alike.iter().flat_map(|answer| &answer.bars).filter_map(|bar| bar.figure.as_ref());
    let unit = answer.metric.row().quantity.unit_for(figures.map(Figure::median));
    let room = alike.iter().flat_map(|answer| bars(answer, &unit).values());
    Bars { room: room.collect(), ..bars(answer, &unit) }
}

fn bars(answer: &Answer, unit: &Unit) -> Bars {
    let baseline = answer.bars.iter().find(|bar| bar.is_baseline);
    let row = |bar: &Bar| BarRow {
        label: bar.label.clone(),
        bars: vec![drawn(bar, "", bar.figure.as_ref(), &answer.published, baseline)],
        lacking: bar.infeasible.clone(),
    };
    Bars {
        title: capitalized(&words_of(answer.operation, answer.metric.row().words)),
        subtitle: answer.subtitle(),
        axis: axis(answer, unit),
        unit: *unit,
        is_share: answer.metric.row().quantity == Quantity::Share,
        rows: answer.bars.iter().map(row).collect(),
        published: in_words(answer, "bar"),
        ..Bars::default()
    }
}

fn drawn(
    bar: &Bar,
    name: &str,
    figure: Option<&Figure>,
    published: &[Published],
    baseline: Option<&Bar>,
) -> findings::Bar {
    findings::Bar {
        name: name.to_owned(),
        series: if bar.is_baseline { Series::Baseline } else { Series::Server },
        figure: figure.cloned(),
        mark: bar.mark,
        published: beside(published, bar).and_then(|published| band(published, baseline)),
    }
}

/// What one of the charts along a key shows of a bar of a point.
type Of = fn(&Point, usize) -> Option<&Figure>;

/// Both charts along a key; the second only of what all CPUs do together, where their time is known.
pub(super) fn along(answer: &Answer, curve: &Curve) -> Vec<Bars> {
    let of_bar: Of = |point, bar| point.bars[bar].figure.as_ref();
    let of_busy: Of = |point, bar| point.busy.get(bar)?.as_ref();
    let unit = unit(answer.metric.row().quantity, curve, of_bar);
    let first = Bars {
        title: capitalized(&words_of(answer.operation, answer.metric.row().words)),
        axis: axis(answer, &unit),
        published: in_words(answer, "bar"),
        ..chart_along(answer, curve, of_bar, unit, &answer.published)
    };
    // Beside what a CPU-second gives, it would say nothing.
    let has_busy = answer.metric.row().kind == Kind::Throughput
        && curve.points.iter().any(|point| point.busy.iter().any(Option::is_some));
    let unit = self::unit(Quantity::Share, curve, of_busy);
    let second = has_busy.then(|| Bars {
        title: "CPU that the server used".to_owned(),
        axis: format!("{} of the server's CPUs", unit.name),
        is_share: true,
        ..chart_along(answer, curve, of_busy, unit, &[])
    });
    std::iter::once(first).chain(second).collect()
}

fn unit(quantity: Quantity, curve: &Curve, of: Of) -> Unit {
    let points = curve.points.iter();
    let figures =
        points.flat_map(|point| (0..point.bars.len()).filter_map(move |bar| of(point, bar)));
    quantity.unit_for(figures.map(Figure::median))
}

/// Without its title and what its axis counts.
fn chart_along(
    answer: &Answer,
    curve: &Curve,
    of: Of,
    unit: Unit,
    published: &[Published],
) -> Bars {
    let row = |point: &Point| {
        let baseline = point.bars.iter().find(|bar| bar.is_baseline);
        let bars = point.bars.iter().enumerate();
        let drawn = |(place, bar): (usize, &Bar)| {
            drawn(bar, &bar.label, of(point, place), published, baseline)
        };
        BarRow {
            label: point.label.clone(),
            bars: bars.map(drawn).collect(),
            lacking: point.bars.iter().find_map(|bar| bar.infeasible.clone()),
        }
    };
    let rows = curve.points.iter().map(row).collect();
    Bars { subtitle: answer.subtitle(), unit, rows, ..Bars::default() }
}

/// What an axis of the metric counts, and which way is better.
pub(super) fn axis(answer: &Answer, unit: &Unit) -> String {
    let row = answer.metric.row();
    let axis = words_of(answer.operation, row.axis);
    let better = match row.kind {
        Kind::Throughput | Kind::PerCpu => "; higher is better",
        Kind::Tax | Kind::Cost => "; lower is better",
        Kind::State => "",
    };
    match row.quantity {
        Quantity::PerSecond => format!("{axis}{better}"),
        _ => format!("{} {axis}{better}", unit.name),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use load::Operation;
    use study::{Metric, Reference};

    use super::*;

    fn bar(label: &str, value: f64) -> Bar {
        Bar {
            label: label.to_owned(),
            cell: "c-0001".to_owned(),
            params: BTreeMap::from([("load.suite".to_owned(), label.to_owned())]),
            is_baseline: label == "CBC",
            figure: Figure::of(vec![value; 3]),
            ratio: None,
            mark: None,
            infeasible: None,
        }
    }

    fn answer(metric: Metric, bars: Vec<Bar>) -> Answer {
        Answer {
            headline: None,
            sentence: String::new(),
            purity: None,
            remedy: None,
            caveats: Vec::new(),
            case: "files".to_owned(),
            metric,
            compare: "load.suite".to_owned(),
            operation: Operation::Requests,
            common: BTreeMap::from([("target.server".to_owned(), "nginx".to_owned())]),
            bars,
            published: Vec::new(),
            bill: None,
            loopback: None,
            predictions: Vec::new(),
            predicted: None,
            curve: None,
        }
    }

    #[test]
    fn answers_to_one_question_have_one_axis() {
        let of = |bps: f64| answer(Metric::Goodput, vec![bar("CBC", bps)]);
        let all = [of(8e6), of(80e9), answer(Metric::Rate, vec![bar("CBC", 1e12)])];
        let charts = [&all[0], &all[1]].map(|answer| side_by_side(answer, &all));
        assert_eq!(charts[0].axis, "Gb/s of proven bodies; higher is better");
        assert_eq!(charts[0].subtitle, "files, nginx");
        for chart in charts {
            assert!(chart.values().contains(&8e6) && chart.values().contains(&80e9));
            assert!(!chart.values().contains(&1e12));
        }
    }

    fn curve() -> Curve {
        let point = |label: &str, factor: f64| Point {
            label: label.to_owned(),
            bars: vec![bar("CBC", 3e9 * factor), bar("GCM", 9e9 * factor)],
            busy: vec![Figure::of(vec![0.99; 3]), Figure::of(vec![0.9; 3])],
        };
        Curve {
            along: "target.object".to_owned(),
            points: vec![point("1 MiB objects", 0.9), point("4 MiB objects", 1.0)],
            bounds: Vec::new(),
            crossovers: Vec::new(),
        }
    }

    #[test]
    fn one_chart_has_the_figures_and_one_the_cpu() {
        let charts = along(&answer(Metric::Goodput, Vec::new()), &curve());
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["Goodput", "CPU that the server used"]);
        assert_eq!(charts[0].subtitle, "files, nginx");
        assert_eq!(charts[0].rows[1].label, "4 MiB objects");
        let busy = charts[1].rows[1].bars[1].figure.as_ref().unwrap();
        assert!(charts[1].is_share && busy.median() == 0.9);
        let costs = along(&answer(Metric::GoodputPerServerCpu, Vec::new()), &curve());
        assert_eq!(costs.len(), 1, "beside what a CPU-second gives, the CPU says nothing");
    }

    #[test]
    fn the_published_range_lies_at_the_baseline_times_its_ratio() {
        let published = Reference::find("xeon-e5-v3-2014").unwrap().figure("nginx-large-files");
        let published = published.into_iter().collect();
        let answer = Answer { published, ..answer(Metric::Goodput, vec![bar("GCM", 9e9)]) };
        let [chart, busy] = &along(&answer, &curve())[..] else { panic!() };
        let words = chart.published.as_ref().unwrap();
        assert!(words.contains("Intel's Xeon E5 v3 had 2 to 2.4x"), "{words}");
        for (row, baseline) in chart.rows.iter().zip([2.7e9, 3e9]) {
            let [None, Some(band)] = [0, 1].map(|bar| row.bars[bar].published.as_ref()) else {
                panic!("one range, of the bar that is compared")
            };
            assert_eq!((band.low, band.high), (2.0 * baseline, 2.4 * baseline));
        }
        assert!(busy.published.is_none());
        assert!(busy.rows.iter().flat_map(|row| &row.bars).all(|bar| bar.published.is_none()));
    }

    #[test]
    fn a_figure_that_names_keys_stands_beside_their_cells_only() {
        let reference = Reference::find("quickassist-8955").unwrap();
        let mut published = reference.figure("software-rsa-2048").unwrap();
        assert_eq!(published.beside["target.certificate-key"], "rsa:2048");
        published.beside = BTreeMap::from([("load.suite".to_owned(), "GCM".to_owned())]);
        let bars = vec![bar("CBC", 3e3), bar("GCM", 2e3), bar("ChaCha", 2e3)];
        let answer = Answer { published: vec![published], ..answer(Metric::Rate, bars) };
        let chart = side_by_side(&answer, std::slice::from_ref(&answer));
        let bands = chart.rows.iter().map(|row| Some(row.bars[0].published.as_ref()?.low));
        assert_eq!(bands.collect::<Vec<_>>(), [None, Some(4_866.0), None]);
        assert!(chart.published.unwrap().contains("4,866 per second"));
        let without = Answer { bars: vec![bar("CBC", 3e3)], ..answer };
        assert_eq!(side_by_side(&without, &[]).published, None, "nothing is outlined");
    }
}
