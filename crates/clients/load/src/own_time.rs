//! What a load thread has used of its CPU, by its own clock: exact where another thread's look from
//! outside comes too late, because the thread has ended.

use rustix::time::ClockId;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::clock;

/// What a load thread used between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Time on a CPU, without that of polls that found nothing.
    pub on_cpu: Nanos,
    /// Time ready to run without a CPU, where the kernel accounts for it.
    pub waiting: Option<Nanos>,
    /// The time between the two.
    pub within: Nanos,
}

/// What the calling thread has used since it began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnTime {
    /// In ns since the load's start.
    at: u64,
    on_cpu: u64,
    waiting: Option<u64>,
}

impl OwnTime {
    /// Of a thread that has spent `polled_in_vain` ns of its CPU time on polls that found nothing.
    pub(crate) fn now(at: u64, polled_in_vain: u64) -> Self {
        Self {
            at,
            on_cpu: clock::read(ClockId::ThreadCPUTime) - polled_in_vain,
            waiting: std::fs::read_to_string("/proc/thread-self/schedstat")
                .ok()
                .and_then(|text| waiting(&text)),
        }
    }

    pub(crate) fn since(self, earlier: Self) -> ThreadUse {
        let less = |now: u64, then: u64| Nanos(now.saturating_sub(then));
        ThreadUse {
            on_cpu: less(self.on_cpu, earlier.on_cpu),
            waiting: self.waiting.zip(earlier.waiting).map(|(now, then)| less(now, then)),
            within: less(self.at, earlier.at),
        }
    }
}

/// The second of three numbers, which are 0 where the kernel does not account for them.
fn waiting(schedstat: &str) -> Option<u64> {
    let mut numbers = schedstat.split_ascii_whitespace().map(|number| number.parse::<u64>().ok());
    let (_, waiting, times) = (numbers.next()??, numbers.next()??, numbers.next()??);
    (times > 0).then_some(waiting)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_knows_what_it_used_and_sleep_is_not_among_it() {
        let begun = OwnTime::now(0, 0);
        let mut used = Nanos(0);
        while used < Nanos(5_000_000) {
            used = OwnTime::now(0, 0).since(begun).on_cpu;
        }
        let before = OwnTime::now(10, 0);
        std::thread::sleep(std::time::Duration::from_millis(20));
        let slept = OwnTime::now(20, 0).since(before);
        assert!(slept.on_cpu < used && slept.within == Nanos(10), "{slept:?}, {used}");
        assert_eq!((waiting("5 7 2\n"), waiting("0 0 0\n"), waiting("5 7")), (Some(7), None, None));
    }
}
