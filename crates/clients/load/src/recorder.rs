//! What a load thread records. It reads no clock: `now` is an argument.

use units::Nanos;

use crate::Arrival;
use crate::outcome::{LateTimers, Outcome, add_count, add_object};
use crate::requests_per_connection::Planned;
use crate::retry::{Tries, Unanswered};
use crate::window::Window;
use wire::handshake::{Fingerprint, GivenSession, Negotiated, Remarks};
use wire::reception::Completed;
use wire::{ErrorKind, Failure};

/// When the parts of one operation happened, in ns since the load's start.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    /// When it was meant to start; latency counts from here.
    pub(crate) intended: u64,
    /// When it began.
    pub(crate) start: u64,
    pub(crate) first_byte: Option<u64>,
    /// Which of the plan's objects, or of its session's pages, it asks for.
    pub(crate) object: usize,
}

impl Times {
    pub(crate) fn new(intended: u64, start: u64) -> Self {
        Self { intended, start, ..Self::default() }
    }
}

/// An operation that has begun. What becomes of it is recorded once, which takes it.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) times: Times,
    pub(crate) tries: Tries,
    counts: Counts,
}

/// As what an operation counts, by its intended start and its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Counts {
    /// It was meant to start before the window, so it counts only if it ends later than the window begins.
    Carried,
    /// It was meant to start within the window, and did.
    Intended,
    /// It began after the window's end. Where it was meant to start before that, it has been counted as waiting.
    Late,
}

/// What one thread counts.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    arrival: Arrival,
    /// How long after its intended start an operation is to be over, where there is such a limit.
    pub(crate) deadline: Option<Nanos>,
    pub(crate) outcome: Outcome,
    open: usize,
}

impl Recorder {
    pub(crate) fn new(arrival: Arrival) -> Self {
        Self { arrival, ..Self::default() }
    }

    /// Counts an operation that begins.
    pub(crate) fn begins(&mut self, window: &Window, times: Times) -> Begun {
        let counts = match window.has_seen(times.start) {
            true if window.contains(times.intended) => Counts::Intended,
            true => Counts::Carried,
            false => Counts::Late,
        };
        if window.has_seen(times.intended) {
            self.intends(window, times.intended);
            // While the load shrinks, operations whose intended start was earlier still begin.
            self.outcome.arrivals.waiting += u64::from(counts == Counts::Late);
        }
        Begun { times, tries: Tries::default(), counts }
    }

    /// Counts an operation that was meant to start before the window's end.
    fn intends(&mut self, window: &Window, intended: u64) {
        let arrivals = &mut self.outcome.arrivals;
        match window.contains(intended) {
            true => arrivals.intended += 1,
            false => arrivals.carried += 1,
        }
    }

    /// Counts the pause between two operations of a closed loop's user: the first ended at `ended`,
    /// the second begins at `now`, which is `late` ns after it was due.
    pub(crate) fn resumes(&mut self, window: &Window, ended: u64, now: u64, late: u64) {
        if window.contains(now) {
            self.outcome.user_time.add_pause(ended, now, late);
        }
    }

    /// Counts an operation that had not begun by the window's end; `intended` is when it was meant
    /// to start.
    pub(crate) fn waits(&mut self, window: &Window, intended: u64) {
        self.intends(window, intended);
        self.outcome.arrivals.waiting += 1;
        self.judge_deadline(window, intended, None);
        self.age(window.end(), Times::new(intended, intended));
    }

    /// Counts a connection that is opened.
    pub(crate) fn opens(&mut self) {
        self.open += 1;
        self.outcome.most_open = self.outcome.most_open.max(self.open);
    }

    /// Counts the end of a connection, the answers that it brought, and the tickets that came on it after its
    /// handshake.
    pub(crate) fn closes(&mut self, answers: u64, tickets: u64) {
        self.open -= 1;
        self.outcome.answers += answers;
        self.outcome.given.tickets += tickets;
    }

