//! One row of a summary: parameters with samples by round.

use std::collections::{BTreeMap, BTreeSet};

use keys::full;
use serde::{Deserialize, Serialize};
use study::{Metric, Params};
use trial::Limit;

use crate::analysis::{CellSummary, Figures, TrialCounts};
use crate::figure::{Figure, paired};
use crate::mark::Mark;

/// What the trials of a cell, or the rounds of an algorithm, were.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SummaryRow {
    /// Its case or table.
    pub case: String,
    /// Its name in the study.
    pub name: String,
    /// What tells it from the others of its case, in words.
    pub label: String,
    pub params: Params,
    /// The library and its version, where it is an algorithm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// The frequency at which an algorithm ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_hz: Option<f64>,
    pub trials: TrialCounts,
    /// Why it has no figure, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lacking: Option<String>,
    /// What limited the valid trials, and how many of them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<Limit, usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Mark>,
    /// How the client received.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub received: BTreeSet<String>,
    /// The congestion control of the server's connections.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub congestion: BTreeSet<String>,
    /// Of the metrics that the study is about: round and figure of each valid trial, to six digits.
    pub samples: BTreeMap<Metric, Vec<(u32, f64)>>,
}

impl SummaryRow {
    /// The figure of a metric; `None` where there is none.
    #[must_use]
    pub fn figure(&self, metric: Metric) -> Option<Figure> {
        Figure::of(self.of(metric).iter().map(|(_, sample)| *sample).collect())
    }

    /// A metric over that of another row, by rounds: of cycles how many times as fast this one is. `None` also
    /// where what differs is not the servers' doing, but was not asked for.
    #[must_use]
    pub fn ratio(&self, other: &Self, metric: Metric) -> Option<Figure> {
        let (over, under) = metric.ratio(self, other);
        let ratio = paired(over.of(metric).to_vec(), under.of(metric).to_vec());
        ratio.filter(|_| self.is_like(other))
    }

    /// Whether both were received in one way, where not the clients are compared, and their servers had one
    /// congestion control.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let are_alike = |ours: &BTreeSet<String>, theirs: &BTreeSet<String>| {
            ours.is_empty() || theirs.is_empty() || ours == theirs
        };
        let are_of_clients = self.params.get(full::CLIENT) != other.params.get(full::CLIENT);
        (are_of_clients || are_alike(&self.received, &other.received))
            && are_alike(&self.congestion, &other.congestion)
    }

    fn of(&self, metric: Metric) -> &[(u32, f64)] {
        self.samples.get(&metric).map_or(&[], Vec::as_slice)
    }
}

/// Samples as a summary keeps them.
pub(crate) fn kept(samples: Vec<(u32, f64)>) -> Vec<(u32, f64)> {
    let rounded = |sample: f64| format!("{sample:.5e}").parse().unwrap_or(sample);
    samples.into_iter().map(|(round, sample)| (round, rounded(sample))).collect()
}

impl From<&SummaryRow> for CellSummary {
    fn from(row: &SummaryRow) -> Self {
        Self {
            cell: row.name.clone(),
            case: row.case.clone(),
            label: row.label.clone(),
            label_parts: vec![row.label.clone()],
            params: row.params.clone(),
            operation: load::Operation::Requests,
            library: row.library.clone(),
            trials: row.trials,
            figures: Figures::of(|metric| row.figure(metric)),
            limits: row.limits.clone(),
            mark: row.mark,
            congestion: row.congestion.clone(),
            search: None,
            cpus: Vec::new(),
            cycles: None,
        }
    }
}
