//! Connections that the client ends after a number of requests: handshakes and requests counted apart,
//! with the embedded server and with nginx, as the receipt, the screen and a study show it.

use std::sync::Arc;

use cpus::CpuList;
use journal::{Journal, TrialLine};
use support::{Desk, Serve, text, toll};
use targets::{Objects, Running, Settings, Target};
use tempfile::TempDir;
use trial::TrialRecord;
use units::Bytes;

fn nginx(directives: &str, folder: &TempDir) -> Running {
    let defaults = Settings::new(CpuList::allowed().unwrap());
    let directives = directives.parse().unwrap();
    let target = Target { directives, ..defaults.target };
    let settings = Settings { target, ..defaults };
    let objects = Arc::new(Objects::make(&[Bytes(1024)], folder.path()).unwrap());
    targets::start(targets::by_name("nginx").unwrap(), &settings, &objects, folder.path(), None)
        .unwrap()
}

fn load(url: &str, options: &[&str]) -> TrialRecord {
    let output = toll().args(["load", url, "--json", "--insecure"]).args(options).output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn requests_and_handshakes_are_counted_apart() {
    let server = Serve::pinned(&[]);
    for (scheme, address) in [("https", server.tls), ("http", server.plain)] {
        let url = format!("{scheme}://{address}/bytes/1KiB");
        let line = load(&url, &["-c", "2", "-n", "80", "--requests-per-connection", "8"]);
        assert!(line.valid, "{:?}", line.receipt.mismatch);
        let (asked, obtained) = (&line.receipt.asked, &line.receipt.obtained);
        assert_eq!(asked.requests_per_connection.as_deref(), Some("8"));
        assert_eq!((obtained.requests_per_connection, obtained.closed_early), (Some(8.0), Some(0)));
        // With two connections, the last ones may end with the load.
        let opened = line.connections_opened.unwrap();
        assert!((10..=11).contains(&opened), "{opened}");
        assert_eq!(line.operations.completed, 80);
        if scheme == "https" {
            assert_eq!(obtained.full, Some(opened));
        }
    }
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let options = ["--insecure", "-c", "4", "--warmup", "100ms", "-d", "300ms"];
    let output = toll()
        .args(["load", &url, "--requests-per-connection", "1 50%, 8 50%"])
        .args(options)
        .output()
        .unwrap();
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    let first = shown.lines().next().unwrap();
    assert!(
        first.contains(" requests and ") && first.contains(" handshakes per second"),
        "{shown}"
    );
}

#[test]
fn a_server_that_closes_earlier_than_asked_is_a_mismatch() {
    let folder = tempfile::tempdir().unwrap();
    let server = nginx("keepalive_requests 4", &folder);
    let url = format!("https://{}/bytes/1KiB", server.facts().https);
    let options = ["-c", "2", "-n", "40", "--requests-per-connection"];
    let line = load(&url, &[&options[..], &["8"]].concat());
    assert!(!line.valid);
    let mismatch: Vec<&str> = line.receipt.mismatch.iter().map(|of| of.what.as_str()).collect();
    assert_eq!(mismatch, ["requests_per_connection"]);
    assert!(line.receipt.obtained.closed_early >= Some(8), "{:?}", line.receipt.obtained);
    assert_eq!((line.operations.completed, line.failed()), (40, 0));
    // As many as it allows, and fewer, are what was asked for.
    for count in ["4", "3"] {
        let line = load(&url, &[&options[..], &[count]].concat());
        assert!(line.valid, "{count}: {:?}", line.receipt.mismatch);
    }
}

#[test]
fn a_window_in_which_no_connection_ends_is_a_mismatch() {
    let server = Serve::pinned(&[]);
    let url = format!("https://{}/bytes/1KiB", server.tls);
    let options = ["--requests-per-connection", "1000000", "--arrival", "paced 50ms", "-c", "2"];
    let line = load(&url, &[&options[..], &["--warmup", "0s", "-d", "200ms"]].concat());
    assert!(!line.valid && line.operations.completed > 0);
    assert_eq!(line.receipt.mismatch[0].what, "requests_per_connection");
}

const STUDY: &str = r#"
schema = 1
question = "What does it save to keep connections?"
trials = 2
[target]
object = "1KiB"
[load]
connections = 8
warmup = "50ms"
duration = "300ms"
tls = "1.3"
[[case]]
name = "kept"
sweep."target.server" = ["embedded", "nginx"]
sweep."load.requests-per-connection" = [1, "8", "1 50%, 100 50%"]
[[answer]]
case = "kept"
metric = "rate-per-server-cpu"
compare = "load.requests-per-connection"
baseline = "1"
[[answer]]
case = "kept"
metric = "connection-rate"
compare = "load.requests-per-connection"
baseline = "1"
"#;

#[test]
fn a_study_sweeps_how_many_requests_a_connection_carries() {
    let desk = Desk::new(STUDY);
    let output = desk.undisturbed(desk.run(&["--quiet"]).output().unwrap());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let lines = Journal::read(&desk.journal()).unwrap().trials;
    let valid: Vec<_> = lines.iter().filter(|trial| trial.line.valid).collect();
    assert!(valid.len() >= 12, "{} of {}", valid.len(), lines.len());
    for TrialLine { place, line } in valid {
        let requests = place.params["load.requests-per-connection"].to_string();
        let case = format!("{} {requests}", place.params["target.server"]);
        let (completed, opened) = (line.operations.completed, line.connections_opened.unwrap());
        // Each of the 8 connections may have begun before the window, or end after it.
        let expected = match requests.as_str() {
            "1" => opened.saturating_sub(8)..=opened + 8,
            "8" => 8 * opened.saturating_sub(8)..=8 * (opened + 8),
            _ => 2 * opened.saturating_sub(8)..=100 * (opened + 8),
        };
        assert!(expected.contains(&completed), "{case}: {completed} on {opened}");
    }
}
