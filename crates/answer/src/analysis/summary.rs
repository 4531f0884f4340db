//! What the trials of one cell say together.

use crate::label::label;
use study::{Cell, Metric};
use trial::Line;

use super::trials::CellTrials;
use super::{CellSummary, Figure};

impl CellSummary {
    pub(super) fn of(trials: &CellTrials<'_>) -> Self {
        let of_metric = |metric| Figure::of_cell(trials, metric);
        let of_lines = |figure: fn(&Line) -> Option<f64>| {
            Figure::of(trials.valid().filter_map(figure).collect())
        };
        Self {
            cell: trials.cell.name.clone(),
            case: trials.cell.case.clone(),
            label: of_cell(trials.cell),
            params: trials.cell.params.clone(),
            trials: trials.counts(),
            rate_per_s: of_metric(Metric::Rate),
            goodput_bps: of_metric(Metric::Goodput),
            rate_per_server_cpu: of_metric(Metric::RatePerServerCpu),
            goodput_per_server_cpu: of_metric(Metric::GoodputPerServerCpu),
            server_ns_per_operation: of_lines(|line| line.per_operation(line.cpu_ns.server?)),
            client_ns_per_operation: of_lines(|line| line.per_operation(line.cpu_ns.client?)),
            server_s_per_gb: of_lines(|line| line.per_gigabyte(line.cpu_ns.server?)),
            client_s_per_gb: of_lines(|line| line.per_gigabyte(line.cpu_ns.client?)),
            server_busy: trials.server_busy(),
            client_busy: of_lines(|line| line.verdict.evidence.client_busy),
            p50_ns: of_lines(|line| line.latency_ns.p50.map(|ns| ns as f64)),
            p99_ns: of_lines(|line| line.latency_ns.p99.map(|ns| ns as f64)),
            limits: trials.limits(),
            mark: trials.mark(),
            search: trials.search.clone(),
        }
    }
}

/// What distinguishes a cell from the others of its case, the server first; the server alone where
/// the case sweeps nothing.
fn of_cell(cell: &Cell) -> String {
    const SERVER: &str = "target.server";
    let (server, others): (Vec<_>, Vec<_>) =
        cell.params.iter().partition(|(key, _)| *key == SERVER);
    let labels: Vec<String> =
        server.into_iter().chain(others).map(|(key, value)| label(key, value)).collect();
    match labels.is_empty() {
        true => label(SERVER, &cell.target.server.to_string()),
        false => labels.join(", "),
    }
}
