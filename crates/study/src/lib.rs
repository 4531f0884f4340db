//! Trials that can be believed.
//!
//! A trial loads a server and watches the machine over the same window. What comes out is one
//! [`Line`] of the journal: the figures, the receipt (was it what was asked?) and the verdict (what
//! limited it?), with the evidence of both. A figure without those two is not worth printing.
//!
//! - [`Trial`] runs one, on a [`Machine`].
//! - [`Receipt`], [`Verdict`] and [`Warning`] are pure functions of what was seen.
//! - [`Journal`] keeps the lines, one on disk before the next trial begins.
//! - [`Study`] is what a study file says; [`run()`] measures what its journal lacks.
//! - [`primitive`] is its part that needs no server: what algorithms cost.
//! - [`analysis::Analysis`] is what a journal says; [`compare::Comparison`] what two say together.
//! - [`gate::Gate`] is a figure that a run must reach.

mod account;
pub mod analysis;
pub mod compare;
mod cpu_order;
mod elsewhere;
mod evidence;
mod explanation;
mod file;
pub mod find;
mod forecast;
pub mod gate;
mod invalid;
mod journal;
mod label;
mod latency_log;
mod line;
mod machine;
mod measure;
mod mismatch;
mod order;
mod peer;
pub mod primitive;
mod reading;
mod receipt;
mod reference;
mod results;
mod run;
mod server_cpus;
mod study;
mod target_record;
#[cfg(test)]
mod testing;
mod this_bench;
mod trial;
mod verdict;
mod warning;

pub use cpu_order::CpuOrder;
pub use evidence::{Evidence, Interface, NetworkEvidence};
pub use file::{LeftOut, StudyError, shipped};
pub use forecast::Forecast;
pub use journal::{Entries, Journal, JournalError};
pub use label::label;
pub use line::{
    Arrivals, ByteCounts, CoreHz, CoreSeries, CpuTimes, LatencyNs, Line, Operations, Place, Role,
    SCHEMA, UnderWayNs,
};
pub use machine::{Machine, ThisMachine, neighbours};
pub use measure::Measure;
pub use mismatch::Mismatch;
pub use peers::PeerReport;
pub use reading::{LinkUsage, NetReading, ProcessesChanged, Reading, Readings, TaskReading, Usage};
pub use receipt::{Asked, Obtained, Receipt};
pub use reference::{Published, PublishedUnit, Reference};
pub use results::{Lock, Results, ResultsError};
pub use run::{Bench, Ended, Event, RunError, StartError, run};
pub use server_cpus::server_cpus;
pub use study::{
    Address, AnswerRule, Cell, IfMissing, LoadClient, LoadSpec, Metric, Only, Protocol, Server,
    Study, TargetSpec,
};
pub use target_record::TargetRecord;
pub use this_bench::{ThisBench, ThisTarget, commands};
pub use trial::{Hooks, Load, Measured, Moment, Trial};
pub use verdict::{
    ACCEPT_QUEUE_LOSS, CLIENT_BUSY, CLIENT_WAITING, ERRORS, Limit, NOISE, OFFERED_SERVED,
    SERVER_BUSY, SIBLING_BUSY, Verdict,
};
pub use warning::{FREQUENCY_MOVED, Neighbours, Warning, WarningKind};
