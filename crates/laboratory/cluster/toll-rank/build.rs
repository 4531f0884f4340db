//! Compiles the calls of MPI for `toll-rank` with `mpicc`, which knows where MPI is, and names
//! this build.

use std::path::Path;
use std::process::Command;

fn main() {
    build_identity::emit(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../.."));
    println!("cargo::rerun-if-changed=src/mpi.c");
    cc::Build::new().compiler("mpicc").file("src/mpi.c").compile("toll_mpi");
    let shown = Command::new("mpicc").arg("--showme:link").output();
    let shown = shown.expect("mpicc is needed: apt-get install libopenmpi-dev");
    assert!(shown.status.success(), "mpicc --showme:link: {shown:?}");
    let words = String::from_utf8_lossy(&shown.stdout).into_owned();
    for word in words.split_whitespace() {
        if let Some(folder) = word.strip_prefix("-L") {
            println!("cargo::rustc-link-search=native={folder}");
        } else if let Some(library) = word.strip_prefix("-l") {
            println!("cargo::rustc-link-lib={library}");
        } else if word.starts_with("-Wl,") {
            // Where libmpi is outside the system's folders.
            println!("cargo::rustc-link-arg={word}");
        }
    }
}
