//! Load from many hosts: network namespaces on a bridge, entered by a shell script in ssh's place.
//!
//! Skipped with a line without root, Open MPI or `toll-rank` (`make hosts`).

mod bridge;
mod elsewhere;
mod faults;
mod refused;
mod sshd;
mod sums;
