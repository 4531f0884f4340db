//! What `make install` puts under a prefix, as its user finds it.

use std::path::Path;
use std::process::Command;

use support::{run, text, toll_path};

#[test]
fn the_program_its_completions_and_its_man_pages_are_installed_under_a_prefix() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    // As make calls it; the program is that of the tests, whichever profile it has.
    let program = format!("PROGRAM={}", toll_path().display());
    let provider = toll_path().parent().unwrap().join("deps/libtoll_offload.so");
    let provider = format!("PROVIDER={}", provider.display());
    let destination = format!("DESTDIR={}", folder.path().display());
    let make = ["--silent", "install", &program, &provider, &destination, "PREFIX=/opt/toll"];
    run(Command::new("make").arg("--directory").arg(&root).args(make));
    let prefix = folder.path().join("opt/toll");
    let version = run(Command::new(prefix.join("bin/toll")).arg("--version"));
    assert_eq!(version, format!("toll {}\n", env!("TOLL_BUILD")));
    assert!(prefix.join("lib/toll/libtoll_offload.so").is_file());
    // Where it was built.
    let ranks = [toll_path().with_file_name("toll-rank"), prefix.join("bin/toll-rank")];
    assert_eq!(ranks[0].is_file(), ranks[1].is_file(), "{ranks:?}");
    let commands = ["", "-run", "-load", "-serve", "-report", "-compare", "-check", "-bench"];
    let pages = commands.map(|command| format!("man/man1/toll{command}.1"));
    let completions = [
        ("bash-completion/completions/toll", "_toll"),
        ("zsh/site-functions/_toll", "#compdef toll"),
        ("fish/vendor_completions.d/toll.fish", "complete -c toll"),
    ];
    let pages = pages.iter().map(|page| (page.as_str(), ".TH toll"));
    for (file, contains) in pages.chain(completions) {
        let path = prefix.join("share").join(file);
        let content = std::fs::read(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
        assert!(text(&content).contains(contains), "{file}");
    }
}

#[test]
fn what_is_not_built_is_not_installed() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/install");
    let folder = tempfile::tempdir().unwrap();
    let missing = ["/nowhere/toll", "/nowhere/libtoll_offload.so"];
    let output = Command::new(script).args(missing).arg(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("build it first"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
