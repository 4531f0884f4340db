//! The charts of an answer: a bar for each value of the compared key, and where the study asks for it
//! along another key, with the share of its CPUs that the server used meanwhile.

use super::published::{band, beside, in_words};
use crate::analysis::{Answer, AnswerFigure, AnswerPoint, Figure};
use crate::findings::{self, BarRow, Bars, Series};
use crate::label::without_what_is_common;
use crate::wording::{capitalized, list_of};
use study::metric::{Better, Kind, words_of};
use units::{Quantity, Unit};

/// The bars of the combinations of one answer: of several, a group for each.
pub(super) fn side_by_side(answers: &[&Answer]) -> Option<Bars> {
    let first = answers.first()?;
    let figures = answers.iter().flat_map(|answer| &answer.bars);
    let figures = figures.filter_map(|bar| bar.figure.as_ref());
    let unit = first.metric.row().quantity.unit_for(figures.map(Figure::median));
    let baseline = |answer: &&Answer| answer.bars.iter().find(|bar| bar.is_baseline).cloned();
    let rows = match answers {
        [only] => {
            let baseline = baseline(only);
            let row = |bar: &AnswerFigure| BarRow {
                label: bar.label.clone(),
                bars: vec![plotted(bar, "", bar.figure.as_ref(), Some(only), baseline.as_ref())],
                lacking: bar.infeasible.clone(),
            };
            only.bars.iter().map(row).collect()
        }
        several => {
            let row = |(label, answer): (String, &&Answer)| BarRow {
                label,
                bars: answer
                    .bars
                    .iter()
                    .map(|bar| {
                        let (figure, baseline) = (bar.figure.as_ref(), baseline(answer));
                        plotted(bar, &bar.label, figure, Some(answer), baseline.as_ref())
                    })
                    .collect(),
                lacking: answer.bars.iter().find_map(|bar| bar.infeasible.clone()),
            };
            combinations(several).into_iter().zip(several).map(row).collect()
        }
    };
    Some(Bars {
        subtitle: subtitle(answers),
        rows,
        published: answers.iter().find_map(|answer| in_words(answer, "bar")),
        ..titled(first, unit)
    })
}

/// What tells the combinations of one answer from each other, in words.
pub(super) fn combinations(answers: &[&Answer]) -> Vec<String> {
    let words: Vec<Vec<String>> =
        answers.iter().map(|answer| answer.common_in_words.clone()).collect();
    without_what_is_common(&words)
}

/// The case, with what all combinations have in common where there is one.
pub(super) fn subtitle(answers: &[&Answer]) -> String {
    match answers {
        [only] => only.subtitle(),
        [first, ..] => first.case.clone(),
        [] => String::new(),
    }
}

fn titled(answer: &Answer, unit: Unit) -> Bars {
    Bars {
        title: capitalized(&words_of(answer.operation, answer.metric.row().words)),
        axis: axis(answer, &unit),
        unit,
        is_share: answer.metric.row().quantity == Quantity::Share,
        ..Bars::default()
    }
}

fn plotted(
    bar: &AnswerFigure,
    name: &str,
    figure: Option<&Figure>,
    answer: Option<&Answer>,
    baseline: Option<&AnswerFigure>,
) -> findings::Bar {
    let published = answer.and_then(|of| band(beside(&of.published, bar)?, of.metric, baseline));
    findings::Bar {
        name: name.to_owned(),
        series: if bar.is_baseline { Series::Baseline } else { Series::Server },
        figure: figure.cloned(),
        mark: bar.mark,
        published,
    }
}

/// What one of the charts along a key shows of a bar of a point.
type PointFigure = fn(&AnswerPoint, usize) -> Option<&Figure>;