    /// Counts a connection that ended with its last planned request.
    pub(crate) fn carried(&mut self, planned: Planned) {
        match planned.is_rest {
            true => self.outcome.ended.rests += 1,
            false => add_count(&mut self.outcome.ended.by_requests, planned.count.get(), 1),
        }
    }

    /// Counts a connection that the server did not close after its last response, by `now`.
    pub(crate) fn not_closed_by_server(&mut self, window: &Window, now: u64) {
        self.outcome.not_closed_by_server += u64::from(window.contains(now));
    }

    /// Counts a request that is sent again, for this reason.
    pub(crate) fn sends_again(&mut self, window: &Window, now: u64, why: Unanswered) {
        if window.contains(now) {
            self.outcome.sent_again += 1;
            self.outcome.not_taken += u64::from(why == Unanswered::NotTaken);
        }
    }

    /// Counts an established connection; over TLS with what was negotiated.
    pub(crate) fn connected(
        &mut self,
        window: &Window,
        now: u64,
        start: u64,
        established: Option<(&Negotiated, &Remarks)>,
    ) {
        self.outcome.connections += 1;
        if window.contains(now) {
            record(&mut self.outcome.latencies.connect, now, start);
            if established.is_some_and(|(negotiated, _)| negotiated.resumed) {
                record(&mut self.outcome.latencies.connect_resumed, now, start);
            }
        }
        let Some((negotiated, remarks)) = established else { return };
        let Remarks {
            is_signature_verified,
            asks_certificate,
            is_retried,
            offers_session,
            given,
            certificate: _,
        } = *remarks;
        self.outcome.verified.signatures += u64::from(is_signature_verified);
        self.outcome.certificate_requests += u64::from(asks_certificate);
        self.outcome.hello_retry_requests += u64::from(is_retried);
        self.outcome.sessions_offered += u64::from(offers_session);
        self.outcome.given.tickets += u64::from(given == Some(GivenSession::Ticket));
        self.outcome.given.ids += u64::from(given == Some(GivenSession::Id));
        add_count(&mut self.outcome.negotiated, *negotiated, 1);
    }

    /// Counts an established connection with the name of this number in a list, and the certificate that the
    /// server showed for it.
    pub(crate) fn named(&mut self, name: usize, certificate: Option<Fingerprint>) {
        add_object(&mut self.outcome.names, name, 1);
        if let Some(certificate) = certificate {
            add_object(&mut self.outcome.names_certified, name, 1);
            self.outcome.certificates.insert(certificate);
        }
    }

    /// Counts a connection that was opened at `now`, or by the window's end was not, and had to send a
    /// packet again for that.
    pub(crate) fn repeated(&mut self, window: &Window, now: u64, start: u64) {
        if now < window.start() || !window.has_seen(start) {
            return;
        }
        let time = now.min(window.end()).saturating_sub(start.max(window.start()));
        self.outcome.repeated.connections += 1;
        self.outcome.repeated.time.0 += time;
    }

    /// Counts an operation that succeeded, and the response that it received, if any.
    pub(crate) fn completed(
        &mut self,
        window: &Window,
        now: u64,
        begun: Begun,
        received: Option<Completed>,
    ) {
        let times = begun.times;
        self.judge_deadline(window, times.intended, Some(now));
        if let Some(page) = self.outcome.pages.get_mut(times.object) {
            page.completed_ever += 1;
        }
        if !self.ends(window, now, &begun) {
            return;
        }
        self.outcome.completed += 1;
        self.outcome.user_time.responses += u128::from(now.saturating_sub(times.intended));
        record(&mut self.outcome.latencies.whole, now, times.intended);
        if let Some(first_byte) = times.first_byte {
            record(&mut self.outcome.latencies.first_byte, first_byte, times.intended);
        }
        if self.arrival.is_scheduled() {
            record(&mut self.outcome.latencies.service, now, times.start);
        }
        if let Some(page) = self.outcome.pages.get_mut(times.object) {
            page.completed += 1;
            record(&mut page.latency, now, times.intended);
        }
        if let Some(received) = received {
            add_object(&mut self.outcome.objects, times.object, 1);
            if received.status != 200 {
                add_count(&mut self.outcome.statuses, received.status, 1);
            }
            let is_whole = received.opened == received.body;
            self.outcome.verified.walked += u64::from(!is_whole);
            self.outcome.verified.peeked += u64::from(received.peeked);
            self.outcome.verified.opened += u64::from(is_whole);
            self.outcome.verified.compared += u64::from(received.compared);
        }
    }

