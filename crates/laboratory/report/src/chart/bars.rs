//! Horizontal bars with their intervals and samples.

use answer::Mark;
use answer::findings::{self, Series};
use answer::wording::{interval, joined};
use serde::Serialize;
use units::percent;

use super::scale::{AxisScale, Tick, rounded, spaced};

/// A horizontal bar chart.
#[derive(Debug, Serialize)]
pub(crate) struct DrawnBars {
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
    /// For the longest text beside a bar, in characters.
    room: usize,
    rows: Vec<LabelledBars>,
    /// What the colours of a stack mean.
    legend: Vec<(Series, String)>,
    published: Option<String>,
}

/// A label with its bars.
#[derive(Debug, Serialize)]
struct LabelledBars {
    label: String,
    /// The mark in words.
    mark: Option<&'static str>,
    lines: Vec<RuledLine>,
    /// The bars that have no figure, where its others have one.
    absent: Vec<String>,
    /// What is shown where there is no figure.
    lacking: String,
}

/// A bar, or a stack of them, with its text.
#[derive(Debug, Default, Serialize)]
struct RuledLine {
    values: Vec<Value>,
    /// What it is of, where its row has several.
    name: String,
    /// Where its text begins, in percent: right of all that is drawn.
    end: f64,
    parts: Vec<BarSegment>,
    /// Whether the figure is not the server's maximum.
    is_hatched: bool,
    /// The ends of the interval in percent, where there is an interval.
    whisker: Option<[f64; 2]>,
    /// Every trial, in percent.
    dots: Vec<f64>,
    band: Option<DrawnBand>,
    /// All of it in words.
    title: String,
}

/// A number in the colour of its bar.
#[derive(Debug, Serialize)]
struct Value {
    series: Series,
    text: String,
}

/// A bar, or a part of a stack.
#[derive(Debug, Serialize)]
struct BarSegment {
    series: Series,
    /// Its left end and its length in percent.
    x: f64,
    width: f64,
    /// Its share of a stack of many, where there is room for it.
    share: Option<String>,
}

/// A published range over a bar, drawn as an outline.
#[derive(Debug, Serialize)]
struct DrawnBand {
    /// Its left end and its length in percent; a single figure is a thin mark.
    x: f64,
    width: f64,
    title: String,
    /// Whether it is the first that says so in its chart.
    is_first: bool,
}

/// A stack of more parts has its sum at its end, and the shares of the parts in them.
const FEW_PARTS: usize = 3;

/// A shorter part has no room for its share, in percent of the plot's width.
const ROOM_FOR_SHARE: f64 = 10.0;

/// Where a row has no figure.
const NOT_MEASURED: &str = "not measured";

/// A published figure that is no range is a mark: what has no width is not drawn at all.
const LEAST_WIDTH: f64 = 0.4;

/// The narrowest chart of any screen without its labels, and a character of the texts beside its bars, in pixels, as
/// `chart.css` has them.
const NARROWEST: f64 = 328.0;
const CHARACTER: f64 = 7.6;

impl DrawnBars {
    pub(super) fn of(bars: &findings::Bars) -> Self {
        let scale = match bars.is_share {
            // The sum of shares can be more than the whole by their rounding.
            true => AxisScale::around(bars.values().into_iter().map(|share| share.min(1.0))),
            false => AxisScale::around(bars.values()),
        };
        let mut rows: Vec<LabelledBars> =
            bars.rows.iter().map(|row| LabelledBars::of(row, bars, &scale)).collect();
        let mut titles: Vec<String> = Vec::new();
        let lines = rows.iter_mut().flat_map(|row| &mut row.lines);
        for band in lines.filter_map(|line| line.band.as_mut()) {
            band.is_first = !titles.contains(&band.title);
            titles.push(band.title.clone());
        }
        let tick = |value| {
            let label = bars.unit.tick(value, scale.step);
            Some(Tick { at: scale.percent(value)?, label })
        };
        let parts = bars.rows.first().filter(|_| bars.is_stacked).map(|row| &row.bars);
        let key = |bar: &findings::Bar| (bar.series, bar.name.clone());
        let room = rows.iter().flat_map(|row| &row.lines).map(RuledLine::room).max().unwrap_or(0);
        let least = (NARROWEST - CHARACTER * room as f64).max(0.0);
        Self {
            title: bars.title.clone(),
            subtitle: bars.subtitle.clone(),
            description: rows.iter().map(LabelledBars::in_words).collect::<Vec<_>>().join(" "),
            axis: bars.axis.clone(),
            ticks: spaced(scale.ticks().filter_map(tick).collect(), least),
            zero: scale.percent(0.0).unwrap_or(0.0),
            is_share: bars.is_share,
            room,
            rows,
            legend: parts.into_iter().flatten().map(key).collect(),
            published: bars.published.clone(),
        }
    }
}

