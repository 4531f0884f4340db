//! The load engine: many HTTPS clients that cost next to nothing.
//!
//! One thread per CPU (more where descriptors are few, see `descriptors`), epoll, one state machine
//! per connection. After the handshake the traffic keys leave the TLS library, and the records of
//! large bodies are *walked*: their bytes are dropped in the kernel, the first and the last record
//! are opened, and the last one's sequence number proves how many came between (see the module
//! `receive`). Three things are separate: what an operation is ([`Operation`]), when the next one
//! starts ([`Arrival`]), and when the load stops ([`Stop`]). Requests are for a [`Url`], or for a
//! [`Mix`] of objects at it.
//!
//! The engine reports facts ([`Outcome`]); it does not judge them.

mod advice;
mod arrival;
mod coalescing;
mod connection;
mod context;
mod descriptors;
mod engine;
mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod handshake;
#[cfg(test)]
mod hex;
mod mix;
mod outcome;
mod plan;
mod random;
mod randomness;
mod receive;
mod record;
mod recorder;
mod requests;
mod schedule;
mod share;
mod socket;
mod url;
mod window;
mod worker;

pub use arrival::{Arrival, Distribution, Rate};
pub use engine::{Engine, EngineError, ProbeError, Progress, probe};
pub use failure::{ErrorKind, Failures};
pub use handshake::Negotiated;
pub use mix::{Mix, Portion};
pub use outcome::{ArrivalCounts, ByteCounts, Latencies, Outcome, Verified};
pub use plan::{Close, KeyExchangeMode, Operation, Plan, PlanError, Receive, Stop, TlsPlan, Trust};
pub use share::{OneIn, Percent};
pub use url::{AddressError, Url};
