//! `toll compare`, gates and OpenMetrics on result folders that are written by hand.

mod exports;
mod summaries;

use cpus::CpuList;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::{Value, json};
use study::Study;
use support::{insta, json_names, text};
use tempfile::TempDir;

const STUDY: &str = r#"
schema = 1
name = "small"
question = "Does a comparison work?"
trials = 7
[target]
server = "embedded"
object = "64KiB"
[load]
connections = 4
tls = "1.3"
warmup = "50ms"
duration = "100ms"
[[case]]
name = "bulk"
sweep."load.suite" = ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"]
[[case]]
name = "handshakes"
load.operation = "handshakes"
"#;

/// Cells with what one core does: bits, bits, operations per second.
const CELLS: [(&str, &str, f64); 3] = [
    ("bulk", "bulk-0001", 8e9),
    ("bulk", "bulk-0002", 6e9),
    ("handshakes", "handshakes-0001", 1500.0),
];

/// Result folders.
struct Desk(TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A folder in which each cell does its factor of what it usually does; less than 0 is a failure.
    fn run(&self, name: &str, factors: [f64; 3]) -> PathBuf {
        let folder = self.0.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        write_study(&folder, STUDY);
        let mut journal = String::new();
        for round in 0..7 {
            for (i, ((case, cell, usual), factor)) in CELLS.into_iter().zip(factors).enumerate() {
                let drift = 1.0 + 0.001 * f64::from(round);
                let suite = match cell {
                    "bulk-0001" => json!({"load.suite": "TLS_AES_128_GCM_SHA256"}),
                    "bulk-0002" => json!({"load.suite": "TLS_AES_256_GCM_SHA384"}),
                    _ => json!({}),
                };
                let order = 3 * round as usize + i;
                let line = line(case, cell, &suite, round, order, usual * factor * drift);
                journal += &format!("{line}\n");
            }
        }
        std::fs::write(folder.join("journal.jsonl"), journal).unwrap();
        let targets = json!([{
            "name": "embedded", "server": "embedded", "settings": "", "skipped": null,
            "version": format!("toll of {name}"), "cells": CELLS.map(|(_, cell, _)| cell),
        }]);
        std::fs::write(folder.join("targets.json"), targets.to_string()).unwrap();
        folder
    }
}

/// The study `quick` as it is built in, with a journal of all its trials and rounds.
struct Quick {
    /// What its servers do, over what is usual.
    servers: f64,
    /// How fast its algorithms are.
    algorithms: f64,
}

impl Quick {
    const TEXT: &str = include_str!("../../../../../studies/quick.toml");

    fn run(&self, desk: &Desk, name: &str) -> PathBuf {
        let folder = desk.0.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        let study = write_study(&folder, Self::TEXT);
        let scatter = |round: u32| 1.0 + 0.001 * f64::from(round);
        let mut lines = Vec::new();
        for (round, cell) in
            (0..study.trials).flat_map(|round| study.cells.iter().map(move |of| (round, of)))
        {
            let usual = if cell.case == "handshakes" { 2_000.0 } else { 8e9 };
            let (params, figure) = (json!(cell.params), usual * self.servers * scatter(round));
            lines.push(line(&cell.case, &cell.name, &params, round, lines.len(), figure));
        }
        for table in &study.primitives.tables {
            for (round, row) in (0..table.rounds)
                .flat_map(|round| table.all_rows().into_iter().map(move |of| (round, of)))
            {
                let cycles = 20_000.0 / self.algorithms * scatter(round);
                let around = |median: f64| json!({"low": median, "median": median, "high": median});
                let mut line = json!({
                    "role": "primitive", "schema": 1, "table": table.name, "library_title": "OpenSSL 3.0.19",
                    "cycles_source": "measured-frequency", "cycles_per_op": around(cycles), "core_hz": 2e9,
                    "ops_per_s": 2e9 / cycles, "messages_per_op": 1, "samples": table.samples,
                    "dropped_shared": 0, "dropped_unsteady": 0, "quality": "quiet", "confirmed_by": "ring",
                    "round": round, "order": lines.len(), "started_unix_ms": 1_795_000_000_000_u64,
                });
                if let Some(size) = row.key.size_bytes.map(|size| size as f64) {
                    line["cycles_per_byte"] = around(cycles / size);
                    line["bytes_per_s"] = json!(2e9 / cycles * size);
                }
                let Value::Object(key) = serde_json::to_value(&row.key).unwrap() else { panic!() };
                line.as_object_mut().unwrap().extend(key);
                lines.push(line);
            }
        }
        let journal: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(folder.join("journal.jsonl"), journal).unwrap();
        std::fs::write(folder.join("targets.json"), "[]").unwrap();
        folder
    }
}

