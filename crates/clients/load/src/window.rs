//! The window within which a load is measured. It reads no clock: `now` is an argument.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::Thread;

use units::Nanos;

use crate::job::Stop;
use crate::up::{Up, UpCount};

/// How long the window waits for connections that should be up when it begins, after its warm-up.
const LONGEST_WAIT: Nanos = Nanos(5_000_000_000);

/// How long before its begin a window that waited is announced: who watches the load reads clocks then.
const NOTICE: Nanos = Nanos(10_000_000);

/// The times of the window, in ns since the load's start; shared by all its threads.
#[derive(Debug)]
pub(crate) struct Window {
    start: AtomicU64,
    /// When the window begins that need not wait.
    earliest: u64,
    /// Whether it waits for connections, and begins before its start where they are up.
    is_waiting: AtomicBool,
    planned_end: AtomicU64,
    end: AtomicU64,
    /// When no more operations begin: later than the window's end where the load ramps down.
    over: AtomicU64,
    ends: Ends,
    /// The connections that are up, where they are kept.
    up: Option<UpCount>,
    /// Who waits for the window's begin and end.
    waiter: OnceLock<Thread>,
}

/// An end of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Edge {
    Start,
    End,
}

/// What ends the window.
#[derive(Debug)]
enum Ends {
    Time,
    /// The last of the operations that are still to be counted.
    Operations {
        to_begin: AtomicU64,
        to_count: AtomicU64,
    },
    /// The last of these users who are still walking.
    Users(AtomicUsize),
}

impl Window {
    /// `ramp` is how long the load grows before the warm-up and shrinks after the window.
    pub(crate) fn new(stop: Stop, ramp: Nanos) -> Self {
        let (start, end, ends) = match stop {
            Stop::After { warmup, duration } => {
                let start = ramp.0.saturating_add(warmup.0);
                (start, start.saturating_add(duration.0), Ends::Time)
            }
            Stop::Operations { count, within } => {
                let (to_begin, to_count) = (AtomicU64::new(count), AtomicU64::new(count));
                (0, within.0, Ends::Operations { to_begin, to_count })
            }
            Stop::Users(count) => (0, u64::MAX, Ends::Users(AtomicUsize::new(count))),
        };
        Self {
            start: AtomicU64::new(start),
            earliest: start,
            is_waiting: AtomicBool::new(false),
            planned_end: AtomicU64::new(end),
            end: AtomicU64::new(end),
            over: AtomicU64::new(end.saturating_add(ramp.0)),
            ends,
            up: None,
            waiter: OnceLock::new(),
        }
    }

    /// The same for a load that keeps this many connections.
    pub(crate) fn with_kept(self, connections: usize) -> Self {
        Self { up: Some(UpCount::new(connections)), ..self }
    }

    /// The same, where the window begins when enough of these connections are up, at most [`LONGEST_WAIT`] later than
    /// it would.
    pub(crate) fn waiting(self) -> Self {
        for time in [&self.start, &self.planned_end, &self.end, &self.over] {
            let later = time.load(Relaxed).saturating_add(LONGEST_WAIT.0);
            time.store(later, Relaxed);
        }
        Self { is_waiting: AtomicBool::new(true), ..self }
    }

    /// A connection is up, or no longer.
    pub(crate) fn note_up(&self, is_up: bool, now: impl FnOnce() -> u64) {
        let Some(up) = &self.up else { return };
        let now = now();
        up.change(is_up, now, (self.start(), self.end()));
        if self.is_waiting.load(Relaxed) && up.are_enough() && self.is_waiting.swap(false, Relaxed)
        {
            self.begin_early(now);
        }
    }

    /// Enough connections are up.
    fn begin_early(&self, now: u64) {
        let start = self.earliest.max(now + NOTICE.0);
        let early = self.start().saturating_sub(start);
        // First, and in time: all threads agree on what came before it.
        self.start.fetch_sub(early, Relaxed);
        let planned = self.planned_end.fetch_sub(early, Relaxed);
        // A window that was closed before stays so.
        if self.end.compare_exchange(planned, planned - early, Relaxed, Relaxed).is_ok() {
            self.over.fetch_sub(early, Relaxed);
        }
        if let Some(waiter) = self.waiter.get() {
            waiter.unpark();
        }
    }

