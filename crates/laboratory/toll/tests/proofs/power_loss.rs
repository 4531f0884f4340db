//! What of a run is on the disk at each moment, by the system calls that `toll run` makes.

use std::process::Command;

use support::Desk;

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
    let desk = Desk::new(STUDY);
    let calls = desk.path().join("calls");
    let mut run = Command::new("strace");
    run.args(["-y", "-s", "4096", "-e", "trace=fsync,rename,renameat,renameat2", "-o"]).arg(&calls);
    let toll = desk.run(&["--quiet"]);
    run.arg(toll.get_program()).args(toll.get_args());
    // A trial that a busy machine spoiled is no matter here.
    run.output().unwrap();

    let folder = desk.results();
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
