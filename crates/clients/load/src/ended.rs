//! Operations that have ended on a connection.

use wire::reception::Completed;
use wire::{ErrorKind, Failure};

use crate::recorder::Begun;
use crate::retry::Unanswered;

/// An operation that has ended on a connection.
pub(crate) struct Ended {
    /// Its slot's place among those of the connection.
    pub(crate) place: usize,
    pub(crate) begun: Begun,
    pub(crate) at: u64,
    /// Body bytes that arrived within the window, and the part of them that was opened.
    pub(crate) bytes: (u64, u64),
    /// What was received, if a request was sent.
    pub(crate) result: Result<Option<Completed>, Failure>,
    /// Whether the answer came before all of the request's body was sent.
    pub(crate) is_early: bool,
    /// Where it has no answer and may be asked for again.
    pub(crate) unanswered: Option<Unanswered>,
}

/// What is left to do about an operation that has ended.
pub(crate) struct Over {
    pub(crate) place: usize,
    pub(crate) at: u64,
    /// Where it has failed.
    pub(crate) failed: Option<Box<Failed>>,
}

/// An operation that has failed.
pub(crate) struct Failed {
    pub(crate) begun: Begun,
    pub(crate) failure: Failure,
    /// Where it has no answer and may be asked for again.
    pub(crate) unanswered: Option<Unanswered>,
    /// How many answers its connection has had.
    pub(crate) answers: u64,
}

impl Ended {
    /// One that has failed with its connection or on it, before any of its answer counted.
    pub(crate) fn lost(place: usize, begun: Begun, at: u64, failure: Failure) -> Self {
        let (bytes, result) = ((0, 0), Err(failure));
        Self { place, begun, at, bytes, result, is_early: false, unanswered: None }
    }
}

/// Whether a connection has ended so as a server may end it that keeps it no longer.
pub(crate) fn is_close(failure: &Failure) -> bool {
    matches!(failure.kind, ErrorKind::EarlyClose | ErrorKind::Reset)
}
