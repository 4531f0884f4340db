//! Why a log cannot be used.

use std::io;
use std::path::PathBuf;

use super::format::LIST;
use super::outcome::{Damaged, LeftOut};

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
    #[error(
        ": read as {format}, its responses have no bytes, or a dash before a number in place of their size, so its \
         format is another one; give --log-format, which says where the size is; known are {LIST}"
    )]
    NoSizes { format: &'static str },
    #[error(
        ": none of its requests was over TLS ({} of plain HTTP and {} that became WebSockets or tunnels); give the log \
         of the server that ends TLS, or, to plan as though all were TLS, a --log-format that leaves out the scheme, \
         the version of TLS and the cipher",
        .0.plain, .0.upgraded
    )]
    NoTls(LeftOut),
    #[error(": no request is in it")]
    Empty,
}
