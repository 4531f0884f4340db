use hdrhistogram::Histogram;
use units::Nanos;

use crate::failure::Failures;
use crate::handshake::Negotiated;

/// What a load did within its window.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The length of the window; shorter than planned where the load was stopped.
    pub window: Nanos,
    /// Whether it was stopped before its planned end.
    pub interrupted: bool,
    /// What was meant to start, and what of it did not in time.
    pub arrivals: ArrivalCounts,
    /// Operations that ended well within the window.
    pub completed: u64,
    /// Operations under way when the window ended.
    pub in_flight: u64,
    /// Operations that failed within the window; where connections are opened ahead or kept idle
    /// (all arrivals but a closed loop without think time), also connections that failed while they
    /// carried no operation.
    pub failures: Failures,
    /// Bytes that arrived within the window.
    pub bytes: ByteCounts,
    /// From start to end of operations that ended well within the window; of those that were under
    /// way when it ended, the time to the first byte where that had come.
    pub latencies: Latencies,
    /// How many of the completed operations brought which object, in the order of the plan's objects;
    /// it ends with the last one that was brought.
    pub objects: Vec<u64>,
    /// How long those had taken that were under way when the window ended, by what they still waited
    /// for: `connect` of connections that did not stand yet, `first_byte` of operations without a
    /// byte of their response, `whole` of all operations, those that had not even begun among the
    /// last two. The rest is empty.
    pub under_way: Latencies,
    /// What each successful handshake of the load negotiated, warm-up included, with its count:
    /// the requests of the window travel on connections that the warm-up opened.
    pub negotiated: Vec<(Negotiated, u64)>,
    /// What was verified, and how.
    pub verified: Verified,
    /// Why load threads ended before their time, one entry each. What they had done is missing from
    /// all figures here, so a load with an entry has no valid rate.
    pub lost: Vec<String>,
}

/// Operations as they were meant to start, whether or not they could.
///
/// With no warm-up, and where no connection failed without an operation, `intended` is what
/// completed, failed, was in flight and was waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ArrivalCounts {
    /// Operations whose intended start lay in the window. In a closed loop an operation is meant
    /// to start when it does.
    pub intended: u64,
    /// Operations that were meant to start before the window's end, in the warm-up as well, and
    /// had not begun then: no connection was free, or the load thread came too late for the last
    /// ones. Not in [`Outcome::in_flight`].
    pub waiting: u64,
    /// Under [`Arrival::Paced`](crate::Arrival::Paced): operations that were not over by their connection's next tick,
    /// where that tick lay in the window. Those that failed before it count only as failures.
    pub deadline_misses: u64,
}

/// Bytes that arrived within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ByteCounts {
    /// Body bytes of responses that were proven: complete, or under way at the window's end with
    /// an authentic record at the place where it belongs.
    pub body: u64,
    /// Body bytes that arrived but belong to operations that failed or were not proven.
    pub unproven: u64,
    /// Those of `body` that were decrypted; over plain HTTP those that were read.
    pub opened: u64,
}

/// Latency histograms in nanoseconds, 3 significant digits, up to an hour.
///
/// The start of an operation is its intended one: a server that stops shows in the latency of all
/// that should have been asked meanwhile, not only of what was (no coordinated omission).
#[derive(Debug, Clone)]
pub struct Latencies {
    /// TCP and TLS: from the start of a connection until it can carry a request.
    pub connect: Histogram<u64>,
    /// Those of `connect` whose handshake resumed a session.
    pub connect_resumed: Histogram<u64>,
    /// From the start of an operation until the first byte of the response is there.
    pub first_byte: Histogram<u64>,
    /// From the start of an operation to its end.
    pub whole: Histogram<u64>,
    /// From the moment when an operation really began to its end. Empty in a closed loop, where it
    /// would be `whole` again.
    pub service: Histogram<u64>,
    /// The longest for which a load thread left its sockets alone within the window, so that one
    /// wake-up served several: what a latency ends with may have come so much earlier. At most 1/32
    /// of the time that the quickest operations take, and 2 ms; 0 in all but closed loops without
    /// think time that have 64 connections a thread or more.
    pub coalescing: Nanos,
}

/// What was verified within the window, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Verified {
    /// Handshakes whose signature was verified, warm-up included, as in [`Outcome::negotiated`].
    pub signatures: u64,
    /// Responses whose first and last record were opened, the rest dropped.
    pub walked: u64,
    /// Responses that were opened whole.
    pub opened: u64,
    /// Responses opened whole (or plain ones read whole) whose every byte was compared with the
    /// generated object.
    pub compared: u64,
    /// Responses opened whole that had wrong content or a record that was not authentic. They are
    /// not in `opened`.
    pub wrong: u64,
    /// Handshakes that did not authenticate the server, warm-up included. They are not in
    /// `signatures`.
    pub unauthentic: u64,
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
    /// Those of [`Self::connect`] with a full handshake, or none over plain HTTP.
    #[must_use]
    pub fn connect_full(&self) -> Histogram<u64> {
        let mut full = self.connect.clone();
        // Cannot fail: the bounds are the same, and what is taken out is in.
        let _ = full.subtract(&self.connect_resumed);
        full
    }

    pub(crate) fn merge(&mut self, other: &Self) {
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

/// From 1 µs to 1 hour; longer is recorded as an hour, of which `timeout` keeps operations far.
fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1_000, 3_600_000_000_000, 3)
        .unwrap_or_else(|_| unreachable!("the bounds are constants that the crate accepts"))
}