/// Both charts along a key; the second only of what all CPUs do together, where their time is known.
pub(super) fn along(answers: &[&Answer]) -> Vec<Bars> {
    let Some(first) = answers.first() else { return Vec::new() };
    let of_bar: PointFigure = |point, bar| point.bars[bar].figure.as_ref();
    let of_busy: PointFigure = |point, bar| point.busy.get(bar)?.as_ref();
    let unit = |quantity: Quantity, of: PointFigure| {
        let points = points(answers)
            .flat_map(|(_, _, point)| (0..point.bars.len()).filter_map(move |bar| of(point, bar)));
        quantity.unit_for(points.map(Figure::median))
    };
    let figures = Bars {
        subtitle: subtitle(answers),
        rows: rows_along(answers, of_bar, true),
        published: answers.iter().find_map(|answer| in_words(answer, "bar")),
        ..titled(first, unit(first.metric.row().quantity, of_bar))
    };
    // Beside what a CPU-second gives, it would say nothing.
    let has_busy = first.metric.row().kind == Kind::Throughput
        && points(answers).any(|(_, _, point)| point.busy.iter().any(Option::is_some));
    let share = unit(Quantity::Share, of_busy);
    let busy = has_busy.then(|| Bars {
        title: "CPU that the server used".to_owned(),
        subtitle: subtitle(answers),
        axis: format!("{} of the server's CPUs", share.name),
        unit: share,
        is_share: true,
        rows: rows_along(answers, of_busy, false),
        ..Bars::default()
    });
    std::iter::once(figures).chain(busy).collect()
}

/// The points of all combinations, each with its combination in words where there are several.
fn points<'a>(
    answers: &'a [&'a Answer],
) -> impl Iterator<Item = (Option<String>, &'a Answer, &'a AnswerPoint)> {
    let labels = combinations(answers).into_iter();
    let is_one = answers.len() == 1;
    labels.zip(answers).flat_map(move |(label, answer)| {
        let points = answer.curve.iter().flat_map(|curve| &curve.points);
        points.map(move |point| ((!is_one).then(|| label.clone()), *answer, point))
    })
}

fn rows_along(answers: &[&Answer], of: PointFigure, has_published: bool) -> Vec<BarRow> {
    let row = |(combination, answer, point): (Option<String>, &Answer, &AnswerPoint)| {
        let baseline = point.bars.iter().find(|bar| bar.is_baseline);
        let plotted = |(place, bar): (usize, &AnswerFigure)| {
            plotted(bar, &bar.label, of(point, place), has_published.then_some(answer), baseline)
        };
        BarRow {
            label: list_of(combination.into_iter().chain([point.label.clone()])),
            bars: point.bars.iter().enumerate().map(plotted).collect(),
            lacking: point.bars.iter().find_map(|bar| bar.infeasible.clone()),
        }
    };
    points(answers).map(row).collect()
}

