//! The load engine: many HTTPS clients that cost next to nothing.
//!
//! One thread per CPU (more where descriptors are few, see `descriptors`), epoll, one state machine
//! per connection. After the handshake the traffic keys leave the TLS library, and the records of
//! large bodies are *walked*: their bytes are dropped in the kernel, the head is read, the last record
//! is opened, and its sequence number proves how many came before (see the crate `wire`). Three things are separate: what an operation is ([`Operation`]), when the next one
//! starts ([`Arrival`]), and when the load stops. A [`Plan`] says these, and a [`Job`] at which server.
//!
//! The engine reports facts ([`Outcome`]); it judges none of them.

mod advice;
mod arrival;
mod choice;
mod clients;
mod clock;
mod coalescing;
mod connection;
mod context;
mod count;
mod descriptors;
mod draw;
mod ended;
mod engine;
mod failures;
mod header;
mod histogram;
mod http2_counts;
mod job;
mod message;
mod names;
mod number_or_text;
mod openings;
mod outcome;
mod own_time;
mod pace;
mod plan;
mod ports;
mod quic;
mod quic_counts;
mod rank;
mod reach;
mod recorder;
mod requests;
mod requests_per_connection;
mod retry;
mod running;
mod schedule;
mod session;
mod share;
mod slots;
mod socket;
mod source;
mod stream_counts;
mod udp;
mod up;
mod user_time;
mod window;
mod worker;

pub use arrival::{Arrival, Distribution, Rate};
pub use choice::{LONGEST_PAUSE, PauseReason, PauseShare, Pauses};
#[cfg(any(test, fuzzing))]
pub use connection::http2::fuzzing;
pub use connection::http2::{HTTP2_MAX_FRAME, HTTP2_WINDOW};
#[cfg(any(test, fuzzing))]
pub use connection::http3::fuzzing as fuzzing_http3;
pub use count::{Count, Counter};
pub use engine::{Engine, EngineError, Prepared, ProbeError, probe};
pub use failures::Failures;
pub use header::Header;
pub use http2_counts::Http2Counts;
pub use job::{Job, PlanError};
pub use message::{Method, Statuses};
pub use objects::{AddressError, Files, HostName, HostPort, Mix, Portion, Storage, Url};
pub use outcome::{
    ArrivalCounts, ByteCounts, Collected, EndedConnections, LateTimers, Latencies, Outcome,
    PageOutcome, PeerClient, Repeated, SessionsGiven, Traffic, Verified, WalkCounts,
};
pub use own_time::ThreadUse;
pub use pace::Pace;
pub use plan::{Client, Close, Http, KeyExchangeMode, Operation, Plan, Receive, Wakeups};
pub use quic_counts::QuicCounts;
pub use rank::Rank;
pub use reach::{Reached, reach};
pub use requests_per_connection::RequestsPerConnection;
pub use running::{Load, Progress};
pub use session::{is_built_in, session_text};
pub use share::{OneIn, Percent};
pub use source::Source;
pub use stream_counts::StreamCounts;
pub use up::Up;
pub use user_time::UserTime;
pub use wire::ErrorKind;
pub use wire::handshake::{ClientSignature, Negotiated, Trust};
