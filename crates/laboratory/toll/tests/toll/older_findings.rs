//! What an older build found is still found: journals with the findings that it made of them.

use std::path::Path;
use std::process::Command;

use support::{text, toll};

/// Compares what is found of a journal, after a change of its text, with what was found.
fn compare(journal: &Path, change: impl Fn(&str) -> String) -> std::process::Output {
    let found = toll().args(["report", "--json"]).arg(journal).output().unwrap();
    assert!(found.status.success(), "{}", text(&found.stderr));
    let folder = tempfile::tempdir().unwrap();
    let new = folder.path().join("new.json");
    std::fs::write(&new, change(&text(&found.stdout))).unwrap();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../scripts/compare-findings");
    Command::new(script).arg(journal.join("findings.json")).arg(new).output().unwrap()
}

#[test]
fn nothing_that_was_found_is_lost() {
    let journals = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/toll/journals");
    for (name, figures) in [("algorithms", 40), ("cells", 70), ("bill", 40)] {
        let journal = journals.join(name);
        let output = compare(&journal, str::to_owned);
        let said = text(&output.stdout);
        assert_eq!(output.status.code(), Some(0), "{name}: {said}{}", text(&output.stderr));
        let count: usize = said.split(' ').next().unwrap().parse().unwrap();
        assert!(
            count >= figures && said.contains(" 0 lacking, 0 decided otherwise"),
            "{name}: {said}"
        );
        // A bar that goes is missed.
        let output = compare(&journal, |found| {
            let mut found: serde_json::Value = serde_json::from_str(found).unwrap();
            found["answers"][0]["bars"] = serde_json::json!([]);
            found.to_string()
        });
        assert_eq!(output.status.code(), Some(1), "{name}: {}", text(&output.stdout));
    }
}
