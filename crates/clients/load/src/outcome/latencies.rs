//! How long operations took.

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Latency histograms in nanoseconds, 3 significant digits, up to an hour.
///
/// Latency counts from the intended start. When a server stalls, all requests that should have
/// started meanwhile show it, not only those that did (no coordinated omission).
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Latencies {
    /// TCP and TLS: from the start of a connection until it can carry a request.
    #[serde(with = "crate::histogram")]
    pub connect: Histogram<u64>,
    /// The part of `connect` whose handshakes resumed a session.
    #[serde(with = "crate::histogram")]
    pub connect_resumed: Histogram<u64>,
    /// From the start of an operation until the first byte of the response.
    #[serde(with = "crate::histogram")]
    pub first_byte: Histogram<u64>,
    /// From the start of an operation to its end.
    #[serde(with = "crate::histogram")]
    pub whole: Histogram<u64>,
    /// From the actual start of an operation to its end. Empty in a closed loop, where it would
    /// equal `whole`.
    #[serde(with = "crate::histogram")]
    pub service: Histogram<u64>,
    /// The longest that a load thread slept, by its clock, in a pause within the window. A thread pauses
    /// so that one wake-up serves several sockets, so latencies may be too long by up to this. It means
    /// to sleep 2 ms at most, and at most [`Outcome::pauses`](crate::Outcome::pauses) of the time that the
    /// quickest operations take; the kernel may wake it later. Only closed loops without think time pause;
    /// otherwise 0.
    pub coalescing: Nanos,
}

impl Default for Latencies {
    fn default() -> Self {
        Self {
            connect: histogram(),
            connect_resumed: histogram(),
            first_byte: histogram(),
            whole: histogram(),
            service: histogram(),
            coalescing: Nanos(0),
        }
    }
}

impl Latencies {
    /// The part of [`Self::connect`] with a full handshake; over plain HTTP, with none.
    pub fn connect_full(&self) -> Histogram<u64> {
        let mut full = self.connect.clone();
        // Cannot fail: the bounds are the same, and what is taken out is in.
        let _ = full.subtract(&self.connect_resumed);
        full
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.coalescing = self.coalescing.max(other.coalescing);
        for (mine, theirs) in [
            (&mut self.connect, &other.connect),
            (&mut self.connect_resumed, &other.connect_resumed),
            (&mut self.first_byte, &other.first_byte),
            (&mut self.whole, &other.whole),
            (&mut self.service, &other.service),
        ] {
            // Cannot fail: both have the same bounds.
            let _ = mine.add(theirs);
        }
    }
}

/// From 1 ns to 1 hour: a higher lower bound would make the short times' buckets as wide as half of it. A
/// longer time would be recorded as an hour, but `timeout` ends operations long before.
pub(super) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3)
        .unwrap_or_else(|_| unreachable!("the bounds are constants that the crate accepts"))
}
