use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use cpus::CpuList;
use rustix::process::Signal;

use crate::process::{Launch, Process};

/// A running program whose output is its answer, with the unnamed files that take it. They share
/// their offset with the program: read them after its end.
#[derive(Debug)]
pub struct Captured {
    pub process: Process,
    pub stdout: File,
    pub stderr: File,
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
        let process = Process::start(Launch {
            program: program.to_owned(),
            arguments,
            environment: Vec::new(),
            without,
            cpus,
            stdin: Stdio::null(),
            stdout: its_stdout,
            stderr: its_stderr,
            death_signal: Signal::KILL,
            secrets: Vec::new(),
        })?;
        Ok(Self { process, stdout, stderr })
    }
}
