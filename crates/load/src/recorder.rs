//! What a load thread records, and the window within which it counts. Takes `now` as a value.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use units::Nanos;

use crate::failure::Failure;
use crate::handshake::{Established, Negotiated};
use crate::outcome::{ByteCounts, Latencies, Outcome, Verified};
use crate::receive::Completed;
use crate::{Failures, Stop};

/// When is counted, in ns since the load's start; shared by all its threads.
#[derive(Debug)]
pub(crate) struct Window {
    start: u64,
    planned_end: u64,
    end: AtomicU64,
    /// Operations that are still to be counted, where their number is the stop.
    operations_left: Option<AtomicU64>,
}

impl Window {
    pub(crate) fn new(stop: Stop) -> Self {
        let (start, end, operations) = match stop {
            Stop::After { warmup, duration } => {
                (warmup.0, warmup.0.saturating_add(duration.0), None)
            }
            Stop::Operations(count) => (0, u64::MAX, Some(AtomicU64::new(count))),
        };
        Self { start, planned_end: end, end: AtomicU64::new(end), operations_left: operations }
    }

    pub(crate) fn start(&self) -> u64 {
        self.start
    }

    pub(crate) fn end(&self) -> u64 {
        self.end.load(Relaxed)
    }

    /// Whether the load is over.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        now >= self.end()
    }

    /// Ends the window early; an end that has come stays.
    pub(crate) fn close(&self, now: u64) {
        self.end.fetch_min(now, Relaxed);
    }

    /// Whether what happens now counts.
    pub(crate) fn contains(&self, now: u64) -> bool {
        now >= self.start && now < self.end()
    }

    /// How long it was, once over.
    pub(crate) fn length(&self) -> Nanos {
        Nanos(self.end().saturating_sub(self.start))
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.operations_left.is_none() && self.end() < self.planned_end
    }

    /// Whether an operation that ends now counts. Where their number is the stop, the window ends
    /// with the last one, and one that another thread ends at the same time is one too many.
    fn admits_operation(&self, now: u64) -> bool {
        let Some(left) = &self.operations_left else { return self.contains(now) };
        if !self.contains(now) {
            return false;
        }
        match left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
            Ok(1) => self.close(now + 1),
            Ok(_) => {}
            Err(_) => return false,
        }
        true
    }
}

/// When the parts of one operation happened, in ns since the load's start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) start: u64,
    pub(crate) first_byte: Option<u64>,
}

/// What one thread counted.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    completed: u64,
    in_flight: u64,
    failures: Failures,
    bytes: ByteCounts,
    latencies: Latencies,
    negotiated: Vec<(Negotiated, u64)>,
    verified: Verified,
    lost: Vec<String>,
}

impl Recorder {
    /// A connection stands; `Some` what TLS agreed on.
    pub(crate) fn connected(
        &mut self,
        window: &Window,
        now: u64,
        start: u64,
        established: Option<&Established>,
    ) {
        if window.contains(now) {
            record(&mut self.latencies.connect, now, start);
        }
        let Some(established) = established else { return };
        self.verified.signatures += u64::from(established.is_signature_verified);
        add_negotiated(&mut self.negotiated, established.negotiated, 1);
    }

    /// An operation ended well; `Some` what it received.
    pub(crate) fn completed(
        &mut self,
        window: &Window,
        now: u64,
        times: Times,
        received: Option<Completed>,
    ) {
        if !window.admits_operation(now) {
            return;
        }
        self.completed += 1;
        record(&mut self.latencies.whole, now, times.start);
        if let Some(first_byte) = times.first_byte {
            record(&mut self.latencies.first_byte, first_byte, times.start);
        }
        if let Some(received) = received {
            let is_whole = received.opened == received.body;
            self.verified.walked += u64::from(!is_whole);
            self.verified.opened += u64::from(is_whole);
            self.verified.compared += u64::from(received.compared);
        }
    }

    /// An operation failed.
    pub(crate) fn failed(&mut self, window: &Window, now: u64, failure: Failure) {
        if window.admits_operation(now) {
            self.failures.add(failure);
        }
    }

    /// Body bytes of the window whose place in their response is proven.
    pub(crate) fn proven(&mut self, body: u64, opened: u64) {
        self.bytes.body += body;
        self.bytes.opened += opened;
    }

    /// Body bytes of the window that will not be proven any more.
    pub(crate) fn unproven(&mut self, body: u64) {
        self.bytes.unproven += body;
    }

    /// An operation was under way when the window ended.
    pub(crate) fn in_flight(&mut self) {
        self.in_flight += 1;
    }

    /// Completed and failed operations so far, and proven body bytes.
    pub(crate) fn totals(&self) -> (u64, u64, u64) {
        (self.completed, self.failures.total(), self.bytes.body)
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.completed += other.completed;
        self.in_flight += other.in_flight;
        self.failures.merge(other.failures);
        self.bytes.body += other.bytes.body;
        self.bytes.unproven += other.bytes.unproven;
        self.bytes.opened += other.bytes.opened;
        self.latencies.merge(&other.latencies);
        for (negotiated, count) in other.negotiated {
            add_negotiated(&mut self.negotiated, negotiated, count);
        }
        self.lost.extend(other.lost);
        self.verified.signatures += other.verified.signatures;
        self.verified.walked += other.verified.walked;
        self.verified.opened += other.verified.opened;
        self.verified.compared += other.verified.compared;
    }

