//! The charts of an answer: a bar for each value of the compared key, and where the study asks for it
//! along another key, with the share of its CPUs that the server used meanwhile.

use super::published::{band, beside, in_words};
use crate::analysis::{Answer, Figure, Point, RowFigure};
use crate::findings::{self, BarRow, Bars, Series};
use crate::label::without_what_is_common;
use crate::wording::{capitalized, list_of};
use study::Metric;
use study::metric::{Better, Kind, words_of};
use units::{Quantity, Unit};

/// The bars of the combinations of one answer: of several, a group for each.
pub(super) fn side_by_side(answers: &[&Answer]) -> Option<Bars> {
    let rows = match answers {
        [only] => {
            let point = &only.points[0];
            let of_one = |of: &RowFigure| row(of.label.clone(), &[of], point, |_| "");
            point.shown().map(of_one).collect()
        }
        several => {
            let of_answer = |(label, answer): (String, &&Answer)| group(label, &answer.points[0]);
            combinations(several).into_iter().zip(several).map(of_answer).collect()
        }
    };
    chart(answers, rows)
}

/// What tells the combinations of one answer from each other, in words.
pub(super) fn combinations(answers: &[&Answer]) -> Vec<String> {
    let words: Vec<Vec<String>> = answers.iter().map(|answer| answer.common_in_words()).collect();
    without_what_is_common(&words)
}

/// The case, with what all combinations have in common where there is one.
pub(super) fn subtitle(answers: &[&Answer]) -> String {
    match answers {
        [only] => only.points[0].subtitle(),
        [first, ..] => first.rule().case.clone(),
        [] => String::new(),
    }
}

fn chart(answers: &[&Answer], rows: Vec<BarRow>) -> Option<Bars> {
    let answer = answers.first()?;
    let metric = answer.rule().metric.row();
    let unit = unit(metric.quantity, &rows);
    Some(Bars {
        title: capitalized(&words_of(answer.operation(), metric.words)),
        subtitle: subtitle(answers),
        axis: axis(answer, &unit),
        unit,
        is_share: metric.quantity == Quantity::Share,
        rows,
        published: answers.iter().find_map(|answer| in_words(&answer.points, "bar")),
        ..Bars::default()
    })
}

fn unit(quantity: Quantity, rows: &[BarRow]) -> Unit {
    let bars = rows.iter().flat_map(|row| &row.bars);
    quantity.unit_for(bars.filter_map(|bar| bar.figure.as_ref()).map(Figure::median))
}

/// All bars of a point.
fn group(label: String, point: &Point) -> BarRow {
    row(label, &point.shown().collect::<Vec<_>>(), point, |bar| &bar.label)
}

/// Some of the bars of a point, and what was published of them.
fn row(label: String, bars: &[&RowFigure], point: &Point, name: fn(&RowFigure) -> &str) -> BarRow {
    let baseline = point.shown().find(|bar| bar.is_baseline);
    let plotted = |bar: &&RowFigure| findings::Bar {
        name: name(bar).to_owned(),
        series: if bar.is_baseline { Series::Baseline } else { Series::Server },
        figure: bar.figure.clone(),
        mark: bar.mark,
        published: beside(&point.rule.published, bar)
            .and_then(|of| band(of, point.rule.metric, baseline)),
    };
    BarRow {
        label,
        bars: bars.iter().map(plotted).collect(),
        lacking: bars.iter().find_map(|bar| bar.row.infeasible()),
    }
}

/// Both charts along a key; the second only of what all CPUs do together, where their time is known.
pub(super) fn along(answers: &[&Answer]) -> Vec<Bars> {
    let (rows, points): (Vec<BarRow>, Vec<&Point>) = rows_along(answers).into_iter().unzip();
    // Beside what a CPU-second gives, it would say nothing.
    let is_of_all = |answer: &&Answer| answer.rule().metric.row().kind == Kind::Throughput;
    let has_busy = answers.first().is_some_and(is_of_all)
        && points.iter().flat_map(|point| point.shown()).any(|of| server_busy(of).is_some());
    let busy = has_busy.then(|| {
        let rows: Vec<BarRow> = rows.iter().zip(points).map(busy).collect();
        let share = unit(Quantity::Share, &rows);
        Bars {
            title: "CPU that the server used".to_owned(),
            subtitle: subtitle(answers),
            axis: format!("{} of the server's CPUs", share.name),
            unit: share,
            is_share: true,
            rows,
            ..Bars::default()
        }
    });
    chart(answers, rows).into_iter().chain(busy).collect()
}

/// A row for each point of all combinations, whose name it begins with where there are several.
fn rows_along<'a>(answers: &'a [&'a Answer]) -> Vec<(BarRow, &'a Point)> {
    let is_one = answers.len() == 1;
    let of_answer = |(combination, answer): (String, &&'a Answer)| {
        let combination = if is_one { String::new() } else { combination };
        let of_point = |point: &'a Point| {
            let label = list_of([combination.clone()].into_iter().chain(point.value_along()));
            (group(label, point), point)
        };
        answer.points.iter().map(of_point).collect::<Vec<_>>()
    };
    combinations(answers).into_iter().zip(answers).flat_map(of_answer).collect()
}

/// The same row with the shares of its CPUs that the server used meanwhile.
fn busy((row, point): (&BarRow, &Point)) -> BarRow {
    let bar = |(bar, of): (&findings::Bar, &RowFigure)| findings::Bar {
        figure: server_busy(of),
        published: None,
        ..bar.clone()
    };
    BarRow { bars: row.bars.iter().zip(point.shown()).map(bar).collect(), ..row.clone() }
}

fn server_busy(of: &RowFigure) -> Option<Figure> {
    of.row.figure(Metric::ServerBusy)
}

