//! Runs a study.
//!
//! - [`cells`] measures servers under load.
//! - [`primitive`] measures the tables that need no server.

pub mod cells;
pub mod primitive;
#[cfg(test)]
mod testing;

pub use cells::{Ended, RunError};