    /// A thread is gone with all that it recorded.
    pub(crate) fn lost_thread(&mut self, why: &str) {
        self.lost.push(why.to_owned());
    }

    pub(crate) fn into_outcome(self, window: &Window) -> Outcome {
        Outcome {
            window: window.length(),
            interrupted: window.is_interrupted(),
            completed: self.completed,
            in_flight: self.in_flight,
            failures: self.failures,
            bytes: self.bytes,
            latencies: self.latencies,
            negotiated: self.negotiated,
            verified: self.verified,
            lost: self.lost,
        }
    }
}

fn record(histogram: &mut hdrhistogram::Histogram<u64>, now: u64, start: u64) {
    histogram.saturating_record(now.saturating_sub(start).max(1));
}

/// There are few different ones, so a list is searched faster than a map.
fn add_negotiated(list: &mut Vec<(Negotiated, u64)>, negotiated: Negotiated, count: u64) {
    match list.iter_mut().find(|(known, _)| *known == negotiated) {
        Some((_, known)) => *known += count,
        None => list.push((negotiated, count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::ErrorKind;
    use proptest::prelude::*;

    fn window(warmup: u64, duration: u64) -> Window {
        Window::new(Stop::After { warmup: Nanos(warmup), duration: Nanos(duration) })
    }

    #[test]
    fn only_what_ends_within_the_window_counts() {
        let window = window(100, 200);
        let mut recorder = Recorder::default();
        for now in [50, 99, 100, 299, 300, 400] {
            recorder.completed(&window, now, Times { start: now - 20, first_byte: None }, None);
            recorder.failed(&window, now, Failure::new(ErrorKind::Reset, ""));
        }
        let outcome = recorder.into_outcome(&window);
        assert_eq!((outcome.completed, outcome.failures.total()), (2, 2));
        assert_eq!(outcome.latencies.whole.len(), 2);
        assert_eq!(outcome.window, Nanos(200));
        assert!(!outcome.interrupted);
    }

    #[test]
    fn stopping_early_shortens_the_window_once() {
        let window = window(100, 200);
        window.close(150);
        window.close(180);
        assert_eq!(window.length(), Nanos(50));
        assert!(window.is_interrupted() && !window.contains(150) && window.contains(149));
    }

    #[test]
    fn stopping_in_the_warmup_measures_nothing() {
        let window = window(100, 200);
        window.close(50);
        assert_eq!(window.length(), Nanos(0));
        assert!(window.is_over(50) && !window.contains(120));
    }

    #[test]
    fn a_number_of_operations_ends_the_window_with_the_last() {
        let window = Window::new(Stop::Operations(2));
        let mut recorder = Recorder::default();
        recorder.failed(&window, 5, Failure::new(ErrorKind::Alert, ""));
        assert!(!window.is_over(6));
        recorder.completed(&window, 7, Times::default(), None);
        assert!(window.is_over(8) && !window.is_interrupted());
        let outcome = recorder.into_outcome(&window);
        assert_eq!((outcome.completed, outcome.failures.total()), (1, 1));
    }

    #[test]
    fn threads_that_end_operations_at_the_same_time_count_no_more_than_asked() {
        let window = Window::new(Stop::Operations(3));
        let mut recorders = [Recorder::default(), Recorder::default()];
        // All within the window, for no end has been noticed: their times are equal or earlier.
        for now in [9, 9, 8, 7, 6] {
            for recorder in &mut recorders {
                recorder.completed(&window, now, Times::default(), None);
                recorder.failed(&window, now, Failure::new(ErrorKind::Reset, ""));
            }
        }
        let [mut one, two] = recorders;
        one.merge(two);
        let outcome = one.into_outcome(&window);
        assert_eq!((outcome.completed, outcome.failures.total()), (2, 1));
    }

    proptest! {
        #[test]
        fn merging_threads_loses_nothing(latencies in proptest::collection::vec(1u64..1_000_000, 1..100)) {
            let window = window(0, u64::MAX / 2);
            let (mut one, mut two) = (Recorder::default(), Recorder::default());
            for (i, latency) in latencies.iter().enumerate() {
                let recorder = if i % 2 == 0 { &mut one } else { &mut two };
                recorder.completed(&window, 2_000_000, Times { start: 2_000_000 - latency, first_byte: None }, None);
            }
            one.merge(two);
            let outcome = one.into_outcome(&window);
            prop_assert_eq!(outcome.completed, latencies.len() as u64);
            prop_assert_eq!(outcome.latencies.whole.len(), latencies.len() as u64);
            let most = *latencies.iter().max().unwrap_or(&0) as f64;
            prop_assert!((outcome.latencies.whole.max() as f64) >= most * 0.999);
        }
    }
}
