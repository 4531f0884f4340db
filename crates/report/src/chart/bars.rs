//! Horizontal bars with their intervals and samples.

use answer::Mark;
use answer::findings::{self, Series};
use answer::wording::{interval, joined};
use serde::Serialize;

use super::scale::Scale;
use super::{Tick, rounded};

/// A horizontal bar chart.
#[derive(Debug, Serialize)]
pub(crate) struct Bars {
    title: String,
    subtitle: String,
    /// The chart in words, for readers who cannot see it.
    description: String,
    axis: String,
    /// From left to right, in percent.
    ticks: Vec<Tick>,
    /// Where zero lies, in percent.
    zero: f64,
    /// Whether the axis shows a whole, so that what lacks to 100% is drawn too.
    is_share: bool,
    rows: Vec<Row>,
    /// Of the rows, in pixels; the axis is below.
    height: f64,
    legend: Vec<Series>,
    published: Option<String>,
}

/// One label with its bars.
#[derive(Debug, Serialize)]
struct Row {
    /// Its upper end in pixels.
    y: f64,
    label: String,
    /// The figures in words; a part for each bar that has one.
    values: Vec<Value>,
    /// What is shown where there is no figure.
    lacking: String,
    /// The mark in words.
    mark: Option<&'static str>,
    bars: Vec<Bar>,
    /// Published ranges.
    bands: Vec<Band>,
}

/// A figure in words.
#[derive(Debug, Serialize)]
struct Value {
    series: Series,
    text: String,
    /// The interval, where there is one and room for it.
    interval: String,
}

/// A bar with what was measured.
#[derive(Debug, Serialize)]
struct Bar {
    series: Series,
    /// Whether the figure is not the server's maximum.
    is_hatched: bool,
    /// In pixels, below the row's upper end.
    y: f64,
    height: f64,
    /// Its left end and its length in percent.
    x: f64,
    width: f64,
    /// The ends of the interval in percent, where there is an interval.
    whisker: Option<[f64; 2]>,
    /// Every trial, in percent.
    dots: Vec<f64>,
    /// All of it in words.
    title: String,
}

/// A published range over a bar, drawn as an outline.
#[derive(Debug, Serialize)]
struct Band {
    /// Its left end and its length in percent; a single figure is a thin mark.
    x: f64,
    width: f64,
    /// In pixels, below the row's upper end.
    y: f64,
    height: f64,
    title: String,
}

/// Where a row has no figure.
const NOT_MEASURED: &str = "not measured";

/// A bar's label and value are in a line of this height above it.
const LINE: f64 = 22.0;
const GAP: f64 = 14.0;

/// How high the bar of a row with one bar is, and that of a row with more.
const ONE: f64 = 22.0;
const OF_MORE: f64 = 14.0;

/// A published figure that is no range is a mark: what has no width is not drawn at all.
const LEAST_WIDTH: f64 = 0.4;

impl Bars {
    pub(super) fn of(bars: &findings::Bars) -> Self {
        let scale = Scale::around(bars.values());
        let mut rows: Vec<Row> = bars.rows.iter().map(|row| Row::of(row, bars, &scale)).collect();
        let mut height = 0.0;
        for (row, of) in rows.iter_mut().zip(&bars.rows) {
            row.y = height;
            let bars = match of.bars.len() {
                0 | 1 => ONE,
                _ if bars.is_stacked => ONE,
                more => more as f64 * (OF_MORE + 2.0),
            };
            height += LINE + bars + GAP;
        }
        let tick = |value| {
            let label = bars.unit.tick(value, scale.step());
            Some(Tick { at: scale.percent(value)?, label })
        };
        Self {
            title: bars.title.clone(),
            subtitle: bars.subtitle.clone(),
            description: rows.iter().map(Row::in_words).collect::<Vec<_>>().join(" "),
            axis: bars.axis.clone(),
            ticks: scale.ticks().filter_map(tick).collect(),
            zero: scale.percent(0.0).unwrap_or(0.0),
            is_share: bars.is_share,
            rows,
            height,
            legend: bars.legend.clone(),
            published: bars.published.clone(),
        }
    }
}

