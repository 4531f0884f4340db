//! Studies of handshakes with static RSA, and their lines.

use std::path::PathBuf;

use support::{Desk, first_cpu, last_cpu, text, toll_path};
use trial::{AcceleratorUse, TrialRecord};

/// The suite under `[load]`.
pub(crate) const RSA: &str = "suite = \"AES128-SHA\"";

/// A study of full handshakes with this server, and with further lines under `[target]` and `[load]`.
pub(crate) fn study(server: &str, target: &str, load: &str) -> Desk {
    Desk::new(&format!(
        r#"
schema = 1
question = "What does the accelerator do?"
trials = 1
[target]
server = "{server}"
if-missing = "fail"
cpus = "{}"
{target}
[load]
cpus = "{}"
operation = "handshakes"
connections = 64
warmup = "200ms"
duration = "500ms"
{load}
[[case]]
name = "one"
"#,
        first_cpu(),
        last_cpu(),
    ))
}

/// The one trial of a study.
#[track_caller]
pub(crate) fn line(desk: &Desk) -> TrialRecord {
    let output = desk.run(&[]).output().unwrap();
    assert!(desk.results_if_any().is_some(), "{}", text(&output.stderr));
    let journal = std::fs::read_to_string(desk.journal()).unwrap();
    let first = journal.lines().next();
    let first = first.unwrap_or_else(|| panic!("no trial: {}", text(&output.stderr)));
    serde_json::from_str(first).unwrap()
}

/// The one line that refuses a study.
#[track_caller]
pub(crate) fn refusal(desk: &Desk) -> String {
    let output = desk.run(&[]).output().unwrap();
    let said = crate::errors(&output.stderr);
    assert_eq!((output.status.code(), said.trim_end().lines().count()), (Some(2), 1), "{said}");
    said
}

pub(crate) fn used(line: &TrialRecord) -> &AcceleratorUse {
    line.receipt.obtained.accelerator.as_ref().unwrap()
}

/// The shared library that Cargo built for these tests.
pub(crate) fn library() -> PathBuf {
    toll_path().parent().unwrap().join("deps/libtoll_offload.so")
}