/// A command that a page shows with gates: `compare`, and its options.
fn shown_with_gates(page: &str) -> Vec<(String, Vec<String>)> {
    // What --vary does is not of these runs, nor what a load does.
    let is_other = |line: &str| line.contains("--vary") || line.starts_with("toll load");
    let is_shown = |line: &&str| line.starts_with("toll ") && !is_other(line);
    let commands = page.lines().filter(is_shown).filter(|line| line.contains("--gate"));
    let parts = |line: &str| {
        let command = line.split('#').next().unwrap();
        let mut words = command.split_whitespace().map(|word| word.trim_matches('\'').to_owned());
        let command = words.nth(1).unwrap();
        (command, words.skip_while(|word| !word.starts_with("--")).collect())
    };
    commands.map(parts).collect()
}

/// Both forms of a study: as it was written, and as it was read.
fn write_study(folder: &Path, text: &str) -> Study {
    let study =
        file::parse("small", text, &"0-1023".parse::<CpuList>().unwrap().into(), None).unwrap();
    std::fs::write(folder.join("study.toml"), text).unwrap();
    std::fs::write(folder.join("cells.json"), serde_json::to_string(&study).unwrap()).unwrap();
    study
}

/// A trial of a second in which the server used its CPU.
fn line(case: &str, cell: &str, params: &Value, round: u32, order: usize, figure: f64) -> Value {
    let valid = figure > 0.0;
    let (body, completed) = match case {
        "handshakes" => (0, figure as u64),
        _ => ((figure / 8.0) as u64, (figure / 8.0 / 65536.0) as u64),
    };
    json!({
        "schema": 1, "case": case, "cell": cell, "params": params, "role": "measure", "round": round,
        "order": order, "valid": valid, "interrupted": false,
        "started_unix_ms": 1_795_000_000_000_u64, "window_ns": 1_000_000_000,
        "operations": {"completed": completed, "in_flight": 0, "errors": {}, "first_errors": {}},
        "bytes": {"body": body, "decrypted": 0, "unproven": 0},
        "rate_per_s": completed as f64, "goodput_bps": body * 8,
        "cpu_ns": {"server": 1_000_000_000, "client": 100_000_000, "server_run_queue_wait": 0,
                   "client_run_queue_wait": 0},
        "core_hz": {"before": 2_700_000_000_u64, "after": 2_700_000_000_u64},
        "latency_ns": {"p50": 900_000, "p99": 2_000_000}, "cpu_share": [],
        "receipt": {"asked": {}, "obtained": {}, "mismatch": []},
        "verdict": {"limit": "server-cpu",
                    "evidence": {"completed": completed, "failed": 0, "server_busy": 0.99}},
        "warnings": [],
        "target_error": if valid { Value::Null } else { json!("the server died") },
    })
}

fn toll(command: &str, arguments: &[&str], folders: &[&Path]) -> Output {
    let mut toll = support::toll();
    toll.arg(command).args(folders).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
    let [stdout, stderr] =
        [&output.stdout, &output.stderr].map(|said| String::from_utf8_lossy(said).into_owned());
    stdout + &stderr
}

#[track_caller]
fn assert_exit(output: &Output, code: i32) {
    assert_eq!(output.status.code(), Some(code), "{}", said(output));
}

/// Writes what the run's machine allowed toll.
fn write_quota(run: &Path, quota: &Value) {
    let machine = observe::Machine::read(&support::first_cpu());
    let mut machine = serde_json::to_value(machine).unwrap();
    machine["cgroup"]["cpu_quota"] = quota.clone();
    std::fs::write(run.join("machine.json"), machine.to_string()).unwrap();
}

