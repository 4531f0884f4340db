//! Rows that an answer compares.

use primitives::{Cache, Hardware, RowKey};
use study::primitive::{Dimension, Rule, Table};
use units::Bytes;

use super::super::row::{Cost, Row};
use crate::figure::{Decided, Figure, paired};
use crate::wording::grouped;

/// The rows that differ in what is compared and in their sizes only.
pub(super) struct Group<'a> {
    pub(super) rule: &'a Rule,
    pub(super) table: &'a Table,
    /// By the value that is compared, the baseline first.
    pub(super) values: Vec<Vec<&'a Row>>,
    /// The other values at the sizes that sentences are about, and how many times as fast as the baseline
    /// they are.
    pub(super) ratios: Vec<(&'a Row, Decided)>,
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
    let ratios = groups.iter().enumerate().flat_map(|(place, group)| {
        let figures = group.sizes().into_iter().flat_map(|size| group.figures_at(size));
        figures.map(move |(row, figure)| ((place, row), figure)).collect::<Vec<_>>()
    });
    for ((place, row), ratio) in Decided::decide(ratios.collect(), 1.0) {
        groups[place].ratios.push((row, ratio));
    }
    groups
}

impl<'a> Group<'a> {
    fn first(&self) -> Option<&'a RowKey> {
        self.values.first()?.first().map(|row| &row.key)
    }

    /// The rows at a size, in the order of the values; those that have figures.
    pub(super) fn at(&self, size: Option<Bytes>) -> Vec<(&'a Row, &'a Cost)> {
        let size = size.map(|size| size.0);
        let of_value = |rows: &Vec<&'a Row>| {
            let row = rows.iter().find(|row| row.key.size_bytes == size)?;
            Some((*row, row.cost.as_ref()?))
        };
        self.values.iter().filter_map(of_value).collect()
    }

    /// The sizes that sentences are about; none where the unit is an operation.
    pub(super) fn sizes(&self) -> Vec<Option<Bytes>> {
        let is_of_bytes = self.values.iter().flatten().any(|row| row.key.size_bytes.is_some());
        match is_of_bytes {
            true => self.rule.at.iter().copied().map(Some).collect(),
            false => vec![None],
        }
    }

    /// Names of values of other lists than the compared one, where the table has several of them.
    pub(super) fn qualifiers(&self) -> Vec<&'static str> {
        let Some(key) = self.first() else { return Vec::new() };
        let is_always_cold =
            self.rule.compare != Dimension::Cache && self.table.caches == [Cache::Cold];
        let has_caches = self.has_several(Dimension::Cache) || is_always_cold;
        let mut all = Vec::new();
        all.extend(self.has_several(Dimension::Hardware).then_some(of_hardware(key.hardware)));
        all.extend(has_caches.then_some(of_cache(key.cache)));
        all
    }

    /// Whether the table has several values of another list than the compared one.
    pub(super) fn has_several(&self, dimension: Dimension) -> bool {
        dimension != self.rule.compare && dimension.values(self.table).len() > 1
    }

    /// At a size that sentences are about: the baseline, and the other values with how many times as fast
    /// they are; `None` where the baseline has no figure.
    pub(super) fn ratios_at(
        &self,
        size: Option<Bytes>,
    ) -> Option<(&'a Row, Vec<(&'a Row, &Decided)>)> {
        let (baseline, _) = self.baseline_at(size)?;
        let is_of_size = |row: &Row| row.key.size_bytes == size.map(|size| size.0);
        let ratios = self.ratios.iter().filter(|(row, _)| is_of_size(row));
        Some((baseline, ratios.map(|(row, ratio)| (*row, ratio)).collect()))
    }

    fn baseline_at(&self, size: Option<Bytes>) -> Option<(&'a Row, &'a Cost)> {
        self.at(size).into_iter().find(|(row, _)| self.rule.is_baseline(&row.key))
    }

    fn figures_at(&self, size: Option<Bytes>) -> Vec<(&'a Row, Figure)> {
        let Some((_, its_cost)) = self.baseline_at(size) else { return Vec::new() };
        let others = self.at(size).into_iter().filter(|(row, _)| !self.rule.is_baseline(&row.key));
        let ratio = |(row, cost): (&'a Row, &Cost)| {
            Some((row, paired(its_cost.samples(), cost.samples())?))
        };
        others.filter_map(ratio).collect()
    }
}

pub(super) fn of_hardware(hardware: Hardware) -> &'static str {
    match hardware {
        Hardware::All => "all instructions",
        Hardware::Avx2 => "AVX2 at most",
        Hardware::Sse => "SSE 4.2 at most",
        Hardware::None => "no instructions for cryptography",
    }
}

pub(super) fn of_cache(cache: Cache) -> &'static str {
    match cache {
        Cache::Warm => "data in the cache",
        Cache::Cold => "data in memory",
    }
}
