//! How the rows of answers compare, decided once: whoever shows or judges one beside another asks here.
//!
//! What one answer compares is read together, and so is decided together: along a key at all of its values, with what
//! the sentences of its author compare besides.

use stats::Decision;
use study::{AnswerRule, Metric, Params};

use super::authored;
use super::row::{AnalysedRow, Valued, groups};
use crate::comparable::{Side, Why, ratio};
use crate::figure::{Decided, Figure, decisions};
use crate::wording::grouped;

/// All that the answers of a study compare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decisions(Vec<Family>);

/// What one answer compares.
#[derive(Debug, Clone, PartialEq)]
struct Family {
    /// The place of its rule in the study.
    rule: usize,
    /// What its rows have in common, without the key that it goes along.
    common: Params,
    comparisons: Vec<RowRatio>,
}

/// A row over another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowRatio {
    metric: Metric,
    pub(crate) row: String,
    /// `None` where the study has no baseline.
    over: Option<String>,
    is_beside_baseline: bool,
    /// Why there is none, where that is so.
    pub(crate) ratio: Result<Decided, Why>,
}

/// Rows that are to be compared.
struct Asked<'a> {
    metric: Metric,
    row: &'a AnalysedRow<'a>,
    over: Option<&'a AnalysedRow<'a>>,
    is_beside_baseline: bool,
}

impl Decisions {
    pub(super) fn of(rules: &[AnswerRule], rows: &[AnalysedRow<'_>]) -> Self {
        let of_rule = |(place, rule)| {
            let families = families(rule, rows).into_iter();
            families.map(move |(common, asked)| Family::of(place, common, asked))
        };
        Self(rules.iter().enumerate().flat_map(of_rule).collect())
    }

    /// Of several columns each row with each other of its column: together, because the best of each is chosen by the
    /// same trials.
    pub(super) fn of_columns<'a>(
        metric: Metric,
        columns: impl Iterator<Item = Vec<&'a AnalysedRow<'a>>>,
    ) -> Self {
        let asked = columns.flat_map(|rows| each_with_each(metric, rows.into_iter()));
        Self(vec![Family::of(0, Params::default(), asked.collect())])
    }

    fn of_rule(&self, rule: usize) -> impl Iterator<Item = &RowRatio> {
        self.0.iter().filter(move |of| of.rule == rule).flat_map(|of| &of.comparisons)
    }

    /// Each row of a rule that is not the baseline, over that.
    pub(crate) fn beside_baseline(&self, rule: usize) -> impl Iterator<Item = &RowRatio> {
        self.of_rule(rule).filter(|of| of.is_beside_baseline)
    }

    /// What was decided of a row over others.
    pub(super) fn of_row<'a>(
        &'a self,
        rule: usize,
        row: &'a str,
    ) -> impl Iterator<Item = &'a Decided> {
        self.of_rule(rule).filter(move |of| of.row == row).filter_map(|of| of.ratio.as_ref().ok())
    }

    /// One over another, as that was decided or as its inverse was.
    pub(super) fn ratio(
        &self,
        rule: usize,
        metric: Metric,
        [one, other]: [&str; 2],
    ) -> Option<Decided> {
        let find = |row: &str, over: &str| {
            let is_it = |of: &&RowRatio| {
                of.metric == metric && of.row == row && of.over.as_deref() == Some(over)
            };
            self.of_rule(rule).find(is_it)?.ratio.as_ref().ok()
        };
        find(one, other).cloned().or_else(|| find(other, one)?.inverse())
    }

    /// How many comparisons are decided with those of rows that have this in common.
    pub(super) fn family(&self, rule: usize, common: &Params) -> usize {
        let is_own = |of: &&Family| {
            let mut own = of.common.iter();
            of.rule == rule && own.all(|(key, value)| common.get(key) == Some(value))
        };
        let own = self.0.iter().find(is_own);
        own.map_or(0, |of| of.comparisons.iter().filter(|of| of.ratio.is_ok()).count())
    }
}

