//! The chart of an answer: a bar for each value of the compared key.

use answer::analysis::{Answer, Bar as Bar_, Figure};
use answer::wording::capitalized;
use study::Metric;

use super::published::Bands;
use super::{Bar, Chart, NOT_MEASURED, Row, Scale, Series, Value, extent, ticks};
use crate::figures::{interval, joined};
use crate::mark;
use units::{Quantity, Unit};

/// The chart of an answer, next to those of `all`: answers to one question about
/// different servers have the same axis, so that their bars can be compared.
pub(crate) fn answer_chart(answer: &Answer, all: &[Answer]) -> Chart {
    let is_alike = |other: &&Answer| {
        let key = |answer: &Answer| (answer.metric, answer.case.clone(), answer.compare.clone());
        key(other) == key(answer)
    };
    let alike: Vec<&Answer> = all.iter().filter(is_alike).collect();
    let figures =
        || alike.iter().flat_map(|answer| &answer.bars).filter_map(|bar| bar.figure.as_ref());
    let unit = answer.metric.row().quantity.unit_for(figures().map(|f| f.estimate.median));
    let is_share = answer.metric.row().quantity == Quantity::Share;
    let whole = if is_share { Some(1.0) } else { None };
    let of_bands = alike.iter().flat_map(|answer| bands(answer));
    let of_bands = of_bands.flat_map(|bands| bands.extent()).collect::<Vec<_>>();
    let scale = Scale::around(extent(figures()).into_iter().chain(of_bands).chain(whole));
    let drawn = bands(answer);
    let mut drawn = drawn.iter().map(|bands| bands.drawn(&scale));
    let rows = answer
        .bars
        .iter()
        .map(|bar| Row { bands: drawn.next().unwrap_or_default(), ..row(bar, &scale, &unit) });
    let (rows, height) = Chart::stack(rows.collect());
    let common: Vec<&str> = answer.common.values().map(String::as_str).collect();
    let common = [vec![answer.case.as_str()], common].concat();
    Chart {
        title: capitalized(answer.metric.row().words),
        subtitle: common.join(", "),
        description: description(&rows),
        axis: axis(answer.metric, &unit),
        ticks: ticks(&scale, &unit),
        zero: scale.percent(0.0).unwrap_or(0.0),
        is_share,
        rows,
        height,
        legend: Vec::new(),
        published: answer.published.as_ref().map(super::published::in_words),
    }
}

/// What was published of each bar; none where nothing was.
fn bands(answer: &Answer) -> Vec<Bands<'_>> {
    let Some(published) = &answer.published else { return Vec::new() };
    let baseline = answer.bars.iter().find(|bar| bar.is_baseline);
    answer.bars.chunks(1).map(|bars| Bands::beside(published, bars, baseline)).collect()
}

fn row(bar: &Bar_, scale: &Scale, unit: &Unit) -> Row {
    let series = if bar.is_baseline { Series::Baseline } else { Series::Server };
    let value = |figure: &Figure| Value {
        series,
        text: unit.text(figure.estimate.median),
        interval: interval(figure, unit),
    };
    let is_hatched = bar.mark.is_some_and(mark::is_not_a_maximum);
    let drawn = bar.figure.as_ref().and_then(|figure| {
        let words = value(figure);
        let title = format!("{}: {}", bar.label, joined(&words.text, &words.interval));
        Bar::of(figure, series, is_hatched, scale, title)
    });
    Row {
        y: 0.0,
        label: bar.label.clone(),
        values: bar.figure.iter().map(value).collect(),
        lacking: bar.infeasible.clone().unwrap_or_else(|| NOT_MEASURED.to_owned()),
        mark: bar.mark.map(mark::name),
        bars: drawn.into_iter().collect(),
        bands: Vec::new(),
    }
}

/// The rows in a sentence each.
pub(super) fn description(rows: &[Row]) -> String {
    let sentence = |row: &Row| {
        let values: Vec<String> =
            row.values.iter().map(|value| joined(&value.text, &value.interval)).collect();
        let values = if values.is_empty() { "no figure".to_owned() } else { values.join(", ") };
        let mark = row.mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
        format!("{}: {values}{mark}.", row.label)
    };
    rows.iter().map(sentence).collect::<Vec<_>>().join(" ")
}