    /// Whether the end of an operation counts. One that ends after the window was under way at its end.
    fn ends(&mut self, window: &Window, now: u64, begun: &Begun) -> bool {
        if begun.counts == Counts::Late {
            return false;
        }
        let is_admitted = window.admits_operation(now);
        if !is_admitted {
            match window.is_past(now) {
                true => self.was_in_flight(now, begun.times),
                false => self.outcome.arrivals.carried -= 1,
            }
        }
        is_admitted
    }

    /// Counts a failed operation.
    pub(crate) fn failed(&mut self, window: &Window, now: u64, begun: Begun, failure: Failure) {
        let times = begun.times;
        self.judge_deadline(window, times.intended, Some(now));
        self.outcome.verified.unauthentic += u64::from(failure.kind == ErrorKind::Authentication);
        if self.ends(window, now, &begun) {
            self.outcome.verified.wrong += u64::from(failure.is_in_whole);
            if let Some(page) = self.outcome.pages.get_mut(times.object) {
                page.failures.add(failure.clone());
            }
            self.outcome.failures.add(failure);
            let taken = now.saturating_sub(times.intended);
            self.outcome.user_time.failures += u128::from(taken);
        }
    }

    /// Counts a failed connection that had no operation.
    pub(crate) fn connection_failed(&mut self, window: &Window, now: u64, failure: Failure) {
        self.outcome.verified.unauthentic += u64::from(failure.kind == ErrorKind::Authentication);
        if window.admits_operation(now) {
            self.outcome.verified.wrong += u64::from(failure.is_in_whole);
            self.outcome.failures.add(failure);
            self.outcome.arrivals.failed_connections += 1;
        }
    }

    /// Counts a walk that ended now, with its last page or with one that failed.
    pub(crate) fn walked(&mut self, window: &Window, now: u64, is_complete: bool) {
        if window.contains(now) {
            self.outcome.walks.completed += u64::from(is_complete);
            self.outcome.walks.failed += u64::from(!is_complete);
        }
    }

    /// Counts proven body bytes of the window.
    pub(crate) fn proven(&mut self, body: u64, opened: u64) {
        self.outcome.bytes.body += body;
        self.outcome.bytes.opened += opened;
    }

    /// Counts an operation under way when the window ended, by what it waits for and how it would fail without that.
    pub(crate) fn in_flight(
        &mut self,
        window: &Window,
        begun: Begun,
        (kind, awaited): (ErrorKind, &str),
    ) {
        self.judge_deadline(window, begun.times.intended, None);
        if begun.counts != Counts::Late {
            self.was_in_flight(window.end(), begun.times);
            let seen = format!("{awaited} had not ended when the window did");
            self.outcome.unended.add_all(kind, 1, &seen);
        }
    }

    fn was_in_flight(&mut self, now: u64, times: Times) {
        self.outcome.in_flight += 1;
        self.age(now, times);
    }

    /// Counts a connection that was not established when the window ended.
    pub(crate) fn connecting(&mut self, window: &Window, start: u64) {
        record(&mut self.outcome.under_way.connect, window.end(), start);
    }

    /// Records how long an operation under way had taken by `now`.
    fn age(&mut self, now: u64, times: Times) {
        record(&mut self.outcome.under_way.whole, now, times.intended);
        match times.first_byte {
            Some(first_byte) => {
                record(&mut self.outcome.latencies.first_byte, first_byte, times.intended);
            }
            None => record(&mut self.outcome.under_way.first_byte, now, times.intended),
        }
    }

