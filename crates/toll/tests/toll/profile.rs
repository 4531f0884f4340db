//! A profile that cannot be had.

use std::os::unix::fs::symlink;

use support::{Desk, text, toll_path};

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
    assert!(!said.contains("Where does the servers' CPU time go?"), "{said}");
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
