//! The identity of a build, found when a program is built.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

/// What programs are built from, in the workspace's folder.
const SOURCES: [&str; 3] = ["Cargo.lock", "Cargo.toml", "crates"];

/// Folders whose files are in no program.
const APART: [&str; 4] = ["tests", "examples", "benches", "fuzz"];

/// Of a build script: sets `TOLL_BUILD` for its program. `root` is the workspace's folder.
///
/// # Panics
///
/// Where the sources cannot be read.
pub fn emit(root: &Path) {
    let build = identity(root).expect("the sources of the workspace are readable");
    println!("cargo::rustc-env=TOLL_BUILD={build}");
    let git = ["HEAD", "logs/HEAD"].map(|name| git(root, &["rev-parse", "--git-path", name]));
    let git = git.into_iter().flatten().map(|path| root.join(path.trim()));
    // Cargo runs the script at each build for a file that does not exist. Files, not folders, so that
    // a changed test compiles no program; a new file changes another one, which names it.
    let files = files(root).expect("the sources of the workspace are readable");
    for path in files.into_iter().chain(git.filter(|path| path.exists())) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

fn identity(root: &Path) -> io::Result<String> {
    let version = env!("CARGO_PKG_VERSION");
    // A tree that was unpacked inside another project's repository is not of its commit.
    let commit = git(root, &["ls-files", "--error-unmatch", "Cargo.toml"])
        .and_then(|_| git(root, &["rev-parse", "--short=12", "HEAD"]));
    let apart = APART.map(|name| format!(":(exclude,glob)**/{name}/**"));
    let changes: Vec<&str> = ["status", "--porcelain", "--untracked-files=all", "--"]
        .into_iter()
        .chain(SOURCES)
        .chain(apart.iter().map(String::as_str))
        .collect();
    Ok(match (commit, git(root, &changes)) {
        (Some(commit), Some(changed)) if changed.is_empty() => {
            format!("{version}+{}", commit.trim())
        }
        (Some(commit), _) => format!("{version}+{}.dirty.{:016x}", commit.trim(), hash(root)?),
        (None, _) => format!("{version}+sources.{:016x}", hash(root)?),
    })
}

/// What git prints, where it succeeds.
fn git(root: &Path, words: &[&str]) -> Option<String> {
    let output = Command::new("git").arg("-C").arg(root).args(words).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// FNV-1a over the names and contents of all sources: the same on each machine and with each compiler.
/// It finds builds that differ by accident; nobody is kept from making two that are equal.
fn hash(root: &Path) -> io::Result<u64> {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for file in files(root)? {
        let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let content = fs::read(&file)?;
        let lengths = [name.len(), content.len()].map(|length| (length as u64).to_le_bytes());
        for byte in lengths.as_flattened().iter().chain(name.as_bytes()).chain(&content) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    Ok(hash)
}

/// All files that programs are built from, in order.
fn files(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for name in SOURCES {
        collect(&root.join(name), &mut files)?;
    }
    files.sort();
    Ok(files)
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_file() {
        files.push(path.to_owned());
    } else if path.is_dir() && !APART.iter().any(|name| path.ends_with(name)) {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), files)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commits_changes_and_plain_folders_have_identities_of_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let write = |text: &str| fs::write(root.join("crates/a.rs"), text).unwrap();
        fs::create_dir(root.join("crates")).unwrap();
        fs::write(root.join("Cargo.toml"), "").unwrap();
        write("1");
        let identity = || identity(root).unwrap();
        let plain = identity();
        assert!(plain.contains("+sources."), "{plain}");
        write("2");
        assert_ne!(identity(), plain);
        let run = |words: &[&str]| assert!(git(root, words).is_some(), "{words:?}");
        let commit = || {
            run(&["add", "."]);
            let user = ["-c", "user.name=a", "-c", "user.email=a@localhost"];
            run(&[&user[..], &["commit", "--quiet", "--message", "a"]].concat());
        };
        run(&["init", "--quiet"]);
        assert!(identity().contains("+sources."));
        commit();
        let first = identity();
        assert!(!first.contains("sources") && !first.contains("dirty"), "{first}");
        fs::write(root.join("notes.md"), "no source").unwrap();
        fs::create_dir(root.join("crates/tests")).unwrap();
        fs::write(root.join("crates/tests/a.rs"), "in no program").unwrap();
        assert_eq!(identity(), first);
        write("3");
        let dirty = identity();
        assert!(dirty.starts_with(&format!("{first}.dirty.")), "{dirty}");
        write("4");
        assert_ne!(identity(), dirty);
        commit();
        assert!(identity() != first && !identity().contains("dirty"));
    }
}