#[test]
fn another_quota_is_named_before_the_ratios_and_by_a_gate_that_is_not_met() {
    let desk = Desk::new();
    let (a, b) = (desk.run("a", [1.0; 3]), desk.run("b", [0.5; 3]));
    write_quota(&a, &Value::Null);
    write_quota(&b, &json!({"quota_us": 50_000, "period_us": 100_000}));
    let words =
        "The machines of A and B differ: CPU quota none in A, 0.50 CPUs (50ms in each 100ms) in B.";
    let in_one_line =
        |output: &Output| said(output).split_whitespace().collect::<Vec<_>>().join(" ");
    let output = toll("compare", &["--gate", "ratio>=0.95"], &[&a, &b]);
    assert_exit(&output, 1);
    let text = in_one_line(&output);
    assert!(text.starts_with(words), "{text}");
    let (_, gate) = text.split_once("Gate ratio").unwrap();
    assert!(gate.contains(words), "{text}");
    let met = in_one_line(&toll("compare", &["--gate", "ratio>=0.1"], &[&a, &b]));
    assert_eq!(met.matches(words).count(), 1, "{met}");
    // A baseline of another machine cannot say that the program got slower.
    for a in [&a, &summary(&desk, &a)] {
        let output = toll("compare", &["--gate", "regression<=5%"], &[a, &b]);
        assert_exit(&output, 0);
        let text = in_one_line(&output);
        assert!(text.starts_with(words), "{text}");
        let (_, gate) = text.split_once("Gate regression<=5% inconclusive in 3 of 3").unwrap();
        assert!(gate.ends_with(words), "{text}");
    }
    let output = toll("compare", &["--json"], &[&a, &b]);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["differences"][0]["is_other_machine"], true, "{found}");
}

#[test]
fn the_answers_come_first_then_what_differs_and_the_cells() {
    let desk = Desk::new();
    let (a, b) = (desk.run("a", [1.0; 3]), desk.run("b", [1.31, 1.0, 0.5]));
    let output = toll("compare", &[], &[&a, &b]);
    assert_exit(&output, 0);
    let text = said(&output);
    let places: Vec<usize> = [
        "B is 0.50x [0.49, 0.51] A in rate of one core (handshakes: embedded).",
        "In goodput of one core, of 2 cells: B above A in 1 (1.31x) and no significant ",
        "What else differs\n  embedded: toll of a in A, toll of b in B\n",
        "\nrate of one core\n",
        "\ngoodput of one core\n",
        "1.31x  [1.30, 1.32]  above",
        "1.00x  [0.99, 1.01]  no significant difference",
    ]
    .into_iter()
    .map(|words| text.find(words).unwrap_or_else(|| panic!("{words} is not in {text}")))
    .collect();
    assert!(places.is_sorted(), "{text}");
}

#[test]
fn programs_get_all_figures() {
    let desk = Desk::new();
    let (a, b) = (desk.run("a", [1.0; 3]), desk.run("b", [2.0, -1.0, 1.0]));
    let arguments = ["--json", "--metric", "goodput", "--gate", "ratio>=0.9"];
    let output = toll("compare", &arguments, &[&a, &b]);
    assert_exit(&output, 3);
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    let cells = &found["metrics"][0]["cells"];
    assert_eq!(found["metrics"][0]["metric"], "goodput");
    assert_eq!(cells[0]["verdict"], "above");
    assert!((cells[0]["ratio"]["median"].as_f64().unwrap() - 2.0).abs() < 1e-6);
    assert_eq!((&cells[1]["verdict"], &cells[1]["ratio"]), (&json!("not-compared"), &Value::Null));
    assert_eq!(found["invalid_in_b"].as_array().unwrap().len(), 7);
    insta::assert_snapshot!(json_names([&found], &["params"]));
    assert_eq!(
        (&found["gates"][0]["result"], &found["gates"][0]["cells"][0]["result"]),
        (&json!("not-met"), &json!("met"))
    );
}

#[test]
fn gates_decide_the_exit_code() {
    let desk = Desk::new();
    let (a, b) = (desk.run("a", [1.0; 3]), desk.run("b", [1.0, 0.9, 1.0]));
    for (gate, code) in [
        ("ratio>=0.95", 1),
        ("ratio>=0.85", 0),
        ("bulk-0001:ratio>=0.95", 0),
        ("goodput-per-server-cpu>=5Gb/s", 0),
        ("goodput>=5.5Gb/s", 1),
        ("handshakes:rate>=1400/s", 0),
        ("p99<=1ms", 1),
        ("nowhere:ratio>=0.5", 2),
        ("goodput>=5", 2),
        ("ratio", 2),
    ] {
        let output = toll("compare", &["--gate", gate], &[&a, &b]);
        assert_exit(&output, code);
        if code == 1 {
            assert!(said(&output).contains(&format!("toll: not met: {gate}")), "{}", said(&output));
        }
    }
    // All of several.
    let both = ["--gate", "ratio>=0.85", "--gate", "p99<=1ms"];
    assert_exit(&toll("compare", &both, &[&a, &b]), 1);
}

