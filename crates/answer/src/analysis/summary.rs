//! What the trials of one cell say together.

use std::collections::{BTreeMap, BTreeSet};

use crate::label::{label, label_in};
use load::Operation;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use study::{Cell, Metric};
use trial::Limit;

use super::cpu_use::CpuUse;
use super::cycles::Cycles;
use super::search::Search;
use super::trials::{CellTrials, TrialCounts};
use crate::figure::Figure;
use crate::mark::Mark;

/// What the trials of one cell say together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CellSummary {
    /// The cell's name.
    pub cell: String,
    /// The case's name.
    pub case: String,
    /// What distinguishes it from the other cells of its case, in words: `nginx, AES-128-GCM`.
    pub label: String,
    /// What the label is made of, a part for each setting; a value may itself have a comma.
    #[serde(skip)]
    pub label_parts: Vec<String>,
    /// The swept keys with their values.
    pub params: BTreeMap<String, String>,
    /// What one operation of its load is.
    #[serde(skip)]
    pub operation: Operation,
    /// How many trials it should have, has, and has that are valid.
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
    pub search: Option<Search>,
    /// What used each CPU of the machine, where the server's are known.
    pub cpus: Vec<CpuUse>,
    /// Where the server's CPU time goes, where that was sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cycles: Option<Cycles>,
}

impl CellSummary {
    /// Whether its target was left out, so that there is nothing to show of it.
    #[must_use]
    pub fn is_left_out(&self) -> bool {
        self.trials == TrialCounts::default()
            && self.search.as_ref().is_none_or(|search| search.path.is_empty())
    }

    pub(super) fn of(trials: &CellTrials<'_>) -> Self {
        Self {
            cell: trials.cell.name.clone(),
            case: trials.cell.case.clone(),
            label: of_cell(trials.cell),
            label_parts: parts_of_cell(trials.cell),
            params: trials.cell.params.clone(),
            operation: trials.cell.load.operation,
            trials: trials.counts(),
            figures: Figures::of(|metric| trials.figure(metric)),
            limits: trials.limits(),
            mark: trials.mark(),
            congestion: trials.congestion(),
            search: trials.search.clone(),
            cpus: CpuUse::of(trials.valid()),
            cycles: Cycles::of(trials),
        }
    }
}

/// The figures of a cell, by metric; those that were not measured are not there.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures(BTreeMap<Metric, Figure>);

impl Figures {
    /// What `figure` gives of each metric that a cell has by itself.
    pub fn of(figure: impl Fn(Metric) -> Option<Figure>) -> Self {
        let figures = Metric::of_cells().filter_map(|metric| Some((metric, figure(metric)?)));
        Self(figures.collect())
    }

    /// That of a metric; `None` where it was not measured.
    #[must_use]
    pub fn get(&self, metric: Metric) -> Option<&Figure> {
        self.0.get(&metric)
    }
}

/// Every metric is a field, `null` where it was not measured.
impl Serialize for Figures {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for metric in Metric::of_cells() {
            map.serialize_entry(metric.row().json, &self.get(metric))?;
        }
        map.end()
    }
}

/// What distinguishes a cell from the others of its case, the server first; the server alone where
/// the case sweeps nothing.
pub(super) fn of_cell(cell: &Cell) -> String {
    parts_of_cell(cell).join(", ")
}

fn parts_of_cell(cell: &Cell) -> Vec<String> {
    let parts = parts(&cell.params, cell.load.operation);
    match parts.is_empty() {
        true => vec![label(SERVER, &cell.target.server.to_string())],
        false => parts,
    }
}

const SERVER: &str = "target.server";

/// The swept settings in words, the server first.
fn parts(params: &BTreeMap<String, String>, operation: Operation) -> Vec<String> {
    let (server, others): (Vec<_>, Vec<_>) = params.iter().partition(|(key, _)| *key == SERVER);
    let in_words = |(key, value): (&String, &String)| label_in(operation, key, value);
    server.into_iter().chain(others).map(in_words).collect()
}
