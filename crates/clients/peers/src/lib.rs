//! Other load programs in place of toll's engine, so that anyone can check toll against them.
//!
//! [`Client::prepare`] turns a [`load::Plan`] into the command line of wrk, ab, h2load, shb or
//! `openssl s_time`, and refuses what that program cannot do; [`Client::start`] runs it. So a trial accounts
//! for both sides in the same way with any client: CPU time of server and client, the CPUs, the
//! frequency, the verdict.
//!
//! toll does not verify what such a program counts. The receipt names the program and says so.
//! Their latencies are left out: ab rounds them to milliseconds, h2load prints only a mean and
//! extremes, shb lingers, and wrk changes its own afterwards where it believes that a request was late.
//!
//! The programs have no warm-up: they count from their start. A plan for them therefore has none.

mod ab;
mod client;
mod error;
mod h2load;
mod peer;
mod program;
mod refusal;
mod report;
mod running;
mod s_time;
mod shb;
#[cfg(test)]
mod tests;
mod watch;
mod wrk;

pub use client::{Client, Offer, check};
pub use error::PeerError;
pub use peer::Peer;
pub use program::{find, version};
pub use running::PeerLoad;
