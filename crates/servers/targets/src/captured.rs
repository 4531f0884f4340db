use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

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

/// Why toll stopped waiting for a program that still ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotEnded {
    Interrupted,
    TooLong,
}

/// Between two looks whether it has ended.
const POLL: Duration = Duration::from_millis(50);

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

    /// Waits for its end, for at most `limit`, and calls `report` with the time that is over. One that has not ended
    /// ends when this value is dropped.
    ///
    /// # Errors
    /// `interrupt` was set, or it takes longer.
    pub fn ended(
        &mut self,
        limit: Duration,
        interrupt: &AtomicBool,
        report: &mut dyn FnMut(Duration),
    ) -> Result<ExitStatus, NotEnded> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.process.exited() {
                return Ok(status);
            }
            if interrupt.load(Ordering::Relaxed) {
                return Err(NotEnded::Interrupted);
            }
            if began.elapsed() > limit {
                return Err(NotEnded::TooLong);
            }
            report(began.elapsed());
            std::thread::sleep(POLL);
        }
    }

    /// All that it has written to its standard output and its standard error; it has to have ended.
    ///
    /// # Errors
    /// The system's.
    pub fn written(self) -> io::Result<[String; 2]> {
        let read = |mut file: File| {
            let mut bytes = Vec::new();
            file.rewind()?;
            file.read_to_end(&mut bytes)?;
            io::Result::Ok(String::from_utf8_lossy(&bytes).into_owned())
        };
        Ok([read(self.stdout)?, read(self.stderr)?])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(command: &str) -> Captured {
        let cpu = CpuList::allowed().unwrap().first(1);
        let arguments = ["-c", command].map(OsString::from).to_vec();
        Captured::start(Path::new("sh"), arguments, &[], &cpu).unwrap()
    }

    #[test]
    fn what_runs_for_too_long_is_not_called_interrupted() {
        let why = |is_interrupted: bool, limit: Duration| {
            let mut program = started("exec sleep 600");
            program.ended(limit, &AtomicBool::new(is_interrupted), &mut |_| ()).unwrap_err()
        };
        assert_eq!(why(false, Duration::ZERO), NotEnded::TooLong);
        assert_eq!(why(true, Duration::from_secs(60)), NotEnded::Interrupted);
    }

    #[test]
    fn all_that_a_program_wrote_is_read_when_it_has_ended() {
        let mut program = started("echo one; echo two >&2; exit 3");
        let limit = Duration::from_secs(60);
        let status = program.ended(limit, &AtomicBool::new(false), &mut |_| ()).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(program.written().unwrap(), ["one\n", "two\n"]);
    }
}
