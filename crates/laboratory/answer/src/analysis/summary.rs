//! What the samples of one row say together.

use load::Operation;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use study::Metric;

use super::cpu_use::CpuUse;
use super::cycles::Cycles;
use super::row::AnalysedRow;
use super::search::SearchPath;
use crate::circumstance::Circumstance;
use crate::measured::{MeasuredRow, TrialCounts};

/// What the trials of one cell, or the rounds of one algorithm, say together.
#[derive(Debug, Clone, PartialEq, derive_more::Deref)]
pub struct CellSummary {
    #[deref]
    pub row: MeasuredRow,
    /// What the label is made of, a part for each setting; a value may itself have a comma.
    pub label_parts: Vec<String>,
    /// What one operation of its load is.
    pub operation: Operation,
    /// How its load was found, where the study searches for it.
    pub search: Option<SearchPath>,
    /// What used each CPU of the machine, where the server's are known.
    pub cpus: Vec<CpuUse>,
    /// Where the server's CPU time goes, where that was sampled.
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
            ..Self::from(row.measured.clone())
        }
    }
}

impl From<MeasuredRow> for CellSummary {
    fn from(row: MeasuredRow) -> Self {
        Self {
            label_parts: vec![row.label.clone()],
            operation: Operation::Requests,
            search: None,
            cpus: Vec::new(),
            cycles: None,
            row,
        }
    }
}

/// Every metric is a field with its unit in the name, `null` where it was not measured.
impl Serialize for CellSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let MeasuredRow { name, case, label, params, library, trials, .. } = &self.row;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("cell", name)?;
        map.serialize_entry("case", case)?;
        map.serialize_entry("label", label)?;
        map.serialize_entry("params", params)?;
        if let Some(library) = library {
            map.serialize_entry("library", library)?;
        }
        map.serialize_entry("trials", trials)?;
        for metric in Metric::of_rows() {
            map.serialize_entry(metric.row().json, &self.figure(metric))?;
        }
        map.serialize_entry("limits", &self.limits)?;
        map.serialize_entry("mark", &self.mark)?;
        if let Some(congestion) = self.circumstances.get(&Circumstance::Congestion) {
            map.serialize_entry("congestion", congestion)?;
        }
        map.serialize_entry("search", &self.search)?;
        map.serialize_entry("cpus", &self.cpus)?;
        if let Some(cycles) = &self.cycles {
            map.serialize_entry("cycles", cycles)?;
        }
        map.end()
    }
}