    /// Counts an operation's deadline, where that lies in the window, and whether it was missed.
    /// `over` is when the operation ended; `None` where it had not by the window's end.
    fn judge_deadline(&mut self, window: &Window, intended: u64, over: Option<u64>) {
        let Some(limit) = self.deadline else { return };
        let deadline = intended.saturating_add(limit.0);
        if window.contains(deadline) {
            self.outcome.arrivals.deadlines += 1;
            self.outcome.arrivals.deadline_misses +=
                u64::from(over.is_none_or(|over| over > deadline));
        }
    }

    /// Notes that the thread has slept for this long, from `began` on.
    pub(crate) fn paused(&mut self, window: &Window, began: u64, slept: Nanos) {
        if window.contains(began) {
            self.outcome.latencies.coalescing = self.outcome.latencies.coalescing.max(slept);
        }
    }

    /// Completed and failed operations so far, and proven body bytes.
    pub(crate) fn totals(&self) -> (u64, u64, u64) {
        (self.outcome.completed, self.outcome.failures.total(), self.outcome.bytes.body)
    }

    /// Notes that what was due then is done only now.
    pub(crate) fn timer(&mut self, window: &Window, due: u64, now: u64) {
        if window.contains(due) {
            self.outcome.timers += LateTimers { count: 1, late_ns: now.saturating_sub(due) };
        }
    }

    /// All that was counted. The window is the load's, not a thread's: it is left out.
    pub(crate) fn into_outcome(self) -> Outcome {
        self.outcome
    }
}

