//! What the samples of one row say together.

use std::collections::{BTreeMap, BTreeSet};

use load::Operation;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use study::{Metric, Params};
use trial::Limit;

use super::cpu_use::CpuUse;
use super::cycles::Cycles;
use super::row::AnalysedRow;
use super::search::SearchPath;
use crate::figure::Figure;
use crate::mark::Mark;
use crate::measured::{MeasuredRow, TrialCounts};

/// What the trials of one cell, or the rounds of one algorithm, say together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellSummary {
    /// Its name.
    pub cell: String,
    /// The name of its case or its table.
    pub case: String,
    /// What distinguishes it from the other cells of its case, in words: `nginx, AES-128-GCM`.
    pub label: String,
    /// What the label is made of, a part for each setting; a value may itself have a comma.
    #[serde(skip)]
    pub label_parts: Vec<String>,
    /// The swept keys with their values.
    pub params: Params,
    /// What one operation of its load is.
    #[serde(skip)]
    pub operation: Operation,
    /// The library and its version, where it is a timed algorithm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// How many trials or rounds it should have, has, and has that are valid.
    pub trials: TrialCounts,
    /// Its figures, each metric a field with its unit in the name.
    #[serde(flatten)]
    pub figures: Figures,
    /// What limited the valid trials, and how many of them.
    pub limits: BTreeMap<Limit, usize>,
    /// The mark of the cell.
    pub mark: Option<Mark>,
    /// The congestion control of the server's connections; empty where none is recorded.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub congestion: BTreeSet<String>,
    /// How its load was found, where the study searches for it.
    pub search: Option<SearchPath>,
    /// What used each CPU of the machine, where the server's are known.
    pub cpus: Vec<CpuUse>,
    /// Where the server's CPU time goes, where that was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Cycles>,
}

impl CellSummary {
    /// Whether its target was left out, so that there is nothing to show of it.
    pub fn is_left_out(&self) -> bool {
        self.trials == TrialCounts::default()
            && self.search.as_ref().is_none_or(|search| search.path.is_empty())
    }

    pub(super) fn of(row: &AnalysedRow<'_>) -> Self {
        Self {
            label_parts: row.label_parts(),
            operation: row.operation(),
            search: row.search.clone(),
            cpus: CpuUse::of(row.valid()),
            cycles: Cycles::of(row),
            ..Self::from(&row.measured)
        }
    }
}

impl From<&MeasuredRow> for CellSummary {
    fn from(row: &MeasuredRow) -> Self {
        Self {
            cell: row.name.clone(),
            case: row.case.clone(),
            label: row.label.clone(),
            label_parts: vec![row.label.clone()],
            params: row.params.clone(),
            operation: Operation::Requests,
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

/// The figures of a cell, by metric; those that were not measured are not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures(BTreeMap<Metric, Figure>);

impl Figures {
    /// What `figure` gives of each metric that a cell has by itself.
    pub fn of(figure: impl Fn(Metric) -> Option<Figure>) -> Self {
        let figures = Metric::of_rows().filter_map(|metric| Some((metric, figure(metric)?)));
        Self(figures.collect())
    }

    /// That of a metric; `None` where it was not measured.
    pub fn get(&self, metric: Metric) -> Option<&Figure> {
        self.0.get(&metric)
    }
}

/// Every metric is a field, `null` where it was not measured.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for metric in Metric::of_rows() {
            map.serialize_entry(metric.row().json, &self.get(metric))?;
        }
        map.end()
    }
}
