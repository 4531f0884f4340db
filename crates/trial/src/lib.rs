//! One trial: a load and the observation of the machine over the same window, judged.
//!
//! What comes out is a [`Line`]: the figures, the receipt (was it what was asked?) and the verdict
//! (what limited it?), with the evidence of both. A figure without those two is not worth printing.
//!
//! - [`Trial`] runs one, on a [`Machine`].
//! - [`Receipt`], [`Verdict`] and [`Warning`] are pure functions of what was seen.

mod account;
mod contradiction;
mod evidence;
mod explanation;
mod invalid;
mod latency_log;
mod line;
mod machine;
mod mismatch;
mod peer;
mod reading;
mod receipt;
mod server_cpus;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod trial;
mod verdict;
mod warning;

pub use evidence::{Evidence, Interface, NetworkEvidence};
pub use latency_log::latency_log;
pub use line::{
    Arrivals, ByteCounts, CoreHz, CoreSeries, CpuTimes, LatencyNs, Line, Operations, SCHEMA,
    UnderWayNs,
};
pub use machine::{Machine, ThisMachine, neighbours};
pub use mismatch::Mismatch;
pub use peers::PeerReport;
pub use reading::{LinkUsage, NetReading, ProcessesChanged, Reading, Readings, TaskReading, Usage};
pub use receipt::{Asked, Obtained, Receipt, RunsOn};
pub use server_cpus::server_cpus;
pub use trial::{Hooks, Load, Measured, Moment, NotSteady, Trial};
pub use verdict::{
    ACCEPT_QUEUE_LOSS, CLIENT_BUSY, CLIENT_WAITING, ERRORS, Limit, NOISE, OFFERED_SERVED,
    SERVER_BUSY, SIBLING_BUSY, Verdict,
};
pub use warning::{FREQUENCY_MOVED, Neighbours, Warning, WarningKind};
