//! Up to where a warning is not given.

use std::ops::RangeInclusive;

/// A core frequency that moved more than this makes the trial's rate one of two machines.
pub const FREQUENCY_MOVED: f64 = 0.10;

/// The part of what a server sends from a disk that it must have had read from there. The rest may come
/// from memory: what one connection read, another may ask for soon after.
pub(crate) const READ_FROM_DISK: f64 = 0.5;

/// The part of full handshakes that may need a second ClientHello. Where the client resumes, it knows the
/// server's group from its first handshake on.
pub(crate) const RETRIED: f64 = 0.01;

/// The part of the sessions that a client offers which a server may refuse: one that is too old, or that its cache
/// has lost.
pub(crate) const SESSIONS_REFUSED: f64 = 0.01;

/// How long Linux waits at least before it acknowledges data for which it has nothing to send (`TCP_DELACK_MIN`),
/// with room for its timers, in ns.
pub(crate) const DELAYED_ACKNOWLEDGEMENT: RangeInclusive<u64> = 39_000_000..=50_000_000;

/// How late a client is on average whose wait shows in the latencies, as a share of the mean response time, and
/// in ns: a thread that sleeps wakes some tens of microseconds late.
pub(crate) const LATE: f64 = 0.10;
pub(crate) const LATE_LEAST: u64 = 250_000;

/// The part of the packets of a client that may be taken for lost on loopback: a packet that is acknowledged late is,
/// too.
pub(crate) const LOST: f64 = 0.001;

/// The part of requests that may be sent again because the server did not take them. Each took the server some time,
/// which is among that of the operations that completed: at most as much more.
pub(crate) const NOT_TAKEN: f64 = 0.05;

/// The part of a paced load's connections that may be opened within the window.
pub(crate) const STILL_OPENING: f64 = 0.01;

/// Half of what the kernel sends at once (`GSO_MAX_SIZE`): nothing of a shorter response waits for a timer.
pub(crate) const LEAST_HELD_BACK: u64 = 32_768;
