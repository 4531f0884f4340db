//! What a table answers: sentences with figures and ratios, curves by size, and what more cores would do.
//!
//! A ratio is taken round by round: the cost of the baseline over that of the other, so that more than 1
//! is faster. Whether it is, is [decided](stats::Decision) for all ratios of an answer together. Costs are medians over rounds of the medians
//! of samples; their quartiles are in the table.

mod group;
mod words;

use primitives::RowKey;
use primitives::instructions::Bounded;
use serde::Serialize;

use self::group::{Group, groups};
use super::row::{LowerBound, Row};
use crate::figure::Decided;
use study::primitive::{Rule, Table};

/// What a table answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// What was asked, where the study says so.
    pub question: Option<String>,
    /// The answer: a sentence, and after it one for each combination, where there are several.
    pub sentences: Vec<String>,
    /// What was published of it, a clause each.
    pub published: Vec<String>,
    /// What more cores would do.
    pub projected: Option<String>,
    /// Why the answer is weaker than it looks.
    pub caveats: Vec<String>,
    /// The table's name.
    pub primitives: String,
    /// What is compared.
    pub compare: &'static str,
    /// Every ratio at the sizes that the answer is about.
    pub ratios: Vec<Ratio>,
    /// The costs by size, one drawing for each combination.
    pub curves: Vec<Curve>,
}

/// One value over the baseline.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Ratio {
    /// What is compared with the baseline.
    pub table: String,
    #[serde(flatten)]
    pub row: RowKey,
    /// How many times as fast it is; a sample for each round.
    pub times_as_fast: Decided,
}

/// Costs by size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// What all of it is of.
    pub title: String,
    /// One for each compared value.
    pub series: Vec<Series>,
    /// What no program can go below: of what, and cycles per byte.
    pub bound: Option<(Bounded, f64)>,
}

/// The costs of one compared value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// The value in words.
    pub label: String,
    /// Whether the others are compared with it.
    pub is_baseline: bool,
    /// By size, ascending.
    pub points: Vec<Point>,
}

/// The cost at one size, in core cycles per byte.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Point {
    /// Bytes of a message.
    pub size_bytes: u64,
    /// Median over the rounds.
    pub median: f64,
    /// A quarter of the samples lies below.
    pub low: f64,
    /// A quarter lies above.
    pub high: f64,
    /// Whether it is of disturbed samples.
    pub is_disturbed: bool,
    /// What was published: of which processor, and cycles per byte.
    pub published: Vec<(String, f64)>,
}

pub(super) fn of(rule: &Rule, table: &Table, rows: &[Row], bounds: &[LowerBound]) -> Answer {
    let groups = groups(rule, table, rows);
    let is_alone = groups.len() == 1;
    let leads = if is_alone { Vec::new() } else { words::leads(&groups) };
    let each = groups.iter().filter_map(|group| group.sentence(is_alone));
    let mut sentences: Vec<String> = leads.into_iter().chain(each).collect();
    if sentences.is_empty() {
        sentences.push(format!("Not measured: the table {} has no figures for it.", table.name));
    }
    Answer {
        question: rule.question.clone(),
        sentences,
        published: words::published(rule, &groups),
        projected: words::projected(rule, &groups),
        caveats: words::caveats(table, &groups),
        primitives: table.name.clone(),
        compare: rule.compare.into(),
        ratios: groups.iter().flat_map(|group| &group.ratios).map(ratio).collect(),
        curves: groups.iter().filter_map(|group| group.curve(bounds)).collect(),
    }
}

fn ratio((row, times_as_fast): &(&Row, Decided)) -> Ratio {
    Ratio { table: row.table.clone(), row: row.key.clone(), times_as_fast: times_as_fast.clone() }
}

impl Group<'_> {
    /// Of two sizes or more, in bytes.
    fn curve(&self, bounds: &[LowerBound]) -> Option<Curve> {
        let series: Vec<Series> = self
            .values
            .iter()
            .filter_map(|rows| {
                let points: Vec<Point> = rows.iter().filter_map(|row| point(row)).collect();
                let first = rows.first()?;
                let is_baseline = self.rule.is_baseline(&first.key);
                let label =
                    words::value(self.rule.compare, rows.iter().find(|r| r.cost.is_some())?);
                (points.len() > 1).then_some(Series { label, is_baseline, points })
            })
            .collect();
        if series.is_empty() {
            return None;
        }
        // One line can be drawn where all that is compared has the same bound.
        let mut of: Vec<Bounded> =
            self.values.iter().flatten().filter_map(|row| row.bound).collect();
        of.dedup();
        let bound = bounds.iter().find(|bound| of == [bound.of]);
        let bound = bound.map(|of| (of.of, of.cycles_per_byte.median()));
        Some(Curve { title: words::subject(self), series, bound })
    }
}

fn point(row: &Row) -> Option<Point> {
    let cost = row.cost.as_ref()?;
    let published = row.published.iter();
    Some(Point {
        size_bytes: row.key.size_bytes?,
        median: cost.cycles.median(),
        low: cost.low,
        high: cost.high,
        is_disturbed: cost.is_disturbed(),
        published: published.map(|of| (of.label.clone(), of.cycles_per_byte)).collect(),
    })
}
