//! A run in the OpenMetrics text format (version 1.0), for Prometheus and what reads its files.
//!
//! Everything is a gauge: the figures of a run that is over. Units are base units, as the format asks:
//! bytes (not bits) and seconds. What was not measured is absent, never 0.

use std::fmt::Write;

use answer::analysis::{Analysis, Row};
use answer::wording::grouped;
use study::Metric;
use study::metric::MetricRow;
use units::Quantity;

use crate::run::Run;

/// The base unit of a quantity, which the format puts at the end of names, and how many of it one of
/// the unit is in which figures are kept.
fn base(quantity: Quantity) -> (&'static str, f64) {
    match quantity {
        Quantity::PerSecond => ("", 1.0),
        Quantity::BitsPerSecond => ("bytes_per_second", 1.0 / 8.0),
        Quantity::BytesPerSecond => ("bytes_per_second", 1.0),
        Quantity::Share | Quantity::BytesPerByte => ("ratio", 1.0),
        Quantity::Bytes => ("bytes", 1.0),
        Quantity::Packets | Quantity::RoundTrips | Quantity::Cycles | Quantity::CyclesPerByte => {
            ("", 1.0)
        }
        Quantity::Instructions | Quantity::InstructionsPerKib => ("", 1.0),
        Quantity::Joules => ("joules", 1.0),
        Quantity::JoulesPerGigabyte => ("joules", 1e-9),
        // Seconds per 10^9 bytes are seconds per byte here.
        Quantity::Cpus => ("cpus", 1.0),
        Quantity::CyclesPerSecond => ("hertz", 1.0),
        Quantity::Nanos | Quantity::SecondsPerGigabyte => ("seconds", 1e-9),
    }
}

/// The cells and algorithms of a run, with what was measured on what.
///
/// Each figure has three samples by the label `estimate`: `median`, and the ends of its interval,
/// `interval_low` and `interval_high`, where it has one. Swept keys are labels, `load.suite` as
/// `param_load_suite`.
pub fn openmetrics(run: &Run<'_>, analysis: &Analysis) -> String {
    let mut text = Text::default();
    machine(&mut text, run);
    targets(&mut text, run);
    if let Some(last) = run.lines.iter().map(|trial| trial.line.started_unix_ms).max() {
        let help = "When the last trial's window began, in seconds since 1970-01-01 UTC.";
        text.family("toll_last_trial_timestamp", "seconds", "gauge", help);
        let study = labels([("study", run.study)]);
        text.sample("toll_last_trial_timestamp_seconds", &study, last as f64 / 1e3);
    }
    counts(&mut text, analysis);
    for metric in Metric::of_rows() {
        figures(&mut text, analysis, metric);
    }
    text.0 + "# EOF\n"
}

fn machine(text: &mut Text, run: &Run<'_>) {
    let Some(machine) = run.machine else { return };
    let known = |fact: &observe::Fact<String>| fact.known().cloned().unwrap_or_default();
    text.family("toll_machine", "", "info", "The machine that was measured.");
    let labels = labels([
        ("processor", known(&machine.processor.model).as_str()),
        ("hypervisor", &known(&machine.processor.hypervisor)),
        ("kernel", &known(&machine.system.kernel_release)),
        ("distribution", &known(&machine.system.distribution)),
        ("openssl", &machine.openssl),
    ]);
    text.sample("toll_machine_info", &labels, 1.0);
}

fn targets(text: &mut Text, run: &Run<'_>) {
    let versions = run.targets.iter().filter_map(|t| Some((&t.name, (t, t.version.as_ref()?))));
    // A resumed run names its servers again.
    for (place, (name, of)) in grouped(versions).into_iter().enumerate() {
        if place == 0 {
            text.family("toll_target", "", "info", "A server that was measured.");
        }
        let (target, version) = of[0];
        let labels = labels([
            ("target", name.as_str()),
            ("server", &target.server),
            ("settings", &target.settings),
            ("version", version),
        ]);
        text.sample("toll_target_info", &labels, 1.0);
    }
}

fn counts(text: &mut Text, analysis: &Analysis) {
    let cells = &analysis.cells;
    if cells.is_empty() {
        return;
    }
    text.family(
        "toll_trials",
        "",
        "gauge",
        "Trials of a cell, or rounds of an algorithm: planned, done, and valid.",
    );
    for cell in cells {
        let counts = cell.trials;
        let all = [("planned", counts.planned), ("done", counts.done), ("valid", counts.valid)];
        for (state, count) in all {
            let labels = of_cell(analysis, cell) + &format!(",state=\"{state}\"");
            text.sample("toll_trials", &labels, count as f64);
        }
    }
    if cells.iter().any(|cell| !cell.limits.is_empty()) {
        text.family("toll_limited_trials", "", "gauge", "Valid trials by what limited them.");
    }
    for cell in cells {
        for (limit, count) in &cell.limits {
            let labels = of_cell(analysis, cell) + &format!(",limit=\"{limit}\"");
            text.sample("toll_limited_trials", &labels, *count as f64);
        }
    }
}

fn figures(text: &mut Text, analysis: &Analysis, metric: Metric) {
    let MetricRow { gauge: name, help, quantity, .. } = metric.row();
    let (unit, factor) = base(*quantity);
    let cells = analysis.cells.iter();
    let with_figure = cells.filter_map(|cell| Some((cell, cell.figure(metric)?.estimate)));
    for (i, (cell, estimate)) in with_figure.enumerate() {
        if i == 0 {
            text.family(name, unit, "gauge", help);
        }
        let interval = estimate.interval;
        let ends = [("interval_low", interval.low), ("interval_high", interval.high)];
        let ends = ends.into_iter().filter(|_| interval.coverage > 0.0);
        for (which, value) in [("median", estimate.median)].into_iter().chain(ends) {
            let labels = of_cell(analysis, cell) + &format!(",estimate=\"{which}\"");
            text.sample(&full(name, unit), &labels, value * factor);
        }
    }
}

fn of_cell(analysis: &Analysis, cell: &Row) -> String {
    let fixed = [
        ("study".to_owned(), analysis.study.clone()),
        ("case".to_owned(), cell.case.clone()),
        ("cell".to_owned(), cell.name.clone()),
    ];
    let params = cell.params.iter().map(|(key, value)| {
        let name = key.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        (format!("param_{name}"), value.to_string())
    });
    labels(fixed.into_iter().chain(params))
}

/// `name="value",…`, escaped as the format asks.
fn labels<N: AsRef<str>, V: AsRef<str>>(labels: impl IntoIterator<Item = (N, V)>) -> String {
    let label = |(name, value): (N, V)| {
        let value = value.as_ref().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{}=\"{value}\"", name.as_ref())
    };
    labels.into_iter().map(label).collect::<Vec<_>>().join(",")
}

fn full(name: &str, unit: &str) -> String {
    if unit.is_empty() { name.to_owned() } else { format!("{name}_{unit}") }
}

#[derive(Default)]
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, unit: &str, kind: &str, help: &str) {
        let full = full(name, unit);
        // Writing to a string does not fail.
        let _ = writeln!(self.0, "# TYPE {full} {kind}");
        if !unit.is_empty() {
            let _ = writeln!(self.0, "# UNIT {full} {unit}");
        }
        let _ = writeln!(self.0, "# HELP {full} {help}");
    }

    fn sample(&mut self, name: &str, labels: &str, value: f64) {
        let _ = writeln!(self.0, "{name}{{{labels}}} {value}");
    }
}