#[test]
fn each_gate_that_the_docs_show_is_met_by_equal_runs_of_quick_and_not_by_slower_ones() {
    let desk = Desk::new();
    let run = |name, servers, algorithms| Quick { servers, algorithms }.run(&desk, name);
    let (usual, equal) = (run("usual", 1.0, 1.0), run("equal", 1.001, 0.999));
    let slower = [run("servers", 0.7, 1.0), run("algorithms", 1.0, 0.7)];
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let [readme, guide] = ["README.md", "docs/compare-runs.md"]
        .map(|page| shown_with_gates(&std::fs::read_to_string(docs.join(page)).unwrap()));
    assert!(!readme.is_empty() && guide.len() >= 3);
    for (command, options) in readme.into_iter().chain(guide) {
        let options: Vec<&str> = options.iter().map(String::as_str).chain(["--json"]).collect();
        let judged = |folders: &[&Path]| {
            let command = if command == "compare" { "compare" } else { "report" };
            let output = toll(command, &options, folders);
            let found: Value = serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|_| panic!("{}", said(&output)));
            let results =
                found["gates"].as_array().unwrap().iter().map(|gate| gate["result"].clone());
            (output.status.code().unwrap(), results.collect::<Vec<Value>>())
        };
        let met =
            |(code, results): (i32, Vec<Value>)| code == 0 && results.iter().all(|of| of == "met");
        if command != "compare" {
            assert!(met(judged(&[&usual])), "{options:?}");
            continue;
        }
        assert!(met(judged(&[&usual, &equal])), "{options:?}");
        assert!(met(judged(&[&slower[0], &usual])), "{options:?}");
        // A metric that is named may have rows of servers alone, which no algorithm slows.
        let is_of_all = !options.contains(&"--metric");
        let codes = slower.each_ref().map(|slower| judged(&[&usual, slower]).0);
        assert_eq!(codes, if is_of_all { [1, 1] } else { [0, 0] }, "{options:?}");
    }
}

#[test]
fn a_ratio_on_the_wrong_side_is_refused() {
    let desk = Desk::new();
    let run = |name, algorithms| Quick { servers: 1.0, algorithms }.run(&desk, name);
    let (usual, slow, fast) = (run("usual", 1.0), run("slow", 0.5), run("fast", 2.0));
    for (gate, expected) in [
        ("ratio>=0.95", [2, 2]),
        ("ciphers:ratio>=0.95", [2, 2]),
        ("ciphers:ratio<=1.05", [1, 0]),
        ("ciphers:regression<=5%", [1, 0]),
        ("handshakes:regression<=5%", [0, 0]),
        ("handshakes:ratio>=0.95", [0, 0]),
        ("handshakes:ratio<=1.05", [2, 2]),
        ("regression<=150%", [2, 2]),
    ] {
        let code = |b: &PathBuf| toll("compare", &["--gate", gate], &[&usual, b]).status.code();
        assert_eq!([&slow, &fast].map(code), expected.map(Some), "{gate}");
    }
    let by_median = ["--gate-median", "--gate", "regression<=5%"];
    assert_exit(&toll("compare", &by_median, &[&usual, &slow]), 1);
    assert_exit(&toll("compare", &by_median, &[&usual, &fast]), 0);
    let summaries = [&usual, &slow, &fast].map(|run| summary(&desk, run));
    let code = |b: &PathBuf| {
        toll("compare", &["--gate", "regression<=5%"], &[&summaries[0], b]).status.code()
    };
    assert_eq!([&summaries[1], &summaries[2], &slow].map(code), [Some(1), Some(0), Some(1)]);
}

