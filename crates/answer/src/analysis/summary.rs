//! What the trials of one cell say together.

use crate::label::{label, spoken};
use study::Cell;

use super::trials::CellTrials;
use super::{CellSummary, CpuUse, Figure, Figures};

impl CellSummary {
    pub(super) fn of(trials: &CellTrials<'_>) -> Self {
        Self {
            cell: trials.cell.name.clone(),
            case: trials.cell.case.clone(),
            label: of_cell(trials.cell),
            params: trials.cell.params.clone(),
            operation: trials.cell.load.operation,
            trials: trials.counts(),
            figures: Figures::of(|metric| Figure::of_cell(trials, metric)),
            limits: trials.limits(),
            mark: trials.mark(),
            search: trials.search.clone(),
            cpus: CpuUse::of(trials.valid()),
        }
    }
}

/// What distinguishes a cell from the others of its case, the server first; the server alone where
/// the case sweeps nothing.
pub(super) fn of_cell(cell: &Cell) -> String {
    const SERVER: &str = "target.server";
    let (server, others): (Vec<_>, Vec<_>) =
        cell.params.iter().partition(|(key, _)| *key == SERVER);
    let in_words =
        |(key, value): (&String, &String)| label(spoken(cell.load.operation, key), value);
    let labels: Vec<String> = server.into_iter().chain(others).map(in_words).collect();
    match labels.is_empty() {
        true => label(SERVER, &cell.target.server.to_string()),
        false => labels.join(", "),
    }
}
