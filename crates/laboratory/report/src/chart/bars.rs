//! Horizontal bars with their intervals and samples.

use answer::Mark;
use answer::findings::{self, Bar, BarRow, Series};
use answer::wording::{interval, joined};
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;
use units::percent;

use super::scale::{AxisScale, Tick, rounded, spaced};

/// A bar, or a stack of them, with its text.
#[derive(Debug, Default, Serialize)]
struct RuledLine {
    /// Numbers, each in the colour of its bar.
    values: Vec<(Series, String)>,
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
    band: Option<PublishedBand>,
    /// All of it in words.
    title: String,
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
struct PublishedBand {
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

/// A horizontal bar chart: places and lengths are percentages.
pub(super) fn bars(bars: &findings::Bars) -> Value {
    let scale = match bars.is_share {
        // The sum of shares can be more than the whole by their rounding.
        true => AxisScale::around(bars.values().into_iter().map(|share| share.min(1.0))),
        false => AxisScale::around(bars.values()),
    };
    let mut rows: Vec<(&BarRow, Vec<RuledLine>)> =
        bars.rows.iter().map(|row| (row, RuledLine::all(row, bars, &scale))).collect();
    let mut titles: Vec<String> = Vec::new();
    let lines = rows.iter_mut().flat_map(|(_, lines)| lines);
    for band in lines.filter_map(|line| line.band.as_mut()) {
        band.is_first = !titles.contains(&band.title);
        titles.push(band.title.clone());
    }
    let tick = |value| {
        let label = bars.unit.tick(value, scale.step);
        Some(Tick { at: scale.percent(value)?, label })
    };
    let parts = bars.rows.first().filter(|_| bars.is_stacked).map(|row| &row.bars);
    let key = |bar: &Bar| (bar.series, bar.name.clone());
    let room = rows.iter().flat_map(|(_, lines)| lines).map(RuledLine::room).max().unwrap_or(0);
    let least = (NARROWEST - CHARACTER * room as f64).max(0.0);
    context! {
        kind => "bars",
        title => bars.title,
        subtitle => bars.subtitle,
        // The chart in words, for readers who cannot see it.
        description => rows.iter().map(in_words).collect::<Vec<_>>().join(" "),
        axis => bars.axis,
        ticks => spaced(scale.ticks().filter_map(tick).collect(), least),
        zero => scale.percent(0.0).unwrap_or(0.0),
        // What lacks to 100% is drawn too.
        is_share => bars.is_share,
        // For the longest text beside a bar, in characters.
        room,
        rows => rows.iter().map(labelled).collect::<Vec<_>>(),
        // What the colours of a stack mean.
        legend => parts.into_iter().flatten().map(key).collect::<Vec<_>>(),
        published => bars.published,
    }
}

/// A label with its bars, and with those that have no figure where others have one.
fn labelled((row, lines): &(&BarRow, Vec<RuledLine>)) -> Value {
    let is_absent = |bar: &&Bar| bar.figure.is_none() && !lines.is_empty();
    context! {
        label => row.label,
        mark => mark(row),
        lines,
        absent => row.bars.iter().filter(is_absent).map(|bar| &bar.name).collect::<Vec<_>>(),
        lacking => row.lacking.as_deref().unwrap_or(NOT_MEASURED),
    }
}

fn mark(row: &BarRow) -> Option<&'static str> {
    row.bars.iter().filter_map(|bar| bar.mark).min().map(Mark::name)
}

fn in_words((row, lines): &(&BarRow, Vec<RuledLine>)) -> String {
    let mark = mark(row).map(|mark| format!(" ({mark})")).unwrap_or_default();
    let lines: Vec<&str> = lines.iter().map(|line| line.title.as_str()).collect();
    match lines[..] {
        [] => format!("{}: no figure{mark}.", row.label),
        _ => format!("{}{mark}.", lines.join("; ")),
    }
}

impl RuledLine {
    /// Those of a row.
    fn all(row: &BarRow, chart: &findings::Bars, scale: &AxisScale) -> Vec<Self> {
        match chart.is_stacked {
            true => Self::stack(row, chart, scale).into_iter().collect(),
            false => row.bars.iter().filter_map(|bar| Self::of(bar, row, chart, scale)).collect(),
        }
    }