#[test]
fn a_report_is_judged_too_and_written_all_the_same() {
    let desk = Desk::new();
    let run = desk.run("a", [1.0, -1.0, 1.0]);
    assert_exit(&toll("report", &["--gate", "bulk-0001:goodput>=8Gb/s"], &[&run]), 3);
    // The second cell has no valid trial.
    let output = toll("report", &["--gate", "bulk:goodput>=1b/s"], &[&run]);
    assert_exit(&output, 3);
    let words = "NOT met by 1 of 2 cells: not measured (AES-256-GCM).";
    assert!(said(&output).contains(words), "{}", said(&output));
    assert!(run.join("report.html").exists());
    let json = toll("report", &["--json", "--gate", "p99<=3ms"], &[&run]);
    let found: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(found["schema"], 4);
    assert_eq!(
        (&found["study"], &found["gates"][0]["result"]),
        (&json!("small"), &json!("not-met"))
    );
    assert_exit(&toll("report", &["--gate", "ratio>=1"], &[&run]), 2);
}

#[test]
fn no_gate_passes_a_run_that_lacks_trials() {
    let desk = Desk::new();
    let whole = desk.run("whole", [1.0; 3]);
    let (cut, empty) = (desk.run("cut", [1.0; 3]), desk.run("empty", [1.0; 3]));
    let invalid = desk.run("invalid", [1.0; 3]);
    let lines = std::fs::read_to_string(whole.join("journal.jsonl")).unwrap();
    let lines: Vec<&str> = lines.lines().collect();
    let write = |run: &Path, lines: &[String]| {
        std::fs::write(run.join("journal.jsonl"), lines.join("\n") + "\n").unwrap();
    };
    let own = |lines: &[&str]| lines.iter().map(ToString::to_string).collect::<Vec<String>>();
    write(&cut, &own(&lines[..18]));
    std::fs::write(empty.join("journal.jsonl"), "").unwrap();
    let mut marked = own(&lines);
    let mut last: Value = serde_json::from_str(&marked[20]).unwrap();
    last["valid"] = false.into();
    last["target_error"] = json!("the server died");
    marked[20] = last.to_string();
    write(&invalid, &marked);
    let gates = ["--gate", "bulk:goodput>=1b/s", "--junit", "-"];
    let ratios = ["--gate", "ratio>=0.1", "--junit", "-"];
    let of_cut = summary(&desk, &cut);
    for (run, lacks) in [(&whole, false), (&cut, true), (&invalid, true), (&empty, true)] {
        let output = toll("report", &gates, &[run]);
        assert_exit(&output, if lacks { 3 } else { 0 });
        assert_eq!(text(&output.stdout).contains("<error"), lacks, "{}", said(&output));
        assert_exit(&toll("report", &["--json"], &[run]), if lacks { 3 } else { 0 });
    }
    for (a, b, lacks) in [
        (&whole, &whole, false),
        (&whole, &cut, true),
        (&cut, &whole, true),
        (&whole, &invalid, true),
        (&whole, &of_cut, true),
    ] {
        let output = toll("compare", &ratios, &[a, b]);
        assert_exit(&output, if lacks { 3 } else { 0 });
        assert_eq!(text(&output.stdout).contains("<error"), lacks, "{}", said(&output));
        assert_exit(&toll("compare", &[], &[a, b]), if lacks { 3 } else { 0 });
    }
    // A gate that its figures miss is not met, whatever is lacking; both are named.
    let output = toll("report", &["--gate", "bulk:goodput>=90Gb/s"], &[&cut]);
    assert_exit(&output, 1);
    assert!(text(&output.stderr).contains("; not met: bulk:goodput>=90Gb/s"), "{}", said(&output));
}

#[test]
fn metrics_are_all_that_is_printed() {
    let desk = Desk::new();
    let run = desk.run("a", [1.0; 3]);
    let output = toll("report", &["--openmetrics"], &[&run]);
    assert_exit(&output, 0);
    let text = said(&output);
    assert!(text.starts_with("# TYPE ") && text.ends_with("\n# EOF\n"), "{text}");
    let goodput = text.lines().find(|line| {
        line.starts_with("toll_goodput_bytes_per_second{")
            && line.contains("bulk-0001")
            && line.contains("median")
    });
    let value: f64 = goodput.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!((value - 1.003e9).abs() < 8.0, "{value}");
}

