use std::io;

use crate::Peer;

/// Why a program cannot make a load, in one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The plan contradicts itself, or asks for something that the program cannot do.
    #[error("{0}")]
    Refused(String),
    #[error("{program} is not installed; {install}, or leave --client {client} out")]
    Missing { program: &'static str, install: &'static str, client: Peer },
    #[error("{program} could not be started: {source}")]
    Start { program: String, source: io::Error },
    #[error(
        "{program} prints `{}` and no version; check that it is the program of that name",
        printed.escape_debug()
    )]
    Nameless { program: String, printed: String },
}
