//! A run in the OpenMetrics text format (version 1.0), for Prometheus and what reads its files.
//!
//! Everything is a gauge: the figures of a run that is over. Units are base units, as the format asks:
//! bytes (not bits) and seconds. What was not measured is absent, never 0.

use std::fmt::Write;

use answer::analysis::{Analysis, CellSummary};
use answer::named::{
    CLIENT_BUSY, CLIENT_PER_GIGABYTE, CLIENT_PER_OPERATION, GOODPUT, GOODPUT_OF_ONE_CORE, Named,
    P50, P99, RATE, RATE_OF_ONE_CORE, SERVER_BUSY, SERVER_PER_GIGABYTE, SERVER_PER_OPERATION,
};

use crate::Run;

/// A family of figures.
struct Family {
    /// Without the unit, which the format puts at its end.
    name: &'static str,
    unit: &'static str,
    help: &'static str,
    figure: Named,
    /// From the unit in which the figure is kept.
    factor: f64,
}

const BITS: f64 = 1.0 / 8.0;
const NANOS: f64 = 1e-9;
/// Of 10^9 bytes.
const GIGABYTES: f64 = 1e-9;

const FAMILIES: [Family; 12] = [
    Family {
        name: "toll_operations_per_second",
        unit: "",
        help: "Completed operations per second.",
        figure: RATE,
        factor: 1.0,
    },
    Family {
        name: "toll_goodput",
        unit: "bytes_per_second",
        help: "Proven HTTP body bytes per second.",
        figure: GOODPUT,
        factor: BITS,
    },
    Family {
        name: "toll_operations_per_server_cpu_second",
        unit: "",
        help: "Completed operations per CPU-second of the server.",
        figure: RATE_OF_ONE_CORE,
        factor: 1.0,
    },
    Family {
        name: "toll_goodput_per_server_cpu",
        unit: "bytes_per_second",
        help: "Proven HTTP body bytes per CPU-second of the server.",
        figure: GOODPUT_OF_ONE_CORE,
        factor: BITS,
    },
    Family {
        name: "toll_server_cpu_per_operation",
        unit: "seconds",
        help: "CPU time of the server per operation.",
        figure: SERVER_PER_OPERATION,
        factor: NANOS,
    },
    Family {
        name: "toll_client_cpu_per_operation",
        unit: "seconds",
        help: "CPU time of the client per operation.",
        figure: CLIENT_PER_OPERATION,
        factor: NANOS,
    },
    Family {
        name: "toll_server_cpu_per_byte",
        unit: "seconds",
        help: "CPU time of the server per body byte.",
        figure: SERVER_PER_GIGABYTE,
        factor: GIGABYTES,
    },
    Family {
        name: "toll_client_cpu_per_byte",
        unit: "seconds",
        help: "CPU time of the client per body byte.",
        figure: CLIENT_PER_GIGABYTE,
        factor: GIGABYTES,
    },
    Family {
        name: "toll_server_busy",
        unit: "ratio",
        help: "The share of its CPUs that the server used.",
        figure: SERVER_BUSY,
        factor: 1.0,
    },
    Family {
        name: "toll_client_busy",
        unit: "ratio",
        help: "How busy the busiest load thread was.",
        figure: CLIENT_BUSY,
        factor: 1.0,
    },
    Family {
        name: "toll_latency_p50",
        unit: "seconds",
        help: "The median latency of a whole operation.",
        figure: P50,
        factor: NANOS,
    },
    Family {
        name: "toll_latency_p99",
        unit: "seconds",
        help: "The 99th percentile of the latency of a whole operation.",
        figure: P99,
        factor: NANOS,
    },
];

/// The cells of a run, with what was measured on what.
///
/// Each figure has three samples by the label `estimate`: `median`, and the ends of its interval,
/// `interval_low` and `interval_high`, where it has one. Swept keys are labels, `load.suite` as
/// `param_load_suite`.
#[must_use]
pub fn openmetrics(run: &Run<'_>, analysis: &Analysis) -> String {
    let mut text = Text::default();
    machine(&mut text, run);
    targets(&mut text, run);
    if let Some(last) = run.lines.iter().map(|line| line.started_unix_ms).max() {
        let help = "When the last trial's window began, in seconds since 1970-01-01 UTC.";
        text.family("toll_last_trial_timestamp", "seconds", "gauge", help);
        let study = labels([("study", run.study)]);
        text.sample("toll_last_trial_timestamp_seconds", &study, last as f64 / 1e3);
    }
    counts(&mut text, analysis);
    for family in &FAMILIES {
        figures(&mut text, analysis, family);
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
    let versions = run.targets.iter().filter_map(|t| Some((t, t.version.as_ref()?)));
    let mut names = Vec::new();
    for (target, version) in versions {
        // A resumed run names its servers again.
        if names.contains(&&target.name) {
            continue;
        }
        if names.is_empty() {
            text.family("toll_target", "", "info", "A server that was measured.");
        }
        names.push(&target.name);
        let labels = labels([
            ("target", target.name.as_str()),
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
    text.family("toll_trials", "", "gauge", "Trials of a cell: planned, done, and valid.");
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

fn figures(text: &mut Text, analysis: &Analysis, family: &Family) {
    let Family { name, unit, help, figure, factor } = family;
    let with_figure =
        analysis.cells.iter().filter_map(|cell| Some((cell, (figure.of)(cell)?.estimate)));
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

fn of_cell(analysis: &Analysis, cell: &CellSummary) -> String {
    let fixed = [
        ("study".to_owned(), analysis.study.as_str()),
        ("case".to_owned(), &cell.case),
        ("cell".to_owned(), &cell.cell),
    ];
    let params = cell.params.iter().map(|(key, value)| {
        let name = key.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
        (format!("param_{name}"), value.as_str())
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
