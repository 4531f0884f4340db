//! Runs a study.
//!
//! - [`run()`] measures the cells that a journal lacks, on a [`Bench`]; [`ThisBench`] is the real one.
//! - [`primitive`] measures the tables that need no server.

mod elsewhere;
mod order;
pub mod primitive;
mod run;
#[cfg(test)]
mod testing;
mod this_bench;
mod warm_up;

pub use run::{Ask, Bench, Ended, Event, RunError, StartError, run};
pub use this_bench::{ThisBench, ThisTarget, commands};