impl LabelledBars {
    fn of(row: &findings::BarRow, chart: &findings::Bars, scale: &AxisScale) -> Self {
        let lines: Vec<RuledLine> = match chart.is_stacked {
            true => RuledLine::stack(row, chart, scale).into_iter().collect(),
            false => {
                row.bars.iter().filter_map(|bar| RuledLine::of(bar, row, chart, scale)).collect()
            }
        };
        let is_absent = |bar: &&findings::Bar| bar.figure.is_none() && !lines.is_empty();
        let absent: Vec<String> =
            row.bars.iter().filter(is_absent).map(|bar| bar.name.clone()).collect();
        Self {
            label: row.label.clone(),
            absent,
            mark: row.bars.iter().filter_map(|bar| bar.mark).min().map(Mark::name),
            lines,
            lacking: row.lacking.clone().unwrap_or_else(|| NOT_MEASURED.to_owned()),
        }
    }

    fn in_words(&self) -> String {
        let mark = self.mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
        let lines: Vec<&str> = self.lines.iter().map(|line| line.title.as_str()).collect();
        match lines[..] {
            [] => format!("{}: no figure{mark}.", self.label),
            _ => format!("{}{mark}.", lines.join("; ")),
        }
    }
}

impl RuledLine {
    /// The bar of a figure, from zero to the median; `None` where there is none.
    fn of(
        bar: &findings::Bar,
        row: &findings::BarRow,
        chart: &findings::Bars,
        scale: &AxisScale,
    ) -> Option<Self> {
        let figure = bar.figure.as_ref()?;
        let at = |value: f64| scale.percent(value);
        let ends = Some(figure.estimate.interval).filter(|_| figure.has_interval());
        let text = chart.unit.text(figure.estimate.median);
        let words = joined(&text, &interval(figure, &chart.unit));
        let comma = if bar.name.is_empty() { "" } else { ", " };
        let mut line = Self {
            values: vec![Value { series: bar.series, text }],
            name: if row.bars.len() > 1 { bar.name.clone() } else { String::new() },
            end: 0.0,
            parts: BarSegment::between(bar.series, 0.0, figure.estimate.median, scale)
                .into_iter()
                .collect(),
            is_hatched: bar.mark.is_some_and(Mark::is_not_a_maximum),
            whisker: ends.and_then(|ends| Some([at(ends.low)?, at(ends.high)?])),
            dots: figure.samples.iter().filter_map(|sample| at(*sample)).collect(),
            band: bar.published.as_ref().and_then(|band| DrawnBand::of(band, scale)),
            title: format!("{}{comma}{}: {words}", row.label, bar.name),
        };
        line.end = line.rightmost(scale);
        Some(line)
    }

