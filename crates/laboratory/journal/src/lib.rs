//! The result folder of a run and its journal.
//!
//! The [`Journal`] keeps one line for each trial, row of primitives, bound and step that
//! could not be made, on disk before the next
//! is measured. Everything after it can be made again from what is kept here.

mod entries;
mod entry;
mod journal;
mod left_out;
mod params;
pub mod primitive;
mod printed;
mod results;
mod sought;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod whole_file;

pub use entries::Entries;
pub use entry::{Entry, Place, Role, TrialLine};
pub use journal::{Journal, JournalError};
pub use left_out::LeftOutLines;
pub use params::{Param, Params};
pub use printed::{LOAD, PrintedError, printed_trials};
pub use results::{Lock, Results, ResultsError, TargetRecord, Unmeasured};
pub use sought::{ImpossibleStep, Sought};
pub use whole_file::write_whole;
