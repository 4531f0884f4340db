//! How the program ends: the class of its end decides the exit code, here and nowhere else.

use std::fmt::Display;
use std::process::ExitCode;

use experiment::{ErrorClass, RunError};
use primitives::bench::BenchError;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    Done = 0,
    /// A gate is not met.
    NotMet = 1,
    /// The request was wrong, or the server cannot be reached before the first trial.
    Refused = 2,
    /// A measurement failed or is not valid.
    Failed = 3,
    /// By the shell's convention: 128 + SIGINT.
    Interrupted = 130,
}

impl Exit {
    pub(crate) fn code(self) -> u8 {
        self as u8
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

impl From<ErrorClass> for Exit {
    fn from(class: ErrorClass) -> Self {
        match class {
            ErrorClass::Absent | ErrorClass::Refused => Self::Refused,
            ErrorClass::Failed => Self::Failed,
        }
    }
}

/// A failure that ends the program: one line for the user, and its class.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) message: String,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl Display) -> Self {
        Self { exit, message: message.to_string() }
    }

    /// A gate is not met.
    pub(crate) fn gate(message: impl Display) -> Self {
        Self::new(Exit::NotMet, message)
    }

    /// The request was wrong, or the server cannot be reached before the first trial.
    pub(crate) fn request(message: impl Display) -> Self {
        Self::new(Exit::Refused, message)
    }

    /// What was begun has failed.
    pub(crate) fn measurement(message: impl Display) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn report(self) -> Exit {
        crate::note(&self.message);
        self.exit
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::new(error.class().into(), error)
    }
}

impl From<BenchError> for Failure {
    /// A measurement that cannot begin is a wrong request; one that panics has failed.
    fn from(error: BenchError) -> Self {
        match error {
            BenchError::Panicked { .. } => Self::measurement(error),
            BenchError::Cpu { .. } | BenchError::Instruments(_) => Self::request(error),
        }
    }
}