    /// The parts of a whole, each from where the one before it ends; `None` where there are none.
    fn stack(row: &findings::BarRow, chart: &findings::Bars, scale: &AxisScale) -> Option<Self> {
        let median = |bar: &findings::Bar| Some(bar.figure.as_ref()?.median());
        let medians: Vec<(&findings::Bar, f64, f64)> = row
            .bars
            .iter()
            .zip(row.stacked())
            .filter_map(|(bar, begin)| Some((bar, begin, median(bar)?)))
            .collect();
        let last = medians.len().checked_sub(1)?;
        let whole: f64 = medians.iter().map(|(_, _, length)| length).sum();
        let has_shares = !chart.is_share && medians.len() > FEW_PARTS;
        let part = |(bar, begin, length): &(&findings::Bar, f64, f64)| {
            let part = BarSegment::between(bar.series, *begin, begin + length, scale)?;
            let has_share = has_shares && part.width >= ROOM_FOR_SHARE;
            let share = has_share.then(|| format!("{:.0}%", 100.0 * length / whole));
            Some(BarSegment { share, ..part })
        };
        let parts: Vec<BarSegment> = medians.iter().filter_map(part).collect();
        // The unit follows only the last of several numbers.
        let number = |(place, (bar, _, length)): (usize, &(&findings::Bar, f64, f64))| Value {
            series: bar.series,
            text: match place == last {
                true => chart.unit.text(*length),
                false => chart.unit.number(*length),
            },
        };
        let sum = |text| vec![Value { series: Series::Rest, text }];
        let values = match chart.is_share {
            true => sum(percent(whole)),
            false if has_shares => sum(chart.unit.text(whole)),
            false => medians.iter().enumerate().map(number).collect(),
        };
        let named = |(bar, _, length): &(&findings::Bar, f64, f64)| {
            format!("{} {}", bar.name, chart.unit.text(*length))
        };
        let named: Vec<String> =
            medians.iter().filter(|(_, _, length)| *length != 0.0).map(named).collect();
        let words = if named.is_empty() { "nothing".to_owned() } else { named.join(", ") };
        let title = format!("{}: {words}", row.label);
        let mut line = Self { values, parts, title, ..Self::default() };
        line.end = line.rightmost(scale);
        Some(line)
    }

    fn rightmost(&self, scale: &AxisScale) -> f64 {
        let parts = self.parts.iter().map(|part| part.x + part.width);
        let whisker = self.whisker.iter().map(|[_, high]| *high);
        let band = self.band.iter().map(|band| band.x + band.width);
        let all = parts.chain(whisker).chain(band).chain(self.dots.iter().copied());
        rounded(all.fold(scale.percent(0.0).unwrap_or(0.0), f64::max))
    }

    /// The length of its text in characters.
    fn room(&self) -> usize {
        self.values.iter().map(|value| value.text.chars().count() + 3).sum()
    }
}

impl BarSegment {
    /// `None` where it cannot be drawn, because an end is no finite number, or it has no length.
    fn between(series: Series, begin: f64, end: f64, scale: &AxisScale) -> Option<Self> {
        let (begin, end) = (scale.percent(begin)?, scale.percent(end)?.min(100.0));
        let width = rounded((end - begin).abs());
        (width > 0.0).then(|| Self { series, x: begin.min(end), width, share: None })
    }
}

