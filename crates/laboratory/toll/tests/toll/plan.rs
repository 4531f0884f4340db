//! `toll plan`: what it refuses before it loads anything.

use std::io::Write;

use support::{Killed, text, toll};

#[test]
fn what_cannot_be_planned_is_refused_in_a_line() {
    let mut log = tempfile::NamedTempFile::new().unwrap();
    log.write_all(b"{\"status\":200,\"bytes\":5}\n").unwrap();
    let log = log.path().to_str().unwrap();
    for (arguments, about) in [
        (&["--new-connections", "0/s"][..], "no connections"),
        (&["--new-connections", "5/s", "--busy", "0%"], "--busy"),
        (&["--new-connections", "5/s", "--price", "cheap"], "0.043/h"),
        (&["--new-connections", "5/s", "--device", "card, 800, 40000/s"], "--price"),
        (&["--new-connections", "5/s", "--levers", "own"], "[[plan.lever]]"),
        (&["--new-connections", "5/s", "--price", "1/h", "--device", "card"], "40000/s"),
        (&["--goodput", "1Gb/s", "--object", "/index.html"], "--object"),
        (&["--new-connections", "5/s", "--server", "ngnix"], "nginx"),
        (&["--access-log", log], "line 1: JSON without a known name for the time"),
        (
            &["--access-log", log, "--log-format", "$status $bytes_sent"],
            "no time: it needs $time_local",
        ),
        (&["--access-log", log, "--log-format", "%t %>s"], "no bytes of the body: it needs %b"),
        (&["--access-log", log, "--log-format", "combined"], "neither a variable of nginx"),
        (&["--access-log", log, "--log-format", "%t %>s %b"], "line 1: it has another form"),
        (&["--new-connections", "5/s", "--latency", "p99>=5ms"], "p99<=50ms"),
        (&["--new-connections", "5/s", "--open-connections", "0"], "0"),
        (&[log], "TOML"),
        (&[log, "--busy", "50%"], "--busy"),
        (&["--access-log", "/nothing"], "/nothing"),
        (&["--from", "/"], "toll watch --out"),
        (&["--from", "/", "--object", "1KiB"], "--object"),
        (&["--new-connections", "5/s", "--streams", "4"], "--http 2 or --http 3"),
        (
            &["--new-connections", "5/s", "--http", "3", "--open-connections", "5"],
            "has one socket for all of them",
        ),
    ] {
        let output = toll().arg("plan").args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        let said = text(&output.stderr);
        assert!(said.contains(about), "{arguments:?}: {said}");
        assert!(said.lines().count() <= 2 && output.stdout.is_empty(), "{arguments:?}: {said}");
    }
}

#[test]
fn a_format_without_a_log_is_refused() {
    let arguments = ["plan", "--new-connections", "5/s", "--log-format", "%t %>s %b"];
    let output = toll().args(arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--log-format"), "{}", text(&output.stderr));
}

#[test]
fn ctrl_c_ends_the_reading_of_a_log() {
    let (log, mut writer) = std::io::pipe().unwrap();
    let mut plan = toll();
    plan.args(["plan", "--access-log", "/dev/stdin"]).stdin(log);
    let mut process = Killed::start(&mut plan);
    drop(plan);
    let line =
        "192.0.2.1 - - [10/Oct/2026:13:55:36 +0000] \"GET / HTTP/1.1\" 200 5\n".repeat(10_000);
    // More than the pipe holds, so that it is being read.
    for _ in 0..10 {
        writer.write_all(line.as_bytes()).unwrap();
    }
    process.send("-INT");
    while writer.write_all(line.as_bytes()).is_ok() {}
    assert_eq!(process.exit_code(), Some(130));
}

#[test]
fn a_study_that_is_a_plan_is_run_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("traffic.toml");
    let run = |keys: &str, options: &[&str]| {
        std::fs::write(&file, format!("schema = 1\n[plan]\n{keys}\n")).unwrap();
        let output = toll().arg("run").arg(&file).args(options).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    // It is read as a plan, whose traffic is none.
    let (code, said) = run("new-connections = '0/s'", &[]);
    assert!(code == Some(2) && said.contains("no connections"), "{said}");
    let (code, said) = run("new-connections = '5/s'", &["--scale", "quick"]);
    assert!(code == Some(2) && said.contains("--out"), "{said}");
}
