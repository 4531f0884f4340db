//! Studies that include others, as a user runs them.

use std::path::{Path, PathBuf};
use std::process::Command;

use journal::Journal;
use serde_json::Value;
use support::{Desk, Killed, text, toll, until};

/// Some rounds of an algorithm; one is claimed to be no figure of this century, one to be faster than another.
const FIRST: &str = r#"
schema = 1
question = "What do ciphers cost?"
reference = "xeon-scalable"
[[primitives]]
name = "libraries"
algorithms = ["AES-128-CBC encrypt", "AES-128-GCM"]
libraries = ["openssl"]
sizes = ["1KiB", "8KiB"]
rounds = 6
samples = 3
[[claim]]
published = "generation"
metric = "cycles-per-byte"
of = { primitives = "libraries", algorithm = "AES-128-GCM" }
over = { primitives = "libraries", algorithm = "AES-128-CBC encrypt" }
[[claim]]
published = "generation"
metric = "cycles-per-byte"
of = { primitives = "libraries", algorithm = "AES-128-CBC encrypt" }
over = { primitives = "libraries", algorithm = "AES-128-GCM" }
[scale.quick]
primitives.sizes = ["8KiB"]
"#;

/// With a client that is not installed where [`run`] looks for it.
const ABSENT: &str = r#"
schema = 1
question = "What does a server do?"
reference = "xeon-e5-v3-2014"
trials = 6
[target]
server = "embedded"
[load]
client = "wrk"
tls = "1.3"
duration = "1s"
[[case]]
name = "files"
[[claim]]
published = "nginx-a-core"
metric = "goodput-per-server-cpu"
of = { case = "files" }
[scale.quick]
trials = 6
"#;

const WHOLE: &str = "schema = 1\nquestion = \"Which claims hold?\"\n\
                     include = [\"ciphers.toml\", \"server.toml\", \"more.toml\"]\n[scale.quick]\n";

fn desk() -> Desk {
    let desk = Desk::new(WHOLE);
    let write = |name: &str, text: &str| std::fs::write(desk.path().join(name), text).unwrap();
    write("ciphers.toml", FIRST);
    write("server.toml", ABSENT);
    write("more.toml", FIRST);
    desk
}

/// `toll run` where no other program is installed.
fn run(desk: &Desk, arguments: &[&str]) -> Command {
    let mut command = desk.run(arguments);
    command.env("PATH", "/nonexistent");
    command
}

fn rows(folder: &Path) -> usize {
    Journal::read(&folder.join("journal.jsonl")).map_or(0, |entries| entries.primitives.len())
}

