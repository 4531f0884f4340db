//! The parts of traffic that a plan measures, and what a trial of one says.

use capacity::{Checked, Costs, Request, Traffic};
use journal::TrialLine;
use stats::Estimate;
use study::Metric;
use trial::TrialRecord;

/// What is measured, by the name of its case.
pub(super) const FULL: &str = "connections";
pub(super) const RESUMED: &str = "resumed-connections";
pub(super) const REQUESTS: &str = "requests";
pub(super) const OTHER: &str = "requests-of-another-size";
pub(super) const TRAFFIC: &str = "traffic";

/// What the names of cells end with that keep a quarter of a core busy.
pub(super) const AT_A_QUARTER: &str = "-at-a-quarter";

/// What connections that are open take, beside the traffic.
pub(super) const MEMORY: &str = "memory";

/// A metric by the valid trials of a case; `None` where no trial has it.
pub(super) fn estimate<'a>(
    lines: impl IntoIterator<Item = &'a TrialLine>,
    case: &str,
    metric: Metric,
) -> Option<Estimate> {
    let of_case = lines.into_iter().filter(|of| of.line.valid && of.place.case == case);
    let values: Vec<f64> = of_case.filter_map(|of| metric.value(&of.line)).collect();
    Estimate::of(&values).ok()
}

/// CPU time of the server per operation in ns, and its bytes.
pub(super) fn each(line: &TrialRecord) -> Option<Request> {
    let cost = line.per_operation(line.cpu_ns.server?)?;
    Some(Request { cost, bytes: line.bytes.body as f64 / line.operations.completed as f64 })
}

/// What the costs say of what a trial of the traffic did, over the server's CPU time that it took.
pub(super) fn beside(line: &TrialRecord, costs: &Costs, traffic: &Traffic) -> Option<f64> {
    let checked = Checked {
        connections: line.connections_opened.unwrap_or_default() as f64,
        requests: line.operations.completed as f64,
        bytes: line.bytes.body as f64,
        cpu: line.cpu_ns.server? as f64,
    };
    let obtained = &line.receipt.obtained;
    let [full, resumed] =
        [obtained.full, obtained.resumed].map(|count| count.unwrap_or_default() as f64);
    let traffic = Traffic { resumed: resumed / (full + resumed).max(1.0), ..*traffic };
    Some(checked.ratio(&traffic, costs))
}
