//! How many comparisons the answers of a study make. Those of one answer are decided together, so that they
//! determine how many rounds it takes.

use std::collections::BTreeMap;

use units::Bytes;

use crate::headline::{RowOf, Written};
use crate::primitive::{Rule, Table};
use crate::{AnswerRule, Cell, Metric, Study};

impl AnswerRule {
    /// Those of each of its answers, where all of these cells are measured. Each cell is compared with the
    /// baseline at every value of the key that an answer goes along; without such a key every two cells
    /// are compared, because any of them may be called the best.
    #[must_use]
    pub fn comparisons(&self, cells: &[Cell]) -> Vec<usize> {
        let mut points: BTreeMap<_, (usize, bool)> = BTreeMap::new();
        for cell in cells.iter().filter(|cell| cell.case == self.case) {
            let mut common = cell.params.clone();
            let Some(value) = common.remove(&self.compare) else { continue };
            let (values, has_baseline) = points.entry(common).or_default();
            *values += 1;
            *has_baseline |= value == self.baseline;
        }
        let mut answers: BTreeMap<_, usize> = BTreeMap::new();
        for (mut common, (values, has_baseline)) in points {
            let comparisons = match &self.along {
                Some(along) => {
                    common.remove(along);
                    if has_baseline { values - 1 } else { 0 }
                }
                None => values * (values - 1) / 2,
            };
            *answers.entry(common).or_default() += comparisons;
        }
        answers.into_values().map(|own| own + self.written_comparisons()).collect()
    }

    /// Those that its author's sentences make beside it: of other metrics, or of cells that differ in another
    /// key.
    fn written_comparisons(&self) -> usize {
        let Some(written) = &self.written else { return 0 };
        let is_own = |metric: Metric, rows: &[String; 2]| {
            let params = |row: &String| {
                let row = written.rows.get(row)?;
                let others = row.params.iter().filter(|(key, _)| **key != self.compare);
                (row.case == self.case).then(|| others.collect::<Vec<_>>())
            };
            let [one, other] = rows.each_ref().map(params);
            metric == self.metric && one.is_some() && one == other
        };
        let pairs = written.compared();
        pairs.iter().filter(|(metric, rows)| !is_own(*metric, rows)).count()
    }
}

impl Rule {
    /// Those of its answer, about this table: each row with the baseline at the sizes that it is about.
    #[must_use]
    pub fn comparisons(&self, table: &Table) -> usize {
        let caches = |hardware| table.caches.iter().map(move |cache| (hardware, *cache));
        let combinations = table.hardware.iter().flat_map(|hardware| caches(*hardware));
        let rows = combinations.flat_map(|(hardware, cache)| table.combination(hardware, cache));
        let own = rows.filter(|row| self.is_compared(row)).count();
        own + self.written.as_ref().map_or(0, |written| self.written_comparisons(written))
    }

    /// Those that its author's sentences make beside it: of rows that differ in another list, or of which none
    /// is of the baseline.
    fn written_comparisons(&self, written: &Written) -> usize {
        let compare: &str = self.compare.into();
        let is_own = |rows: &[String; 2]| {
            let [Some(one), Some(other)] = rows.each_ref().map(|row| written.rows.get(row)) else {
                return false;
            };
            let differing =
                one.params.iter().filter(|(key, value)| other.params.get(*key) != Some(value));
            let differing: Vec<&str> = differing.map(|(key, _)| key.as_str()).collect();
            let is_baseline = |row: &RowOf| row.params.get(compare) == Some(&self.baseline);
            let size = |size: &Bytes| one.params.get("size") == Some(&size.to_string());
            let is_at = !one.params.contains_key("size") || self.at.iter().any(size);
            differing == [compare] && is_at && (is_baseline(one) || is_baseline(other))
        };
        written.compared().iter().filter(|(_, rows)| !is_own(rows)).count()
    }

    /// Whether a row of its table is compared with the baseline.
    #[must_use]
    pub fn is_compared(&self, row: &primitives::RowKey) -> bool {
        let is_at = |size| self.at.iter().any(|at| at.0 == size);
        !self.is_baseline(row) && row.size_bytes.is_none_or(is_at)
    }
}

impl Study {
    /// The most comparisons that an answer about cells makes.
    #[must_use]
    pub fn most_comparisons(&self) -> usize {
        let all = self.answers.iter().flat_map(|rule| rule.comparisons(&self.cells));
        all.max().unwrap_or_default()
    }

    /// The most comparisons that an answer about a table makes; `None` where there is none about it.
    #[must_use]
    pub fn most_comparisons_of(&self, table: &Table) -> Option<usize> {
        let rules = self.primitives.answers.iter().filter(|rule| rule.primitives == table.name);
        rules.map(|rule| rule.comparisons(table)).max()
    }
}
