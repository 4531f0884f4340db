//! The OpenMetrics text, read by another implementation of the format: Prometheus's for Python.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use study::Metric;

use crate::fabricated;

/// Prints every sample as a line of JSON, after the strict parser has taken the text.
const READER: &str = r#"
import json, sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families
for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        print(json.dumps([family.name, family.type, family.unit, sample.name, sample.labels, sample.value]))
"#;

/// A Python that has the parser, kept for the next time.
fn python() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("prometheus-client");
    let python = folder.join("bin/python");
    let run = |command: &mut Command| {
        let output = command.output().unwrap();
        assert!(
            output.status.success(),
            "{command:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    // Tests are processes that may run at the same time: one installs, the others wait.
    let lock = File::create(folder.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    if !folder.join("complete").exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder));
        let install = ["-m", "pip", "install", "--quiet", "prometheus-client==0.21.1"];
        run(Command::new(&python).args(install));
        std::fs::write(folder.join("complete"), "").unwrap();
    }
    python
}

/// Family, type, unit, name, labels and value of each sample.
fn parsed(text: &str) -> Vec<Value> {
    let mut reader = Command::new(python())
        .args(["-c", READER])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    reader.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = reader.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}\n{text}");
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn another_parser_finds_every_figure_in_base_units() {
    let run = fabricated::whole();
    let samples = parsed(&run.openmetrics());
    let value = |name: &str, cell: &str, key: &str, which: &str| {
        let is_it = |sample: &&Value| {
            sample[3] == name && sample[4]["cell"] == cell && sample[4][key] == which
        };
        samples.iter().find(is_it).map(|sample| sample[5].as_f64().unwrap())
    };
    for cell in &run.analysis.cells {
        let near = |name: &str, expected: f64| {
            let value = value(name, &cell.name, "estimate", "median").unwrap();
            assert!((value / expected - 1.0).abs() < 1e-9, "{name} of {}: {value}", cell.name);
        };
        near("toll_operations_per_second", cell.figure(Metric::Rate).unwrap().estimate.median);
        near("toll_latency_p99_seconds", cell.figure(Metric::P99).unwrap().estimate.median / 1e9);
        let name = "toll_goodput_bytes_per_second";
        match cell.figure(Metric::Goodput) {
            Some(figure) => {
                near(name, figure.estimate.median / 8.0);
                let low = value(name, &cell.name, "estimate", "interval_low").unwrap();
                assert!((low - figure.estimate.interval.low / 8.0).abs() < 1.0);
            }
            None => assert_eq!(value(name, &cell.name, "estimate", "median"), None),
        }
        let valid = value("toll_trials", &cell.name, "state", "valid").unwrap();
        assert_eq!(valid, cell.trials.valid as f64);
        let limits: f64 = samples
            .iter()
            .filter(|s| s[3] == "toll_limited_trials" && s[4]["cell"] == *cell.name)
            .map(|s| s[5].as_f64().unwrap())
            .sum();
        assert_eq!(limits, cell.trials.valid as f64);
    }
    let families: Vec<_> =
        samples.iter().map(|s| (s[0].as_str().unwrap(), s[2].as_str().unwrap())).collect();
    assert!(families.contains(&("toll_goodput_bytes_per_second", "bytes_per_second")));
    assert!(families.contains(&("toll_server_cpu_per_byte_seconds", "seconds")));
    let param = samples.iter().find_map(|sample| sample[4].get("param_target_certificate_key"));
    assert_eq!(param.unwrap(), "rsa:2048");
}

#[test]
fn texts_of_a_server_that_means_harm_come_back_as_they_were() {
    let run = fabricated::whole();
    let samples = parsed(&run.openmetrics());
    let versions: Vec<_> = samples
        .iter()
        .filter(|sample| sample[3] == "toll_target_info")
        .map(|sample| sample[4]["version"].as_str().unwrap())
        .collect();
    assert!(versions.contains(&fabricated::HOSTILE), "{versions:?}");
    let mut run = fabricated::whole();
    run.targets[0].version = Some("a \"b\" \\n \\ \n c".to_owned());
    let samples = parsed(&run.openmetrics());
    let first = samples.iter().find(|sample| sample[3] == "toll_target_info").unwrap();
    assert_eq!(first[4]["version"], "a \"b\" \\n \\ \n c");
}

#[test]
fn what_was_not_measured_is_absent_and_never_zero() {
    let nothing = fabricated::of_nothing();
    let text = nothing.openmetrics();
    let samples = parsed(&text);
    assert!(samples.iter().all(|sample| sample[4].get("estimate").is_none()), "{text}");
    assert!(samples.iter().any(|s| s[3] == "toll_trials" && s[4]["state"] == "planned"));
    let mut none = nothing;
    none.analysis.cells.clear();
    none.targets.clear();
    none.machine = None;
    none.lines.clear();
    assert_eq!(none.openmetrics(), "# EOF\n");
}
