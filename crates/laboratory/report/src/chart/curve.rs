//! Figures by a number, which is plotted by its logarithm: equal factors are equal distances.

use answer::findings::{self, Axis, ChartLine, Dot};
use minijinja::context;
use minijinja::value::Value;
use serde::Serialize;
use units::Unit;

use super::scale::{AxisScale, Tick, rounded};

/// A figure with its range.
#[derive(Debug, Serialize)]
struct PlacedDot {
    series: usize,
    x: f64,
    y: f64,
    range: Option<[f64; 2]>,
    is_doubtful: bool,
    is_large: bool,
    title: String,
}

const HEIGHT: f64 = 240.0;
/// Left and right of the first and the last number, in percent: room for labels.
const MARGIN: f64 = 6.0;
/// What a character of a label takes of the width of a plot at most, in percent: on a wide screen, and on
/// a phone.
const CHARACTER: [f64; 2] = [1.9, 3.8];
/// Names of lines that are nearer would touch each other, in pixels.
const APART: f64 = 16.0;
/// Longer names of lines have no room beside the plot, in characters.
const LONGEST: usize = 18;

/// A name of a line: its colour, and where its line ends, in pixels, but so far from the others that all can be read.
type LegendKey = (usize, Tick);

/// Curves, or dots alone: numbers lie in percent, figures in pixels. Figures that cannot be plotted are left out: on an
/// axis of factors, those that are not positive.
pub(crate) fn curve(curve: &findings::Curve) -> Value {
    let places = Places::of(curve);
    let (mut dots, mut segments) = (Vec::new(), Vec::new());
    let (mut published, mut legend): (Vec<PlacedDot>, Vec<LegendKey>) = (Vec::new(), Vec::new());
    let series = series(&curve.lines);
    for (line, series) in curve.lines.iter().zip(series.iter().copied()) {
        let plotted: Vec<PlacedDot> =
            line.dots.iter().filter_map(|figure| places.dot(series, figure)).collect();
        let at = plotted.last().map_or(HEIGHT, |dot| dot.y);
        legend.push((series, Tick { at, label: line.label.clone() }));
        if line.is_joined {
            segments.extend(joined(series, &plotted));
        }
        dots.extend(plotted);
        for figure in &line.dots {
            for (title, y) in &figure.published {
                let of = Dot { x: figure.x, y: *y, title: title.clone(), ..Dot::default() };
                // What was published of several lines is plotted once.
                let is_new = !published.iter().any(|known| known.title == *title);
                published.extend(places.dot(series, &of).filter(|_| is_new));
            }
        }
    }
    let (mut limits, mut knees) = (Vec::new(), Vec::new());
    for limit in &curve.limits {
        let series = series[limit.line];
        let at = |(x, y): (f64, f64), title: &str| {
            places.dot(series, &Dot { x, y, title: title.to_owned(), ..Dot::default() })
        };
        let plotted: Vec<PlacedDot> =
            limit.points.iter().filter_map(|point| at(*point, "")).collect();
        limits.extend(joined(series, &plotted));
        knees.extend(limit.knee.as_ref().and_then(|(title, point)| at(*point, title)));
    }
    let ys = places.ys();
    let tick = |label: &String, at| Some(Tick { at: at?, label: label.clone() });
    let marks = curve.marks.iter().map(|(label, _)| format!("{label}."));
    let description: Vec<String> = curve.lines.iter().map(in_words).chain(marks).collect();
    context! {
        kind => "curve",
        title => curve.title,
        subtitle => curve.subtitle,
        x_axis => curve.x_axis,
        y_axis => curve.y_axis,
        notes => curve.notes,
        // The chart in words, for readers who cannot see it.
        description => description.join(" "),
        height => HEIGHT,
        room => room(&legend),
        legend => spread(legend),
        xs => places.xs(curve),
        // For the longest label of a figure, in characters.
        y_room => ys.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0),
        ys,
        segments,
        dots,
        published,
        bound => curve.bound.as_ref().and_then(|(label, value)| tick(label, places.y(*value))),
        // Thin, what no figure of a line crosses.
        limits,
        knees,
        marks => curve.marks.iter().filter_map(|(label, x)| tick(label, places.x(*x))).collect::<Vec<_>>(),
    }
}

