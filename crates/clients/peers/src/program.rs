//! The program of a peer: where it is, and which version.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpus::CpuList;
use load::Job;
use targets::Captured;
use units::Nanos;

use crate::report::Report;
use crate::{Peer, PeerError, ab, h2load, s_time, shb, wrk};

/// How long a program may take to print its version.
const VERSION_LIMIT: Duration = Duration::from_secs(5);
/// How much of a program's output is read, from its end.
const MOST_OUTPUT: u64 = 64 << 10;

/// An installed program.
#[derive(Debug, Clone)]
pub(crate) struct Program {
    pub(crate) peer: Peer,
    pub(crate) path: PathBuf,
    /// Its name and version, such as `wrk 4.1.0`.
    pub(crate) name: String,
}

impl Program {
    /// The one in the folders of `PATH`, whose version it prints on these CPUs.
    pub(crate) fn find(peer: Peer, cpus: &CpuList) -> Result<Self, PeerError> {
        let path = find(peer)?;
        let name = format!("{peer} {}", version(peer, &path, cpus)?);
        Ok(Self { peer, path, name })
    }
}

/// Its arguments; wrk reads the script.
pub(crate) fn arguments(
    peer: Peer,
    job: &Job,
    duration: Nanos,
    script: &Path,
) -> Result<Vec<OsString>, PeerError> {
    match peer {
        Peer::Wrk => wrk::arguments(job, duration, script),
        Peer::Ab => ab::arguments(job, duration),
        Peer::H2load => h2load::arguments(job, duration),
        Peer::STime => s_time::arguments(job, duration),
        Peer::Shb => shb::arguments(job, duration),
    }
}

/// Reads its output after its end.
pub(crate) fn read(peer: Peer, text: &str, job: &Job) -> Result<Report, String> {
    match peer {
        Peer::Wrk => wrk::read(text, job),
        Peer::Ab => ab::read(text),
        Peer::H2load => h2load::read(text),
        Peer::STime => s_time::read(text),
        Peer::Shb => shb::read(text, job),
    }
}

/// The program in the folders of `PATH`.
pub fn find(peer: Peer) -> Result<PathBuf, PeerError> {
    let (name, install, _) = peer.program();
    targets::find_in(std::env::var_os("PATH"), name).ok_or(PeerError::Missing {
        program: name,
        install,
        client: peer,
    })
}

/// Starts it on the CPUs of the load.
pub(crate) fn spawn(
    program: &Path,
    arguments: Vec<OsString>,
    cpus: &CpuList,
) -> Result<Captured, PeerError> {
    let failed = |(program, source): (PathBuf, io::Error)| PeerError::Start {
        program: program.display().to_string(),
        source,
    };
    Captured::start(program, arguments, &[], cpus).map_err(failed)
}

/// The end of a program's output. It moves the offset, which the program shares, so the program
/// must have ended.
pub(crate) fn written(file: &File) -> io::Result<String> {
    targets::end_of(file, MOST_OUTPUT)
}

/// The version that the program prints on these CPUs, such as `4.1.0`.
///
/// # Errors
/// It cannot be started, or prints none within 5 s.
pub fn version(peer: Peer, program: &Path, cpus: &CpuList) -> Result<String, PeerError> {
    let (.., Some(option)) = peer.program() else {
        return Ok(shb::version(program).unwrap_or_else(|| "of an unknown version".to_owned()));
    };
    let mut spawned = spawn(program, vec![option.into()], cpus)?;
    spawned.process.wait(VERSION_LIMIT);
    spawned.process.stop();
    let output = written(&spawned.stdout).unwrap_or_default();
    version_in(&output).map(str::to_owned).ok_or_else(|| PeerError::Nameless {
        program: program.display().to_string(),
        printed: output.lines().next().unwrap_or_default().chars().take(200).collect(),
    })
}

/// The first number with a point in it.
fn version_in(output: &str) -> Option<&str> {
    output
        .split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .map(|word| word.trim_matches('.'))
        .find(|word| word.contains('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_found_in_the_programs_output() {
        for (output, version) in [
            ("wrk debian/4.1.0-3+b2 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0"),
            ("This is ApacheBench, Version 2.3 <$Revision$>\nCopyright 1996", "2.3"),
            ("wrk debian/4.1.0-4+b1 [epoll] Copyright (C) 2012 Will Glozer", "4.1.0"),
            ("This is ApacheBench, Version 2.3 <$Revision: 1934973 $>\nCopyright 1996", "2.3"),
            ("h2load nghttp2/1.52.0\n", "1.52.0"),
            ("h2load nghttp2/1.70.0\n", "1.70.0"),
            ("OpenSSL 3.0.22 25 Aug 2026 (Library: OpenSSL 3.0.22 25 Aug 2026)", "3.0.22"),
        ] {
            assert_eq!(version_in(output), Some(version));
        }
        assert_eq!(version_in("usage: 12 of ... things"), None);
    }
}
