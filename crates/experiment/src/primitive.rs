//! Measures the part of a study that needs no server: what algorithms cost.
//!
//! - [`run()`] measures the tables in rounds, each part by a [`Meter`]; [`Child`] is the real one.

mod child;
mod run;
#[cfg(test)]
mod tests;

pub use child::Child;
pub use run::{Event, Failed, Meter, Reading, run};