    /// The bar of a figure, from zero to the median; `None` where there is none.
    fn of(bar: &Bar, row: &BarRow, chart: &findings::Bars, scale: &AxisScale) -> Option<Self> {
        let figure = bar.figure.as_ref()?;
        let at = |value: f64| scale.percent(value);
        let ends = Some(figure.estimate.interval).filter(|_| figure.has_interval());
        let text = chart.unit.text(figure.estimate.median);
        let words = joined(&text, &interval(figure, &chart.unit));
        let comma = if bar.name.is_empty() { "" } else { ", " };
        let mut line = Self {
            values: vec![(bar.series, text)],
            name: if row.bars.len() > 1 { bar.name.clone() } else { String::new() },
            end: 0.0,
            parts: BarSegment::between(bar.series, 0.0, figure.estimate.median, scale)
                .into_iter()
                .collect(),
            is_hatched: bar.mark.is_some_and(Mark::is_not_a_maximum),
            whisker: ends.and_then(|ends| Some([at(ends.low)?, at(ends.high)?])),
            dots: figure.samples.iter().filter_map(|sample| at(*sample)).collect(),
            band: bar.published.as_ref().and_then(|band| PublishedBand::of(band, scale)),
            title: format!("{}{comma}{}: {words}", row.label, bar.name),
        };
        line.end = line.rightmost(scale);
        Some(line)
    }

    /// The parts of a whole, each from where the one before it ends; `None` where there are none.
    fn stack(row: &BarRow, chart: &findings::Bars, scale: &AxisScale) -> Option<Self> {
        let median = |bar: &Bar| Some(bar.figure.as_ref()?.median());
        let medians: Vec<(&Bar, f64, f64)> = row
            .bars
            .iter()
            .zip(row.stacked())
            .filter_map(|(bar, begin)| Some((bar, begin, median(bar)?)))
            .collect();
        let last = medians.len().checked_sub(1)?;
        let whole: f64 = medians.iter().map(|(_, _, length)| length).sum();
        let has_shares = !chart.is_share && medians.len() > FEW_PARTS;
        let part = |(bar, begin, length): &(&Bar, f64, f64)| {
            let part = BarSegment::between(bar.series, *begin, begin + length, scale)?;
            let has_share = has_shares && part.width >= ROOM_FOR_SHARE;
            let share = has_share.then(|| format!("{:.0}%", 100.0 * length / whole));
            Some(BarSegment { share, ..part })
        };
        let parts: Vec<BarSegment> = medians.iter().filter_map(part).collect();
        // The unit follows only the last of several numbers.
        let number = |(place, (bar, _, length)): (usize, &(&Bar, f64, f64))| match place == last {
            true => (bar.series, chart.unit.text(*length)),
            false => (bar.series, chart.unit.number(*length)),
        };
        let sum = |text| vec![(Series::Rest, text)];
        let values = match chart.is_share {
            true => sum(percent(whole)),
            false if has_shares => sum(chart.unit.text(whole)),
            false => medians.iter().enumerate().map(number).collect(),
        };
        let named = |(bar, _, length): &(&Bar, f64, f64)| {
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
        self.values.iter().map(|(_, text)| text.chars().count() + 3).sum()
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

impl PublishedBand {
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
    use serde_json::Value as Json;
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

    /// What the template gets.
    fn drawn(chart: &findings::Bars) -> Json {
        serde_json::to_value(bars(chart)).unwrap()
    }

    fn all<'a>(of: &'a Json, name: &str) -> Vec<&'a Json> {
        list(of).iter().map(|each| &each[name]).collect()
    }

    fn list(of: &Json) -> &[Json] {
        of.as_array().unwrap()
    }

    fn numbers<'a>(of: impl IntoIterator<Item = &'a Json>) -> Vec<f64> {
        of.into_iter().map(|number| number.as_f64().unwrap()).collect()
    }

