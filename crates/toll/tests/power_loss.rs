//! What of a run is on the disk at each moment, by the system calls that `toll run` makes.

use std::process::Command;

const STUDY: &str = r#"
schema = 1
question = "What survives a power loss?"
trials = 1
[target]
server = "embedded"
object = "16KiB"
[load]
connections = 1
warmup = "50ms"
duration = "100ms"
[[case]]
name = "one"
"#;

#[test]
fn each_file_is_on_the_disk_before_it_has_its_name() {
    let desk = tempfile::tempdir().unwrap();
    let (study, out) = (desk.path().join("study.toml"), desk.path().join("results"));
    let calls = desk.path().join("calls");
    std::fs::write(&study, STUDY).unwrap();
    let mut run = Command::new("strace");
    run.args(["-y", "-s", "4096", "-e", "trace=fsync,rename,renameat,renameat2", "-o"]).arg(&calls);
    run.args([env!("CARGO_BIN_EXE_toll"), "run", "--quiet"]).arg(&study).arg("--out").arg(&out);
    // A trial that a busy machine spoiled is no matter here.
    run.output().unwrap();

    let folder = std::fs::read_dir(&out).unwrap().next().unwrap().unwrap().path();
    let calls = std::fs::read_to_string(calls).unwrap();
    let calls: Vec<&str> = calls.lines().filter(|call| call.ends_with(" = 0")).collect();
    let is_sync_of =
        |call: &str, path: &str| call.starts_with("fsync(") && call.contains(&format!("<{path}>"));
    for name in [
        "study.toml",
        "cells.json",
        "machine.json",
        "targets.json",
        "latency/0.hlog",
        "cells.csv",
        "report.html",
    ] {
        let path = folder.join(name);
        let (parent, path) = (path.parent().unwrap().to_str().unwrap(), path.to_str().unwrap());
        let renamed = calls
            .iter()
            .position(|call| call.starts_with("rename") && call.contains(&format!("\"{path}\"")));
        let renamed = renamed.unwrap_or_else(|| panic!("{path}: {calls:#?}"));
        assert!(is_sync_of(calls[renamed - 1], &format!("{path}.new")), "{path}: {calls:#?}");
        assert!(is_sync_of(calls[renamed + 1], parent), "{path}: {calls:#?}");
    }
}