fn record(histogram: &mut hdrhistogram::Histogram<u64>, now: u64, start: u64) {
    histogram.saturating_record(now.saturating_sub(start).max(1));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ArrivalCounts;
    use crate::job::Stop;
    use crate::user_time::UserTime;
    use proptest::prelude::*;
    use units::Nanos;

    fn window(warmup: u64, duration: u64) -> Window {
        let stop = Stop::After { warmup: Nanos(warmup), duration: Nanos(duration) };
        Window::new(stop, Nanos(0))
    }

    /// In a closed loop.
    fn started(at: u64) -> Times {
        Times::new(at, at)
    }

    fn failure() -> Failure {
        Failure::new(ErrorKind::Reset, "")
    }

    impl Recorder {
        /// An operation begins with these times, and completes.
        fn completes(&mut self, window: &Window, now: u64, times: Times) {
            let begun = self.begins(window, times);
            self.completed(window, now, begun, None);
        }

        fn fails(&mut self, window: &Window, now: u64, times: Times) {
            let begun = self.begins(window, times);
            self.failed(window, now, begun, failure());
        }

        fn is_in_flight(&mut self, window: &Window, times: Times) {
            let begun = self.begins(window, times);
            self.in_flight(window, begun, (ErrorKind::Stall, "it"));
        }
    }

    #[test]
    fn only_what_ends_within_the_window_counts() {
        let window = window(100, 200);
        let mut recorder = Recorder::default();
        for now in [50, 99, 100, 299, 300, 310] {
            recorder.completes(&window, now, started(now - 20));
            recorder.fails(&window, now, started(now - 20));
            recorder.connection_failed(&window, now, failure());
        }
        let outcome = recorder.into_outcome();
        assert_eq!((outcome.completed, outcome.failures.total()), (2, 4));
        // Those that end at 300 and at 310 were under way at the window's end.
        assert_eq!(outcome.in_flight, 4);
        assert_eq!(outcome.latencies.whole.len(), 2);
    }

    #[test]
    fn the_last_of_a_fixed_number_of_operations_ends_the_window() {
        let window = Window::new(Stop::Operations { count: 2, within: Nanos(100) }, Nanos(0));
        let mut recorder = Recorder::default();
        recorder.connection_failed(&window, 5, Failure::new(ErrorKind::Alert, ""));
        assert!(!window.is_over(6));
        recorder.completes(&window, 7, Times::default());
        assert!(window.is_over(8) && !window.is_interrupted());
        let outcome = recorder.into_outcome();
        assert_eq!((outcome.completed, outcome.failures.total()), (1, 1));
    }

    #[test]
    fn threads_that_end_operations_at_the_same_time_count_no_more_than_asked() {
        let window = Window::new(Stop::Operations { count: 3, within: Nanos(100) }, Nanos(0));
        let mut recorders = [Recorder::default(), Recorder::default()];
        // All are within the window: their times are not later than its end.
        for now in [9, 9, 8, 7, 6] {
            for recorder in &mut recorders {
                recorder.completes(&window, now, Times::default());
                recorder.connection_failed(&window, now, Failure::new(ErrorKind::Reset, ""));
            }
        }
        let [mut one, two] = recorders.map(Recorder::into_outcome);
        one.merge(two);
        assert_eq!((one.completed, one.failures.total()), (2, 1));
    }

    proptest! {
        /// From a nanosecond to a quarter of an hour, each order of magnitude as often as any other.
        #[test]
        fn latencies_at_each_quantile_are_within_a_thousandth_of_the_exact_ones(
            mut exact in proptest::collection::vec((0.0..12.0).prop_map(|power: f64| {
                10f64.powf(power) as u64
            }), 1..2000),
        ) {
            let mut recorder = Recorder::new(Arrival::CLOSED);
            for latency in &exact {
                recorder.completes(&window(0, u64::MAX), 5 + latency, started(5));
            }
            let whole = recorder.into_outcome().latencies.whole;
            exact.sort_unstable();
            for quantile in [0.5, 0.9, 0.99, 0.999, 1.0] {
                let place = (quantile * exact.len() as f64).ceil() as usize - 1;
                let (reported, exact) = (whole.value_at_quantile(quantile), exact[place]);
                prop_assert!(
                    reported.abs_diff(exact) as f64 <= exact as f64 / 1000.0,
                    "{quantile} of {}: {reported} instead of {exact} ns", whole.len()
                );
            }
        }
    }

    #[test]
    fn latency_counts_from_the_intended_start_and_service_from_the_real_one() {
        let window = window(0, 100_000_000);
        let mut open = Recorder::new("uniform 10/s".parse().unwrap());
        let mut closed = Recorder::new(Arrival::CLOSED);
        let times = Times { first_byte: Some(6_000_000), ..Times::new(1_000_000, 4_000_000) };
        for recorder in [&mut open, &mut closed] {
            recorder.completes(&window, 9_000_000, times);
        }
        let near = |histogram: &hdrhistogram::Histogram<u64>, expected: u64| {
            histogram.len() == 1 && histogram.equivalent(histogram.max(), expected)
        };
        let outcome = open.into_outcome();
        assert!(near(&outcome.latencies.whole, 8_000_000));
        assert!(near(&outcome.latencies.first_byte, 5_000_000));
        assert!(near(&outcome.latencies.service, 5_000_000));
        let outcome = closed.into_outcome();
        assert_eq!((outcome.latencies.whole.len(), outcome.latencies.service.len()), (1, 0));
    }

    #[test]
    fn arrivals_count_by_their_intended_start() {
        let window = window(100, 200);
        let mut recorder = Recorder::new("uniform 10/s".parse().unwrap());
        // The third begins after the window's end, the fourth was meant for then.
        for (intended, start) in [(99, 150), (100, 150), (299, 310), (300, 310)] {
            recorder.begins(&window, Times::new(intended, start));
        }
        for intended in [50, 120, 250] {
            recorder.waits(&window, intended);
        }
        let arrivals = recorder.into_outcome().arrivals;
        // The third was not begun in time either.
        let expected = ArrivalCounts { intended: 4, waiting: 4, carried: 2, ..Default::default() };
        assert_eq!(arrivals, expected);
    }

    #[test]
    fn an_operation_that_begins_after_the_window_is_not_counted() {
        let stop = Stop::After { warmup: Nanos(0), duration: Nanos(200) };
        let window = Window::new(stop, Nanos(100));
        let mut recorder = Recorder::new("uniform 10/s".parse().unwrap());
        // From 100 to 300; the load shrinks until 400.
        for (intended, start, end) in
            [(250, 260, 290), (280, 290, 350), (290, 310, 350), (320, 320, 350)]
        {
            recorder.completes(&window, end, Times::new(intended, start));
        }
        recorder.fails(&window, 360, Times::new(330, 330));
        recorder.is_in_flight(&window, Times::new(370, 370));
        let outcome = recorder.into_outcome();
        assert_eq!((outcome.completed, outcome.in_flight, outcome.failures.total()), (1, 1, 0));
        assert_eq!(
            outcome.arrivals,
            ArrivalCounts { intended: 3, waiting: 1, ..Default::default() }
        );
    }

    proptest! {
        /// Whatever begins and ends when, and however the window ends.
        #[test]
        fn each_operation_is_counted_once(
            operations in proptest::collection::vec((0u64..400, 0u64..100, 0u64..200, 0..5), 0..40),
            closes in proptest::option::of(0u64..400),
            count in proptest::option::of(1u64..20),
        ) {
            let window = match count {
                Some(count) => Window::new(Stop::Operations { count, within: Nanos(300) }, Nanos(0)),
                None => window(100, 200),
            };
            let mut recorder = Recorder::default();
            for (number, (intended, wait, takes, what)) in operations.into_iter().enumerate() {
                // Another thread, or the user, ends the load meanwhile.
                if number == 20 && let Some(now) = closes {
                    window.close(now);
                }
                let (start, end) = (intended + wait, intended + wait + takes);
                let times = Times::new(intended, start);
                match what {
                    0 | 1 => recorder.completes(&window, end, times),
                    2 => recorder.fails(&window, end, times),
                    3 => {
                        let begun = recorder.begins(&window, times);
                        recorder.in_flight(&window, begun, (ErrorKind::Stall, "it"));
                    }
                    _ if window.has_seen(intended) => recorder.waits(&window, intended),
                    _ => recorder.connection_failed(&window, end, failure()),
                }
            }
            let outcome = recorder.into_outcome();
            prop_assert_eq!(outcome.balance(), Ok(()));
            let broken = Outcome { in_flight: outcome.in_flight + 1, ..outcome };
            prop_assert!(broken.balance().is_err());
        }
    }

    #[test]
    fn timers_of_the_window_are_recorded_with_how_late_they_ran() {
        let window = window(100, 200);
        let mut recorder = Recorder::default();
        for (due, now) in [(99, 150), (100, 130), (150, 150), (299, 310), (300, 400)] {
            recorder.timer(&window, due, now);
        }
        let timers = recorder.into_outcome().timers;
        assert_eq!((timers.count, timers.late_ns), (3, 41));
    }

    #[test]
    fn an_operation_still_under_way_at_its_deadline_misses_it() {
        let every = 10_000_000;
        let window = window(10 * every, 10 * every);
        let counts = |record: &dyn Fn(&mut Recorder)| {
            let mut recorder = Recorder { deadline: Some(Nanos(every)), ..Recorder::default() };
            record(&mut recorder);
            let ArrivalCounts { deadlines, deadline_misses, .. } = recorder.into_outcome().arrivals;
            (deadlines, deadline_misses)
        };
        let times = |intended| Times::new(intended, intended);
        // The deadline is a period after the intended start, however late it began.
        for (intended, over, expected) in [
            (12 * every, 13 * every, (1, 0)),
            (12 * every, 13 * every + 1, (1, 1)),
            (12 * every, 19 * every, (1, 1)),
            // Deadlines in the warm-up and at the window's end.
            (8 * every, 11 * every, (0, 0)),
            (9 * every, 11 * every, (1, 1)),
            (19 * every, 21 * every, (0, 0)),
        ] {
            let late = Times::new(intended, over - 1);
            let completed = counts(&|r| r.completes(&window, over, late));
            assert_eq!(completed, expected, "{intended}");
            assert_eq!(counts(&|r| r.fails(&window, over, late)), expected);
        }
        for (intended, missed) in [(8, 0), (9, 1), (18, 1), (19, 0)] {
            let expected = (missed, missed);
            assert_eq!(counts(&|r| r.is_in_flight(&window, times(intended * every))), expected);
            assert_eq!(counts(&|r| r.waits(&window, intended * every)), expected);
        }
        assert_eq!(counts(&|r| r.connection_failed(&window, 15 * every, failure())), (0, 0));
    }

    #[test]
    fn the_time_of_users_is_whole_and_of_what_ends_within_the_window() {
        let window = window(100, 200);
        let mut recorder = Recorder::default();
        // One user: it responds and thinks for 30 each. The last pause's end is 5 late.
        recorder.completes(&window, 90, started(60));
        recorder.resumes(&window, 90, 120, 0);
        recorder.completes(&window, 150, started(120));
        recorder.resumes(&window, 150, 180, 0);
        recorder.fails(&window, 200, started(180));
        recorder.connection_failed(&window, 210, failure());
        recorder.resumes(&window, 200, 235, 5);
        recorder.is_in_flight(&window, started(235));
        // Another one's operation began before the window, and its next pause ends after it.
        let mut other = Recorder::default();
        other.completes(&window, 130, started(10));
        other.resumes(&window, 130, 310, 0);
        let mut both = recorder.into_outcome();
        both.merge(other.into_outcome());
        let expected = UserTime {
            responses: 30 + 120,
            failures: 20,
            pauses: 30 + 30 + 30,
            pause_count: 3,
            late: 5,
        };
        assert_eq!(both.user_time, expected);
    }

    #[test]
    fn operations_under_way_at_the_end_are_recorded_by_age_and_by_what_they_wait_for() {
        let window = window(0, 100_000_000);
        let mut recorder = Recorder::new("uniform 10/s".parse().unwrap());
        let begun = Times { first_byte: Some(50_000_000), ..Times::new(30_000_000, 40_000_000) };
        recorder.is_in_flight(&window, begun);
        recorder.is_in_flight(&window, Times::new(60_000_000, 60_000_000));
        recorder.waits(&window, 90_000_000);
        recorder.connecting(&window, 75_000_000);
        // Ends just after the window, before that is noticed.
        recorder.completes(&window, 101_000_000, Times::new(95_000_000, 95_000_000));
        let mut other = Recorder::default();
        other.fails(&window, 102_000_000, Times::new(2_000_000, 2_000_000));
        other.connection_failed(&window, 102_000_000, failure());
        let mut both = recorder.into_outcome();
        both.merge(other.into_outcome());
        let Outcome { under_way, latencies, in_flight, .. } = both;
        let ms = |histogram: &hdrhistogram::Histogram<u64>| -> Vec<u64> {
            let values = histogram.iter_recorded();
            values.map(|value| (value.value_iterated_to() as f64 / 1e6).round() as u64).collect()
        };
        assert_eq!(in_flight, 4);
        assert_eq!(ms(&under_way.whole), [6, 10, 40, 70, 100]);
        assert_eq!(ms(&under_way.first_byte), [6, 10, 40, 100]);
        assert_eq!(ms(&under_way.connect), [25]);
        assert_eq!((ms(&latencies.first_byte), latencies.whole.len()), (vec![20], 0));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn merging_threads_loses_nothing(latencies in proptest::collection::vec(1u64..1_000_000, 1..100)) {
            let window = window(0, u64::MAX / 2);
            let (mut one, mut two) = (Recorder::default(), Recorder::default());
            for (i, latency) in latencies.iter().enumerate() {
                let recorder = if i % 2 == 0 { &mut one } else { &mut two };
                recorder.completes(&window, 2_000_000, started(2_000_000 - latency));
            }
            let mut outcome = one.into_outcome();
            outcome.merge(two.into_outcome());
            prop_assert_eq!(outcome.completed, latencies.len() as u64);
            prop_assert_eq!(outcome.latencies.whole.len(), latencies.len() as u64);
            let most = *latencies.iter().max().unwrap_or(&0) as f64;
            prop_assert!((outcome.latencies.whole.max() as f64) >= most * 0.999);
        }
    }
}
