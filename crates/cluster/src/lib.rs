//! Load from many hosts as from one, through MPI.
//!
//! toll starts `mpirun` once a run. Rank 0 runs beside toll, loads nothing, and passes JSON lines on; the
//! others, on the hosts of the study's `[[rank]]`, each load with toll's engine or with another program.
//! A trial is: the plan out, *ready* back, a barrier, each begins and reports *begun*, the window, the
//! results. All of that is decided by toll, so rank 0 is a `Relay` and the others are a `Member`
//! each; what carries their messages is a trait with a stand-in in memory.
//!
//! MPI's blocking calls keep a CPU busy. Only its calls that return at once are used, and sleep.

mod cluster;
mod control;
mod diagnosis;
#[cfg(feature = "mpi")]
mod loader;
#[cfg(any(test, feature = "mpi"))]
mod machine;
#[cfg(any(test, feature = "mpi"))]
mod member;
#[cfg(any(test, feature = "mpi"))]
mod messages;
#[cfg(feature = "mpi")]
mod mpi;
mod mpirun;
#[cfg(feature = "mpi")]
mod program;
#[cfg(any(test, feature = "mpi"))]
mod relay;
mod session;
mod share;
#[cfg(test)]
mod tests;
mod watch;
mod words;

pub use cluster::{Cluster, ClusterLoad};
pub use mpirun::Hosts;
#[cfg(feature = "mpi")]
pub use program::main;

use std::time::Duration;

/// A rank that hears nothing for this long takes the others for gone, stops loading and ends.
const SILENCE: Duration = Duration::from_secs(10);