    #[test]
    fn a_chart_says_in_words_what_it_shows() {
        let rows = [vec![36.9e9, 36.0e9, 37.1e9], vec![7.2e9], vec![]];
        let chart = drawn(&chart(Quantity::BitsPerSecond, &rows));
        assert_eq!(
            chart["description"],
            "suite 0: 36.90 Gb/s [36.00, 37.10]. suite 1: 7.20 Gb/s (client-bound). \
             suite 2: no figure."
        );
        assert_eq!(all(&chart["ticks"], "label"), ["0", "10", "20", "30", "40"]);
        let [baseline, marked, empty] = list(&chart["rows"]) else { panic!() };
        let [baseline, marked] = [baseline, marked].map(|row| &row["lines"][0]);
        assert_eq!([&baseline["is_hatched"], &marked["is_hatched"]], [false, true]);
        assert!(list(&empty["lines"]).is_empty() && empty["lacking"] == NOT_MEASURED);
        // The text is right of the bar and of the interval.
        assert_eq!([&baseline["end"], &marked["end"]], [92.75, 18.0]);
    }

    #[test]
    fn each_bar_of_a_row_has_its_name_and_its_figure() {
        let mut chart = chart(Quantity::BitsPerSecond, &[vec![2e9; 3]]);
        chart.rows[0].bars.extend([bar(1, &[]), bar(2, &[8e9; 3])]);
        chart.rows[0].bars[1].name = "CBC".to_owned();
        chart.rows[0].bars[2].name = "GCM".to_owned();
        chart.rows[0].bars[2].published =
            Some(findings::Band { low: 4e9, high: 6e9, title: String::new() });
        let chart = drawn(&chart);
        assert_eq!(
            chart["description"],
            "suite 0: 2.00 Gb/s [2.00, 2.00]; suite 0, GCM: 8.00 Gb/s [8.00, 8.00] (client-bound)."
        );
        let row = &chart["rows"][0];
        let [_, third] = list(&row["lines"]) else { panic!() };
        assert_eq!([&third["name"], &third["values"][0][1]], ["GCM", "8.00 Gb/s"]);
        let band = &third["band"];
        assert_eq!([&band["x"], &band["width"], &third["end"]], [50.0, 25.0, 100.0]);
        assert_eq!(band["is_first"], true);
        assert_eq!(list(&row["absent"]), ["CBC"], "the second has no figure");
        assert_eq!(chart["room"], "8.00 Gb/s   ".len());
    }

    #[test]
    fn what_was_published_of_several_rows_is_written_once() {
        let mut chart = chart(Quantity::PerSecond, &[vec![1.0], vec![2.0], vec![3.0]]);
        for (row, title) in chart.rows.iter_mut().zip(["a", "a", "b"]) {
            row.bars[0].published =
                Some(findings::Band { low: 1.0, high: 2.0, title: title.to_owned() });
        }
        let chart = drawn(&chart);
        let firsts = all(&chart["rows"], "lines").into_iter().map(|of| &of[0]["band"]["is_first"]);
        assert_eq!(firsts.collect::<Vec<_>>(), [true, false, true]);
    }

    /// A part that is less than nothing lies left of zero, and the others keep their lengths.
    #[test]
    fn parts_of_a_stack_lie_end_to_end_and_negative_ones_left_of_zero() {
        let mut chart = chart(Quantity::PerSecond, &[vec![30.0], vec![]]);
        chart.is_stacked = true;
        chart.rows[0].bars.extend([bar(0, &[20.0]), bar(0, &[50.0])]);
        chart.rows[1].bars = [60.0, 30.0, -25.0].map(|part| bar(0, &[part])).to_vec();
        let chart = drawn(&chart);
        assert_eq!(all(&chart["ticks"], "label"), ["-50", "0", "50", "100"]);
        let third = 100.0 / 3.0;
        for (row, begins, lengths) in [
            (0, [0.0, 30.0, 50.0], [30.0, 20.0, 50.0]),
            (1, [0.0, 60.0, -25.0], [60.0, 30.0, 25.0]),
        ] {
            let line = &chart["rows"][row]["lines"][0];
            let [xs, widths] = ["x", "width"].map(|name| numbers(all(&line["parts"], name)));
            for (x, begin) in xs.iter().zip(begins) {
                assert!((x - third - begin / 1.5).abs() < 0.02, "{line}");
            }
            for (width, length) in widths.iter().zip(lengths) {
                assert!((width - length / 1.5).abs() < 0.02, "{line}");
            }
            assert_eq!((xs.len(), widths.len()), (3, 3));
            assert!(line["whisker"].is_null() && list(&line["dots"]).is_empty());
        }
        let values = list(&chart["rows"][1]["lines"][0]["values"]).iter().map(|value| &value[1]);
        assert_eq!(values.collect::<Vec<_>>(), ["60.0", "30.0", "-25.0/s"]);
        let description = chart["description"].as_str().unwrap();
        assert!(description.ends_with("suite 1:  60.0/s,  30.0/s,  -25.0/s."), "{description}");
    }

