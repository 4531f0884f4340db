//! A server that runs in callgrind.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::{Settings, TargetError, program};

/// How much longer a server takes to start in it, at most.
pub(crate) const SLOWER: u32 = 6;

/// callgrind, with the folder of its dumps and of the pipes on which it takes commands. It goes with the server.
pub(crate) struct Callgrind {
    pub(crate) program: PathBuf,
    pub(crate) folder: TempDir,
}

impl Callgrind {
    /// Where distributions have what it maps into a process.
    pub(crate) const FOLDERS: [&str; 3] =
        ["/usr/libexec/valgrind", "/usr/lib/valgrind", "/usr/lib/x86_64-linux-gnu/valgrind"];

    /// # Errors
    /// valgrind is not installed, or the system has no room for a folder.
    pub(crate) fn prepare(settings: &Settings) -> Result<Self, TargetError> {
        let program = program::find("valgrind", "valgrind", &settings.program_folders)?;
        let folder = tempfile::tempdir().map_err(TargetError::file(&std::env::temp_dir()))?;
        Ok(Self { program, folder })
    }

    /// Its arguments before those of the server. Programs that the server starts run in it too.
    pub(crate) fn arguments(folder: &Path, server: &Path) -> Vec<OsString> {
        let with = |option: &str, name: &str| {
            let mut word = OsString::from(option);
            word.push(folder.join(name));
            word
        };
        let fixed = ["--tool=callgrind", "--quiet", "--trace-children=yes"];
        fixed
            .into_iter()
            .map(OsString::from)
            .chain([with("--callgrind-out-file=", "dump.%p"), with("--vgdb-prefix=", "vgdb")])
            .chain([server.into()])
            .collect()
    }

    /// The time that a server has until it answers.
    pub(crate) fn start_limit(of_server: Duration) -> Duration {
        of_server * SLOWER
    }
}
