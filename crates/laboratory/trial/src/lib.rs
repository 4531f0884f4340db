//! One trial: a load and the observation of the machine over the same window, judged.
//!
//! What comes out is a [`TrialRecord`]: the figures, the receipt (was it what was asked?) and the verdict
//! (what limited it?), with the evidence of both. A figure without those two is not worth printing.
//!
//! - [`Trial`] runs one, on a [`Machine`].
//! - [`Receipt`], [`Verdict`] and [`Warning`] are pure functions of what was seen, and all of it is seen
//!   before any is made: nothing is added to a line later but its profile.

mod accelerator;
mod application;
mod backend;
mod busy_program;
mod compilers;
mod congestion;
mod connection_memory;
mod contradiction;
mod core_series;
mod count;
mod counted;
mod differences;
mod energy_use;
mod evidence;
mod facts;
mod form;
mod handshakes;
mod http2_use;
mod invalid;
mod judge;
mod latency_log;

mod limit;
mod littles_law;
mod machine;
mod memory_use;
mod mismatch;
mod moment;
mod negotiated;
mod neighbours;
mod nouns;
mod observed;
mod obtained;
mod operations;
mod quic_use;
mod ranks;
mod reading;
mod receipt;
mod receipt_rows;
mod refused_sessions;
mod reports;
mod run;
mod sending;
mod server_cpus;
mod stood_still;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod tolerances;
mod trial;
mod trial_record;
mod usage;
mod verdict;
mod warning;
mod warnings;
mod workers;

pub use busy_program::BusyProgram;
pub use congestion::Connections;
pub use connection_memory::{ConnectionMemory, LEAST_CONNECTIONS, MemoryReading};
pub use count::{BLOCKS, COUNTING_TAKES, InstructionMeter, instruction_meter};
pub use counted::CountedInstructions;
pub use energy_use::EnergyUse;
pub use evidence::{
    Evidence, Interface, NetworkEvidence, QuotaEvidence, QuotaSide, SERVER_BUSY, THROTTLED,
};
pub use facts::{Asked, Obtained};
pub use http2_use::{Http2Settings, Http2Use};
pub use invalid::WhyInvalid;
pub use latency_log::latency_log;
pub use limit::{
    ACCEPT_QUEUE_LOSS, CLIENT_BUSY, CLIENT_WAITING, ERRORS, Limit, NOISE, OFFERED_SERVED,
    SIBLING_BUSY,
};
pub use littles_law::{Cause, LEAST_OPERATIONS, LittlesLaw, MOST_DEVIATION};
pub use machine::{Machine, OtherPrograms, ThisMachine, neighbours};
pub use memory_use::MemoryUse;
pub use mismatch::Mismatch;
pub use moment::Moment;
pub use neighbours::{Neighbours, NotSteady};
pub use obtained::{AcceleratorUse, BackendUse, Orders, Pacing, QuotaUse, SendCalls};
pub use operations::{Arrivals, Operations, UnderWayNs};
pub use quic_use::QuicUse;
pub use ranks::{ClientFigures, RankFigures, RankReport, name as rank_name};
pub use reading::{CoreHz, LinkUsage, NetReading, ProcessesChanged, Reading, Readings};
pub use receipt::{Receipt, RunsOn};
pub use receipt_rows::ReceiptRow;
pub use reports::{Reports, ServerReport};
pub use sending::Sending;
pub use server_cpus::server_cpus;
pub use stood_still::StoodStill;
pub use tolerances::FREQUENCY_MOVED;
pub use trial::{Hooks, Measured, Trial};
pub use trial_record::{
    ByteCounts, CoreSeries, CpuTimes, LEAST_BODY_BYTES, LatencyNs, PageFigures, Percentiles,
    SCHEMA, Traffic, TrialRecord,
};
pub use usage::{TaskReading, Usage};
pub use verdict::Verdict;
pub use warning::{Warning, WarningKind};
