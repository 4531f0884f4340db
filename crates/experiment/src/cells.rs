//! Trials of cells: servers started once and idle between trials, the trials of all cells interleaved.
//!
//! [`run()`] measures the cells that a journal lacks, on a [`Bench`]; [`ThisBench`] is the real one.

mod elsewhere;
mod order;
mod run;
mod this_bench;
mod warm_up;

pub use run::{Ask, Bench, Ended, Event, RunError, StartError, run};
pub use this_bench::{ThisBench, ThisTarget, commands};
