//! `toll run --vary`: two values of a key in one run, in turns, and a gate on what the second does.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use support::{Desk, text};

const STUDY: &str = r#"
schema = 1
name = "small"
question = "Which library is cheaper?"
trials = 6
[target]
server = "embedded"
certificate-key = "ecdsa:p256"
[load]
operation = "handshakes"
connections = 2
tls = "1.3"
warmup = "20ms"
duration = "60ms"
[[case]]
name = "keys"
"#;

const VARY: [&str; 2] = ["--vary", "target.library=openssl,rustls-ring"];

#[test]
fn two_values_are_measured_in_turns_and_judged_within_one_run() {
    let desk = Desk::new(STUDY);
    let output = desk.undisturbed(desk.run(&VARY).output().unwrap());
    let said = text(&output.stdout);
    assert!(output.status.success(), "{}\n{said}", text(&output.stderr));
    assert!(said.contains("OpenSSL") && said.contains("rustls on ring"), "{said}");

    // What is kept says it: the study's text, its cells, and what is measured when it is continued.
    let kept = desk.file("study.toml");
    let sweep = "[[vary]] # --vary\n\"target.library\" = [\"openssl\", \"rustls-ring\"]\n";
    assert!(kept.contains(sweep), "{kept}");
    let cells: Value = serde_json::from_str(&desk.file("cells.json")).unwrap();
    let cells = cells["cells"].as_array().unwrap().iter();
    let values: Vec<&Value> = cells.map(|cell| &cell["params"]["target.library"]).collect();
    assert_eq!(values, ["openssl", "rustls-ring"]);
    // Each round has both, one after the other.
    let trials: Vec<Value> = desk.lines();
    let first: Vec<_> = trials.iter().filter(|trial| trial["order"].as_u64() < Some(12)).collect();
    assert_eq!(first.len(), 12);
    for pair in first.chunks(2) {
        assert_eq!(pair[0]["round"], pair[1]["round"]);
        assert_ne!(pair[0]["cell"], pair[1]["cell"]);
    }

    // A gate on the key judges the second over the first, of the run as of its report.
    let judged = |command: &[&str], gate: &str| {
        let mut toll = support::toll();
        toll.args(command).arg(desk.results()).args(["--gate", gate]);
        let output = toll.output().unwrap();
        (output.status.code().unwrap(), text(&output.stdout))
    };
    for command in [&["report"][..], &["run", "--continue"]] {
        let (code, said) = judged(command, "target.library:ratio>=0.001");
        assert_eq!(code, 0, "{said}");
        assert!(said.contains("Gate target.library:ratio>=0.001 met by 1 cell"), "{said}");
        let (code, said) = judged(command, "target.library:ratio>=500");
        assert_eq!(code, 1, "{said}");
        assert!(said.contains("Gate target.library:ratio>=500 NOT met by 1 of 1 cell"), "{said}");
        assert_eq!(judged(command, "regression<=5%").0, 2);
    }
}

/// An nginx that calls itself this version, whose configuration all later ones read.
fn build(folder: &Path, version: &str) -> String {
    let nginx = targets::by_name("nginx").unwrap();
    let real = nginx.find(&targets::Settings::new(support::first_cpu())).expect("nginx");
    std::fs::create_dir(folder).unwrap();
    let (real, program) = (real.display(), folder.join("nginx"));
    let script = format!(
        "#!/bin/sh\n[ \"$1\" != -V ] || exec sh -c '{real} -V 2>&1 | sed s,nginx/[0-9.]*,nginx/{version}, >&2'\nexec {real} \"$@\"\n"
    );
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, Permissions::from_mode(0o755)).unwrap();
    program.display().to_string()
}

#[test]
fn two_builds_of_a_server_are_measured_in_one_run() {
    let desk =
        Desk::new(&STUDY.replace("\"embedded\"", "\"nginx\"").replace("trials = 6", "trials = 1"));
    let [old, new] = ["1.22.7", "1.22.8"].map(|version| build(&desk.path().join(version), version));
    let vary = format!("target.program={old},{new}");
    let plan = text(&desk.run(&["--vary", &vary, "--dry-run"]).output().unwrap().stdout);
    assert!(plan.contains(&format!("{old} -")) && plan.contains(&format!("{new} -")), "{plan}");
    desk.undisturbed(desk.run(&["--vary", &vary]).output().unwrap());
    let targets: Value = serde_json::from_str(&desk.file("targets.json")).unwrap();
    let started = |program: &str, version: &str| {
        targets.as_array().unwrap().iter().any(|target| {
            let has = |key: &str, words: &str| target[key].as_str().unwrap().contains(words);
            has("settings", program) && has("version", version)
        })
    };
    assert!(started(&old, "nginx/1.22.7") && started(&new, "nginx/1.22.8"), "{targets}");
    // A file that is no program is refused, though a server that is not installed would be skipped.
    let vary = format!("target.program={old},/nowhere/nginx");
    let output = desk.run(&["--vary", &vary]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("/nowhere/nginx is no program"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_wrong_key_is_refused_before_anything_starts() {
    let desk = Desk::new(STUDY);
    for (vary, words) in [
        ("target.librar=openssl,rustls-ring", "did you mean target.library?"),
        ("target.library=openssl", "it takes two values or more"),
    ] {
        let output = desk.run(&["--vary", vary]).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
    // Nor is a gate that judges no such key.
    let output =
        desk.run(&["--vary", VARY[1], "--gate", "load.suite:regression<=5%"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("(target.library)"), "{}", text(&output.stderr));
    assert!(desk.results_if_any().is_none());
}
