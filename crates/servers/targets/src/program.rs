//! Programs of servers: where they are, and what they say of themselves.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::TargetError;
use crate::process::wait_or_kill;

/// Folders that hold servers and are often not in a user's `PATH`.
const SYSTEM_FOLDERS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Which file a server is.
#[derive(Debug, Clone, Copy)]
pub enum Binary {
    /// toll itself, or the one that the settings name.
    Toll,
    /// One that every system has, at this path.
    Path(&'static str),
    /// One that is looked for.
    Installed {
        name: &'static str,
        /// The Debian package to install where it is missing.
        package: &'static str,
    },
}

/// The folders of `PATH`, then `/usr/sbin` and `/usr/local/sbin`.
pub(crate) fn usual_folders() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    for folder in SYSTEM_FOLDERS.map(PathBuf::from) {
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    folders
}

impl Binary {
    /// How a person would write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Toll => "toll",
            Self::Path(path) => path,
            Self::Installed { name, .. } => name,
        }
    }
}

/// The program of this name in the first of these folders that has it.
pub(crate) fn find(
    program: &'static str,
    package: &'static str,
    folders: &[PathBuf],
) -> Result<PathBuf, TargetError> {
    let found = folders.iter().map(|folder| folder.join(program)).find(|path| is_program(path));
    found.ok_or(TargetError::Missing { program, package })
}

/// The program of this name in the folders of a `PATH` that depend on no current folder.
pub fn find_in(path: Option<OsString>, program: &str) -> Option<PathBuf> {
    let path = path.unwrap_or_default();
    let folders = std::env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.map(|folder| folder.join(program)).find(|path| is_program(path))
}

/// Whether it is a file that may be run.
pub fn is_program(path: &Path) -> bool {
    rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok() && path.is_file()
}

/// What a refusal quotes of a program's words, where they do not say what toll looks for: the lines that name
/// something like it, or the first one.
pub(crate) fn quoted(said: &str, names: &str) -> String {
    const MOST: usize = 200;
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let named: Vec<&str> = lines().filter(|line| line.contains(names)).take(3).collect();
    let text = if named.is_empty() {
        lines().next().unwrap_or("nothing").into()
    } else {
        named.join(" | ")
    };
    format!("it prints `{}`", text.chars().take(MOST).collect::<String>().escape_debug())
}

/// Runs a command, and returns what it has printed when it ends.
///
/// # Errors
/// The system's; it has not ended within this time, and was killed.
pub fn output_within(command: &mut Command, limit: Duration) -> io::Result<Output> {
    // Files take any length while nobody reads.
    let (mut stdout, mut stderr) = (tempfile::tempfile()?, tempfile::tempfile()?);
    command.stdin(Stdio::null()).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    let mut child = command.spawn()?;
    let late = || io::Error::new(io::ErrorKind::TimedOut, "it does not answer in time");
    let status = wait_or_kill(&mut child, limit).ok_or_else(late)?;
    let content = |file: &mut File| {
        let mut content = Vec::new();
        file.rewind()?;
        file.read_to_end(&mut content)?;
        io::Result::Ok(content)
    };
    Ok(Output { status, stdout: content(&mut stdout)?, stderr: content(&mut stderr)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_may_be_longer_than_a_pipe_holds() {
        let long = ["-c", "head -c 200000 /dev/zero; echo trouble >&2; exit 3"];
        let output = output_within(Command::new("/bin/sh").args(long), Duration::from_secs(30));
        let output = output.unwrap();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(3), 200_000));
        assert_eq!(output.stderr, b"trouble\n");
    }

    #[test]
    fn a_missing_program_says_how_to_install_it() {
        let empty = tempfile::tempdir().unwrap();
        std::fs::write(empty.path().join("nginx"), "not executable").unwrap();
        let folders = [empty.path().to_owned(), "/nowhere".into()];
        let error = find("nginx", "nginx-core", &folders).unwrap_err();
        let TargetError::Missing { program, package } = error else { panic!("{error}") };
        assert_eq!((program, package), ("nginx", "nginx-core"));
    }

    #[test]
    fn a_refusal_quotes_what_was_read() {
        let said = "\nA 1.0\nBuilt with SSL : none\n";
        assert_eq!(quoted(said, "SSL"), "it prints `Built with SSL : none`");
        assert_eq!(quoted(said, "TLS"), "it prints `A 1.0`");
        assert_eq!(quoted("", "TLS"), "it prints `nothing`");
    }

    #[test]
    fn system_folders_are_searched_too() {
        assert!(usual_folders().contains(&PathBuf::from("/usr/sbin")));
    }
}
