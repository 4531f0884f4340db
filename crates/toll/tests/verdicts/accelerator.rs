//! A modelled accelerator of private keys: what it did, what makes the receipt false, and faults.

use std::path::PathBuf;

use support::{Desk, Serve, first_cpu, last_cpu, machine, text, until};
use targets::{AcceleratorCounts, SendCounters};
use trial::{AcceleratorUse, Limit, Line};

use crate::bench::open_files;

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
duration = "2s"
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
fn lines(desk: &Desk) -> Vec<Line> {
    let _machine = machine();
    let output = desk.run(&[]).output().unwrap();
    assert!(desk.results_if_any().is_some(), "{}", text(&output.stderr));
    let journal = std::fs::read_to_string(desk.journal()).unwrap();
    journal.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn used(line: &Line) -> &AcceleratorUse {
    line.receipt.obtained.accelerator.as_ref().unwrap()
}

#[test]
fn only_an_asynchronous_server_has_several_operations_under_way() {
    for (way, is_asynchronous) in [("asynchronous", true), ("synchronous", false)] {
        let target =
            format!("accelerator = \"model\"\noffload = \"{way}\"\naccelerator-latency = \"5ms\"");
        let lines = lines(&study(&target, RSA, ""));
        let line = &lines[0];
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
    for engines in [1, 2, 4] {
        let target = format!(
            "accelerator = \"model\"\naccelerator-rate = \"rsa:2048 20/s\"\n\
             accelerator-count = {engines}"
        );
        let lines = lines(&study(&target, RSA, ""));
        let line = &lines[0];
        let rate = 20.0 * f64::from(engines);
        // What is under way at the window's start completes in it too.
        assert!(line.rate_per_s <= 1.05 * rate + 1.0, "{engines}: {line:?}");
        let busy = used(line).busy.unwrap();
        assert_eq!(line.verdict.evidence.accelerator_busy, Some(busy));
        if line.verdict.limit == Limit::Accelerator {
            assert!(line.rate_per_s >= 0.95 * rate, "{engines}: {line:?}");
            assert!(line.reason().contains("of what its rate allows"));
        } else {
            assert!(busy < 0.95 || line.verdict.limit < Limit::Accelerator, "{line:?}");
        }
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
        let lines = lines(&study(target, load, ""));
        let line = &lines[0];
        let said = line.why_invalid().unwrap_or_else(|| panic!("{which}: {line:?}"));
        assert!(said.contains("accelerator: asked model, asynchronous"), "{said}");
        let AcceleratorCounts { completed, computed, refused, .. } = used(line).counts;
        match which {
            "computed" => assert!(computed > 10 && completed < computed, "{line:?}"),
            "refused" => assert!(refused > completed, "{line:?}"),
            _ => assert_eq!((computed, completed, refused), (0, 0, 0), "{line:?}"),
        }
    }
}

#[test]
fn what_an_accelerator_cannot_do_is_refused_in_a_line() {
    for (target, why) in [
        ("offload = \"inline\"", "uses private keys on the CPU"),
        ("accelerator-count = 2", "uses private keys on the CPU"),
        (
            "accelerator = \"model\"\ncertificate-key = \"rsa:3072\"",
            "has no rate for rsa:3072; add one, such as rsa:3072 40000/s",
        ),
        (
            "accelerator = \"model\"\naccelerator-rate = \"rsa:4096 1/s\"",
            "has no rate for rsa:2048",
        ),
        (
            "accelerator = \"model\"\nlibrary = \"openssl-built\"",
            "the accelerator is one of the system's OpenSSL",
        ),
    ] {
        let desk = study(target, RSA, "sweep.\"load.connections\" = [1, 2]");
        let output = desk.run(&["--dry-run"]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{target}: {said}");
        assert!(said.contains(why) && said.trim_end().lines().count() == 1, "{target}: {said}");
    }
}

/// A server whose device takes its time, and the file of its counts.
fn slow_server() -> (Serve, PathBuf) {
    let folder = tempfile::tempdir().unwrap().keep();
    let counters = folder.join("counters");
    let server = Serve::alone(&[
        "--suites",
        "AES128-SHA",
        "--accelerator",
        "model",
        "--accelerator-latency",
        "300ms",
        "--counters",
        counters.to_str().unwrap(),
    ]);
    (server, counters)
}

/// A load of it that goes on until it is ended, once all its connections are there.
fn begin_load(server: &Serve) -> support::Killed {
    let mut load = server.load("bytes/1B");
    load.args(["--operation", "handshakes", "--suite", "AES128-SHA", "--connections", "200"]);
    load.args(["--duration", "60s", "--json"]);
    let before = open_files(server.process.pid());
    let load = support::Killed::piped(&mut load);
    until("200 connections", || open_files(server.process.pid()) >= before + 200);
    load
}

fn counts(file: &std::path::Path) -> AcceleratorCounts {
    SendCounters::settled(file).unwrap().accelerator.unwrap()
}

#[test]
fn clients_that_leave_during_a_pause_leave_no_job() {
    let (mut server, counters) = slow_server();
    let idle = open_files(server.process.pid());
    drop(begin_load(&server));
    // It may not have had all of its own when it said where it listens.
    until("no connection", || open_files(server.process.pid()) < idle + 10);
    let counts = counts(&counters);
    assert!(counts.submitted > 0, "{counts:?}");
    assert_eq!((counts.submitted, counts.timed_out), (counts.completed, 0), "{counts:?}");
    server.process.send("-INT");
    assert_eq!(server.process.exit_code(), Some(0));
}

#[test]
fn ctrl_c_finishes_the_handshakes_that_are_paused() {
    let (mut server, counters) = slow_server();
    let load = begin_load(&server);
    server.process.send("-INT");
    assert_eq!(server.process.exit_code(), Some(0));
    drop(load);
    let counts = counts(&counters);
    assert!(counts.submitted > 0, "{counts:?}");
    assert_eq!((counts.submitted, counts.timed_out), (counts.completed, 0), "{counts:?}");
}