/// What an axis of the metric counts, and which way is better.
pub(super) fn axis(answer: &Answer, unit: &Unit) -> String {
    let row = answer.rule().metric.row();
    let axis = words_of(answer.operation(), row.axis);
    let better = match answer.rule().metric.better() {
        Some(Better::Higher) => "; higher is better",
        Some(Better::Lower) => "; lower is better",
        None => "",
    };
    match row.quantity {
        Quantity::PerSecond => format!("{axis}{better}"),
        _ => format!("{} {axis}{better}", unit.name),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;

    use study::{AnswerRule, Param, Params, Published, Reference};

    use crate::measured::MeasuredRow;

    use super::*;

    fn figure(label: &str, value: f64, busy: f64) -> RowFigure {
        let params = BTreeMap::from([("load.suite".to_owned(), label.to_owned())]).into();
        let busy = (0..3).map(|round| (round, busy)).collect();
        let samples = BTreeMap::from([(Metric::ServerBusy, busy)]);
        RowFigure {
            row: Arc::new(MeasuredRow { params, samples, ..MeasuredRow::default() }.into()),
            value: Param::of("load.suite", label),
            label: label.to_owned(),
            is_baseline: label == "CBC",
            figure: Figure::of(vec![value; 3]),
            ratio: None,
            mark: None,
            projected: Vec::new(),
        }
    }

    fn params(of: &[(&str, &str)]) -> Params {
        let owned = of.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        owned.collect::<BTreeMap<_, _>>().into()
    }

    /// What was published of the figures of a server.
    fn answer(
        metric: Metric,
        server: &str,
        published: Vec<Published>,
        figures: &[(&str, f64)],
    ) -> Answer {
        let rule =
            AnswerRule { published, ..AnswerRule::new("files", metric, "load.suite", "CBC") };
        let common = params(&[("target.server", server)]);
        let figures = figures.iter().map(|(label, value)| figure(label, *value, 0.9)).collect();
        let decisions = Arc::default();
        Answer::plain(vec![Point { rule: rule.into(), place: 0, common, figures, decisions }])
    }

    #[test]
    fn the_combinations_of_an_answer_are_groups_of_one_chart() {
        let of = |server: &str, bps: f64| {
            answer(Metric::Goodput, server, Vec::new(), &[("CBC", bps), ("GCM", 2.0 * bps)])
        };
        let all = [of("nginx", 8e6), of("haproxy", 80e9)];
        let chart = side_by_side(&[&all[0], &all[1]]).unwrap();
        assert_eq!(chart.axis, "Gb/s of proven bodies; higher is better");
        let labels: Vec<&str> = chart.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!((chart.subtitle.as_str(), labels), ("files", vec!["nginx", "HAProxy"]));
        assert!(chart.values().contains(&8e6) && chart.values().contains(&80e9));
        let one = side_by_side(&[&all[0]]).unwrap();
        assert_eq!((one.subtitle.as_str(), one.rows.len()), ("files, nginx", 2));
    }

    /// Along two sizes.
    fn curve(metric: Metric, published: Vec<Published>) -> Answer {
        let rule = AnswerRule {
            published,
            along: Some("target.object".to_owned()),
            ..AnswerRule::new("files", metric, "load.suite", "CBC")
        };
        let rule = Arc::new(rule);
        let point = |object: &str, factor: f64| Point {
            rule: rule.clone(),
            place: 0,
            common: params(&[("target.server", "nginx"), ("target.object", object)]),
            figures: vec![figure("CBC", 3e9 * factor, 0.99), figure("GCM", 9e9 * factor, 0.9)],
            decisions: Arc::default(),
        };
        Answer::plain(vec![point("1MiB", 0.9), point("4MiB", 1.0)])
    }

    #[test]
    fn one_chart_has_the_figures_and_one_the_cpu() {
        let charts = along(&[&curve(Metric::Goodput, Vec::new())]);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["Goodput", "CPU that the server used"]);
        assert_eq!(charts[0].subtitle, "files, nginx");
        assert_eq!(charts[0].rows[1].label, "4 MiB objects");
        let busy = charts[1].rows[1].bars[1].figure.as_ref().unwrap();
        assert!(charts[1].is_share && busy.median() == 0.9);
        let costs = along(&[&curve(Metric::GoodputPerServerCpu, Vec::new())]);
        assert_eq!(costs.len(), 1, "beside what a CPU-second gives, the CPU says nothing");
    }

    #[test]
    fn the_published_range_lies_at_the_baseline_times_its_ratio() {
        let published = Reference::find("xeon-e5-v3-2014").unwrap().figure("nginx-large-files");
        let answer = curve(Metric::Goodput, published.into_iter().collect());
        let [chart, busy] = &along(&[&answer])[..] else { panic!() };
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
        assert_eq!(published.beside["target.certificate-key"].to_string(), "rsa:2048");
        published.beside = BTreeMap::from([("load.suite".to_owned(), "GCM".to_owned())]).into();
        let of = |figures: &[(&str, f64)]| {
            side_by_side(&[&answer(Metric::Rate, "nginx", vec![published.clone()], figures)])
        };
        let chart = of(&[("CBC", 3e3), ("GCM", 2e3), ("ChaCha", 2e3)]).unwrap();
        let bands = chart.rows.iter().map(|row| Some(row.bars[0].published.as_ref()?.low));
        assert_eq!(bands.collect::<Vec<_>>(), [None, Some(4_866.0), None]);
        assert!(chart.published.unwrap().contains("4,866 per second"));
        assert_eq!(of(&[("CBC", 3e3)]).unwrap().published, None, "nothing is outlined");
    }
}
