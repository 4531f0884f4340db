//! Completions and man pages, read by the programs that they are for.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use support::toll_output;

/// What a program says of this input.
fn piped(program: &str, arguments: &[&str], input: &[u8]) -> Output {
    let mut process = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    process.stdin.take().unwrap().write_all(input).unwrap();
    process.wait_with_output().unwrap()
}

#[test]
fn bash_completes_commands_and_flags() {
    let script = toll_output(&["completions", "bash"]);
    assert!(script.status.success());
    let ask = |words: &str, index: usize| {
        let question = format!(
            "\nCOMP_WORDS=({words}); COMP_CWORD={index}; _toll toll \"${{COMP_WORDS[$COMP_CWORD]}}\" \
             \"${{COMP_WORDS[$((COMP_CWORD - 1))]}}\"; echo \"${{COMPREPLY[@]}}\"\n"
        );
        let input = [&script.stdout[..], question.as_bytes()].concat();
        String::from_utf8(piped("bash", &["--norc"], &input).stdout).unwrap()
    };
    assert_eq!(ask("toll re", 1).trim(), "report");
    assert_eq!(ask("toll run --dr", 2).trim(), "--dry-run");
}

#[test]
fn every_shell_has_a_script_and_an_unknown_one_is_an_error() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let output = toll_output(&["completions", shell]);
        assert!(output.status.success() && output.stdout.len() > 1_000, "{shell}");
    }
    let output = toll_output(&["completions", "tcsh"]);
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1);
}

#[test]
fn man_reads_every_page_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    assert!(toll_output(&["man", "--out", out]).status.success());
    for name in [
        "toll",
        "toll-run",
        "toll-report",
        "toll-compare",
        "toll-check",
        "toll-load",
        "toll-serve",
        "toll-bench",
    ] {
        let page = std::fs::read(folder.path().join(format!("{name}.1"))).unwrap();
        // groff is what man renders with.
        let shown = piped("groff", &["-man", "-Tutf8", "-ww", "-z"], &page);
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "", "{name}");
        let shown = piped("groff", &["-man", "-Tascii", "-P-bcou"], &page);
        let shown = String::from_utf8_lossy(&shown.stdout);
        assert!(shown.contains("NAME") && shown.contains("Examples:"), "{name}: {shown}");
    }
    assert_eq!(toll_output(&["man"]).stdout, std::fs::read(folder.path().join("toll.1")).unwrap());
}
