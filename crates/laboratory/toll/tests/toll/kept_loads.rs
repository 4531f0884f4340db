//! `toll load` as a run: kept, measured several times, compared with an earlier one.

use std::path::Path;
use std::process::{Command, Output};

use journal::Journal;
use serde_json::Value;
use support::{Serve, text, toll};

/// A short load of a server, in a folder, with these options.
fn load(server: &Serve, folder: &Path, options: &[&str]) -> Command {
    let mut command = server.load("bytes/1KiB");
    command.current_dir(folder);
    command.args(["--operation", "handshakes", "-c", "4", "--warmup", "100ms", "-d", "200ms"]);
    command.arg("--quiet").args(options);
    command
}

fn output(mut command: Command) -> Output {
    let output = command.output().unwrap();
    // A machine that others use may spoil a trial; here it counts that it was kept.
    assert!([Some(0), Some(3)].contains(&output.status.code()), "{}", text(&output.stderr));
    output
}

#[test]
fn a_load_that_is_kept_is_a_run_and_a_change_of_the_server_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let before = {
        let server = Serve::pinned(&["--certificate-key", "rsa:2048"]);
        output(load(&server, folder, &["--trials", "6", "--out", "before"]))
    };
    assert!(text(&before.stdout).contains("before/report.html"), "{}", text(&before.stdout));
    for file in ["report.html", "cells.csv", "study.toml", "journal.jsonl"] {
        assert!(folder.join("before").join(file).is_file(), "{file}");
    }

    // As often as the earlier run, although nothing says so.
    let server = Serve::pinned(&["--certificate-key", "ecdsa:p256"]);
    let options = ["--out", "after", "--against", "before", "--gate", "regression<=90%"];
    let after = output(load(&server, folder, &options));
    assert!(text(&after.stdout).contains("Gate regression<=90%"), "{}", text(&after.stdout));
    let lines = |run: &str| Journal::read(&folder.join(run).join("journal.jsonl")).unwrap().trials;
    assert!(lines("before").len() >= 6 && lines("after").len() >= 6);
    // Nobody named the process.
    for trial in lines("after") {
        let process = trial.line.server_process.unwrap().or_why().unwrap();
        assert_eq!(process.pid, server.process.pid());
        assert!(trial.line.cpu_ns.server.is_some());
    }

    // What both have agreed on is compared like settings, and the number of a process is none.
    let mut compare = toll();
    compare.current_dir(folder).args(["compare", "before", "after", "--json"]);
    let compared: Value = serde_json::from_slice(&compare.output().unwrap().stdout).unwrap();
    let differences = compared["differences"].as_array().unwrap();
    let difference = |what: &str| {
        let found = differences.iter().find(|of| of["what"] == what)?;
        Some([found["a"].as_str()?, found["b"].as_str()?])
    };
    assert_eq!(difference("certificate key"), Some(["rsa:2048", "ecdsa:p256"]), "{differences:?}");
    assert_eq!((difference("target.pid"), difference("suite")), (None, None), "{differences:?}");
    assert!(!compared["not_compared"].as_array().unwrap().is_empty());

    // A name that a run has is given to the next one, and nothing is lost.
    let again = output(load(&server, folder, &["--out", "after"]));
    assert!(text(&again.stderr).contains("is kept as after-2"), "{}", text(&again.stderr));
    assert_eq!(lines("after").len(), 1);
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), 3);
}

#[test]
fn a_gate_that_a_slower_server_misses_fails_the_load() {
    let folder = tempfile::tempdir().unwrap();
    let before = Serve::pinned(&["--certificate-key", "ecdsa:p256"]);
    output(load(&before, folder.path(), &["--trials", "7", "--out", "before"]));
    let slower = Serve::pinned(&["--certificate-key", "rsa:4096"]);
    let options = ["--out", "after", "--against", "before", "--gate", "regression<=20%"];
    let output = output_of_any_code(load(&slower, folder.path(), &options));
    let (said, why) = (text(&output.stdout), text(&output.stderr));
    assert!(said.contains("regression<=20%"), "{said}{why}");
    // Unless the machine spoiled a trial, which goes before what gates say.
    assert!([Some(1), Some(3)].contains(&output.status.code()), "{why}");
}

fn output_of_any_code(mut command: Command) -> Output {
    command.output().unwrap()
}