/// What an axis of the metric counts, and which way is better.
pub(super) fn axis(answer: &Answer, unit: &Unit) -> String {
    let row = answer.metric.row();
    let axis = words_of(answer.operation, row.axis);
    let better = match answer.metric.better() {
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

    use load::Operation;
    use study::{Metric, Reference};

    use crate::analysis::AnswerCurve;

    use super::*;

    fn bar(label: &str, value: f64) -> AnswerFigure {
        AnswerFigure {
            label: label.to_owned(),
            cell: "c-0001".to_owned(),
            params: BTreeMap::from([("load.suite".to_owned(), label.to_owned())]).into(),
            is_baseline: label == "CBC",
            figure: Figure::of(vec![value; 3]),
            ratio: None,
            mark: None,
            published: Vec::new(),
            projected: Vec::new(),
            infeasible: None,
        }
    }

    fn answer(metric: Metric, bars: Vec<AnswerFigure>) -> Answer {
        Answer {
            question: None,
            headline: None,
            rule: 0,
            notes: Vec::new(),
            derived: Vec::new(),
            purity: None,
            caveats: Vec::new(),
            case: "files".to_owned(),
            metric,
            compare: "load.suite".to_owned(),
            operation: Operation::Requests,
            common: BTreeMap::from([("target.server".to_owned(), "nginx".to_owned())]).into(),
            common_in_words: vec!["nginx".to_owned()],
            bars,
            published: Vec::new(),
            bill: None,
            loopback: None,
            predictions: Vec::new(),
            curve: None,
        }
    }

    #[test]
    fn the_combinations_of_an_answer_are_groups_of_one_chart() {
        let of = |server: &str, bps: f64| {
            let bars = vec![bar("CBC", bps), bar("GCM", 2.0 * bps)];
            let common_in_words = vec![server.to_owned()];
            Answer { common_in_words, ..answer(Metric::Goodput, bars) }
        };
        let all = [of("nginx", 8e6), of("haproxy", 80e9)];
        let chart = side_by_side(&[&all[0], &all[1]]).unwrap();
        assert_eq!(chart.axis, "Gb/s of proven bodies; higher is better");
        let labels: Vec<&str> = chart.rows.iter().map(|row| row.label.as_str()).collect();
        assert_eq!((chart.subtitle.as_str(), labels), ("files", vec!["nginx", "haproxy"]));
        assert!(chart.values().contains(&8e6) && chart.values().contains(&80e9));
        let one = side_by_side(&[&all[0]]).unwrap();
        assert_eq!((one.subtitle.as_str(), one.rows.len()), ("files, nginx", 2));
    }

    fn curve() -> AnswerCurve {
        let point = |label: &str, factor: f64| AnswerPoint {
            label: label.to_owned(),
            bars: vec![bar("CBC", 3e9 * factor), bar("GCM", 9e9 * factor)],
            is_compared: true,
            busy: vec![Figure::of(vec![0.99; 3]), Figure::of(vec![0.9; 3])],
        };
        AnswerCurve {
            along: "target.object".to_owned(),
            points: vec![point("1 MiB objects", 0.9), point("4 MiB objects", 1.0)],
            bounds: Vec::new(),
            least: None,
            crossovers: Vec::new(),
        }
    }

    #[test]
    fn one_chart_has_the_figures_and_one_the_cpu() {
        let of = |metric| Answer { curve: Some(curve()), ..answer(metric, Vec::new()) };
        let charts = along(&[&of(Metric::Goodput)]);
        let titles: Vec<&str> = charts.iter().map(|chart| chart.title.as_str()).collect();
        assert_eq!(titles, ["Goodput", "CPU that the server used"]);
        assert_eq!(charts[0].subtitle, "files, nginx");
        assert_eq!(charts[0].rows[1].label, "4 MiB objects");
        let busy = charts[1].rows[1].bars[1].figure.as_ref().unwrap();
        assert!(charts[1].is_share && busy.median() == 0.9);
        let costs = along(&[&of(Metric::GoodputPerServerCpu)]);
        assert_eq!(costs.len(), 1, "beside what a CPU-second gives, the CPU says nothing");
    }

    #[test]
    fn the_published_range_lies_at_the_baseline_times_its_ratio() {
        let published = Reference::find("xeon-e5-v3-2014").unwrap().figure("nginx-large-files");
        let published = published.into_iter().collect();
        let answer = Answer {
            published,
            curve: Some(curve()),
            ..answer(Metric::Goodput, vec![bar("GCM", 9e9)])
        };
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
        let bars = vec![bar("CBC", 3e3), bar("GCM", 2e3), bar("ChaCha", 2e3)];
        let answer = Answer { published: vec![published], ..answer(Metric::Rate, bars) };
        let chart = side_by_side(&[&answer]).unwrap();
        let bands = chart.rows.iter().map(|row| Some(row.bars[0].published.as_ref()?.low));
        assert_eq!(bands.collect::<Vec<_>>(), [None, Some(4_866.0), None]);
        assert!(chart.published.unwrap().contains("4,866 per second"));
        let without = Answer { bars: vec![bar("CBC", 3e3)], ..answer };
        assert_eq!(side_by_side(&[&without]).unwrap().published, None, "nothing is outlined");
    }
}
