//! Load from many hosts as from one, through MPI.
//!
//! toll starts `mpirun` once a run. Rank 0 runs beside toll, loads nothing, and passes JSON lines on; the
//! others, on the hosts of the study's `[[rank]]`, each load with toll's engine or with another program.
//! In a trial toll sends the plan, each rank answers *ready*, all meet at a barrier, each begins and
//! reports *begun*, and after the window come the results. toll decides all of that: rank 0 is a `Relay`,
//! the others are a `Member` each, and the transport of messages is a trait: MPI in the program `toll-rank`,
//! which alone is linked with it, and a stand-in in memory.
//!
//! MPI's blocking calls keep a CPU busy, so only calls that return at once are used, with sleep between.

mod cluster;
mod control;
mod diagnosis;
mod loader;
mod machine;
mod member;
mod messages;
mod mpirun;
mod open_mpi;
mod program;
mod relay;
mod session;
mod share;
#[cfg(test)]
mod tests;
mod watch;
mod words;

pub use cluster::{Cluster, ClusterLoad};
pub use messages::Messages;
pub use mpirun::Hosts;
pub use open_mpi::OpenMpi;
pub use program::{RankProcess, main};
