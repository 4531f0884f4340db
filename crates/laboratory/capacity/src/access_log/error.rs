//! Why a log cannot be used.

use std::io;
use std::path::PathBuf;

use super::format::LIST;
use super::outcome::Damaged;

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}{reason}", path.display())]
pub struct LogError {
    pub path: PathBuf,
    pub reason: LogErrorReason,
}

/// The same, after the name of the file.
#[derive(Debug, thiserror::Error)]
pub enum LogErrorReason {
    #[error(": {0}")]
    Read(#[from] io::Error),
    #[error(", line {line}: {look}; known are {LIST}; give --log-format for another")]
    Unknown { line: u64, look: &'static str },
    #[error(", line {line}: it is {other}, and other lines are {format}; give a log of one format")]
    Mixed { line: u64, format: &'static str, other: &'static str },
    #[error(
        ", line {}: {}; {damaged} of {lines} lines are no requests in this format ({format}), and at most 1% may be",
        first.line, first.why
    )]
    Damaged { first: Damaged, damaged: u64, lines: u64, format: &'static str },
    #[error(", line {line}: `#Fields:` has no {name}, which is needed")]
    NoColumn { line: u64, name: &'static str },
    #[error(": no request is in it")]
    Empty,
}