impl Row {
    fn of(row: &findings::BarRow, chart: &findings::Bars, scale: &Scale) -> Self {
        let is_alone = row.bars.len() == 1;
        let mut values = Vec::new();
        let (mut bars, mut bands) = (Vec::new(), Vec::new());
        let begins = row.stacked();
        let measured = row.bars.iter().filter(|bar| bar.figure.is_some()).count();
        for (place, bar) in row.bars.iter().enumerate() {
            let (y, height) = match is_alone || chart.is_stacked {
                true => (LINE, ONE),
                false => (LINE + place as f64 * (OF_MORE + 2.0), OF_MORE),
            };
            let band = bar.published.as_ref();
            bands.extend(band.and_then(|band| Band::of(band, (y, height), scale)));
            let Some(figure) = &bar.figure else { continue };
            let text = chart.unit.text(figure.estimate.median);
            let interval = interval(figure, &chart.unit);
            let name = if bar.name.is_empty() { "" } else { ", " };
            let words = joined(&text, &interval);
            let title = format!("{}{name}{}: {words}", row.label, bar.name);
            bars.extend(match chart.is_stacked {
                true => Bar::part(bar, begins[place], (y, height), scale, title),
                false => Bar::of(bar, (y, height), scale, title),
            });
            values.push(Value {
                series: bar.series,
                // The unit follows only the last of several numbers.
                text: match values.len() + 1 == measured {
                    true => text,
                    false => chart.unit.number(figure.estimate.median),
                },
                interval: if is_alone { interval } else { String::new() },
            });
        }
        Self {
            y: 0.0,
            label: row.label.clone(),
            values,
            lacking: row.lacking.clone().unwrap_or_else(|| NOT_MEASURED.to_owned()),
            mark: row.bars.iter().filter_map(|bar| bar.mark).min().map(Mark::name),
            bars,
            bands,
        }
    }

    fn in_words(&self) -> String {
        let values: Vec<String> =
            self.values.iter().map(|value| joined(&value.text, &value.interval)).collect();
        let values = if values.is_empty() { "no figure".to_owned() } else { values.join(", ") };
        let mark = self.mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
        format!("{}: {values}{mark}.", self.label)
    }
}

impl Bar {
    /// The bar of a figure, from zero to the median. `None` where it cannot be drawn, because an
    /// end is no finite number.
    fn of(
        bar: &findings::Bar,
        (y, height): (f64, f64),
        scale: &Scale,
        title: String,
    ) -> Option<Self> {
        let figure = bar.figure.as_ref()?;
        let at = |value: f64| scale.percent(value);
        let (zero, median) = (at(0.0)?, at(figure.estimate.median)?);
        let interval = figure.estimate.interval;
        Some(Self {
            series: bar.series,
            is_hatched: bar.mark.is_some_and(Mark::is_not_a_maximum),
            y,
            height,
            x: zero.min(median),
            width: rounded((median - zero).abs()),
            whisker: match figure.has_interval() {
                true => Some([at(interval.low)?, at(interval.high)?]),
                false => None,
            },
            dots: figure.samples.iter().filter_map(|sample| at(*sample)).collect(),
            title,
        })
    }

    /// A part of a stack, from where the part before it ends.
    fn part(
        bar: &findings::Bar,
        begin: f64,
        (y, height): (f64, f64),
        scale: &Scale,
        title: String,
    ) -> Option<Self> {
        let end = begin + bar.figure.as_ref()?.estimate.median;
        let (begin, end) = (scale.percent(begin)?, scale.percent(end)?);
        Some(Self {
            series: bar.series,
            is_hatched: false,
            y,
            height,
            x: begin.min(end),
            width: rounded((end - begin).abs()),
            whisker: None,
            dots: Vec::new(),
            title,
        })
    }
}