    /// Shares are rounded where they are read: their sum can be more than the whole.
    #[test]
    fn the_axis_of_a_whole_ends_there() {
        let mut chart = chart(Quantity::Share, &[vec![0.9], vec![]]);
        chart.is_stacked = true;
        chart.rows[0].bars[0].name = "server".to_owned();
        chart.rows[0].bars.push(findings::Bar { name: "client".to_owned(), ..bar(0, &[0.2]) });
        chart.rows[1].bars = vec![bar(0, &[0.0])];
        let chart = drawn(&chart);
        assert_eq!(all(&chart["ticks"], "label"), ["0", "20", "40", "60", "80", "100"]);
        let [full, empty] = [0, 1].map(|row| &chart["rows"][row]["lines"][0]);
        assert_eq!(numbers(all(&full["parts"], "width")).iter().sum::<f64>(), 100.0);
        assert!(list(&empty["parts"]).is_empty());
        assert_eq!(full["values"][0][1], "110.0%", "the figure is what was measured");
        assert_eq!(chart["description"], "suite 0: server 90.0%, client 20.0%. suite 1: nothing.");
        let legend: Vec<&Json> = list(&chart["legend"]).iter().map(|key| &key[1]).collect();
        assert_eq!(legend, ["server", "client"]);
    }

    #[test]
    fn a_share_is_drawn_before_the_whole() {
        let chart = drawn(&chart(Quantity::Share, &[vec![0.0], vec![0.81, 0.8]]));
        assert_eq!(all(&chart["ticks"], "label"), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(chart["rows"][1]["lines"][0]["parts"][0]["width"], 80.5);
        assert_eq!(chart["is_share"], true);
    }

    #[test]
    fn what_cannot_be_drawn_is_left_out_of_the_drawing_only() {
        let mut chart = chart(Quantity::PerSecond, &[vec![0.0, 0.0], vec![1.0]]);
        chart.rows[1].bars[0].figure = figure(&[f64::MAX]);
        let chart = drawn(&chart);
        let [zero, large] = [0, 1].map(|row| &chart["rows"][row]["lines"][0]);
        assert!(list(&zero["parts"]).is_empty() && list(&large["parts"]).is_empty());
        assert_eq!(list(&large["values"]).len(), 1);
    }

    proptest! {
        #[test]
        fn bars_are_in_proportion_and_whiskers_and_dots_within(
            cells in prop::collection::vec(prop::collection::vec(0.0..1e11f64, 1..9), 1..6)
        ) {
            let medians: Vec<f64> =
                cells.iter().map(|samples| figure(samples).unwrap().estimate.median).collect();
            let chart = drawn(&chart(Quantity::BitsPerSecond, &cells));
            let lines = || all(&chart["rows"], "lines").into_iter().map(|of| &of[0]);
            let end = |line: &Json| numbers(all(&line["parts"], "width")).iter().sum::<f64>();
            let widths: Vec<f64> = lines().map(end).collect();
            for (median, width) in medians.iter().zip(&widths) {
                prop_assert!((0.0..=100.0).contains(width));
                for (other, other_width) in medians.iter().zip(&widths) {
                    // Widths are rounded to a hundredth of a percent.
                    prop_assert!((median * other_width - other * width).abs() <= 0.011 * (median + other));
                }
            }
            for line in lines() {
                let (end, text) = (end(line), numbers([&line["end"]])[0]);
                if let Some([low, high]) = line["whisker"].as_array().map(|of| [0, 1].map(|at| numbers(of)[at])) {
                    prop_assert!(low <= end + 0.01 && end <= high + 0.01);
                    prop_assert!(low >= 0.0 && high <= 100.0);
                }
                prop_assert!(numbers(list(&line["dots"])).iter().all(|dot| (0.0..=text).contains(dot)));
                prop_assert!(text >= end && text <= 100.0);
            }
        }
    }
}
