//! What is timed, or why it is not.

use crate::check::{Checker, Wrong};
use crate::libraries::library::Library;
use crate::routine::Unavailable;
use crate::sampler::Subject;

/// What a row of the table measures, set up and proven to be right.
pub trait Work: Subject {
    /// Bytes of messages that one run goes through; 0 where algorithms are not measured by bytes.
    fn message_bytes(&self) -> usize;

    /// How many messages one run goes through.
    fn lanes(&self) -> usize {
        1
    }

    /// The library that confirmed the result.
    fn confirmed_by(&self) -> &str;

    /// Whether what the last timed run made is still right.
    fn confirm_again(&mut self, library: &dyn Library, checker: &Checker<'_>) -> Result<(), Wrong>;
}

/// Why there is nothing to be timed.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("{0}")]
    Unavailable(#[from] Unavailable),
    /// The result is wrong, so a figure of it means nothing.
    #[error("no figure: {0}")]
    Wrong(#[from] Wrong),
}
