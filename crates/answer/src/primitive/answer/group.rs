//! Rows that an answer compares.

use primitives::{Cache, RowKey};
use study::primitive::{Dimension, Rule, Table};
use units::Bytes;

use super::super::row::{Cost, Row};
use crate::figure::{Decided, Figure, paired};
use crate::wording::grouped;

/// The rows that differ in what is compared and in their sizes only.
pub(super) struct Group<'a> {
    pub(super) rule: &'a Rule,
    table: &'a Table,
    /// By the value that is compared, the baseline first.
    pub(super) values: Vec<Vec<&'a Row>>,
    pub(super) ratios: Vec<Ratio<'a>>,
}

/// A row at a size that the answer is about, beside the baseline.
pub(super) struct Ratio<'a> {
    pub(super) row: &'a Row,
    pub(super) baseline: &'a Row,
    pub(super) times_as_fast: Decided,
}

pub(super) fn groups<'a>(rule: &'a Rule, table: &'a Table, rows: &'a [Row]) -> Vec<Group<'a>> {
    let others = |key: &RowKey| {
        let others = Dimension::ALL.into_iter().filter(|dimension| *dimension != rule.compare);
        others.map(|dimension| dimension.of(key)).collect::<Vec<_>>()
    };
    let rows = rows.iter().filter(|row| row.table == table.name);
    let groups = grouped(rows.map(|row| (others(&row.key), row))).into_iter();
    let group = |(_, rows): (_, Vec<&'a Row>)| {
        let values = grouped(rows.into_iter().map(|row| (rule.compare.of(&row.key), row)));
        let mut values: Vec<Vec<&Row>> = values.into_iter().map(|(_, rows)| rows).collect();
        values.sort_by_key(|rows| !rows.first().is_some_and(|row| rule.is_baseline(&row.key)));
        Group { rule, table, values, ratios: Vec::new() }
    };
    let mut groups: Vec<Group<'_>> = groups.map(group).collect();
    let figures = groups.iter().enumerate().flat_map(|(place, group)| {
        let figures = group.figures().into_iter();
        figures.map(move |(row, baseline, figure)| ((place, row, baseline), figure))
    });
    for ((place, row, baseline), times_as_fast) in Decided::decide(figures.collect(), 1.0) {
        groups[place].ratios.push(Ratio { row, baseline, times_as_fast });
    }
    groups
}

impl<'a> Group<'a> {
    /// The rows of all values, in their order.
    pub(super) fn rows(&self) -> impl Iterator<Item = &'a Row> {
        self.values.iter().flatten().copied()
    }

    /// Each other value with the baseline, at the sizes that the answer is about; the largest first.
    fn figures(&self) -> Vec<(&'a Row, &'a Row, Figure)> {
        let is_at = |row: &&Row| {
            let is_at = |size| self.rule.at.contains(&Bytes(size));
            row.key.size_bytes.is_none_or(is_at)
        };
        let baselines = self.rows().filter(|row| self.rule.is_baseline(&row.key)).filter(is_at);
        let mut figures = Vec::new();
        for baseline in baselines {
            let Some(its) = &baseline.cost else { continue };
            let is_beside = |row: &&Row| {
                row.key.size_bytes == baseline.key.size_bytes && !self.rule.is_baseline(&row.key)
            };
            for row in self.rows().filter(is_beside) {
                let cost = row.cost.as_ref().map(Cost::samples);
                let figure = cost.and_then(|cost| paired(its.samples(), cost));
                figures.extend(figure.map(|figure| (row, baseline, figure)));
            }
        }
        figures.sort_by_key(|(row, ..)| std::cmp::Reverse(row.key.size_bytes));
        figures
    }

    /// What its rows have in common: `AES-128-GCM`, or `SHA-1, OpenSSL 3.0.22, data in memory`.
    pub(super) fn common(&self) -> String {
        let with_figure = self.rows().find(|row| row.cost.is_some());
        let Some(row) = with_figure.or_else(|| self.rows().next()) else { return String::new() };
        let is_told = |dimension: &Dimension| match dimension {
            _ if *dimension == self.rule.compare => false,
            Dimension::Algorithm | Dimension::Library => true,
            Dimension::Hardware => self.table.hardware.len() > 1,
            Dimension::Cache => self.table.caches != [Cache::Warm],
        };
        let told = Dimension::ALL.into_iter().filter(is_told);
        told.map(|dimension| row.value(dimension)).collect::<Vec<_>>().join(", ")
    }
}
