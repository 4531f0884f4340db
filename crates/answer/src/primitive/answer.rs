//! What a table answers: a headline, ratios, curves by size, and what more cores would do.
//!
//! A ratio is taken round by round: the cost of the baseline over that of the other, so that more than 1
//! is faster. Whether it is, is [decided](stats::Decision) for all ratios of an answer together. Costs are
//! medians over rounds of the medians of samples; their quartiles are in the table.

mod group;
mod headline;

use primitives::RowKey;
use serde::Serialize;
use study::primitive::{Rule, Table};
use units::{Bytes, counted};

pub use self::headline::of_one_round;

use self::group::{Group, groups};
use super::row::{Beside, Cost, LowerBound, Row};
use crate::figure::Decided;
use crate::findings::{Axis, Curve, Dot, Headline, Line};
use crate::wording::unique;

/// What a table answers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// What was asked, where the study says so.
    pub question: Option<String>,
    pub headline: Option<Headline>,
    /// What was published of it, a clause each.
    pub published: Vec<String>,
    /// Why the answer is weaker than it looks.
    pub caveats: Vec<String>,
    /// The table's name.
    pub primitives: String,
    /// What is compared.
    pub compare: &'static str,
    /// With which value of it.
    pub baseline: String,
    /// Every ratio at the sizes that the answer is about.
    pub ratios: Vec<Ratio>,
    /// What more cores would do, by the rate of one.
    pub projected: Vec<Projected>,
    /// The costs by size, one drawing for each combination.
    #[serde(skip)]
    pub curves: Vec<Curve>,
}

/// The rate of one core, times a number of cores.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Projected {
    #[serde(flatten)]
    pub row: RowKey,
    pub cores: u32,
    /// Bytes, or operations where these are the unit.
    pub per_s: f64,
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

pub(super) fn of(rule: &Rule, table: &Table, rows: &[Row], bounds: &[LowerBound]) -> Answer {
    let groups = groups(rule, table, rows);
    Answer {
        question: rule.question.clone(),
        headline: headline::headline(rule, &groups, rows),
        published: rule.published.iter().map(|of| format!("{}: {}", of.what, of.says)).collect(),
        caveats: caveats(table, &groups),
        primitives: table.name.clone(),
        compare: rule.compare.into(),
        baseline: rule.baseline.clone(),
        ratios: groups.iter().flat_map(|group| &group.ratios).map(ratio).collect(),
        projected: projected(rule, &groups),
        curves: groups.iter().filter_map(|group| group.curve(bounds)).collect(),
    }
}

fn ratio(of: &group::Ratio<'_>) -> Ratio {
    Ratio {
        table: of.row.table.clone(),
        row: of.row.key.clone(),
        times_as_fast: of.times_as_fast.clone(),
    }
}

/// Of the largest size that the answer is about.
fn projected(rule: &Rule, groups: &[Group<'_>]) -> Vec<Projected> {
    let largest = rule.at.last().map(|size| size.0);
    let is_of_one_core = |row: &&Row| {
        row.key.threads == 1 && row.key.size_bytes.is_none_or(|of| Some(of) == largest)
    };
    let rows = groups.iter().flat_map(Group::rows).filter(is_of_one_core);
    let of_row = |row: &Row| {
        let rate = row.cost.as_ref().map(Cost::rate);
        let at = |cores: &u32| {
            let per_s = rate.as_ref()?.1 * f64::from(*cores);
            Some(Projected { row: row.key.clone(), cores: *cores, per_s })
        };
        rule.project.iter().filter_map(at).collect::<Vec<_>>()
    };
    rows.flat_map(of_row).collect()
}

/// Rows that were refused, of disturbed samples, or with too few rounds.
fn caveats(table: &Table, groups: &[Group<'_>]) -> Vec<String> {
    let rows: Vec<&Row> = groups.iter().flat_map(Group::rows).collect();
    let refused = rows.iter().filter(|row| row.is_refused()).filter_map(|row| {
        let why = &row.no_figure.as_ref()?.why;
        Some(format!("{} with {}: {why}.", row.key.algorithm, row.library()))
    });
    let mut caveats = unique(refused);
    let disturbed = rows.iter().filter_map(|row| row.cost.as_ref()).filter(|of| of.is_disturbed());
    let (disturbed, all) = (disturbed.count(), rows.len());
    if disturbed > 0 {
        caveats.push(format!(
            "{disturbed} of {all} figures had too few quiet samples in some round, because other work used \
             the core: they are too high, and ratios with them are doubtful. Measure again while \
             nothing else runs."
        ));
    }
    let rounds = |row: &Row| row.cost.as_ref().map_or(0, |cost| cost.rounds.len());
    let is_short = |row: &&&Row| row.no_figure.is_none() && rounds(row) < table.rounds as usize;
    let short = rows.iter().filter(is_short).count();
    if short > 0 {
        let rounds = counted(table.rounds.into(), "round");
        caveats.push(format!(
            "The run is not complete: {short} of {all} figures lack some of their {rounds}."
        ));
    }
    caveats
}

impl Group<'_> {
    /// Of two sizes or more.
    fn curve(&self, bounds: &[LowerBound]) -> Option<Curve> {
        let line = |rows: &Vec<&Row>| {
            let label = rows.iter().find(|row| row.cost.is_some())?.value(self.rule.compare);
            let dots: Vec<Dot> = rows.iter().filter_map(|row| dot(row, &label)).collect();
            let is_baseline = self.rule.is_baseline(&rows.first()?.key);
            (dots.len() > 1).then_some(Line { label, is_baseline, is_joined: true, dots })
        };
        let lines: Vec<Line> = self.values.iter().filter_map(line).collect();
        lines.first()?;
        // One line can be drawn where all that is compared has the same bound.
        let of = unique(self.rows().filter_map(|row| row.bound));
        let bound = bounds.iter().find(|bound| of == [bound.of]).map(|bound| {
            let cost = bound.cycles_per_byte.median();
            (format!("{} of {}: {cost:.3} cycles/byte", bound.of.word(), bound.of), cost)
        });
        Some(Curve {
            title: self.common(),
            subtitle: "upright lines are quartiles".to_owned(),
            x_axis: "size of a message (logarithmic)".to_owned(),
            y_axis: "core cycles per byte (logarithmic); lower is better".to_owned(),
            axis: Axis::Factors,
            lines,
            bound,
            ..Curve::default()
        })
    }
}

/// The cost at a size.
fn dot(row: &Row, label: &str) -> Option<Dot> {
    let cost = row.cost.as_ref()?;
    let size_bytes = row.key.size_bytes?;
    let Cost { low, high, .. } = cost;
    let (size, median) = (Bytes(size_bytes).to_string(), cost.cycles.median());
    let disturbed = if cost.is_disturbed() { ", disturbed: too high" } else { "" };
    let published = |of: &Beside| {
        let Beside { label, cycles_per_byte, .. } = of;
        (format!("published: {label}, {cycles_per_byte} cycles/byte"), *cycles_per_byte)
    };
    Some(Dot {
        x: size_bytes as f64,
        y: median,
        y_label: format!("{median:.3}"),
        range: Some((*low, *high)),
        title: format!(
            "{label}, {size}: {median:.3} cycles/byte, quartiles {low:.3} to {high:.3}{disturbed}"
        ),
        x_label: size,
        is_doubtful: cost.is_disturbed(),
        published: row.published.iter().map(published).collect(),
        ..Dot::default()
    })
}
