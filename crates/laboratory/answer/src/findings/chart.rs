//! Charts by what they show. Where everything lies is the report's.

use crate::figure::Figure;
use crate::mark::Mark;
use profile::Class;
use units::Unit;

#[derive(Debug, Clone, PartialEq)]
pub enum Chart {
    Bars(Bars),
    Curve(Curve),
}

/// A horizontal bar chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bars {
    /// What the bars are of.
    pub title: String,
    /// What they have in common.
    pub subtitle: String,
    /// What the axis counts, with the unit.
    pub axis: String,
    pub unit: Unit,
    /// Whether the figures are shares of a whole.
    pub is_share: bool,
    /// Whether the bars of a row are parts of a whole, one after the other.
    pub is_stacked: bool,
    /// From top to bottom.
    pub rows: Vec<BarRow>,
    /// What was published and is drawn too.
    pub published: Option<String>,
}

/// A label with its bars.
#[derive(Debug, Clone, PartialEq)]
pub struct BarRow {
    pub label: String,
    pub bars: Vec<Bar>,
    /// What is shown where no bar has a figure, if it is known.
    pub lacking: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Bar {
    /// What it is of, where its row has several.
    pub name: String,
    pub series: Series,
    pub figure: Option<Figure>,
    pub mark: Option<Mark>,
    /// What was published of the same.
    pub published: Option<Band>,
}

/// What a colour means.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Series {
    /// A figure of the server.
    #[default]
    Server,
    /// A figure of the client.
    Client,
    /// What the others are compared with.
    Baseline,
    /// Of a handshake, what the server's private key does.
    PrivateKey,
    /// What else TLS does.
    Tls,
    /// What else there is to do.
    Rest,
    /// Programs that are neither.
    Others,
    /// The kernel's interrupts.
    Interrupts,
    /// The hypervisor.
    Stolen,
    /// A class of work of the server.
    #[serde(untagged)]
    Class(Class),
}

/// A published range.
#[derive(Debug, Clone, PartialEq)]
pub struct Band {
    pub low: f64,
    pub high: f64,
    /// In words.
    pub title: String,
}

/// Figures by a number: equal factors of it are equal distances.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curve {
    pub title: String,
    /// What the lines have in common.
    pub subtitle: String,
    /// What the numbers are of.
    pub x_axis: String,
    /// What the figures are, with the unit.
    pub y_axis: String,
    /// The axis of the figures.
    pub axis: Axis,
    pub lines: Vec<ChartLine>,
    /// What no figure can go below, or is compared with, in words.
    pub bound: Option<(String, f64)>,
    /// What the figures of lines cannot cross.
    pub limits: Vec<LineLimit>,
    /// How to read it, under the plot.
    pub notes: Vec<String>,
    /// Numbers that something begins at, in words.
    pub marks: Vec<(String, f64)>,
}

/// What the figures of one line cannot cross.
#[derive(Debug, Clone, PartialEq)]
pub struct LineLimit {
    /// The place of the line.
    pub line: usize,
    pub points: Vec<(f64, f64)>,
    /// Where one limit ends and another begins, in words, where the chart has it.
    pub knee: Option<(String, (f64, f64))>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Axis {
    /// Equal factors are equal distances.
    #[default]
    Factors,
    FromZero(Unit),
    /// From zero to the whole.
    Share(Unit),
}

/// The figures of one compared value.
#[derive(Debug, Clone, PartialEq)]
pub struct ChartLine {
    /// The value in words.
    pub label: String,
    /// Whether the others are compared with it.
    pub is_baseline: bool,
    /// Whether the points are joined.
    pub is_joined: bool,
    pub dots: Vec<Dot>,
}

/// A figure.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dot {
    pub x: f64,
    pub x_label: String,
    pub y: f64,
    /// The figure as it is written in the description.
    pub y_label: String,
    /// The ends of its range.
    pub range: Option<(f64, f64)>,
    /// All of it in words.
    pub title: String,
    /// Whether it is not what it should be.
    pub is_doubtful: bool,
    pub is_large: bool,
    /// What was published of the same, in words.
    pub published: Vec<(String, f64)>,
}

impl Bar {
    fn length(&self) -> f64 {
        self.figure.as_ref().map_or(0.0, Figure::median)
    }
}

impl BarRow {
    /// Where the bars of a stack begin: positive ones after each other to the right of zero, negative ones
    /// to the left, each by its median.
    pub fn stacked(&self) -> Vec<f64> {
        let (mut right, mut left) = (0.0, 0.0);
        let begin = |bar: &Bar| {
            let value = bar.length();
            let end = if value < 0.0 { &mut left } else { &mut right };
            std::mem::replace(end, *end + value)
        };
        self.bars.iter().map(begin).collect()
    }
}

impl Bars {
    /// Everything that its axis must have room for.
    pub fn values(&self) -> Vec<f64> {
        let whole = self.is_share.then_some(1.0);
        if self.is_stacked {
            let ends = |row: &BarRow| {
                let begins = row.stacked().into_iter().zip(&row.bars);
                begins.map(|(begin, bar)| begin + bar.length()).collect::<Vec<_>>()
            };
            return self.rows.iter().flat_map(ends).chain(whole).collect();
        }
        let bars = || self.rows.iter().flat_map(|row| &row.bars);
        let of_figure = |Figure { estimate, samples, .. }: &Figure| {
            let ends = [estimate.median, estimate.interval.low, estimate.interval.high];
            ends.into_iter().chain(samples.iter().copied()).collect::<Vec<_>>()
        };
        let figures = bars().filter_map(|bar| bar.figure.as_ref()).flat_map(of_figure);
        let bands = bars().filter_map(|bar| bar.published.as_ref());
        let bands = bands.flat_map(|band| [band.low, band.high]);
        figures.chain(bands).chain(whole).collect()
    }
}
