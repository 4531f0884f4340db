//! Counts of instructions with real servers in callgrind: of nginx and the embedded server, and made false
//! from outside.

use std::process::Command;
use std::time::Duration;

use journal::{Journal, TrialLine};
use support::{Desk, Killed, Serve, first_cpu, peer, text, toll, toll_path, until};
use trial::TrialRecord;

/// One cell for each server, one trial each.
const STUDY: &str = r#"
schema = 1
question = "Are instructions counted?"
trials = 1
[target]
certificate-key = "ecdsa:p256"
object = "1KiB"
session-cache = false
[load]
count = "instructions"
connections = 1
tls = "1.3"
[[case]]
name = "handshakes"
load.operation = "handshakes"
sweep."target.server" = ["embedded", "nginx"]
"#;

/// Figures of one server in two processes differ by less; 0.5% is what gates are for.
const TOLERANCE: f64 = 0.005;

fn trials(desk: &Desk) -> Vec<TrialLine> {
    Journal::read(&desk.journal()).unwrap().trials
}

fn per_operation(of: &TrialLine) -> f64 {
    assert_eq!(of.line.why_invalid(), None);
    of.line.counted.as_ref().unwrap().per_operation
}

#[test]
fn two_runs_count_the_same_instructions_and_no_rate() {
    let run = || {
        let desk = Desk::new(STUDY);
        let output = desk.run(&[]).output().unwrap();
        assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
        let mut trials = trials(&desk);
        trials.sort_by(|a, b| a.place.cell.cmp(&b.place.cell));
        trials
    };
    let (first, second) = (run(), run());
    assert_eq!((first.len(), second.len()), (2, 2));
    for (one, other) in first.iter().zip(&second) {
        let both = [one, other].map(per_operation);
        assert!((both[0] / both[1] - 1.0).abs() < TOLERANCE, "{both:?}");
        // A handshake with P-256 in OpenSSL; what would be a single system call, or all of a start, is neither.
        assert!(both.iter().all(|each| (5e5..2e7).contains(each)), "{both:?}");
        let line = &one.line;
        let counted = line.counted.as_ref().unwrap();
        assert!(counted.source.starts_with("callgrind 3."), "{}", counted.source);
        assert!((line.rate_per_s, line.goodput_bps) == (None, None) && line.verdict.is_none());
        assert!(line.latency_ns.whole.p50.is_none() && line.cpu_ns.server.is_none());
        assert_eq!(line.receipt.obtained.resumed, Some(0));
    }
}

/// `toll serve` in callgrind, and the folder of what that writes.
fn in_callgrind(further: &[&str]) -> (Serve, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let mut callgrind = peer("valgrind");
    callgrind.args(["--tool=callgrind", "--quiet"]);
    callgrind.arg(format!("--callgrind-out-file={}/dump.%p", folder.path().display()));
    callgrind.arg(toll_path());
    let cpu = first_cpu().to_string();
    let options = [&["--cpus", &cpu][..], further].concat();
    (Serve::start_by(callgrind, "127.0.0.1", &options), folder)
}

fn count(server: &Serve, options: &[&str]) -> Command {
    let mut load = toll();
    load.args(["load", &format!("https://{}/bytes/1KiB", server.tls), "--insecure", "-c", "1"]);
    load.args(["--json", "--quiet", "--count", "instructions", "--server-pid", &server.pid()]);
    load.args(options);
    load
}

#[test]
fn a_server_of_ones_own_is_counted_and_another_suite_is_refused() {
    let (server, _folder) = in_callgrind(&["--suites", "TLS_AES_256_GCM_SHA384", "--tls", "1.3"]);
    let output = count(&server, &[]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let line: TrialRecord = serde_json::from_slice(&output.stdout).unwrap();
    let counted = line.counted.unwrap();
    assert!(counted.per_kib.unwrap() > 1e3 && counted.body_bytes == 1024 * counted.operations);
    let suite = ["--suite", "TLS_AES_128_GCM_SHA256"];
    let output = count(&server, &suite).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
}

#[test]
fn a_server_that_is_killed_makes_the_count_invalid() {
    let (server, _folder) = in_callgrind(&[]);
    let operation = ["--operation", "handshakes"];
    let mut load = Killed::piped(&mut count(&server, &operation));
    std::thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_raw(server.pid().parse().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    until("the count has ended", || load.0.try_wait().unwrap().is_some());
    let status = load.0.wait().unwrap();
    assert!(matches!(status.code(), Some(2 | 3)), "{status}");
}

#[test]
fn a_server_outside_of_callgrind_is_refused_with_what_to_do() {
    let server = Serve::start(&[]);
    let output = count(&server, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("valgrind --tool=callgrind"), "{}", text(&output.stderr));
}

/// Not a test: what the processor that it runs on has, by name.
#[test]
#[ignore = "started by the test below, in valgrind"]
fn helper_that_names_instructions() {
    println!("lacking: {:?}", instructions::lacking_in_valgrind());
}

#[test]
fn valgrinds_processor_has_none_of_what_is_named() {
    let mut valgrind = peer("valgrind");
    valgrind.args(["--tool=none", "--quiet"]).arg(std::env::current_exe().unwrap());
    valgrind.args([
        "--exact",
        "counts::helper_that_names_instructions",
        "--ignored",
        "--nocapture",
    ]);
    let output = valgrind.output().unwrap();
    let shown = text(&output.stdout);
    // Asked there, none of those that are looked for is found.
    assert!(shown.contains("lacking: Some([])") || shown.contains("lacking: None"), "{shown}");
}
