use std::io;

use crate::Peer;

/// Why a program cannot make a load, in one line that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum PeerError {
    /// The plan contradicts itself, or asks for something that the program cannot do.
    #[error("{0}")]
    Refused(String),
    /// The program is not installed.
    #[error(
        "{program} is not installed (looked for it in PATH); install it, e.g. apt-get install \
         {package}, or leave --client {client} out"
    )]
    Missing {
        /// The program's name.
        program: &'static str,
        /// The Debian package that has it.
        package: &'static str,
        /// The name of the client.
        client: Peer,
    },
    /// It could not be started, or its output could not be stored.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program that was to be started.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// It does not print its version.
    #[error("{program} does not print its version; check that it is the program of that name")]
    Nameless {
        /// The program's path.
        program: String,
    },
}
