//! Man pages, read by what `man` renders with.

use std::process::Command;

use support::{output_with_input, toll_output};

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
        "toll-watch",
        "toll-bench",
    ] {
        let page = std::fs::read(folder.path().join(format!("{name}.1"))).unwrap();
        // groff is what man renders with.
        let shown =
            output_with_input(Command::new("groff").args(["-man", "-Tutf8", "-ww", "-z"]), &page);
        assert_eq!(String::from_utf8_lossy(&shown.stderr), "", "{name}");
        let shown =
            output_with_input(Command::new("groff").args(["-man", "-Tascii", "-P-bcou"]), &page);
        let shown = String::from_utf8_lossy(&shown.stdout);
        assert!(shown.contains("NAME") && shown.contains("Examples:"), "{name}: {shown}");
    }
    assert_eq!(toll_output(&["man"]).stdout, std::fs::read(folder.path().join("toll.1")).unwrap());
}
