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
    let rows = match answers {
        [only] => {
            let of_bar = |bar: &AnswerFigure| {
                row(only, bar.label.clone(), std::slice::from_ref(bar), &only.bars, |_| "")
            };
            only.bars.iter().map(of_bar).collect()
        }
        several => {
            let of_answer = |(label, answer): (String, &&Answer)| {
                row(answer, label, &answer.bars, &answer.bars, |bar| &bar.label)
            };
            combinations(several).into_iter().zip(several).map(of_answer).collect()
        }
    };
    chart(answers, rows)
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

fn chart(answers: &[&Answer], rows: Vec<BarRow>) -> Option<Bars> {
    let answer = answers.first()?;
    let metric = answer.metric.row();
    let unit = unit(metric.quantity, &rows);
    Some(Bars {
        title: capitalized(&words_of(answer.operation, metric.words)),
        subtitle: subtitle(answers),
        axis: axis(answer, &unit),
        unit,
        is_share: metric.quantity == Quantity::Share,
        rows,
        published: answers.iter().find_map(|answer| in_words(answer, "bar")),
        ..Bars::default()
    })
}

fn unit(quantity: Quantity, rows: &[BarRow]) -> Unit {
    let bars = rows.iter().flat_map(|row| &row.bars);
    quantity.unit_for(bars.filter_map(|bar| bar.figure.as_ref()).map(Figure::median))
}

/// Some of the bars of an answer that are compared with each other, and what was published of them.
fn row(
    answer: &Answer,
    label: String,
    bars: &[AnswerFigure],
    compared: &[AnswerFigure],
    name: fn(&AnswerFigure) -> &str,
) -> BarRow {
    let baseline = compared.iter().find(|bar| bar.is_baseline);
    let plotted = |bar: &AnswerFigure| findings::Bar {
        name: name(bar).to_owned(),
        series: if bar.is_baseline { Series::Baseline } else { Series::Server },
        figure: bar.figure.clone(),
        mark: bar.mark,
        published: beside(&answer.published, bar).and_then(|of| band(of, answer.metric, baseline)),
    };
    BarRow {
        label,
        bars: bars.iter().map(plotted).collect(),
        lacking: bars.iter().find_map(|bar| bar.infeasible.clone()),
    }
}

/// Both charts along a key; the second only of what all CPUs do together, where their time is known.
pub(super) fn along(answers: &[&Answer]) -> Vec<Bars> {
    let (rows, points): (Vec<BarRow>, Vec<&AnswerPoint>) = rows_along(answers).into_iter().unzip();
    // Beside what a CPU-second gives, it would say nothing.
    let is_of_all = |answer: &&Answer| answer.metric.row().kind == Kind::Throughput;
    let has_busy = answers.first().is_some_and(is_of_all)
        && points.iter().any(|point| point.busy.iter().any(Option::is_some));
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
fn rows_along<'a>(answers: &'a [&'a Answer]) -> Vec<(BarRow, &'a AnswerPoint)> {
    let is_one = answers.len() == 1;
    let of_answer = |(combination, answer): (String, &&'a Answer)| {
        let combination = if is_one { String::new() } else { combination };
        let of_point = |point: &'a AnswerPoint| {
            let label = list_of([&combination, &point.label]);
            (row(answer, label, &point.bars, &point.bars, |bar| &bar.label), point)
        };
        let points = answer.curve.iter().flat_map(|curve| &curve.points);
        points.map(of_point).collect::<Vec<_>>()
    };
    combinations(answers).into_iter().zip(answers).flat_map(of_answer).collect()
}

/// The same row with the shares of its CPUs that the server used meanwhile.
fn busy((row, point): (&BarRow, &AnswerPoint)) -> BarRow {
    let bar = |(bar, busy): (&findings::Bar, &Option<Figure>)| findings::Bar {
        figure: busy.clone(),
        published: None,
        ..bar.clone()
    };
    BarRow { bars: row.bars.iter().zip(&point.busy).map(bar).collect(), ..row.clone() }
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
