//! The load's clock.

use std::time::Instant;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds since the load's start. Each operation reads it several times: the difference of two
/// [`Instant`]s would take as many instructions as to receive and check a small response.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// The load's start, in ns of the kernel's monotonic clock, which is that of [`Instant`] too.
    start: u64,
}

impl Clock {
    /// From this start on, to within the time that it takes to read the clock.
    pub(crate) fn since(start: Instant) -> Self {
        /// More than two readings take where nothing else runs between them.
        const APART: u64 = 2_000;
        /// A machine that is never so quiet has the best of so many.
        const TRIES: usize = 50;
        let reading = || {
            let before = read(ClockId::Monotonic);
            let elapsed = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
            let after = read(ClockId::Monotonic);
            (after - before, after.saturating_sub(elapsed))
        };
        let mut best = reading();
        for _ in 1..TRIES {
            if best.0 <= APART {
                break;
            }
            best = best.min(reading());
        }
        Self { start: best.1 }
    }

    pub(crate) fn now(self) -> u64 {
        read(ClockId::Monotonic).saturating_sub(self.start)
    }
}

/// What one of the kernel's clocks says, in ns. The monotonic one begins with the machine, that of a thread
/// with the thread.
pub(crate) fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_runs_with_instants() {
        let start = Instant::now();
        let since_start = || u64::try_from(start.elapsed().as_nanos()).unwrap();
        let making = since_start();
        let clock = Clock::since(start);
        let slack = since_start() - making;
        for _ in 0..1000 {
            let (before, now, after) = (since_start(), clock.now(), since_start());
            assert!(before <= now + slack && now <= after, "{before} {now} {after} {slack}");
        }
    }
}