    /// How many connections were up, once the window has ended.
    pub(crate) fn up(&self) -> Option<Up> {
        let up = self.up.as_ref()?.seen((self.start(), self.end()));
        Some(Up { awaited: Nanos(self.start() - self.earliest), ..up })
    }

    pub(crate) fn start(&self) -> u64 {
        self.start.load(Relaxed)
    }

    pub(crate) fn end(&self) -> u64 {
        self.end.load(Relaxed)
    }

    /// When the window is planned to end; `None` where that is no time.
    pub(crate) fn planned_end(&self) -> Option<u64> {
        matches!(self.ends, Ends::Time).then(|| self.planned_end.load(Relaxed))
    }

    /// When the load is over.
    pub(crate) fn over(&self) -> u64 {
        self.over.load(Relaxed)
    }

    /// Whether the load is over.
    pub(crate) fn is_over(&self, now: u64) -> bool {
        now >= self.over()
    }

    /// Ends the load, and the window if it is still open.
    pub(crate) fn close(&self, now: u64) {
        self.end.fetch_min(now, Relaxed);
        self.over.fetch_min(now, Relaxed);
        if let Some(waiter) = self.waiter.get() {
            waiter.unpark();
        }
    }

    /// Unparks this thread when [`close`](Self::close) ends the window, and when one that waits is to begin; the first
    /// one that asks.
    pub(crate) fn wake_at_end(&self, waiter: Thread) {
        let _ = self.waiter.set(waiter);
    }

    /// Whether `now` is in the window.
    pub(crate) fn contains(&self, now: u64) -> bool {
        now >= self.start() && now < self.end()
    }

    /// Whether an operation that ends now was under way when the window ended. An operation that
    /// ends at the same time as the one that closed the window counts as under way too.
    pub(crate) fn is_past(&self, now: u64) -> bool {
        now >= self.start().min(self.end())
    }

    /// Whether an operation that began at `start` did so before the window's end.
    pub(crate) fn has_seen(&self, start: u64) -> bool {
        start < self.end()
    }

    /// The length of the window, once it has ended.
    pub(crate) fn length(&self) -> Nanos {
        Nanos(self.end().saturating_sub(self.start()))
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        match &self.ends {
            Ends::Time => self.end() < self.planned_end.load(Relaxed),
            Ends::Operations { to_count, .. } => {
                to_count.load(Relaxed) > 0 && self.end() < self.planned_end.load(Relaxed)
            }
            Ends::Users(left) => left.load(Relaxed) > 0,
        }
    }

    /// A user has made its last walk at `now`; the last user ends the load.
    pub(crate) fn user_is_done(&self, now: u64) {
        if let Ends::Users(left) = &self.ends
            && left.fetch_sub(1, Relaxed) == 1
        {
            self.close(now + 1);
        }
    }

    /// Takes one of the operations that are to begin; `false` where none is left, so that a server is
    /// asked for no more than are counted.
    pub(crate) fn begins_operation(&self) -> bool {
        let Ends::Operations { to_begin, .. } = &self.ends else { return true };
        to_begin.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }

