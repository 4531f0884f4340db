//! The field's load programs in place of toll's engine, so that anyone can check toll against them.
//!
//! [`Client::prepare`] turns a [`load::Plan`] into the command line of wrk, ab, h2load or `openssl
//! s_time`, and refuses what that program cannot do; [`Client::start`] runs it. So a trial accounts for
//! both sides in the same way, whoever makes the load: CPU time of server and client, the CPUs, the
//! frequency, the verdict.
//!
//! What such a program counts is its own word: the receipt names it, and says that nothing was
//! verified. Their latencies are left out: ab rounds them to milliseconds, h2load gives a mean and
//! extremes, and wrk changes its own after the fact where it believes a request to have been late.
//!
//! The programs have no warm-up that ends within one of toll's: they count from their start. A plan
//! for them therefore has none.

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
#[cfg(test)]
mod tests;
mod watch;
mod wrk;

pub use client::{Client, Offer, check};
pub use error::PeerError;
pub use peer::Peer;
pub use report::PeerReport;
pub use running::PeerLoad;
