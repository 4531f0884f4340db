//! How many comparisons the answers of a study make. Those of one answer are decided together, so that they
//! determine how many rounds it takes.

use std::collections::BTreeMap;

use crate::headline::RowOf;
use crate::primitive::AlgorithmTable;
use crate::{AnswerRule, Metric, Param, Params, Study};

impl AnswerRule {
    /// Those of each of its answers, where all rows of its case are measured, which have these parameters. Each
    /// row is compared with the baseline at every value of the key that an answer goes along; without such a key
    /// every two rows are compared, because any of them may be called the best.
    pub fn comparisons(&self, rows: &[Params]) -> Vec<usize> {
        let mut points: BTreeMap<_, (usize, bool)> = BTreeMap::new();
        let baseline = self.baseline();
        for params in rows.iter().filter(|params| self.is_about(&self.case, params)) {
            let mut common = params.clone();
            let Some(value) = common.remove(&self.compare) else { continue };
            let (values, has_baseline) = points.entry(common).or_default();
            *values += 1;
            *has_baseline |= value == baseline;
        }
        let mut answers: BTreeMap<_, usize> = BTreeMap::new();
        for (common, (values, has_baseline)) in points {
            let comparisons = match &self.along {
                _ if !self.is_compared_at(&common) => 0,
                Some(_) if has_baseline => values - 1,
                Some(_) => 0,
                None => values * (values - 1) / 2,
            };
            *answers.entry(common.without(self.along.as_deref())).or_default() += comparisons;
        }
        answers.into_values().map(|own| own + self.written_comparisons()).collect()
    }

    /// Whether rows with these parameters in common are compared.
    pub fn is_compared_at(&self, common: &Params) -> bool {
        let place = self.along.as_ref().and_then(|along| common.get(along));
        let size = place.and_then(Param::only_size);
        self.at.is_empty() || size.is_none_or(|size| self.at.contains(&size))
    }

    /// Those that its author's sentences make beside it: of other metrics, of rows that differ in another key, or
    /// along a key of rows of which none is the baseline's.
    fn written_comparisons(&self) -> usize {
        let Some(written) = &self.written else { return 0 };
        let baseline = self.baseline();
        let is_own = |metric: Metric, rows: &[String; 2]| {
            let rows = rows.each_ref().map(|row| written.rows.get(row));
            let [Some(one), Some(other)] = rows else { return false };
            let others = |row: &RowOf| {
                let mut params = row.params.clone();
                params.remove(&self.compare);
                (row.case == self.case).then_some(params)
            };
            let is_baseline = |row: &RowOf| row.params.get(&self.compare) == Some(&baseline);
            let is_paired = self.along.is_none() || is_baseline(one) || is_baseline(other);
            let common = others(one);
            let is_compared = common.as_ref().is_some_and(|common| self.is_compared_at(common));
            metric == self.metric && is_paired && is_compared && common == others(other)
        };
        let pairs = written.compared();
        pairs.iter().filter(|(metric, rows)| !is_own(*metric, rows)).count()
    }
}

impl Study {
    /// The most comparisons that an answer about cells makes.
    pub fn most_comparisons(&self) -> usize {
        let cases = self.cells.iter().map(|cell| cell.case.as_str());
        self.most_of(&cases.collect::<Vec<_>>()).unwrap_or_default()
    }

    /// The most comparisons that an answer about a table makes; `None` where there is none about it.
    pub fn most_comparisons_of(&self, table: &AlgorithmTable) -> Option<usize> {
        self.most_of(&[&table.name])
    }

    fn most_of(&self, cases: &[&str]) -> Option<usize> {
        let rules = self.answers.iter().filter(|rule| cases.contains(&rule.case.as_str()));
        let of_rule = |rule: &AnswerRule| rule.comparisons(&self.params(&rule.case));
        rules.map(|rule| of_rule(rule).into_iter().max().unwrap_or_default()).max()
    }
}