    /// Whether an operation that ends now counts. Where the load stops after a number of
    /// operations, the last one ends the window, and another that ends at the same time on another
    /// thread no longer counts.
    pub(crate) fn admits_operation(&self, now: u64) -> bool {
        let Ends::Operations { to_count, .. } = &self.ends else { return self.contains(now) };
        if !self.contains(now) {
            return false;
        }
        match to_count.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
            Ok(1) => self.close(now + 1),
            Ok(_) => {}
            Err(_) => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(warmup: u64, duration: u64) -> Window {
        with_ramp(warmup, duration, 0)
    }

    fn with_ramp(warmup: u64, duration: u64, ramp: u64) -> Window {
        let stop = Stop::After { warmup: Nanos(warmup), duration: Nanos(duration) };
        Window::new(stop, Nanos(ramp))
    }

    #[test]
    fn a_load_that_shrinks_is_over_later_than_its_window() {
        let window = with_ramp(100, 200, 1000);
        assert_eq!((window.start(), window.end(), window.over()), (1100, 1300, 2300));
        assert!(!window.contains(1099) && window.contains(1100) && !window.contains(1300));
        assert!(!window.is_over(2299) && window.is_over(2300));
        // A load that is stopped while it ramps down ends at once, and its window is complete.
        window.close(1500);
        assert_eq!((window.over(), window.length()), (1500, Nanos(200)));
        assert!(!window.is_interrupted());
        // A load that is stopped earlier does not ramp down.
        let window = with_ramp(100, 200, 1000);
        window.close(1200);
        assert!(window.is_over(1200) && window.is_interrupted());
    }

    /// Of two connections, from a warm-up of 100 ns and a window of 200 ns on.
    fn waiting() -> Window {
        window(100, 200).with_kept(2).waiting()
    }

    #[test]
    fn a_window_that_waits_begins_when_connections_are_up_or_its_time_is_over() {
        let awaited = |window: &Window| window.up().unwrap().awaited;
        let (notice, longest) = (NOTICE.0, LONGEST_WAIT.0);
        let late = waiting();
        late.note_up(true, || 50);
        assert!(!late.contains(150) && late.planned_end() == Some(longest + 300));
        late.note_up(true, || 1_000);
        assert_eq!((late.start(), late.end()), (notice + 1_000, notice + 1_200));
        assert_eq!((late.planned_end(), late.over()), (Some(notice + 1_200), notice + 1_200));
        assert!(late.length() == Nanos(200) && !late.is_interrupted());
        // It does not wait again.
        late.note_up(false, || 1_100);
        late.note_up(true, || notice + 1_100);
        let up = Up { at_begin: 1, at_end: 2, short: Nanos(100), awaited: Nanos(notice + 900) };
        assert_eq!((late.start(), late.up()), (notice + 1_000, Some(up)));

        // Those that are up early do not shorten the warm-up.
        let early = window(2 * notice, 200).with_kept(1).waiting();
        early.note_up(true, || 10);
        assert_eq!((early.start(), awaited(&early)), (2 * notice, Nanos(0)));

        let never = waiting();
        never.note_up(true, || 50);
        assert_eq!((never.start(), awaited(&never)), (longest + 100, LONGEST_WAIT));
        // What comes up within the window does not move it.
        never.note_up(true, || longest + 150);
        assert_eq!((never.start(), never.end()), (longest + 100, longest + 300));

        let stopped = waiting();
        stopped.close(1_000);
        (0..2).for_each(|_| stopped.note_up(true, || 1_001));
        assert!(stopped.is_over(1_000) && stopped.length() == Nanos(0) && stopped.is_interrupted());
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
    fn so_many_operations_begin_and_time_ends_those_that_are_left() {
        let window = Window::new(Stop::Operations { count: 2, within: Nanos(100) }, Nanos(0));
        assert_eq!([(); 3].map(|()| window.begins_operation()), [true, true, false]);
        assert!(window.admits_operation(50) && !window.is_over(51) && window.is_over(100));
        assert!(!window.is_interrupted());
        window.close(60);
        assert!(window.is_interrupted() && !window.admits_operation(60));
    }

    #[test]
    fn the_last_user_ends_the_window() {
        let window = Window::new(Stop::Users(2), Nanos(0));
        window.user_is_done(10);
        assert!(window.admits_operation(15) && window.is_interrupted());
        window.user_is_done(20);
        assert!(window.admits_operation(20) && !window.admits_operation(21));
        assert!(window.is_over(21) && !window.is_interrupted());
        assert_eq!(window.planned_end(), None);
    }

    #[test]
    fn stopping_in_the_warmup_measures_nothing() {
        let window = window(100, 200);
        window.close(50);
        assert_eq!(window.length(), Nanos(0));
        assert!(window.is_over(50) && !window.contains(120));
    }

    #[test]
    fn what_ends_after_the_window_was_under_way_at_its_end() {
        let window = window(100, 200);
        let is_past = |now| window.is_past(now) && !window.admits_operation(now);
        assert_eq!([99, 100, 299, 300].map(is_past), [false, false, false, true]);
        window.close(50);
        assert_eq!([49, 50].map(is_past), [false, true]);
    }
}
