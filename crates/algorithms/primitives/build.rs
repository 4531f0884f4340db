//! Tells the crate the versions of the libraries that it measures, from Cargo.lock.

use std::path::Path;

/// Libraries whose crates do not tell their versions.
const MEASURED: [&str; 4] = ["aes", "aws-lc-rs", "ring", "rustls"];

fn main() {
    let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
    let lock = Path::new(&manifest).join("../../../Cargo.lock");
    println!("cargo::rerun-if-changed={}", lock.display());
    let lock = std::fs::read_to_string(lock).unwrap_or_default();
    for name in MEASURED {
        let version = version(&lock, name).unwrap_or("of unknown version");
        let variable = name.to_uppercase().replace('-', "_");
        println!("cargo::rustc-env=VERSION_OF_{variable}={version}");
    }
}

/// The version of the package of that name; of several, the newest, which is what this crate takes.
fn version<'a>(lock: &'a str, name: &str) -> Option<&'a str> {
    let (_, package) = lock.rsplit_once(&format!("name = \"{name}\"\nversion = \""))?;
    package.split('"').next()
}
