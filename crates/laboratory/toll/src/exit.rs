//! How the program ends: the class of its end decides the exit code, here and nowhere else.

use std::fmt::Display;
use std::process::ExitCode;

use answer::Shortfall;
use answer::gate::{GateOutcome, Reached};
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

/// What a run lacks.
pub(crate) struct Lacking {
    pub(crate) shortfall: Shortfall,
    /// The same in a line, with the run and what to do.
    pub(crate) words: String,
}

/// Why a gate is not met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Missed {
    /// Something that it judges was not measured.
    Unmeasured,
    /// A figure misses it.
    Measured,
}

impl Missed {
    /// `None` where it is met, or inconclusive.
    pub(crate) fn of(outcome: &GateOutcome) -> Option<Self> {
        let mut missed = outcome.cells.iter().filter(|cell| cell.result == Reached::NotMet);
        let by_figure = missed.any(|cell| cell.figure.is_some());
        let why = if by_figure { Self::Measured } else { Self::Unmeasured };
        (outcome.result == Reached::NotMet).then_some(why)
    }
}

/// What a measurement came to, or two that were compared, as far as the exit code goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ending {
    pub(crate) is_interrupted: bool,
    /// Whether all that was planned was measured.
    pub(crate) is_whole: bool,
    /// Whether all of that is valid.
    pub(crate) is_valid: bool,
    /// The worst of its gates that are not met.
    pub(crate) missed: Option<Missed>,
}

impl Ending {
    /// Of runs that lack this, and of what became of their gates.
    pub(crate) fn new(is_interrupted: bool, lacking: &[Lacking], missed: Option<Missed>) -> Self {
        Self {
            is_interrupted,
            is_whole: lacking.iter().all(|of| of.shortfall.is_whole()),
            is_valid: lacking.iter().all(|of| of.shortfall.is_valid()),
            missed,
        }
    }

    pub(crate) fn exit(self) -> Exit {
        match self {
            Self { is_interrupted: true, .. } => Exit::Interrupted,
            // Decided by valid trials. A gate that is met so far could still be missed by what is missing.
            Self { missed: Some(Missed::Measured), .. } => Exit::NotMet,
            Self { is_whole: false, .. } | Self { is_valid: false, .. } => Exit::Failed,
            Self { missed: Some(Missed::Unmeasured), .. } => Exit::NotMet,
            Self { missed: None, .. } => Exit::Done,
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_or_not_valid_comes_after_a_gate_that_a_figure_misses_and_before_others() {
        let all = [None, Some(Missed::Unmeasured), Some(Missed::Measured)];
        for (is_interrupted, is_whole, is_valid, expected) in [
            (false, true, true, [0, 1, 1]),
            (false, false, true, [3, 3, 1]),
            (false, true, false, [3, 3, 1]),
            (false, false, false, [3, 3, 1]),
            (true, true, true, [130; 3]),
            (true, false, true, [130; 3]),
            (true, true, false, [130; 3]),
            (true, false, false, [130; 3]),
        ] {
            let code = |missed| Ending { is_interrupted, is_whole, is_valid, missed }.exit().code();
            assert_eq!(all.map(code), expected, "{is_interrupted} {is_whole} {is_valid}");
        }
    }
}