impl DrawnBand {
    fn of(band: &findings::Band, scale: &AxisScale) -> Option<Self> {
        let (low, high) = (scale.percent(band.low)?, scale.percent(band.high)?);
        Some(Self {
            x: low,
            width: rounded((high - low).max(LEAST_WIDTH)),
            title: band.title.clone(),
            is_first: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use answer::analysis::Figure;
    use proptest::prelude::*;
    use units::Quantity;

    use super::*;

    fn figure(samples: &[f64]) -> Option<Figure> {
        Figure::of(samples.to_vec())
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
            is_share: quantity == Quantity::Share,
            is_stacked: false,
            rows: rows.iter().enumerate().map(row).collect(),
            published: None,
        }
    }

    fn labels(chart: &DrawnBars) -> Vec<&str> {
        chart.ticks.iter().map(|tick| tick.label.as_str()).collect()
    }

    #[test]
    fn a_chart_says_in_words_what_it_shows() {
        let rows = [vec![36.9e9, 36.0e9, 37.1e9], vec![7.2e9], vec![]];
        let chart = DrawnBars::of(&chart(Quantity::BitsPerSecond, &rows));
        assert_eq!(
            chart.description,
            "suite 0: 36.90 Gb/s [36.00, 37.10]. suite 1: 7.20 Gb/s (client-bound). \
             suite 2: no figure."
        );
        assert_eq!(labels(&chart), ["0", "10", "20", "30", "40"]);
        let [baseline, marked, empty] = &chart.rows[..] else { panic!() };
        assert!(!baseline.lines[0].is_hatched && marked.lines[0].is_hatched);
        assert!(empty.lines.is_empty() && empty.lacking == NOT_MEASURED);
        // The text is right of the bar and of the interval.
        assert_eq!((baseline.lines[0].end, marked.lines[0].end), (92.75, 18.0));
    }

    #[test]
    fn each_bar_of_a_row_has_its_name_and_its_figure() {
        let mut chart = chart(Quantity::BitsPerSecond, &[vec![2e9; 3]]);
        chart.rows[0].bars.extend([bar(1, &[]), bar(2, &[8e9; 3])]);
        chart.rows[0].bars[1].name = "CBC".to_owned();
        chart.rows[0].bars[2].name = "GCM".to_owned();
        chart.rows[0].bars[2].published =
            Some(findings::Band { low: 4e9, high: 6e9, title: String::new() });
        let chart = DrawnBars::of(&chart);
        assert_eq!(
            chart.description,
            "suite 0: 2.00 Gb/s [2.00, 2.00]; suite 0, GCM: 8.00 Gb/s [8.00, 8.00] (client-bound)."
        );
        let [_, third] = &chart.rows[0].lines[..] else { panic!() };
        assert_eq!((&*third.name, &*third.values[0].text), ("GCM", "8.00 Gb/s"));
        let band = third.band.as_ref().unwrap();
        assert_eq!((band.x, band.width, third.end), (50.0, 25.0, 100.0));
        assert!(band.is_first);
        assert_eq!(chart.rows[0].absent, ["CBC"], "the second has no figure");
        assert_eq!(chart.room, "8.00 Gb/s   ".len());
    }

    #[test]
    fn what_was_published_of_several_rows_is_written_once() {
        let mut chart = chart(Quantity::PerSecond, &[vec![1.0], vec![2.0], vec![3.0]]);
        for (row, title) in chart.rows.iter_mut().zip(["a", "a", "b"]) {
            row.bars[0].published =
                Some(findings::Band { low: 1.0, high: 2.0, title: title.to_owned() });
        }
        let chart = DrawnBars::of(&chart);
        let firsts = chart.rows.iter().map(|row| row.lines[0].band.as_ref().unwrap().is_first);
        assert_eq!(firsts.collect::<Vec<_>>(), [true, false, true]);
    }

    /// A part that is less than nothing lies left of zero, and the others keep their lengths.
    #[test]
    fn parts_of_a_stack_lie_end_to_end_and_negative_ones_left_of_zero() {
        let mut chart = chart(Quantity::PerSecond, &[vec![30.0], vec![]]);
        chart.is_stacked = true;
        chart.rows[0].bars.extend([bar(0, &[20.0]), bar(0, &[50.0])]);
        chart.rows[1].bars = [60.0, 30.0, -25.0].map(|part| bar(0, &[part])).to_vec();
        let chart = DrawnBars::of(&chart);
        assert_eq!(labels(&chart), ["-50", "0", "50", "100"]);
        let third = 100.0 / 3.0;
        for (row, begins, lengths) in [
            (&chart.rows[0], [0.0, 30.0, 50.0], [30.0, 20.0, 50.0]),
            (&chart.rows[1], [0.0, 60.0, -25.0], [60.0, 30.0, 25.0]),
        ] {
            for (bar, (begin, length)) in
                row.lines[0].parts.iter().zip(begins.into_iter().zip(lengths))
            {
                assert!((bar.x - third - begin / 1.5).abs() < 0.02, "{bar:?}");
                assert!((bar.width - length / 1.5).abs() < 0.02, "{bar:?}");
            }
            assert!(row.lines[0].whisker.is_none() && row.lines[0].dots.is_empty());
        }
        let texts = chart.rows[1].lines[0].values.iter().map(|value| value.text.as_str());
        assert_eq!(texts.collect::<Vec<_>>(), ["60.0", "30.0", "-25.0/s"]);
        assert!(
            chart.description.ends_with("suite 1:  60.0/s,  30.0/s,  -25.0/s."),
            "{}",
            chart.description
        );
    }

    /// Shares are rounded where they are read: their sum can be more than the whole.
    #[test]
    fn the_axis_of_a_whole_ends_there() {
        let mut chart = chart(Quantity::Share, &[vec![0.9], vec![]]);
        chart.is_stacked = true;
        chart.rows[0].bars[0].name = "server".to_owned();
        chart.rows[0].bars.push(findings::Bar { name: "client".to_owned(), ..bar(0, &[0.2]) });
        chart.rows[1].bars = vec![bar(0, &[0.0])];
        let chart = DrawnBars::of(&chart);
        assert_eq!(labels(&chart), ["0", "20", "40", "60", "80", "100"]);
        let [full, empty] = [0, 1].map(|row| &chart.rows[row].lines[0]);
        assert_eq!(full.parts.iter().map(|part| part.width).sum::<f64>(), 100.0);
        assert!(empty.parts.is_empty());
        assert_eq!(full.values[0].text, "110.0%", "the figure is what was measured");
        assert_eq!(chart.description, "suite 0: server 90.0%, client 20.0%. suite 1: nothing.");
        let legend: Vec<&str> = chart.legend.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(legend, ["server", "client"]);
    }

    #[test]
    fn a_share_is_drawn_before_the_whole() {
        let chart = DrawnBars::of(&chart(Quantity::Share, &[vec![0.0], vec![0.81, 0.8]]));
        assert_eq!(labels(&chart), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(chart.rows[1].lines[0].parts[0].width, 80.5);
        assert!(chart.is_share);
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out_of_the_drawing_only() {
        let mut chart = chart(Quantity::PerSecond, &[vec![0.0, 0.0], vec![1.0]]);
        chart.rows[1].bars[0].figure = figure(&[f64::MAX]);
        let chart = DrawnBars::of(&chart);
        assert!(chart.rows[0].lines[0].parts.is_empty());
        assert!(chart.rows[1].lines[0].parts.is_empty());
        assert_eq!(chart.rows[1].lines[0].values.len(), 1);
    }

    proptest! {
        #[test]
        fn bars_are_in_proportion_and_whiskers_and_dots_within(
            cells in prop::collection::vec(prop::collection::vec(0.0..1e11f64, 1..9), 1..6)
        ) {
            let medians: Vec<f64> =
                cells.iter().map(|samples| figure(samples).unwrap().estimate.median).collect();
            let chart = DrawnBars::of(&chart(Quantity::BitsPerSecond, &cells));
            let end = |line: &RuledLine| line.parts.iter().map(|part| part.width).sum::<f64>();
            let widths: Vec<f64> = chart.rows.iter().map(|row| end(&row.lines[0])).collect();
            for (median, width) in medians.iter().zip(&widths) {
                prop_assert!((0.0..=100.0).contains(width));
                for (other, other_width) in medians.iter().zip(&widths) {
                    // Widths are rounded to a hundredth of a percent.
                    prop_assert!((median * other_width - other * width).abs() <= 0.011 * (median + other));
                }
            }
            for line in chart.rows.iter().map(|row| &row.lines[0]) {
                let end = end(line);
                if let Some([low, high]) = line.whisker {
                    prop_assert!(low <= end + 0.01 && end <= high + 0.01);
                    prop_assert!(low >= 0.0 && high <= 100.0);
                }
                prop_assert!(line.dots.iter().all(|dot| (0.0..=line.end).contains(dot)));
                prop_assert!(line.end >= end && line.end <= 100.0);
            }
        }
    }
}