#[test]
fn what_is_absent_is_left_out_and_every_claim_has_its_row() {
    let desk = desk();
    let output = run(&desk, &["--scale", "quick"]).output().unwrap();
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(matches!(output.status.code(), Some(0 | 3)), "{told}");
    assert_eq!(told.matches("server is left out: ").count(), 1, "{told}");
    assert!(told.contains("The whole of it"), "{told}");
    let results = desk.results();
    for study in ["ciphers", "more"] {
        assert_eq!(rows(&results.join(study)), 12, "{told}");
        assert!(results.join(study).join("report.html").exists());
    }
    let page = desk.file("report.html");
    for word in ["not measurable here", "about 8 Gb", "1.18x"] {
        assert!(page.contains(word), "{word}: {page}");
    }
    assert!(told.contains("not measurable here"), "{told}");

    let found = toll().args(["report", "--json"]).arg(&results).output().unwrap();
    let found: Value = serde_json::from_slice(&found.stdout).unwrap();
    let claims = found["studies"][0]["claims"].as_array().unwrap();
    let result = |place: usize| claims[place]["result"].as_str().unwrap();
    // GCM costs less than CBC on any CPU with AES instructions; where others disturb it nothing may be shown.
    assert!(["holds", "not-decided"].contains(&result(0)), "{claims:?}");
    assert!(["differs-less", "not-decided"].contains(&result(1)), "{claims:?}");

    let folder = desk.path().join("summaries");
    let output = toll().arg("report").arg(&results).arg("--summary").arg(&folder).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert_eq!(files.len(), 2, "{files:?}");
    let output =
        toll().arg("compare").arg(&files[0]).arg(results.join("ciphers")).output().unwrap();
    assert!(output.status.success(), "{output:?}");

    for options in [["--gate", "rate>=1/s"], ["--only", "case=files"], ["--cross-check", "wrk"]] {
        let output = desk.run(&options).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
    assert_eq!(
        toll().arg("compare").arg(&results).arg(&results).output().unwrap().status.code(),
        Some(2)
    );
}

#[test]
fn an_interrupted_run_keeps_what_was_measured_and_continues() {
    let desk = desk();
    let mut begun = Killed::piped(&mut run(&desk, &[]));
    let first = || desk.results_if_any().map(|folder| folder.join("ciphers"));
    until("a row is in the journal", || {
        assert!(begun.0.try_wait().unwrap().is_none());
        first().is_some_and(|folder| rows(&folder) > 0)
    });
    begun.send("-INT");
    let output = begun.finish();
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    let told = text(&output.stdout);
    assert!(told.contains("not measured yet") && told.contains("--continue"), "{told}");
    let kept = rows(&first().unwrap());
    assert!((1..24).contains(&kept), "{kept}");

    let mut continued = toll();
    continued.args(["run", "--quiet", "--continue"]).arg(desk.results());
    let output = continued.env("PATH", "/nonexistent").output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    for study in ["ciphers", "more"] {
        assert!(rows(&desk.results().join(study)) >= 24, "{study}");
    }
    assert!(text(&output.stderr).contains("server is left out"), "{output:?}");
}

#[test]
fn what_includes_itself_or_nothing_that_can_be_measured_is_refused() {
    for (include, words) in
        [("[\"small.toml\"]", "includes others itself"), ("[\"absent.toml\"]", "absent.toml")]
    {
        let desk = Desk::new(&format!("schema = 1\nquestion = \"?\"\ninclude = {include}\n"));
        let output = desk.run(&[]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(text(&output.stderr).contains(words), "{output:?}");
        assert!(desk.results_if_any().is_none());
    }
    let desk = desk();
    std::fs::write(
        desk.study(),
        WHOLE.replace("\"ciphers.toml\", \"server.toml\", \"more.toml\"", "\"server.toml\""),
    )
    .unwrap();
    let output = run(&desk, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("nothing of small can be measured here"), "{output:?}");
    let output = desk.run(&["--dry-run"]).output().unwrap();
    assert!(
        output.status.success() && text(&output.stdout).contains("All of it takes"),
        "{output:?}"
    );
}

#[test]
fn an_included_study_that_fails_is_not_left_out() {
    // A server that cannot be reached.
    let desk = desk();
    let unreachable = ABSENT
        .replace("\"embedded\"", "\"address\"\nurl = \"https://127.0.0.1:1/\"")
        .replace("client = \"wrk\"\n", "");
    std::fs::write(desk.path().join("server.toml"), &unreachable).unwrap();
    let output = desk.run(&["--scale", "quick"]).output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3), "{told}");
    assert!(told.contains("toll: server: ") && !told.contains("left out"), "{told}");
    for study in ["ciphers", "more"] {
        assert_eq!(rows(&desk.results().join(study)), 12, "{told}");
    }
    // A report later knows it too.
    let report = toll().arg("report").arg(desk.results()).output().unwrap();
    assert_eq!(report.status.code(), Some(3), "{report:?}");
    // Alone it is the request that is wrong.
    std::fs::write(desk.study(), "schema = 1\nquestion = \"?\"\ninclude = [\"server.toml\"]\n")
        .unwrap();
    let alone = desk.run(&["--out", desk.path().join("alone").to_str().unwrap()]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2), "{alone:?}");
}

#[test]
fn a_study_whose_journal_is_broken_is_named_beside_those_that_are_not() {
    let desk = desk();
    let output = run(&desk, &["--scale", "quick"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let journal = desk.results().join("more/journal.jsonl");
    let lines = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, lines.replacen("\"schema\":1", "\"schema\":99", 1)).unwrap();
    let report = toll().arg("report").arg(desk.results()).output().unwrap();
    let mut continued = toll();
    continued.args(["run", "--continue"]).arg(desk.results()).env("PATH", "/nonexistent");
    for output in [report, continued.output().unwrap()] {
        let (told, error) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(2), "{told}{error}");
        assert!(error.contains("more/journal.jsonl, line 1: schema 99"), "{error}");
        assert!(told.contains("schema 99") && told.contains("Report: "), "{told}");
    }
}

#[test]
fn a_client_that_must_not_be_missing_leaves_its_study_out() {
    let desk = desk();
    let strict = ABSENT.replace("[load]", "if-missing = \"fail\"\n[load]");
    std::fs::write(desk.path().join("server.toml"), strict).unwrap();
    let output = run(&desk, &["--scale", "quick"]).output().unwrap();
    let told = text(&output.stdout) + &text(&output.stderr);
    assert!(told.contains("server is left out: files-0001: "), "{told}");
    for study in ["ciphers", "more"] {
        assert_eq!(rows(&desk.results().join(study)), 12, "{told}");
    }
}

#[test]
fn included_studies_of_another_machine_are_refused() {
    let desk = desk();
    let write = |name: &str, text: &str| std::fs::write(desk.path().join(name), text).unwrap();
    write(
        "small.toml",
        "schema = 1\nquestion = \"?\"\ninclude = [\"ciphers.toml\"]\n[scale.quick]\n",
    );
    let output = desk.run(&["--scale", "quick"]).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{output:?}");
    let file = desk.results().join("ciphers/machine.json");
    let mut machine: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    machine["processor"]["model"] = "another one".into();
    std::fs::write(&file, machine.to_string()).unwrap();
    let output = desk.go_on();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
}
