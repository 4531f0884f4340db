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
    /// Operations that ended well within the window.
    pub completed: u64,
    /// Operations under way when the window ended.
    pub in_flight: u64,
    /// Operations that failed within the window.
    pub failures: Failures,
    /// Bytes that arrived within the window.
    pub bytes: ByteCounts,
    /// From start to end of operations that ended well within the window.
    pub latencies: Latencies,
    /// What each successful handshake of the load negotiated, warm-up included, with its count:
    /// the requests of the window travel on connections that the warm-up opened.
    pub negotiated: Vec<(Negotiated, u64)>,
    /// What was verified, and how.
    pub verified: Verified,
    /// Why load threads ended before their time, one entry each. What they had done is missing from
    /// all figures here, so a load with an entry has no valid rate.
    pub lost: Vec<String>,
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
#[derive(Debug, Clone)]
pub struct Latencies {
    /// TCP and TLS: from the start of a connection until it can carry a request.
    pub connect: Histogram<u64>,
    /// From the start of an operation until the first byte of the response is there.
    pub first_byte: Histogram<u64>,
    /// From the start of an operation to its end.
    pub whole: Histogram<u64>,
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
}

impl Default for Latencies {
    fn default() -> Self {
        Self { connect: histogram(), first_byte: histogram(), whole: histogram() }
    }
}

impl Latencies {
    pub(crate) fn merge(&mut self, other: &Self) {
        for (mine, theirs) in [
            (&mut self.connect, &other.connect),
            (&mut self.first_byte, &other.first_byte),
            (&mut self.whole, &other.whole),
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
