use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cpus::CpuList;
use rustix::process::Signal;

use crate::process::{GuardedProcess, Launch};

/// A running program whose output is its answer, with the unnamed files that take it. They share
/// their offset with the program: read them after its end.
#[derive(Debug)]
pub struct Captured {
    pub process: GuardedProcess,
    pub stdout: File,
    pub stderr: File,
}

/// A file without a name, with this in it, which its owner alone may read, and a path that leads to it while
/// it is open. None is left, however this process ends.
///
/// # Errors
/// The system's.
pub fn unnamed(content: &str) -> io::Result<(PathBuf, File)> {
    let mut file = tempfile::tempfile()?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content.as_bytes())?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((path.into(), file))
}

impl Captured {
    /// Starts it without these variables of this process.
    ///
    /// # Errors
    /// The system's, with the program that it concerns.
    pub fn start(
        program: &Path,
        arguments: Vec<OsString>,
        without: &'static [&'static str],
        cpus: &CpuList,
    ) -> Result<Self, (PathBuf, io::Error)> {
        let file = || {
            let file = tempfile::tempfile()?;
            Ok((file.try_clone()?, file))
        };
        let failed = |error| (program.to_owned(), error);
        let (stdout, its_stdout) = file().map_err(failed)?;
        let (stderr, its_stderr) = file().map_err(failed)?;
        let process = GuardedProcess::start(Launch {
            program: program.to_owned(),
            arguments,
            environment: Vec::new(),
            without,
            cpus,
            stdin: Stdio::null(),
            stdout: its_stdout,
            stderr: its_stderr,
            death_signal: Signal::KILL,
            mounts: None,
            group: None,
            secrets: Vec::new(),
            temporary: None,
        })?;
        Ok(Self { process, stdout, stderr })
    }
}