pub(super) fn axis(metric: Metric, unit: &Unit) -> String {
    let axis = metric.row().axis;
    match metric.row().quantity {
        Quantity::PerSecond => axis.to_owned(),
        _ => format!("{} {axis}", unit.name),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use answer::analysis::Mark;
    use proptest::prelude::*;
    use stats::Estimate;

    use super::*;

    fn answer(metric: Metric, cells: &[Vec<f64>]) -> Answer {
        let bar = |(i, samples): (usize, &Vec<f64>)| Bar_ {
            label: format!("suite {i}"),
            cell: format!("bulk-{i:04}"),
            is_baseline: i == 0,
            figure: Estimate::of(samples)
                .ok()
                .map(|estimate| Figure { estimate, samples: samples.clone() }),
            ratio: None,
            mark: (i == 1).then_some(Mark::ClientBound),
            infeasible: None,
        };
        Answer {
            sentence: String::new(),
            remedy: None,
            caveats: Vec::new(),
            case: "bulk".to_owned(),
            metric,
            compare: "load.suite".to_owned(),
            common: BTreeMap::from([("target.server".to_owned(), "nginx".to_owned())]),
            bars: cells.iter().enumerate().map(bar).collect(),
            published: None,
            curve: None,
        }
    }

    fn alone(answer: &Answer) -> Chart {
        answer_chart(answer, std::slice::from_ref(answer))
    }

    #[test]
    fn a_chart_says_in_words_what_it_shows() {
        let chart = alone(&answer(
            Metric::GoodputPerServerCpu,
            &[vec![36.9e9, 36.0e9, 37.1e9], vec![7.2e9], vec![]],
        ));
        assert_eq!(chart.subtitle, "bulk, nginx");
        assert_eq!(
            chart.description,
            "suite 0: 36.90 Gb/s [36.00, 37.10]. suite 1: 7.20 Gb/s (client-bound). \
             suite 2: no figure."
        );
        let labels: Vec<&str> = chart.ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(labels, ["0", "10", "20", "30", "40"]);
        let [baseline, marked, empty] = &chart.rows[..] else { panic!() };
        assert!(!baseline.bars[0].is_hatched && marked.bars[0].is_hatched);
        assert_eq!(
            (baseline.bars[0].series, marked.bars[0].series),
            (Series::Baseline, Series::Server)
        );
        assert!(empty.bars.is_empty() && empty.values.is_empty());
    }

    #[test]
    fn answers_to_one_question_have_one_axis() {
        let of = |gbps: f64| answer(Metric::GoodputPerServerCpu, &[vec![gbps * 1e9]]);
        let other = answer(Metric::RatePerServerCpu, &[vec![1e12]]);
        let all = [of(8.0), of(80.0), other];
        let charts = [&all[0], &all[1]].map(|answer| answer_chart(answer, &all));
        assert_eq!(charts[0].ticks.last().unwrap().label, "80");
        assert_eq!(charts[1].ticks.last().unwrap().label, "80");
        assert_eq!(charts.map(|chart| chart.rows[0].bars[0].width), [10.0, 100.0]);
    }

    #[test]
    fn a_tax_stands_before_the_whole() {
        let chart = alone(&answer(Metric::TlsTax, &[vec![0.0], vec![0.81, 0.8]]));
        let labels: Vec<&str> = chart.ticks.iter().map(|tick| tick.label.as_str()).collect();
        assert_eq!(
            labels,
            ["0%", "20%", "40%", "60%", "80%", "100%"].map(|l| l.trim_end_matches('%'))
        );
        assert_eq!(chart.rows[1].bars[0].width, 80.5);
        assert!(chart.is_share);
    }

    proptest! {
        #[test]
        fn bars_are_in_proportion_and_whiskers_and_dots_within(
            cells in prop::collection::vec(prop::collection::vec(0.0..1e11f64, 1..9), 1..6)
        ) {
            let answer = answer(Metric::Goodput, &cells);
            let chart = alone(&answer);
            let medians: Vec<f64> =
                answer.bars.iter().map(|bar| bar.figure.as_ref().unwrap().estimate.median).collect();
            let widths: Vec<f64> = chart.rows.iter().map(|row| row.bars[0].width).collect();
            for (median, width) in medians.iter().zip(&widths) {
                prop_assert!((0.0..=100.0).contains(width));
                for (other, other_width) in medians.iter().zip(&widths) {
                    // Widths are rounded to a hundredth of a percent.
                    prop_assert!((median * other_width - other * width).abs() <= 0.011 * (median + other));
                }
            }
            for bar in chart.rows.iter().map(|row| &row.bars[0]) {
                let end = bar.x + bar.width;
                if let Some([low, high]) = bar.whisker {
                    prop_assert!(low <= end + 0.01 && end <= high + 0.01);
                    prop_assert!(low >= 0.0 && high <= 100.0);
                }
                prop_assert!(bar.dots.iter().all(|dot| (0.0..=100.0).contains(dot)));
            }
            for rows in chart.rows.windows(2) {
                prop_assert!(rows[0].y + rows[0].bars[0].y + rows[0].bars[0].height < rows[1].y);
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out_of_the_drawing_only() {
        let huge = Figure { estimate: Estimate::of(&[f64::MAX]).unwrap(), samples: vec![f64::MAX] };
        let mut answer = answer(Metric::Rate, &[vec![0.0, 0.0], vec![1.0]]);
        answer.bars[1].figure = Some(huge);
        let chart = alone(&answer);
        assert_eq!(chart.rows[0].bars[0].width, 0.0);
        assert!(chart.rows[1].bars.is_empty());
        assert_eq!(chart.rows[1].values.len(), 1);
    }
}
