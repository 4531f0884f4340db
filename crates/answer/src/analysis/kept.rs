//! What a summary keeps of a row.

use std::collections::{BTreeMap, BTreeSet};

use study::metric::Kind;
use study::{Cell, Metric, Study};

use super::offered::not_kept_up;
use super::row::Row;
use crate::summary::{SummaryRow, kept};

impl SummaryRow {
    pub(super) fn of_row(study: &Study, row: &Row<'_>) -> Self {
        let samples = metrics(study, row).into_iter().filter_map(|metric| {
            // Where the server did not keep up, there is no figure of the whole load.
            let is_whole = not_kept_up(row, metric).is_none();
            let samples = if is_whole { kept(row.samples(metric)) } else { Vec::new() };
            (!samples.is_empty()).then_some((metric, samples))
        });
        let samples: BTreeMap<_, _> = samples.collect();
        let skipped = || row.skipped.map(str::to_owned);
        let lacking = skipped().or_else(|| row.infeasible()).or_else(|| row.why_invalid());
        Self {
            case: row.case.to_owned(),
            name: row.name.to_owned(),
            label: row.label_parts().join(", "),
            params: row.params.clone(),
            library: row.algorithm.map(|of| of.library_title.clone()),
            core_hz: row.algorithm.and_then(|of| Some(of.cost.as_ref()?.core_hz.round())),
            trials: row.counts(),
            lacking: lacking.filter(|_| row.counts().valid == 0),
            limits: row.limits(),
            mark: row.mark(),
            received: row.received(),
            congestion: row.congestion(),
            samples,
        }
    }
}

/// Those that the study's answers and claims about its case are of, and what rows are compared by otherwise.
fn metrics(study: &Study, row: &Row<'_>) -> BTreeSet<Metric> {
    let answers = study.answers.iter().filter(|rule| rule.case == row.case);
    let claims = study.claims.iter().filter_map(|claim| claim.measured.as_ref());
    let is_own = |claim: &&study::ClaimedFigure| {
        claim.of.case == row.case || claim.over.as_ref().is_some_and(|over| over.case == row.case)
    };
    let usual = row
        .cell
        .into_iter()
        .flat_map(|cell: &Cell| [Metric::usual(cell), Metric::RatePerServerCpu]);
    let usual = usual.chain(row.algorithm.map(|of| of.metric()));
    answers
        .map(|rule| rule.metric)
        .filter(|metric| metric.row().kind != Kind::Tax)
        .chain(claims.filter(is_own).map(|claim| claim.metric))
        .chain(usual)
        .filter(|metric| row.can_have(*metric))
        .collect()
}
