//! How the rows of answers compare, decided once: whoever shows or judges one beside another asks here.
//!
//! What one answer compares is read together, and so is decided together: along a key at all of its values, with what
//! the sentences of its author compare besides.

use std::sync::Arc;

use stats::Decision;
use study::{AnswerRule, Metric};

use super::authored;
use super::row::{Row, groups};
use crate::comparable::{Side, Why, ratio};
use crate::figure::{Decided, decisions};
use crate::wording::grouped;

/// All that the answers of a study compare.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Decisions(Vec<RowRatio>);

/// A row over another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RowRatio {
    /// The place of its rule in the study, and of its answer among those of the rule.
    family: [usize; 2],
    metric: Metric,
    pub(crate) row: String,
    /// `None` where the study has no baseline.
    over: Option<String>,
    is_beside_baseline: bool,
    /// Why there is none, where that is so.
    pub(crate) ratio: Result<Decided, Why>,
}

impl Decisions {
    pub(super) fn of(rules: &[AnswerRule], rows: &[Arc<Row>]) -> Self {
        let of_rule = |(rule, of)| {
            let families = families(of, rows).into_iter().enumerate();
            families.flat_map(move |(place, family)| decided([rule, place], family))
        };
        Self(rules.iter().enumerate().flat_map(of_rule).collect())
    }

    /// Of several columns each row with each other of its column: together, because the best of each is chosen by the
    /// same trials.
    pub(super) fn of_columns<'a>(
        metric: Metric,
        columns: impl Iterator<Item = Vec<&'a Row>>,
    ) -> Self {
        Self(decided([0, 0], columns.flat_map(|rows| each_with_each(metric, &rows)).collect()))
    }

    fn of_rule(&self, rule: usize) -> impl Iterator<Item = &RowRatio> {
        self.0.iter().filter(move |of| of.family[0] == rule)
    }

    /// Each row of a rule that is not the baseline, over that.
    pub(crate) fn beside_baseline(&self, rule: usize) -> impl Iterator<Item = &RowRatio> {
        self.of_rule(rule).filter(|of| of.is_beside_baseline)
    }

    /// One over another, as that was decided or as its inverse was.
    pub(super) fn ratio(
        &self,
        rule: usize,
        metric: Metric,
        [one, other]: [&Row; 2],
    ) -> Option<Decided> {
        let is_like = |of: &&RowRatio| of.metric == metric && of.has(one) && of.has(other);
        let of = self.of_rule(rule).find(is_like)?;
        let ratio = of.ratio.as_ref().ok()?;
        if of.row == one.name { Some(ratio.clone()) } else { ratio.inverse() }
    }

    /// What is decided together with a row beside its baseline.
    pub(super) fn family(&self, rule: usize, row: &Row) -> impl Iterator<Item = &RowRatio> {
        let own = self.beside_baseline(rule).find(|of| of.has(row)).map(|of| of.family);
        self.0.iter().filter(move |of| Some(of.family) == own && of.ratio.is_ok())
    }
}

/// What each answer of a rule compares, not yet decided.
fn families(rule: &AnswerRule, rows: &[Arc<Row>]) -> Vec<Vec<RowRatio>> {
    let own = groups(rule, rows).into_iter().filter(|(common, _)| rule.is_compared_at(common));
    let own =
        own.map(|(common, rows)| (common.without(rule.along.as_deref()), compared(rule, &rows)));
    let own = grouped(own);
    let mut families: Vec<Vec<RowRatio>> = own.into_iter().map(|(_, own)| own.concat()).collect();
    families.resize_with(families.len().max(1), Vec::new);
    let written = authored::compared(rule, rows);
    let is_near = |of: &RowRatio| written.iter().flat_map(|(_, rows)| rows).any(|row| of.has(row));
    let own = families.iter().position(|of| of.iter().any(is_near)).unwrap_or_default();
    for (metric, [row, over]) in written {
        let is_like = |of: &RowRatio| of.metric == metric && of.has(row) && of.has(over);
        if !families.iter().flatten().any(is_like) {
            families[own].push(RowRatio::of(metric, row, Some(over), false));
        }
    }
    families
}

/// What is compared of these cells: each with the baseline, and where one may be chosen, each with each.
/// Along a key no cell is chosen.
fn compared(rule: &AnswerRule, rows: &[&Arc<Row>]) -> Vec<RowRatio> {
    let baseline = rule.baseline();
    let is_baseline = |row: &&&Row| row.has(&rule.compare, &baseline);
    let rows: Vec<&Row> = rows.iter().map(|row| &***row).collect();
    let over = rows.iter().find(is_baseline).copied();
    let others: Vec<&Row> = rows.iter().filter(|row| !is_baseline(row)).copied().collect();
    let beside = others.iter().map(|row| RowRatio::of(rule.metric, row, over, true));
    let each = rule.along.is_none().then(|| each_with_each(rule.metric, &others));
    beside.chain(each.into_iter().flatten()).collect()
}

/// Each over those after it.
fn each_with_each(metric: Metric, rows: &[&Row]) -> Vec<RowRatio> {
    let of = |(place, row): (usize, &&Row)| {
        let after = rows[place + 1..].iter();
        after.map(|over| RowRatio::of(metric, row, Some(over), false)).collect::<Vec<_>>()
    };
    rows.iter().enumerate().flat_map(of).collect()
}

fn decided(place: [usize; 2], mut family: Vec<RowRatio>) -> Vec<RowRatio> {
    let ratios = family.iter().filter_map(|of| of.ratio.as_ref().ok());
    let decisions = decisions(ratios.map(|ratio| (&ratio.figure, 1.0)));
    family.iter_mut().for_each(|of| of.family = place);
    let ratios = family.iter_mut().filter_map(|of| of.ratio.as_mut().ok());
    ratios.zip(decisions).for_each(|(ratio, decision)| ratio.decision = decision);
    family
}

impl RowRatio {
    /// Not yet decided.
    fn of(metric: Metric, row: &Row, over: Option<&Row>, is_beside_baseline: bool) -> Self {
        let ratio = match over {
            Some(over) => ratio(row, over, metric),
            None => Err(Why::NotMeasured(Side::Other)),
        };
        let ratio = ratio.map(|figure| Decided { figure, decision: Decision::TooFew });
        let (row, over) = (row.name.clone(), over.map(|over| over.name.clone()));
        Self { family: [0, 0], metric, row, over, is_beside_baseline, ratio }
    }

    fn has(&self, row: &Row) -> bool {
        self.row == row.name || self.over.as_ref() == Some(&row.name)
    }
}
