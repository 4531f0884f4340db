//! TLS libraries that the server opens: the one that each Debian has, and some that are wrong.

use std::fs;
use std::process::Command;

use support::{text, toll_path};
use tempfile::TempDir;
use tls::Stack;

use crate::opened_libraries::{
    is_here, is_measured, is_measured_with_clients, serves, verifies_clients,
};

#[test]
fn gnutls_serves_other_clients() {
    if is_here(Stack::GnuTls) {
        serves(Stack::GnuTls);
    }
}

#[test]
fn gnutls_is_measured_and_proven() {
    if is_here(Stack::GnuTls) {
        is_measured(Stack::GnuTls);
    }
}

#[test]
fn gnutls_verifies_clients() {
    if is_here(Stack::GnuTls) {
        verifies_clients(Stack::GnuTls);
        is_measured_with_clients(Stack::GnuTls);
    }
}

/// A library in a folder of its own, of this C.
fn library(file: &str, source: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let code = folder.path().join("library.c");
    fs::write(&code, source).unwrap();
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o"]).arg(folder.path().join(file)).arg(&code);
    assert!(compiler.status().unwrap().success());
    folder
}

/// What a run prints of OpenSSL and a library beside each other; with another setting of that one's server.
fn beside_openssl(library: &str, setting: Option<&str>) -> String {
    // Beside no folder `target`.
    let desk = tempfile::tempdir().unwrap();
    let toll = desk.path().join("toll");
    fs::copy(toll_path(), &toll).unwrap();
    let other = setting.map_or_else(String::new, |setting| {
        format!("[[case]]\nname = \"other\"\ntarget.{setting}\n")
    });
    let (first, second) = match setting {
        Some(_) => (String::new(), format!("target.library = \"{library}\"\n")),
        None => {
            (format!("sweep.\"target.library\" = [\"openssl\", \"{library}\"]\n"), String::new())
        }
    };
    let study = format!(
        "schema = 1\nquestion = \"?\"\ntrials = 1\n[target]\nserver = \"embedded\"\n[load]\nconnections = 4\n\
         warmup = \"50ms\"\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n{first}{other}{second}"
    );
    fs::write(desk.path().join("s.toml"), study).unwrap();
    let output = Command::new(&toll)
        .current_dir(&desk)
        .args(["run", "s.toml", "--out", "results"])
        .output()
        .unwrap();
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(output.status.code() != Some(2), "{said}");
    let journal = fs::read_to_string(desk.path().join("results/journal.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 1, "{journal}{said}");
    let skipped: Vec<_> = said.lines().filter(|line| line.starts_with("Skipped: ")).collect();
    let [skipped] = skipped.as_slice() else { panic!("{said}") };
    (*skipped).to_owned()
}

fn in_folder(folder: &TempDir) -> String {
    format!("library-path = \"{}\"", folder.path().display())
}

#[test]
fn a_library_that_is_not_here_is_one_line_and_the_rest_runs() {
    let skipped = beside_openssl("boringssl", None);
    assert!(skipped.contains("no libboringssl.so") && skipped.contains("make stacks"), "{skipped}");
}

#[test]
fn a_library_of_another_version_is_one_line_and_the_rest_runs() {
    let old = "const char *gnutls_check_version(const char *least) { return \"2.12.0\"; }";
    let folder = library("libgnutls.so.30", old);
    let skipped = beside_openssl("gnutls", Some(&in_folder(&folder)));
    assert!(skipped.contains("it has no function gnutls_"), "{skipped}");
}

#[test]
fn a_library_that_ends_the_server_is_one_line_and_the_rest_runs() {
    let source =
        "#include <stdlib.h>\n__attribute__((constructor)) static void end(void) { abort(); }";
    let folder = library("libgnutls.so.30", source);
    let skipped = beside_openssl("gnutls", Some(&in_folder(&folder)));
    assert!(skipped.contains("signal: 6"), "{skipped}");
}

#[test]
fn a_library_that_dies_in_its_first_handshake_is_one_line_and_the_rest_runs() {
    if !is_here(Stack::GnuTls) {
        return;
    }
    // What GnuTLS calls of nettle for X25519.
    let source = "#include <stdlib.h>\nint nettle_curve25519_mul() { abort(); }";
    let folder = library("nettle.so", source);
    let preload = folder.path().join("nettle.so").display().to_string();
    let skipped =
        beside_openssl("gnutls", Some(&format!("environment = [\"LD_PRELOAD={preload}\"]")));
    assert!(skipped.contains("signal: 6"), "{skipped}");
}

#[test]
fn a_folder_without_the_library_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let desk = support::Desk::new(&format!(
        "schema = 1\nquestion = \"?\"\n[target]\nserver = \"embedded\"\nlibrary = \"gnutls\"\nlibrary-path = \"{}\"\n\
         [load]\nduration = \"300ms\"\n[[case]]\nname = \"c\"\n",
        folder.path().display()
    ));
    let output = desk.run(&["--quiet"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("holds no libgnutls.so"), "{}", text(&output.stderr));
}
