//! What is timed.

use crate::check::Checker;
use crate::libraries::library::Library;
use crate::routine::Failed;
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
    fn confirm_again(&mut self, library: &dyn Library, checker: &Checker<'_>)
    -> Result<(), Failed>;
}
