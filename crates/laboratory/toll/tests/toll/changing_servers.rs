//! Servers whose processes change while they are measured.

use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use cpus::CpuList;
use rustix::process::{Pid, Signal, kill_process};
use support::{text, toll};
use targets::{Objects, Running, Settings};
use trial::{TrialRecord, WarningKind};
use units::Bytes;

/// A load of two seconds, with what is done to the server in its middle.
fn load(server: &Running, meanwhile: impl FnOnce(Pid)) -> TrialRecord {
    let url = format!("https://{}/bytes/1B", server.facts().https);
    let pid = server.pid().to_string();
    let load = toll()
        .args(["load", &url, "--json", "--insecure", "--server-pid", &pid, "-c", "4"])
        .args(["-d", "2s", "--warmup", "200ms", "--operation", "handshakes"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(1200));
    meanwhile(Pid::from_raw(server.pid().cast_signed()).unwrap());
    let output = load.wait_with_output().unwrap();
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {}{}", text(&output.stdout), text(&output.stderr)))
}

#[test]
fn the_cpu_time_of_a_server_that_is_reloaded_is_that_of_its_old_and_new_processes() {
    let folder = tempfile::tempdir().unwrap();
    let settings = Settings::new(CpuList::allowed().unwrap().first(1));
    let objects = Arc::new(Objects::make(&[Bytes(1)], folder.path()).unwrap());
    let nginx = targets::by_name("nginx").unwrap();
    let server = targets::start(nginx, &settings, &objects, folder.path(), None).unwrap();
    let change = |line: &TrialRecord| {
        line.warnings.iter().find(|of| of.kind == WarningKind::ProcessesChanged).cloned()
    };
    let per_handshake = |line: &TrialRecord| {
        line.cpu_ns.server.expect("it is known") as f64 / line.operations.completed as f64
    };
    let quiet = load(&server, |_| {});
    assert_eq!(change(&quiet), None);
    let reloaded = load(&server, |pid| kill_process(pid, Signal::HUP).unwrap());
    let seen = change(&reloaded).expect("it was reloaded").seen;
    assert!(seen.contains("new one began at"), "{seen}");
    // The new processes alone have half of it.
    let (quiet, reloaded) = (per_handshake(&quiet), per_handshake(&reloaded));
    assert!(reloaded > 0.75 * quiet, "{quiet} ns, reloaded {reloaded} ns");
}
