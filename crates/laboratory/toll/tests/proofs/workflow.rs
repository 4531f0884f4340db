//! The workflow of docs/compare-runs.md through actionlint, which knows GitHub's syntax, expressions and actions.

use std::path::Path;
use std::process::{Command, Output};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../..");

/// What it says of a workflow; the shell's own linters are left out, which a machine may have or not.
fn lint(actionlint: &Path, file: &Path) -> Output {
    let options = ["-no-color", "-shellcheck=", "-pyflakes="];
    Command::new(actionlint).args(options).arg(file).output().unwrap()
}

#[test]
fn the_workflow_of_the_docs_passes_actionlint() {
    let root = Path::new(ROOT);
    let actionlint = root.join("target/actionlint/bin/actionlint");
    if !actionlint.is_file() {
        eprintln!(
            "skipped: actionlint is not here; scripts/needs proofs installs it with Go or from PyPI"
        );
        return;
    }
    let workflow = root.join("docs/ci/compare-builds.yml");
    let output = lint(&actionlint, &workflow);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    // It does find what is wrong.
    let text = std::fs::read_to_string(&workflow).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (right, wrong) in [
        ("github.base_ref", "github.base_reff"),
        ("if: always()", "if: alway()"),
        ("path: gates.xml", "file: gates.xml"),
        ("runs-on:", "run-on:"),
    ] {
        let changed = text.replace(right, wrong);
        assert_ne!(changed, text);
        let file = folder.path().join("changed.yml");
        std::fs::write(&file, changed).unwrap();
        assert!(!lint(&actionlint, &file).status.success(), "{wrong}");
    }
}