/// For the longest name right of the lines, in characters; 0 where they are too long for that, and are above the plot.
fn room(legend: &[LegendKey]) -> usize {
    let longest = legend.iter().map(|(_, key)| key.label.chars().count()).max().unwrap_or(0);
    if legend.len() > 1 && longest <= LONGEST { longest + 1 } else { 0 }
}

/// The names of several lines from top to bottom, none on another.
fn spread(mut legend: Vec<LegendKey>) -> Vec<LegendKey> {
    if legend.len() < 2 {
        return Vec::new();
    }
    legend.sort_by(|(_, a), (_, b)| a.at.total_cmp(&b.at));
    // What lies too low is pushed up again by those below it.
    let mut least = f64::NEG_INFINITY;
    for (_, key) in &mut legend {
        key.at = key.at.max(least);
        least = key.at + APART;
    }
    let mut most = HEIGHT;
    for (_, key) in legend.iter_mut().rev() {
        key.at = rounded(key.at.min(most));
        most = key.at - APART;
    }
    legend
}

/// The colours of lines: 0 is the baseline's.
fn series(lines: &[ChartLine]) -> Vec<usize> {
    let mut others = 0;
    let series = lines.iter().map(|line| {
        others += usize::from(!line.is_baseline);
        if line.is_baseline { 0 } else { others }
    });
    series.collect()
}

/// Lines from each dot to the next.
fn joined(series: usize, dots: &[PlacedDot]) -> impl Iterator<Item = Value> {
    dots.windows(2).map(move |pair| {
        context! { series, x1 => pair[0].x, y1 => pair[0].y, x2 => pair[1].x, y2 => pair[1].y }
    })
}

fn in_words(line: &ChartLine) -> String {
    let dot = |dot: &Dot| format!("{} {}", dot.x_label, dot.y_label);
    format!("{}: {}.", line.label, line.dots.iter().map(dot).collect::<Vec<_>>().join(", "))
}

/// Where figures lie.
struct Places {
    smallest: f64,
    largest: f64,
    upwards: Upwards,
}

enum Upwards {
    Factors { least: f64, most: f64 },
    FromZero(AxisScale, Unit),
}

impl Places {
    fn of(curve: &findings::Curve) -> Self {
        let dots = || curve.lines.iter().flat_map(|line| &line.dots);
        let values = dots().flat_map(|dot| {
            let published = dot.published.iter().map(|(_, value)| *value);
            let range = dot.range.into_iter().flat_map(|(low, high)| [low, high]);
            published.chain(range).chain([dot.y])
        });
        let values = values.chain(curve.bound.iter().map(|(_, value)| *value));
        let limits = curve.limits.iter().flat_map(|limit| &limit.points);
        let values = values.chain(limits.map(|(_, value)| *value));
        let xs = || dots().map(|dot| dot.x);
        Self {
            smallest: xs().fold(f64::INFINITY, f64::min).max(f64::MIN_POSITIVE),
            largest: xs().fold(f64::MIN_POSITIVE, f64::max),
            upwards: match curve.axis {
                Axis::Factors => Upwards::factors(values),
                Axis::FromZero(unit) => Upwards::FromZero(AxisScale::around(values), unit),
                Axis::Share(unit) => {
                    Upwards::FromZero(AxisScale::around(values.chain([1.0])), unit)
                }
            },
        }
    }

    fn x(&self, value: f64) -> Option<f64> {
        let share = share(value, self.smallest, self.largest)?;
        Some(rounded(MARGIN + (100.0 - 2.0 * MARGIN) * share))
    }

    fn y(&self, value: f64) -> Option<f64> {
        let share = match &self.upwards {
            Upwards::Factors { least, most } => share(value, *least, *most)?,
            Upwards::FromZero(scale, _) => scale.percent(value)? / 100.0,
        };
        Some(rounded(HEIGHT * (1.0 - share)))
    }