/// What each answer of a rule compares.
fn families<'a>(
    rule: &'a AnswerRule,
    rows: &'a [AnalysedRow<'a>],
) -> Vec<(Params, Vec<Asked<'a>>)> {
    let own = groups(rule, rows).into_iter().filter(|(common, _)| rule.is_compared_at(common));
    let own = own.flat_map(|(mut common, cells)| {
        rule.along.as_ref().map(|along| common.remove(along));
        asked(rule, &cells).into_iter().map(move |asked| (common.clone(), asked))
    });
    let mut families = grouped(own);
    let written = authored::compared(rule, rows);
    let is_near =
        |of: &Asked<'_>| written.iter().any(|(_, rows)| rows.iter().any(|row| of.has(row)));
    let own = families.iter().position(|(_, asked)| asked.iter().any(is_near)).unwrap_or_default();
    if families.is_empty() {
        families.push((Params::default(), Vec::new()));
    }
    for (metric, [row, over]) in written {
        let is_like =
            |of: &Asked<'_>| of.metric == metric && [row, over].iter().all(|row| of.has(row));
        if !families.iter().any(|(_, asked)| asked.iter().any(is_like)) {
            families[own].1.push(Asked::new(metric, row, over));
        }
    }
    families
}

/// What is compared of these cells: each with the baseline, and where one may be chosen, each with each.
/// Along a key no cell is chosen.
fn asked<'a>(rule: &AnswerRule, cells: &Valued<'a>) -> Vec<Asked<'a>> {
    let metric = rule.metric;
    let baseline = rule.baseline();
    let (baselines, others): (Vec<_>, Vec<_>) =
        cells.iter().partition(|(_, value)| **value == baseline);
    let over = baselines.first().map(|(row, _)| *row);
    let beside =
        others.iter().map(|(row, _)| Asked { metric, row, over, is_beside_baseline: true });
    let each = each_with_each(metric, others.iter().map(|(row, _)| *row));
    beside.chain(each.into_iter().filter(|_| rule.along.is_none())).collect()
}

/// Each over those after it.
fn each_with_each<'a>(
    metric: Metric,
    rows: impl Iterator<Item = &'a AnalysedRow<'a>>,
) -> Vec<Asked<'a>> {
    let rows: Vec<_> = rows.collect();
    let mut asked = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        asked.extend(rows[place + 1..].iter().map(|over| Asked::new(metric, row, over)));
    }
    asked
}

impl<'a> Asked<'a> {
    fn new(metric: Metric, row: &'a AnalysedRow<'a>, over: &'a AnalysedRow<'a>) -> Self {
        Self { metric, row, over: Some(over), is_beside_baseline: false }
    }

    fn has(&self, row: &AnalysedRow<'_>) -> bool {
        self.row.name == row.name || self.over.is_some_and(|over| over.name == row.name)
    }

    fn ratio(&self) -> Result<Figure, Why> {
        let over = self.over.ok_or(Why::NotMeasured(Side::Other))?;
        ratio(self.row, over, self.metric)
    }
}

impl Family {
    fn of(rule: usize, common: Params, asked: Vec<Asked<'_>>) -> Self {
        let figures: Vec<Result<Figure, Why>> = asked.iter().map(Asked::ratio).collect();
        let decisions = decisions(figures.iter().flatten().map(|figure| (figure, 1.0)));
        let mut decisions = decisions.into_iter();
        let mut decided = |figure| {
            let decision = decisions.next().unwrap_or(Decision::TooFew);
            Decided { figure, decision }
        };
        let comparison = |(asked, figure): (Asked<'_>, Result<Figure, Why>)| RowRatio {
            metric: asked.metric,
            row: asked.row.name.clone(),
            over: asked.over.map(|over| over.name.clone()),
            is_beside_baseline: asked.is_beside_baseline,
            ratio: figure.map(&mut decided),
        };
        Self { rule, common, comparisons: asked.into_iter().zip(figures).map(comparison).collect() }
    }
}