#[test]
fn what_cannot_be_kept_is_refused_before_anything_is_made() {
    let folder = tempfile::tempdir().unwrap();
    let server = Serve::pinned(&[]);
    for (options, about) in [
        (&["--out", "x", "--object", "1KiB 50%, 2KiB 50%"][..], "--object"),
        (&["--out", "x", "--against", "nowhere"], "nowhere"),
        (&["--out", "x", "--gate", "regression<=5%"], "single run"),
        (&["--trials", "3", "--junit", "-"], "no gate"),
    ] {
        let output = load(&server, folder.path(), options).output().unwrap();
        let why = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{options:?}: {why}");
        assert!(why.contains(about) && why.lines().count() == 1, "{options:?}: {why}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{options:?}");
    }
    // A server that is not there leaves nothing either, and gives a name back.
    let mut command = toll();
    command.current_dir(folder.path()).args(["load", "https://127.0.0.9:9/", "--out", "x"]);
    assert_eq!(command.output().unwrap().status.code(), Some(2));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// What `toll load --json` printed is a side of a comparison, beside a folder and beside another one.
#[test]
fn printed_trials_are_compared_with_folders_and_with_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let server = Serve::pinned(&["--certificate-key", "ecdsa:p256"]);
    output(load(&server, folder, &["--trials", "2", "--out", "kept"]));
    let printed: Vec<u8> =
        (0..2).flat_map(|_| output(load(&server, folder, &["--json"])).stdout).collect();
    std::fs::write(folder.join("printed.json"), &printed).unwrap();
    let options = ["--json", "--trials", "2", "--verify", "1/1", "--out", "x"];
    let kept = output(load(&server, folder, &options));
    std::fs::write(folder.join("lines.json"), &kept.stdout).unwrap();

    for [a, b] in
        [["kept", "printed.json"], ["printed.json", "kept"], ["printed.json", "lines.json"]]
    {
        let mut compare = toll();
        compare.current_dir(folder).args(["compare", a, b, "--json"]);
        let compare = compare.output().unwrap();
        let compared: Value = serde_json::from_slice(&compare.stdout).unwrap();
        let metric = &compared["metrics"][0];
        assert_eq!(metric["metric"], "rate-per-server-cpu", "{a} {b}: {compared}");
        let [cell] = &metric["cells"].as_array().unwrap()[..] else { panic!("{compared}") };
        for side in ["a", "b"] {
            let samples = cell[side]["samples"].as_array().map(Vec::len);
            // A busy machine may spoil one.
            assert!(samples >= Some(1), "{compared}");
        }
        let differences = compared["differences"].as_array().unwrap();
        let verify = differences.iter().find(|of| of["what"] == "verify");
        let verify = verify.map(|of| (of["a"].as_str(), of["b"].as_str()));
        // What a receipt says was asked for is compared as the settings of a study are.
        let expected = (b == "lines.json").then_some((Some("1/64"), Some("1/1")));
        assert_eq!(verify, expected, "{differences:?}");
        let unknown = compared["not_compared"].as_array().unwrap();
        assert!(unknown.contains(&"the machine".into()), "{unknown:?}");
    }
    // As often as the printed one was measured.
    let against = output(load(&server, folder, &["--against", "printed.json", "--out", "after"]));
    assert!(text(&against.stdout).contains("B/A"), "{}", text(&against.stdout));
    let after = Journal::read(&folder.join("after/journal.jsonl")).unwrap().trials;
    assert!(after.len() >= 2);

    let half = &printed[..printed.len() - 200];
    for (name, content, words) in [
        ("half.json", half, "is cut off"),
        ("shop.json", b"{\"requests\": 7}", "no trial of toll load --json"),
        ("page.json", b"<html></html>", "not JSON"),
        ("empty.json", b"", "nothing in it"),
    ] {
        std::fs::write(folder.join(name), content).unwrap();
        for [a, b] in [["kept", name], [name, "kept"]] {
            let mut compare = toll();
            let refused = compare.current_dir(folder).args(["compare", a, b]).output().unwrap();
            let why = text(&refused.stderr);
            assert_eq!(refused.status.code(), Some(2), "{why}");
            assert!(why.contains(name) && why.contains(words), "{why}");
            assert_eq!(why.trim_end().lines().count(), 1, "{why}");
        }
    }
}