    fn dot(&self, series: usize, figure: &Dot) -> Option<PlacedDot> {
        Some(PlacedDot {
            series,
            x: self.x(figure.x)?,
            y: self.y(figure.y)?,
            range: match figure.range {
                Some((low, high)) => Some([self.y(low)?, self.y(high)?]),
                None => None,
            },
            is_doubtful: figure.is_doubtful,
            is_large: figure.is_large,
            title: figure.title.clone(),
        })
    }

    /// One for each number, as far as they have room; spare is one for which only a wide screen has room.
    fn xs(&self, curve: &findings::Curve) -> Vec<Value> {
        let dots = curve.lines.iter().flat_map(|line| &line.dots);
        let tick = |dot: &Dot| Some(Tick { at: self.x(dot.x)?, label: dot.x_label.clone() });
        let mut ticks: Vec<Tick> = dots.filter_map(tick).collect();
        ticks.sort_by(|a, b| a.at.total_cmp(&b.at));
        ticks.dedup_by(|next, last| next.at == last.at);
        let [mut end, mut end_on_phone] = [f64::NEG_INFINITY; 2];
        let has_room = |tick: Tick| {
            let characters = tick.label.chars().count() as f64 / 2.0 + 0.5;
            let [half, half_on_phone] = CHARACTER.map(|character| characters * character);
            if tick.at - half < end {
                return None;
            }
            end = tick.at + half;
            let is_spare = tick.at - half_on_phone < end_on_phone;
            if !is_spare {
                end_on_phone = tick.at + half_on_phone;
            }
            Some(context! { at => tick.at, label => tick.label, is_spare })
        };
        ticks.into_iter().filter_map(has_room).collect()
    }

    fn ys(&self) -> Vec<Tick> {
        /// More would touch each other.
        const MOST: usize = 8;
        let labelled: Vec<(f64, String)> = match &self.upwards {
            Upwards::FromZero(scale, unit) => {
                scale.ticks().map(|value| (value, unit.tick(value, scale.step))).collect()
            }
            Upwards::Factors { least, most } => {
                let within: Vec<f64> =
                    steps().filter(|step| (*least..=*most).contains(step)).collect();
                let is_many = within.len() > MOST;
                let is_power = |step: &f64| step.log10().fract().abs() < 1e-9;
                let shown = within.into_iter().filter(|step| !is_many || is_power(step));
                shown.map(|step| (step, step.to_string())).collect()
            }
        };
        let tick = |(value, label)| Some(Tick { at: self.y(value)?, label });
        labelled.into_iter().filter_map(tick).collect()
    }
}

impl Upwards {
    fn factors(values: impl Iterator<Item = f64>) -> Self {
        let values = values.filter(|value| value.is_finite() && *value > 0.0);
        let (least, most) = values
            .fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), v| (least.min(v), most.max(v)));
        let (least, most) = if most > 0.0 { (least, most) } else { (0.1, 1.0) };
        Self::Factors {
            least: steps().take_while(|step| *step <= least).last().unwrap_or(least),
            most: steps().find(|step| *step >= most).unwrap_or(most),
        }
    }
}