impl Band {
    fn of(band: &findings::Band, (y, height): (f64, f64), scale: &Scale) -> Option<Self> {
        let (low, high) = (scale.percent(band.low)?, scale.percent(band.high)?);
        Some(Self {
            x: low,
            width: rounded((high - low).max(LEAST_WIDTH)),
            y: y - 2.0,
            height: height + 4.0,
            title: band.title.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use answer::analysis::Figure;
    use proptest::prelude::*;
    use stats::Estimate;
    use units::Quantity;

    use super::*;

    fn figure(samples: &[f64]) -> Option<Figure> {
        let estimate = Estimate::of(samples).ok()?;
        Some(Figure { estimate, samples: samples.to_vec() })
    }

    fn bar(place: usize, samples: &[f64]) -> findings::Bar {
        findings::Bar {
            name: String::new(),
            series: if place == 0 { Series::Baseline } else { Series::Server },
            figure: figure(samples),
            mark: (place == 1).then_some(Mark::ClientBound),
            published: None,
        }
    }

    /// A row for each list of samples.
    fn chart(quantity: Quantity, rows: &[Vec<f64>]) -> findings::Bars {
        let row = |(place, samples): (usize, &Vec<f64>)| findings::BarRow {
            label: format!("suite {place}"),
            bars: vec![bar(place, samples)],
            lacking: None,
        };
        findings::Bars {
            title: String::new(),
            subtitle: String::new(),
            axis: String::new(),
            unit: quantity.unit_for(rows.iter().flatten().copied()),
            room: Vec::new(),
            is_share: quantity == Quantity::Share,
            is_stacked: false,
            rows: rows.iter().enumerate().map(row).collect(),
            legend: Vec::new(),
            published: None,
        }
    }

    fn labels(chart: &Bars) -> Vec<&str> {
        chart.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn a_chart_says_in_words_what_it_shows() {
        let rows = [vec![36.9e9, 36.0e9, 37.1e9], vec![7.2e9], vec![]];
        let chart = Bars::of(&chart(Quantity::BitsPerSecond, &rows));
        assert_eq!(
            chart.description,
            "suite 0: 36.90 Gb/s [36.00, 37.10]. suite 1: 7.20 Gb/s (client-bound). \
             suite 2: no figure."
        );
        assert_eq!(labels(&chart), ["0", "10", "20", "30", "40"]);
        let [baseline, marked, empty] = &chart.rows[..] else { panic!() };
        assert!(!baseline.bars[0].is_hatched && marked.bars[0].is_hatched);
        assert!(empty.bars.is_empty() && empty.values.is_empty());
    }

    #[test]
    fn a_row_of_several_has_one_unit_and_a_place_for_each() {
        let mut chart = chart(Quantity::BitsPerSecond, &[vec![2e9; 3]]);
        chart.rows[0].bars.extend([bar(1, &[]), bar(2, &[8e9; 3])]);
        chart.rows[0].bars[2].name = "GCM".to_owned();
        chart.rows[0].bars[2].published =
            Some(findings::Band { low: 4e9, high: 6e9, title: String::new() });
        let chart = Bars::of(&chart);
        assert_eq!(chart.description, "suite 0: 2.00, 8.00 Gb/s (client-bound).");
        let [first, third] = &chart.rows[0].bars[..] else { panic!() };
        assert_eq!(third.y - first.y, 2.0 * (OF_MORE + 2.0));
        assert_eq!(third.title, "suite 0, GCM: 8.00 Gb/s [8.00, 8.00]");
        let [band] = &chart.rows[0].bands[..] else { panic!() };
        assert_eq!((band.x, band.width, band.y), (50.0, 25.0, third.y - 2.0));
    }

    /// A part that is less than nothing lies left of zero, and the others keep their lengths.
    #[test]
    fn parts_of_a_stack_lie_end_to_end_and_negative_ones_left_of_zero() {
        let mut chart = chart(Quantity::PerSecond, &[vec![30.0], vec![]]);
        chart.is_stacked = true;
        chart.rows[0].bars.extend([bar(0, &[20.0]), bar(0, &[50.0])]);
        chart.rows[1].bars = [60.0, 30.0, -25.0].map(|part| bar(0, &[part])).to_vec();
        let chart = Bars::of(&chart);
        assert_eq!(labels(&chart), ["-50", "0", "50", "100"]);
        let third = 100.0 / 3.0;
        for (row, begins, lengths) in [
            (&chart.rows[0], [0.0, 30.0, 50.0], [30.0, 20.0, 50.0]),
            (&chart.rows[1], [0.0, 60.0, -25.0], [60.0, 30.0, 25.0]),
        ] {
            for (bar, (begin, length)) in row.bars.iter().zip(begins.into_iter().zip(lengths)) {
                assert!((bar.x - third - begin / 1.5).abs() < 0.02, "{bar:?}");
                assert!((bar.width - length / 1.5).abs() < 0.02, "{bar:?}");
                assert!(bar.whisker.is_none() && bar.dots.is_empty());
            }
        }
        assert_eq!(chart.rows[1].y, LINE + ONE + GAP);
        assert!(
            chart.description.ends_with("suite 1: 60.0, 30.0, -25.0/s."),
            "{}",
            chart.description
        );
    }

    #[test]
    fn a_share_is_drawn_before_the_whole() {
        let chart = Bars::of(&chart(Quantity::Share, &[vec![0.0], vec![0.81, 0.8]]));
        assert_eq!(labels(&chart), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(chart.rows[1].bars[0].width, 80.5);
        assert!(chart.is_share);
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out_of_the_drawing_only() {
        let mut chart = chart(Quantity::PerSecond, &[vec![0.0, 0.0], vec![1.0]]);
        chart.rows[1].bars[0].figure = figure(&[f64::MAX]);
        let chart = Bars::of(&chart);
        assert_eq!(chart.rows[0].bars[0].width, 0.0);
        assert!(chart.rows[1].bars.is_empty());
        assert_eq!(chart.rows[1].values.len(), 1);
    }

    proptest! {
        #[test]
        fn bars_are_in_proportion_and_whiskers_and_dots_within(
            cells in prop::collection::vec(prop::collection::vec(0.0..1e11f64, 1..9), 1..6)
        ) {
            let medians: Vec<f64> =
                cells.iter().map(|samples| figure(samples).unwrap().estimate.median).collect();
            let chart = Bars::of(&chart(Quantity::BitsPerSecond, &cells));
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
}
