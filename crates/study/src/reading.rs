//! CPU time and counters at one moment, and what was used between two.

use std::time::Instant;

use units::Nanos;

/// What was read at one moment.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The server's process tree, where it is known and lives.
    pub server: Option<TaskReading>,
    /// The process tree of what stands behind the server, where that is accounted for apart.
    pub backend: Option<TaskReading>,
    /// The load threads that live, in the order in which they were asked for.
    pub threads: Vec<Option<TaskReading>>,
    /// How often accept queues of this network namespace have overflowed since it began.
    pub listen_overflows: Option<i64>,
}

/// What a thread or process tree has used since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TaskReading {
    /// When this was read.
    pub at: Instant,
    /// Time on a CPU.
    pub on_cpu: Nanos,
    /// Time ready to run without a CPU, where the kernel accounts for it.
    pub waiting: Option<Nanos>,
}

/// A server's processes at a window's end are not those at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessesChanged {
    /// How many there were at the start.
    pub before: usize,
    /// How many there were at the end; it may be as many, but others.
    pub after: usize,
}

/// What was used between two readings, a second of time: 1.0 is one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// CPUs occupied.
    pub on_cpu: f64,
    /// CPUs waited for.
    pub waiting: Option<f64>,
}

impl TaskReading {
    /// The usage between `earlier` and this; `None` where no time passed between them.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Usage> {
        let passed = self.at.checked_duration_since(earlier.at)?.as_secs_f64();
        let rate = |now: Nanos, then: Nanos| now.0.saturating_sub(then.0) as f64 / 1e9 / passed;
        (passed > 0.0).then(|| Usage {
            on_cpu: rate(self.on_cpu, earlier.on_cpu),
            waiting: self.waiting.zip(earlier.waiting).map(|(now, then)| rate(now, then)),
        })
    }
}

impl Usage {
    /// Running, or wanting to.
    #[must_use]
    pub fn busy(&self) -> f64 {
        self.on_cpu + self.waiting.unwrap_or(0.0)
    }

    /// CPU time over a window of this length.
    #[must_use]
    pub fn on_cpu_within(&self, window: Nanos) -> Nanos {
        Nanos((self.on_cpu * window.0 as f64).round() as u64)
    }

    /// Waiting over a window of this length.
    #[must_use]
    pub fn waiting_within(&self, window: Nanos) -> Option<Nanos> {
        self.waiting.map(|waiting| Nanos((waiting * window.0 as f64).round() as u64))
    }
}

/// The readings around a window.
///
/// A load thread may end with the window, and takes its times with it. So readings go on during
/// the window, and the last one of each thread counts; each usage is taken over the time between
/// the readings that it comes from.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    start: Reading,
    end: Reading,
}

impl Readings {
    /// With the reading at the window's start.
    #[must_use]
    pub fn begin(start: Reading) -> Self {
        Self { end: start.clone(), start }
    }

    /// With a later reading. A thread that is gone keeps its last one; a server does not, because
    /// one that dies is no longer what is measured.
    pub fn advance(&mut self, later: Reading) {
        let threads =
            later.threads.iter().zip(&self.end.threads).map(|(now, last)| now.or(*last)).collect();
        self.end = Reading { threads, ..later };
    }

    /// Drops what was read of the server: it was not of all its processes.
    pub fn forget_server(&mut self) {
        self.end.server = None;
    }

    /// The server's usage, where it is known and lived to the end.
    #[must_use]
    pub fn server(&self) -> Option<Usage> {
        self.end.server?.since(&self.start.server?)
    }

    /// The usage of what stands behind the server.
    #[must_use]
    pub fn backend(&self) -> Option<Usage> {
        self.end.backend?.since(&self.start.backend?)
    }

    /// The usage of each load thread; `None` where one was not read.
    #[must_use]
    pub fn threads(&self) -> Option<Vec<Usage>> {
        if self.start.threads.is_empty() {
            return None;
        }
        let both = self.start.threads.iter().zip(&self.end.threads);
        both.map(|(start, end)| end.as_ref()?.since(start.as_ref()?)).collect()
    }

    /// How often accept queues overflowed.
    #[must_use]
    pub fn listen_overflows(&self) -> Option<u64> {
        let passed = self.end.listen_overflows?.checked_sub(self.start.listen_overflows?)?;
        u64::try_from(passed).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn task(base: Instant, at_ms: u64, on_cpu_ms: u64, waiting_ms: u64) -> Option<TaskReading> {
        Some(TaskReading {
            at: base + Duration::from_millis(at_ms),
            on_cpu: Nanos(on_cpu_ms * 1_000_000),
            waiting: Some(Nanos(waiting_ms * 1_000_000)),
        })
    }

    fn reading(threads: Vec<Option<TaskReading>>) -> Reading {
        Reading { threads, ..Reading::default() }
    }

    #[test]
    fn usage_is_over_the_time_between_its_readings() {
        let base = Instant::now();
        let mut readings =
            Readings::begin(reading(vec![task(base, 0, 100, 5), task(base, 0, 0, 0)]));
        readings.advance(reading(vec![task(base, 900, 0, 0), task(base, 900, 450, 225)]));
        // The second thread is gone.
        readings.advance(reading(vec![task(base, 1000, 600, 255), None]));
        let usages = readings.threads().unwrap();
        assert_eq!(usages[0], Usage { on_cpu: 0.5, waiting: Some(0.25) });
        assert_eq!(usages[1], Usage { on_cpu: 0.5, waiting: Some(0.25) });
        assert_eq!(usages[0].busy(), 0.75);
        assert_eq!(usages[0].on_cpu_within(Nanos(600)), Nanos(300));
        assert_eq!(usages[0].waiting_within(Nanos(600)), Some(Nanos(150)));
    }

    #[test]
    fn what_was_not_read_is_not_known() {
        let base = Instant::now();
        let readings = Readings::begin(reading(vec![task(base, 0, 0, 0)]));
        assert_eq!(readings.threads(), None);
        assert_eq!(readings.server(), None);
        assert_eq!(Readings::default().threads(), None);
        assert_eq!(Readings::default().listen_overflows(), None);
        let mut died =
            Readings::begin(Reading { server: task(base, 0, 0, 0), ..Reading::default() });
        died.advance(Reading { server: task(base, 100, 50, 0), ..Reading::default() });
        assert_eq!(died.server().map(|usage| usage.on_cpu), Some(0.5));
        died.advance(Reading::default());
        assert_eq!(died.server(), None);
        let same = task(base, 0, 0, 0).unwrap();
        assert_eq!(same.since(&same), None);
    }
}