/// 0.001, 0.002, 0.005, 0.01 and so on, to 5,000.
fn steps() -> impl Iterator<Item = f64> {
    // Divided, so that 0.2 is 0.2.
    let of_power = |power: i32| [1.0, 2.0, 5.0].map(|step| step * 10f64.powi(power) / 1e3);
    (0..7).flat_map(of_power)
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
    use serde_json::Value as Json;
    use units::Quantity;

    use super::*;

    fn dot(x: f64, y: f64) -> Dot {
        Dot { x, x_label: format!("{x}"), y, range: Some((y * 0.9, y * 1.1)), ..Dot::default() }
    }

    fn curve(dots: Vec<Dot>) -> findings::Curve {
        let line = ChartLine { label: "a".to_owned(), is_baseline: true, is_joined: true, dots };
        let (title, subtitle) = ("t".to_owned(), String::new());
        findings::Curve {
            title,
            subtitle,
            x_axis: String::new(),
            y_axis: String::new(),
            axis: Axis::Factors,
            lines: vec![line],
            bound: None,
            limits: Vec::new(),
            notes: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// What the template gets.
    fn plotted(curve: &findings::Curve) -> Json {
        serde_json::to_value(super::curve(curve)).unwrap()
    }

    fn all<'a>(of: &'a Json, name: &str) -> Vec<&'a Json> {
        of.as_array().unwrap().iter().map(|each| &each[name]).collect()
    }

    fn number(of: &Json) -> f64 {
        of.as_f64().unwrap()
    }

    #[test]
    fn equal_factors_are_equal_distances() {
        let plotted = plotted(&curve(vec![dot(64.0, 4.0), dot(256.0, 2.0), dot(1024.0, 1.0)]));
        let places =
            |name: &str| all(&plotted["dots"], name).into_iter().map(number).collect::<Vec<_>>();
        let (xs, ys) = (places("x"), places("y"));
        for of in [&xs, &ys] {
            assert!((of[1] - of[0] - (of[2] - of[1])).abs() < 0.02, "{plotted}");
        }
        assert_eq!((xs[0], xs[2]), (MARGIN, 100.0 - MARGIN));
        let [low, high] = [0, 1].map(|end| number(&plotted["dots"][0]["range"][end]));
        assert!(high < ys[0] && ys[0] < low, "upwards is more");
        assert_eq!(all(&plotted["ys"], "label"), ["0.5", "1", "2", "5"]);
        assert_eq!(all(&plotted["xs"], "label"), ["64", "256", "1024"]);
        assert_eq!(plotted["segments"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn an_axis_from_zero_has_equal_distances_for_equal_differences() {
        let mut curve = curve(vec![dot(1.0, 1e9), dot(2.0, 2e9), dot(2.01, 4e9)]);
        let unit = Quantity::BitsPerSecond.unit_for([4e9]);
        curve.axis = Axis::FromZero(unit);
        curve.lines[0].is_joined = false;
        let plotted = plotted(&curve);
        assert_eq!(all(&plotted["ys"], "label"), ["0", "1", "2", "3", "4", "5"]);
        let [first, second] = [0, 1].map(|at| number(&plotted["dots"][at]["y"]));
        assert_eq!(first - second, HEIGHT / 5.0);
        assert_eq!(plotted["segments"], serde_json::json!([]));
        // Two labels at one place could not be read.
        assert_eq!(all(&plotted["xs"], "label"), ["1", "2"]);
    }

    #[test]
    fn a_phone_has_room_for_fewer_numbers() {
        let mut curve = curve((0..8).map(|power| dot(1024.0 * 2f64.powi(power), 1.0)).collect());
        let spare = |curve: &findings::Curve| {
            let plotted = plotted(curve);
            all(&plotted["xs"], "is_spare").into_iter().map(|of| *of == true).collect::<Vec<_>>()
        };
        for dot in &mut curve.lines[0].dots {
            dot.x_label = "1".to_owned();
        }
        assert_eq!(spare(&curve), [false; 8]);
        for dot in &mut curve.lines[0].dots {
            dot.x_label = "1 KiB".to_owned();
        }
        assert_eq!(spare(&curve), [false, true, false, true, false, true, false, true]);
    }

    #[test]
    fn names_beside_lines_that_end_together_are_apart() {
        let mut curve = curve(vec![dot(1.0, 9.0), dot(2.0, 9.0)]);
        curve.axis = Axis::FromZero(Quantity::PerSecond.unit_for([10.0]));
        let line = |label: &str| ChartLine { label: label.to_owned(), ..curve.lines[0].clone() };
        curve.lines = vec![line("a"), line("bb"), line("ccc")];
        let room_and_legend = |curve: &findings::Curve| {
            let plotted = plotted(curve);
            (number(&plotted["room"]), plotted["legend"].as_array().unwrap().clone())
        };
        let (room, legend) = room_and_legend(&curve);
        let ys: Vec<f64> = legend.iter().map(|key| number(&key[1]["at"])).collect();
        assert!(ys.windows(2).all(|pair| pair[1] - pair[0] >= APART), "{ys:?}");
        assert_eq!(room, 4.0);
        curve.lines[0].label = "too long for the right side".to_owned();
        let (room, legend) = room_and_legend(&curve);
        assert_eq!((room, legend.len()), (0.0, 3), "they are above the plot");
        curve.lines.truncate(1);
        assert!(room_and_legend(&curve).1.is_empty(), "one line needs no name");
    }

    #[test]
    fn the_axis_of_a_share_ends_at_the_whole() {
        let mut curve = curve(vec![dot(1.0, 0.2), dot(2.0, 0.4)]);
        curve.axis = Axis::Share(Quantity::Share.unit_for([]));
        assert_eq!(*all(&plotted(&curve)["ys"], "label").last().unwrap(), "100");
    }

    #[test]
    fn a_mark_lies_at_its_number_and_is_told() {
        let mut curve = curve(vec![dot(64.0, 0.9), dot(1024.0, 1.2)]);
        curve.marks = vec![("a is ahead from 1024 on".to_owned(), 1024.0)];
        let plotted = plotted(&curve);
        assert_eq!(plotted["marks"][0]["at"], plotted["dots"][1]["x"]);
        let description = plotted["description"].as_str().unwrap();
        assert!(description.ends_with("a is ahead from 1024 on."), "{description}");
    }

    #[test]
    fn published_costs_and_bounds_have_their_place() {
        let mut curve = curve(vec![dot(64.0, 4.0), dot(8192.0, 1.0)]);
        for dot in &mut curve.lines[0].dots {
            dot.published = vec![("Xeon".to_owned(), 2.64)];
        }
        curve.bound = Some(("x".to_owned(), 0.5));
        let plotted = plotted(&curve);
        let xs = all(&plotted["published"], "x");
        assert_eq!(xs, [&plotted["dots"][0]["x"]], "what is published once is drawn once");
        assert_eq!(plotted["bound"]["at"], HEIGHT);
    }

    #[test]
    fn a_limit_is_drawn_in_the_colour_of_its_line_and_has_room() {
        let mut curve = curve(vec![dot(1.0, 100.0), dot(100.0, 900.0)]);
        curve.axis = Axis::FromZero(Quantity::PerSecond.unit_for([900.0]));
        curve.lines.push(ChartLine {
            label: "b".into(),
            is_baseline: false,
            ..curve.lines[0].clone()
        });
        curve.limits = vec![findings::LineLimit {
            line: 1,
            points: vec![(1.0, 150.0), (10.0, 1_500.0), (100.0, 1_500.0)],
            knee: Some(("b: knee at 10 users".into(), (10.0, 1_500.0))),
        }];
        let plotted = plotted(&curve);
        let [rising, level] = &plotted["limits"].as_array().unwrap()[..] else {
            panic!("{plotted}")
        };
        assert_eq!([&rising["series"], &level["series"], &plotted["dots"][2]["series"]], [1, 1, 1]);
        assert!(number(&rising["y1"]) > number(&rising["y2"]), "{plotted}");
        assert_eq!(level["y1"], level["y2"], "{plotted}");
        let knee = &plotted["knees"][0];
        assert_eq!([&knee["x"], &knee["y"]], [50.0, 0.0], "it is the highest");
        assert_eq!(knee["title"], "b: knee at 10 users");
    }

    #[test]
    fn what_is_no_cost_is_not_drawn() {
        let dots = |dots| plotted(&curve(dots))["dots"].as_array().unwrap().len();
        assert_eq!(dots(vec![dot(64.0, f64::NAN), dot(256.0, 0.0), dot(1024.0, 1.0)]), 1);
        assert_eq!(dots(Vec::new()), 0);
    }
}
