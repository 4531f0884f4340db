//! Every trial with its receipt and its verdict, by cell.

use answer::trials;
use journal::{Role, TrialLine};
use minijinja::context;
use minijinja::value::Value;
use trial::{CoreSeries, Evidence, TrialRecord};
use units::{Hertz, Nanos, Quantity, Unit};

use crate::chart::sparkline;
use crate::run::Run;

/// The trials of all cells that have some, in the order of the cells; last, those that belong to no cell of the
/// study.
pub(super) fn groups(run: &Run<'_>) -> Vec<Value> {
    let cells = || run.findings.evidence.iter();
    let mut groups: Vec<Value> = cells()
        .filter_map(|(cell, title)| {
            let of_cell = |trial: &&TrialLine| trial.place.cell == *cell;
            let trials: Vec<&TrialLine> = run.lines.iter().filter(of_cell).collect();
            (!trials.is_empty()).then(|| group(Some(cell), title, &trials))
        })
        .collect();
    let is_known = |trial: &TrialLine| cells().any(|(cell, _)| *cell == trial.place.cell);
    let others: Vec<&TrialLine> = run.lines.iter().filter(|trial| !is_known(trial)).collect();
    if !others.is_empty() {
        groups.push(group(None, "Not of a cell of this study", &others));
    }
    groups
}

/// A figure of a trial, in one unit for the trials of a cell.
type TrialFigure = (&'static str, Quantity, fn(&TrialRecord) -> Option<f64>);

const FIGURES: [TrialFigure; 7] = [
    ("rate", Quantity::PerSecond, |line| line.rate_per_s),
    ("goodput", Quantity::BitsPerSecond, |line| {
        line.goodput_bps.filter(|bits| *bits > 0).map(|bits| bits as f64)
    }),
    ("server CPU", Quantity::Nanos, |line| line.cpu_ns.server.map(|ns| ns as f64)),
    ("client CPU", Quantity::Nanos, |line| line.cpu_ns.client.map(|ns| ns as f64)),
    ("memory", Quantity::BytesPerSecond, TrialRecord::memory_bandwidth),
    ("memory per byte", Quantity::BytesPerByte, TrialRecord::memory_per_byte),
    ("p99", Quantity::Nanos, |line| line.latency_ns.whole.p99.map(|ns| ns as f64)),
];

fn group(cell: Option<&String>, title: &str, of_group: &[&TrialLine]) -> Value {
    let lines: Vec<&TrialRecord> = of_group.iter().map(|trial| &trial.line).collect();
    let figure = |of: &TrialFigure| {
        let values: Vec<f64> = lines.iter().filter_map(|line| of.2(line)).collect();
        (!values.is_empty()).then(|| (*of, of.1.unit_for(values)))
    };
    let figures: Vec<(TrialFigure, Unit)> = FIGURES.iter().filter_map(figure).collect();
    context! {
        cell,
        title,
        count => trials(lines.len()),
        invalid => lines.iter().filter(|line| !line.valid).count(),
        columns => figures.iter().map(|(of, unit)| (of.0, unit.name)).collect::<Vec<_>>(),
        trials => of_group.iter().map(|of| trial(of, &figures)).collect::<Vec<_>>(),
    }
}

fn trial(TrialLine { place, line }: &TrialLine, figures: &[(TrialFigure, Unit)]) -> Value {
    let figure = |((_, _, of), unit): &(TrialFigure, Unit)| {
        // What is not valid is no figure.
        let value = of(line).filter(|_| line.valid);
        value.map(|value| unit.number(value)).unwrap_or_default()
    };
    let host = line.receipt.asked.host.as_deref();
    let here = of_interest(line).filter_map(|core| sparkline(core, None));
    let there = line.server_cpu_share.iter().filter_map(|core| sparkline(core, host));
    context! {
        order => place.order,
        round => place.round,
        is_valid => line.valid,
        state => state(place.role, line),
        figures => figures.iter().map(figure).collect::<Vec<_>>(),
        limit => line.limit().map(|limit| limit.to_string()).unwrap_or_default(),
        receipt => line.receipt.rows(),
        mismatches => in_words(&line.receipt.mismatch),
        reason => line.reason(),
        remedy => line.remedy(),
        evidence => line.evidence().map(Evidence::in_words).unwrap_or_default(),
        warnings => in_words(&line.warnings),
        errors => errors(line),
        frequency => frequency(line),
        window => Nanos(line.window_ns).to_string(),
        cpus => here.chain(there).collect::<Vec<_>>(),
    }
}

fn in_words(all: &[impl ToString]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// The CPUs of which the course is known, those of server and client; of the others there is one step.
fn of_interest(line: &TrialRecord) -> impl Iterator<Item = &CoreSeries> {
    let steps = |core: &CoreSeries| core.step_ns.len();
    let most = line.cpu_share.iter().map(steps).max().unwrap_or_default();
    line.cpu_share.iter().filter(move |core| steps(core) == most)
}

fn state(role: Role, line: &TrialRecord) -> &'static str {
    match (line.valid, line.interrupted) {
        (false, true) => "invalid, interrupted",
        (false, false) => "invalid",
        (true, true) => "interrupted",
        (true, false) if role == Role::Search => "search",
        (true, false) if role == Role::Profile => "sampled",
        (true, false) => "valid",
    }
}

/// Failed operations with the first error of each kind, and what ended servers or load threads.
fn errors(line: &TrialRecord) -> Vec<String> {
    let target = line.target_error.iter().map(|error| format!("the server: {error}"));
    let load = line.load_error.iter().map(|error| format!("the load: {error}"));
    line.operations.errors_in_words().chain(target).chain(load).collect()
}

fn frequency(line: &TrialRecord) -> String {
    let in_words = |hz: Option<u64>| match hz {
        Some(hz) => Hertz(hz as f64).to_string(),
        None => "not known".to_owned(),
    };
    format!("{} before, {} after", in_words(line.core_hz.before), in_words(line.core_hz.after))
}