#[test]
fn runs_without_a_common_cell_are_a_wrong_request() {
    let desk = Desk::new();
    let (a, b) = (desk.run("a", [1.0; 3]), desk.run("b", [1.0; 3]));
    let renamed =
        STUDY.replace("\"bulk\"", "\"other\"").replace("\"handshakes\"\nload", "\"more\"\nload");
    write_study(&b, &renamed);
    let output = toll("compare", &[], &[&a, &b]);
    assert_exit(&output, 2);
    assert!(said(&output).contains("no common cell"), "{}", said(&output));
    assert_exit(&toll("compare", &[], &[&a, Path::new("/nowhere")]), 2);
    assert_exit(&toll("compare", &["--metric", "speed"], &[&a, &a]), 2);
}

#[test]
fn a_wrong_gate_is_refused_before_anything_starts() {
    let desk = Desk::new();
    let file = desk.0.path().join("small.toml");
    std::fs::write(&file, STUDY).unwrap();
    let out = desk.0.path().join("out");
    for gate in ["ratio>=1", "hnadshakes:rate>=1/s", "handshakes:goodput>=1b/s", "rate>=1"] {
        let arguments = ["--out", out.to_str().unwrap(), "--gate", gate];
        assert_exit(&toll("run", &arguments, &[&file]), 2);
    }
    // Nor does one start whose trials decide nothing, and a dry run says so too.
    let gate = ["--out", out.to_str().unwrap(), "--trials", "5", "--gate", "rate>=1/s"];
    for arguments in [&gate[..], &[&gate[..], &["--dry-run"]].concat()] {
        let output = toll("run", arguments, &[&file]);
        assert_exit(&output, 2);
        assert!(said(&output).contains("write trials = 6 or more"), "{}", said(&output));
    }
    assert!(!out.exists());
}

#[test]
fn a_run_is_judged_when_it_ends() {
    let desk = Desk::new();
    // All its trials are in the journal: nothing is left to measure, and it ends.
    let run = desk.run("a", [1.0; 3]);
    let judged = |gates: &[&str]| {
        let mut toll = support::toll();
        toll.args(["run", "--quiet", "--continue"]).arg(&run);
        gates.iter().for_each(|gate| {
            toll.args(["--gate", gate]);
        });
        toll.output().unwrap()
    };
    assert_exit(&judged(&["handshakes:rate>=1400/s", "goodput>=5Gb/s"]), 0);
    let output = judged(&["rate>=1/s", "goodput>=7Gb/s"]);
    assert_exit(&output, 1);
    let text = said(&output);
    assert!(text.contains("Gate rate>=1/s "), "{text}");
    assert!(text.contains("1 of 2 cells: 6.02 Gb/s [6.00, 6.04]"), "{text}");
    assert!(text.contains(": goodput>=7Gb/s"), "{text}");
}

#[test]
fn a_report_for_programs_leaves_the_folder_as_it_is() {
    let desk = Desk::new();
    let folder = desk.run("one", [1.0; 3]);
    let contents = || {
        let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap());
        let mut files: Vec<_> = files
            .map(|file| {
                let bytes = std::fs::read(file.path()).unwrap();
                (file.file_name(), bytes, file.metadata().unwrap().modified().unwrap())
            })
            .collect();
        files.sort();
        (files, std::fs::metadata(&folder).unwrap().modified().unwrap())
    };
    let before = contents();
    for option in ["--json", "--openmetrics"] {
        let output = support::toll().arg("report").arg(&folder).arg(option).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{output:?}");
        if option == "--json" {
            let found: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(found["cells"].as_array().is_some_and(|cells| cells.len() == 3), "{found}");
        }
        assert!(contents() == before, "{option} has changed the folder");
    }
    assert!(support::toll().arg("report").arg(&folder).output().unwrap().status.success());
    assert!(contents() != before && folder.join("report.html").exists());
}

/// The summary of a run, in a folder of its own.
fn summary(desk: &Desk, run: &Path) -> PathBuf {
    let folder = desk.0.path().join(format!("summary-{}", run.file_name().unwrap().display()));
    let output = toll("report", &["--summary", folder.to_str().unwrap()], &[run]);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{}", said(&output));
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|of| of.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("{files:?}") };
    assert!(said(&output).contains(file.to_str().unwrap()), "{}", said(&output));
    assert!(!run.join("report.html").exists());
    file.clone()
}
