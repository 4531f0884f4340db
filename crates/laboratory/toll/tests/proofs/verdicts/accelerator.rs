//! A modelled accelerator of private keys: what it did, what makes the receipt false, and faults.

use std::path::PathBuf;

use journal::TrialLine;
use rustix::process::{Resource, getrlimit};
use support::{Desk, Serve, first_cpu, last_cpu, text, until};
use targets::{AcceleratorCounts, SendCounters};
use trial::{AcceleratorUse, Limit, TrialRecord};

use super::bench::open_files;

/// The suite under `[load]`.
const RSA: &str = "suite = \"AES128-SHA\"";

/// A study of full handshakes with static RSA, with these further lines under `[target]`, `[load]` and
/// the case.
fn study(target: &str, load: &str, case: &str) -> Desk {
    Desk::new(&format!(
        r#"
schema = 1
question = "What does the accelerator do?"
trials = 1
[target]
server = "embedded"
cpus = "{}"
{target}
[load]
cpus = "{}"
operation = "handshakes"
connections = 64
warmup = "200ms"
duration = "1s"
{load}
[[case]]
name = "ways"
{case}
"#,
        first_cpu(),
        last_cpu(),
    ))
}

/// The trials of a study.
fn trials(desk: &Desk) -> Vec<TrialLine> {
    let output = desk.run(&[]).output().unwrap();
    assert!(desk.results_if_any().is_some(), "{}", text(&output.stderr));
    let journal = std::fs::read_to_string(desk.journal()).unwrap();
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The only trial of a study.
fn only(desk: &Desk) -> TrialRecord {
    let [TrialLine { line, .. }] = &trials(desk)[..] else { panic!("not one trial") };
    line.clone()
}

fn used(line: &TrialRecord) -> &AcceleratorUse {
    line.receipt.obtained.accelerator.as_ref().unwrap()
}

#[test]
fn only_an_asynchronous_server_has_several_operations_under_way() {
    for (way, is_asynchronous) in [("asynchronous", true), ("synchronous", false)] {
        let target =
            format!("accelerator = \"model\"\noffload = \"{way}\"\naccelerator-latency = \"5ms\"");
        let line = &only(&study(&target, RSA, ""));
        assert_eq!(line.receipt.mismatch, [], "{line:?}");
        let AcceleratorUse { kind, counts, .. } = used(line);
        assert_eq!((kind.as_str(), counts.timed_out, counts.refused), ("model", 0, 0));
        assert!(counts.completed > 0 && counts.completed == counts.submitted, "{counts:?}");
        assert!(counts.completed as f64 >= 0.99 * line.receipt.obtained.full.unwrap() as f64);
        assert_eq!(counts.in_flight_max > 1, is_asynchronous, "{counts:?}");
        assert!(line.receipt.asked.accelerator.as_ref().unwrap().contains(way));
    }
}

#[test]
fn engines_multiply_what_a_device_that_is_the_limit_completes() {
    let target = "accelerator = \"model\"\naccelerator-rate = \"rsa:2048 50/s\"";
    // One engine completes 100 in the window, so that each connection has its turn.
    let case = "load.connections = 32\nsweep.\"target.accelerator-count\" = [1, 2, 4]";
    for TrialLine { place, line } in &trials(&study(target, RSA, case)) {
        let busy = used(line).busy.unwrap();
        assert_eq!(line.evidence().unwrap().accelerator_busy, Some(busy));
        // Where other work on the machine was the limit, the test is made again.
        assert_eq!(line.limit().unwrap(), Limit::Accelerator, "{line:?}");
        assert!(line.reason().contains("accelerator"));
        let engines = place.params["target.accelerator-count"].count().unwrap() as f64;
        assert!(
            (line.rate_per_s.unwrap() / (50.0 * engines) - 1.0).abs() <= 0.05,
            "{engines}: {line:?}"
        );
    }
}

#[test]
fn a_handshake_that_the_accelerator_did_not_complete_is_a_mismatch() {
    let model = "accelerator = \"model\"";
    let slow =
        "accelerator = \"model\"\naccelerator-rate = \"rsa:2048 10/s\"\naccelerator-queue = 1";
    let fresh = "suite = \"AES128-SHA\"\nkey-exchange = \"fresh\"";
    let ecdhe = "suite = \"ECDHE-RSA-AES128-GCM-SHA256\"";
    for (target, load, which) in
        [(model, fresh, "computed"), (slow, RSA, "refused"), (model, ecdhe, "signed")]
    {
        let line = &only(&study(target, load, ""));
        let said = line.why_invalid().unwrap_or_else(|| panic!("{which}: {line:?}"));
        assert!(said.contains("accelerator: "), "{said}");
        let AcceleratorCounts { completed, computed, refused, .. } = used(line).counts;
        match which {
            "computed" => assert!(computed > 10 && completed < computed, "{line:?}"),
            "refused" => assert!(refused > completed, "{line:?}"),
            _ => assert_eq!((computed, completed, refused), (0, 0, 0), "{line:?}"),
        }
    }
}

/// A server whose device takes so long, and the file of its counts.
fn slow_server(latency: &str) -> (Serve, PathBuf) {
    let folder = tempfile::tempdir().unwrap().keep();
    let counters = folder.join("counters");
    let server = Serve::pinned(&[
        "--suites",
        "AES128-SHA",
        "--accelerator",
        "model",
        "--accelerator-queue",
        "20000",
        "--accelerator-latency",
        latency,
        "--counters",
        counters.to_str().unwrap(),
    ]);
    (server, counters)
}

/// A load of it that goes on until it is ended, once most of its connections are there.
fn begin_load(server: &Serve, connections: usize) -> support::Killed {
    let mut load = server.load("bytes/1B");
    load.args(["--operation", "handshakes", "--suite", "AES128-SHA"]);
    load.args(["--connections", &connections.to_string(), "--duration", "60s", "--json"]);
    let before = open_files(server.process.pid());
    let load = support::Killed::piped(&mut load);
    let most = connections / 10 * 9;
    until("most connections", || open_files(server.process.pid()) >= before + most);
    load
}

/// What a server counted whose handshakes, so many at once, are all over.
fn finished(file: &std::path::Path, at_once: u64) {
    let counts = SendCounters::settled(file).unwrap().accelerator.unwrap();
    assert!(counts.in_flight_max >= at_once, "{counts:?}");
    assert_eq!((counts.submitted, counts.timed_out), (counts.completed, 0), "{counts:?}");
}

#[test]
fn clients_that_leave_during_a_pause_leave_no_job() {
    let (mut server, counters) = slow_server("6s");
    let idle = open_files(server.process.pid());
    // As many as the machine's descriptors allow, with some for other purposes.
    let descriptors = getrlimit(Resource::Nofile).maximum.unwrap_or(u64::MAX) - 200;
    let clients = descriptors.min(3_000);
    drop(begin_load(&server, clients as usize));
    // It may not have had all of its own when it said where it listens.
    until("no connection", || open_files(server.process.pid()) < idle + 10);
    finished(&counters, clients / 4 * 3);
    server.process.send("-INT");
    assert_eq!(server.process.exit_code(), Some(0));
}

#[test]
fn ctrl_c_finishes_the_handshakes_that_are_paused() {
    let (mut server, counters) = slow_server("3s");
    let load = begin_load(&server, 600);
    server.process.send("-INT");
    assert_eq!(server.process.exit_code(), Some(0));
    drop(load);
    finished(&counters, 500);
}
