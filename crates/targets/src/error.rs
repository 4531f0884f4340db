use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use tls::IdentityError;
use units::Bytes;

/// Why a server could not be started, or no longer runs. Each message is one line.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// The server's program is not installed; a caller may leave the target out.
    #[error(
        "{program} is not installed (looked for {program} in {looked}); \
         install it, e.g. apt-get install {package}, or leave this target out"
    )]
    Missing {
        /// The program's name.
        program: &'static str,
        /// The folders that were searched.
        looked: String,
        /// The Debian package that has it.
        package: &'static str,
    },
    /// The server's program is not built; a caller may leave the target out.
    #[error("{what} is not built (looked for {looked}); run {command}, or leave this target out")]
    NotBuilt {
        /// The program.
        what: &'static str,
        /// The files that it could be.
        looked: String,
        /// What builds it.
        command: &'static str,
    },
    /// The request makes no sense, or cannot be carried out here.
    #[error("{0}")]
    Settings(String),
    /// The server's configuration has no way to write a path.
    #[error(
        "{server}'s configuration cannot hold the path {}; take a folder with UTF-8 names and \
         without {without}",
        path.display()
    )]
    Path {
        /// The server.
        server: &'static str,
        /// The path.
        path: PathBuf,
        /// The characters that it must not have, in words.
        without: &'static str,
    },
    /// The objects do not fit.
    #[error("the objects need {needed}, but {free}; ask for smaller objects or make room")]
    Space {
        /// The size of all objects.
        needed: Bytes,
        /// What is free where, "/dev/shm has 3MiB free and ...".
        free: String,
    },
    /// A file or folder could not be made, written or read.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// Key and certificate could not be made.
    #[error("cannot make the server's key and certificate: {0}")]
    Identity(#[from] IdentityError),
    /// It runs on another TLS library than the one that it was told.
    #[error("{name} does not use the TLS library in {}: {why}", folder.display())]
    Library {
        /// The target's name.
        name: String,
        /// Where the library was to come from.
        folder: PathBuf,
        /// What it runs on instead.
        why: String,
    },
    /// No port of loopback could be had.
    #[error("no free port on 127.0.0.1: {0}")]
    Port(io::Error),
    /// The program could not be started.
    #[error("cannot start {program}: {source}")]
    Spawn {
        /// Its path.
        program: PathBuf,
        /// The system's word.
        source: io::Error,
    },
    /// The server does not take its configuration.
    #[error("{name} refuses its configuration {configuration}: {message}")]
    Configuration {
        /// The target's name.
        name: String,
        /// The file.
        configuration: PathBuf,
        /// The server's word.
        message: String,
    },
    /// A running server does not say what it is asked.
    #[error("{name} does not answer {question}: {why}")]
    Silent {
        /// The target's name.
        name: String,
        /// What it was asked.
        question: String,
        /// What it said instead.
        why: String,
    },
    /// The server's process, or one of its processes, ended by itself.
    #[error("{name} died ({how}); {log}")]
    Died {
        /// The target's name.
        name: String,
        /// Exit status or signal, "exit status: 1".
        how: String,
        /// Its last words, and the file that has more.
        log: String,
    },
    /// The server runs and does not answer as it should.
    #[error("{name} does not serve within {limit_s} s of its start: {why}; {log}")]
    NotReady {
        /// The target's name.
        name: String,
        /// The time that it had, in seconds.
        limit_s: u64,
        /// What its ports said last.
        why: String,
        /// Its last words, and the file that has more.
        log: String,
    },
}

impl TargetError {
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        |source| Self::File { path, source }
    }

    pub(crate) fn path(server: &'static str, path: &Path, without: &'static str) -> Self {
        Self::Path { server, path: path.to_owned(), without }
    }

    pub(crate) fn exited(name: &str, status: ExitStatus, logs: &[PathBuf]) -> Self {
        Self::Died {
            name: name.to_owned(),
            how: status.to_string(),
            log: crate::log::last_words(logs),
        }
    }
}
