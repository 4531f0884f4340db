//! `toll run --cross-check` as a user runs it: the embedded server, toll's client, wrk and s_time.

use journal::{Param, TrialLine};
use serde_json::Value;
use support::{Desk, text, toll};

/// Three cells, a trial each.
const STUDY: &str = r#"
schema = 1
question = "Does wrk find what toll finds?"
trials = 1
[target]
server = "embedded"
object = "1KiB"
[load]
connections = 2
warmup = "50ms"
duration = "300ms"
[[case]]
name = "keys"
load.operation = "handshakes"
load.tls = "1.3"
[[case]]
name = "bulk"
sweep."load.suite" = ["none", "TLS_AES_128_GCM_SHA256"]
[[answer]]
case = "bulk"
metric = "rate"
compare = "load.suite"
baseline = "none"
"#;

#[test]
fn each_cell_is_made_by_both_and_held_against_each_other() {
    // An answer about handshakes too, so that s_time has something to check.
    let keys = "[[answer]]\ncase = \"keys\"\nmetric = \"rate\"\ncompare = \"load.tls\"\n\
                baseline = \"1.3\"\n";
    let study = STUDY.replace("load.tls = \"1.3\"", "sweep.\"load.tls\" = [\"1.3\"]") + keys;
    let desk = Desk::new(&study);
    let output = desk.run(&["--json", "--cross-check", "wrk"]).output().unwrap();
    let (said, complaint) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{said}{complaint}");
    let (checks, lines): (Vec<Value>, Vec<Value>) = said
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .partition(|value: &Value| value.get("cross_check").is_some());

    let lines: Vec<TrialLine> =
        lines.into_iter().map(|line| serde_json::from_value(line).unwrap()).collect();
    assert_eq!(lines.len(), 9, "three cells, and a pair for each");
    for TrialLine { place, line } in &lines {
        assert!(line.valid && line.operations.completed > 0, "{}", place.cell);
        let by = line.receipt.obtained.client.as_deref().unwrap_or("toll");
        let asked = place.params.get("load.client").map_or("toll".to_owned(), Param::to_string);
        assert!(by.starts_with(&asked), "{}: {by}, asked {asked}", place.cell);
        let is_told = line
            .warnings
            .iter()
            .any(|warning| serde_json::to_value(warning.kind).unwrap() == "peer-client");
        assert_eq!(is_told, asked != "toll", "{}: its counts are its own word", place.cell);
        if let Some(Param::Suite(suite)) = place.params.get("load.suite") {
            assert_eq!(line.receipt.asked.suite, Some(suite.to_string()));
        }
    }
    let cells: Vec<&str> = lines.iter().map(|line| line.place.cell.as_str()).collect();
    for cell in ["bulk-0001-wrk-0002", "bulk-0002-wrk-0002", "keys-0001-s-time-0002"] {
        assert!(cells.contains(&cell), "{cells:?}");
    }

    assert_eq!(checks.len(), 3);
    for check in checks.iter().map(|check| &check["cross_check"]) {
        assert!(check["rate_ratio"]["median"].as_f64().unwrap() > 0.0, "{check}");
        assert!(check["server_cpu_ratio"]["median"].as_f64().unwrap() > 0.0, "{check}");
        for limits in ["limits", "other_limits"] {
            let counts = check[limits].as_object().unwrap().values();
            assert_eq!(counts.map(|count| count.as_u64().unwrap()).sum::<u64>(), 1, "{check}");
        }
        // One pair of trials has no interval, so it proves nothing whatever it gave.
        let agreement = check["agreement"].as_str().unwrap();
        assert!(["undecided", "not-comparable"].contains(&agreement), "{check}");
    }

    assert!(desk.file("report.html").contains("other clients"));
    let report = support::run(toll().arg("report").arg(desk.results()));
    assert!(report.contains("other clients") && report.contains("wrk"), "{report}");
}

#[test]
fn a_dry_run_tells_who_makes_which_load_and_what_is_not_checked() {
    let study = STUDY.replace("[[answer]]", "load.arrival = \"poisson 50/s\"\n[[answer]]");
    let open = Desk::new(&study);
    let output = open.run(&["--dry-run", "--cross-check", "wrk"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    let complaint = text(&output.stderr);
    let why = "wrk can check no cell of this study: bulk-0001: wrk asks again as soon as";
    assert!(complaint.contains(why), "{complaint}");

    let desk = Desk::new(STUDY);
    let output = desk.run(&["--dry-run", "--cross-check", "h2load"]).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(said.contains("bulk-0002-h2load-0002") && said.contains("1s by h2load"), "{said}");
    assert!(desk.results_if_any().is_none());

    let output = desk.run(&["--cross-check", "siege"]).output().unwrap();
    let complaint = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("wrk, ab, h2load, s_time, shb"), "{complaint}");
}

#[test]
fn a_client_that_is_not_installed_is_left_out_but_not_one_that_was_asked_for() {
    let empty = tempfile::tempdir().unwrap();
    let desk = Desk::new(STUDY);
    let run = |arguments: &[&str], desk: &Desk| {
        let output = desk.run(arguments).env("PATH", empty.path()).output().unwrap();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (code, _, complaint) = run(&["--cross-check", "wrk"], &desk);
    assert!(code == Some(2) && complaint.contains("wrk"), "{complaint}");
    assert!(desk.results_if_any().is_none());

    let both = "sweep.\"load.client\" = [\"toll\", \"wrk\"]";
    let study = STUDY
        .replace("300ms", "1s")
        .replace("50ms", "0s")
        .replace("sweep.\"load.suite\" = [\"none\", \"TLS_AES_128_GCM_SHA256\"]", both)
        .replace("\"load.suite\"\nbaseline = \"none\"", "\"load.client\"\nbaseline = \"toll\"");
    let (code, said, complaint) = run(&[], &Desk::new(&study));
    assert_eq!(code, Some(0), "{said}{complaint}");
    let said = (complaint + &said).split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["Skipped: wrk is not installed", "wrk: not installed; apt-get install wrk"] {
        assert!(said.contains(part), "{part}: {said}");
    }
}
