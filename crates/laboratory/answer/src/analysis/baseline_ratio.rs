//! What gates of one run judge: each row of an answer over its baseline, from trials of the same rounds.

use study::metric::Kind;
use study::{AnswerRule, Metric};

use super::compared::{Compared, Entry};
use super::row::AnalysedRow;
use crate::figure::Figure;
use crate::mark::Mark;

/// A row over the baseline of an answer. A row of which nothing was measured has one without a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct BaselineRatio {
    /// The place of its rule in the study.
    pub(crate) rule: usize,
    /// The key whose values are compared.
    pub(crate) compare: String,
    pub(crate) metric: Metric,
    pub(crate) case: String,
    pub(crate) cell: String,
    pub(crate) label: String,
    pub(crate) figure: Option<Figure>,
    pub(crate) mark: Option<Mark>,
}

/// Those of all rules. What a library does not do is not judged.
pub(super) fn all(rules: &[AnswerRule], rows: &[AnalysedRow<'_>]) -> Vec<BaselineRatio> {
    let of_rule = |(place, rule): (usize, &AnswerRule)| {
        let mut ratios = Vec::new();
        for compared in Compared::every(rule, rows) {
            if rule.is_compared_at(&compared.common) {
                let judged = compared.others().filter(|entry| entry.row.is_judged(false));
                ratios.extend(judged.map(|entry| BaselineRatio::of(place, rule, entry)));
            }
        }
        ratios
    };
    rules.iter().enumerate().flat_map(of_rule).collect()
}

impl BaselineRatio {
    fn of(place: usize, rule: &AnswerRule, Entry { row, ratio, .. }: &Entry<'_>) -> Self {
        // What something costs does not depend on what limited the trials.
        let is_maximum = rule.metric.row().kind == Kind::Throughput;
        let mark = row.mark_of(rule.metric);
        Self {
            rule: place,
            compare: rule.compare.clone(),
            metric: rule.metric,
            case: row.case.clone(),
            cell: row.name.clone(),
            label: row.label.clone(),
            figure: ratio.as_ref().map(|ratio| ratio.figure.clone()),
            mark: mark.filter(|mark| is_maximum || *mark == Mark::NotOfferedLoad),
        }
    }

    pub(crate) fn names(&self) -> [&str; 3] {
        [&self.case, &self.cell, &self.label]
    }
}
