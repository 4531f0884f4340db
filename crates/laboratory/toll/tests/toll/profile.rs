//! A profile that cannot be had.

use std::os::unix::fs::symlink;

use support::{Desk, text, toll, toll_path};

const STUDY: &str = r#"
schema = 1
question = "Where do the cycles go?"
trials = 1
[target]
object = "1MiB"
[load]
connections = 4
warmup = "100ms"
duration = "300ms"
[[case]]
name = "bulk"
sweep."target.server" = ["embedded"]
sweep."load.suite" = ["none", "TLS_AES_128_GCM_SHA256"]
"#;

#[test]
fn without_perf_all_else_is_measured() {
    let desk = Desk::new(STUDY);
    let programs = tempfile::tempdir().unwrap();
    symlink(toll_path(), programs.path().join("toll")).unwrap();
    let output = desk.run(&["--profile"]).env("PATH", programs.path()).output().unwrap();
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{said}{}", text(&output.stderr));
    assert!(said.contains("No profile: ") && said.contains("linux-perf"), "{said}");
    assert!(!said.contains("Where the servers' CPU time goes"), "{said}");
}

#[test]
fn a_quiet_run_says_in_one_line_why_there_is_no_profile() {
    let programs = tempfile::tempdir().unwrap();
    symlink(toll_path(), programs.path().join("toll")).unwrap();
    for silent in ["--quiet", "--json"] {
        let desk = Desk::new(STUDY);
        let mut run = desk.run(&["--profile", silent]);
        let output = run.env("PATH", programs.path()).output().unwrap();
        let (said, complaint) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(output.status.code(), Some(0), "{said}{complaint}");
        let lines: Vec<&str> = complaint.lines().filter(|line| line.contains("profile")).collect();
        assert!(lines.len() == 1 && lines[0].contains("linux-perf"), "{complaint}");
        // It is part of the results: whoever reads them later sees it too.
        let report = toll().arg("report").arg(desk.results()).output().unwrap();
        for report in [text(&report.stdout), desk.file("report.html")] {
            assert!(report.contains("linux-perf"), "{silent}: {report}");
        }
    }
}

#[test]
fn rules_that_cannot_be_read_end_the_run_before_it_begins() {
    let desk = Desk::new(STUDY);
    let rules = desk.path().join("rules.toml");
    for (text_of_rules, expected) in [
        ("[[rule]]\nclass = \"copys\"\n", "copys"),
        ("[[rule]]\nclass = \"copies\"\nfunction = \"(\"\n", "regex"),
        ("[[rule]]\nclas = \"copies\"\n", "clas"),
    ] {
        std::fs::write(&rules, text_of_rules).unwrap();
        let output =
            desk.run(&["--profile", "--profile-rules", rules.to_str().unwrap()]).output().unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(expected) && said.contains("rules.toml"), "{said}");
    }
}
