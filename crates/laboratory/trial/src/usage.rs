//! CPU time that threads and process trees have used, and what they used of it between two looks.

use std::time::Instant;

use load::ThreadUse;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// The part of a CPU time that it may be wrong by: beyond that it is not known.
const MOST_DOUBT: f64 = 0.03;

/// What a thread or process tree has used since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskReading {
    /// When this was read.
    #[serde(with = "observe::instant")]
    pub at: Instant,
    /// Time on a CPU.
    pub on_cpu: Nanos,
    /// How much that may be wrong by, beside what a scheduler's tick hides.
    pub doubt: Nanos,
    /// Time ready to run without a CPU, where the kernel accounts for it.
    pub waiting: Option<Nanos>,
}

/// CPU time used between two readings per second: 1.0 is one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Usage {
    /// CPUs occupied.
    pub on_cpu: f64,
    /// CPUs waited for.
    pub waiting: Option<f64>,
}

impl TaskReading {
    /// The usage between `earlier` and this; `None` where no time passed between them.
    pub fn since(&self, earlier: &Self) -> Option<Usage> {
        self.used_in(self.at.checked_duration_since(earlier.at)?.as_secs_f64(), earlier)
    }

    /// The same where all that was used since `earlier` was used in this many seconds.
    pub(crate) fn used_in(&self, seconds: f64, earlier: &Self) -> Option<Usage> {
        let rate = |now: Nanos, then: Nanos| now.0.saturating_sub(then.0) as f64 / 1e9 / seconds;
        (seconds > 0.0).then(|| Usage {
            on_cpu: rate(self.on_cpu, earlier.on_cpu),
            waiting: self.waiting.zip(earlier.waiting).map(|(now, then)| rate(now, then)),
        })
    }

    /// What was used since `earlier` may be wrong by so much of so much that it is not known.
    pub(crate) fn too_coarse_since(&self, earlier: &Self) -> Option<(Nanos, Nanos)> {
        let used = Nanos(self.on_cpu.0.saturating_sub(earlier.on_cpu.0));
        let doubt = self.doubt.max(earlier.doubt);
        (doubt.0 as f64 > MOST_DOUBT * used.0 as f64).then_some((doubt, used))
    }
}

impl From<ThreadUse> for Usage {
    fn from(ThreadUse { on_cpu, waiting, within }: ThreadUse) -> Self {
        let rate = |time: Nanos| time.0 as f64 / within.0.max(1) as f64;
        Self { on_cpu: rate(on_cpu), waiting: waiting.map(rate) }
    }
}

impl Usage {
    /// What threads that take turns on one CPU used of it together. While one waits because another
    /// of them runs, they do not wait for anybody else. `None` of no threads.
    pub fn of_one_cpu<'a>(threads: impl Iterator<Item = &'a Self> + Clone) -> Option<Self> {
        let on_cpu: f64 = threads.clone().map(|usage| usage.on_cpu).sum();
        let busiest = threads.max_by(|a, b| a.busy().total_cmp(&b.busy()))?;
        let waiting = busiest.waiting.map(|_| (busiest.busy() - on_cpu).max(0.0));
        Some(Self { on_cpu, waiting })
    }

    /// Running, or wanting to.
    pub fn busy(&self) -> f64 {
        self.on_cpu + self.waiting.unwrap_or(0.0)
    }

    /// CPU time over a window of this length.
    pub fn on_cpu_within(&self, window: Nanos) -> Nanos {
        Nanos((self.on_cpu * window.0 as f64).round() as u64)
    }

    /// Waiting over a window of this length.
    pub fn waiting_within(&self, window: Nanos) -> Option<Nanos> {
        self.waiting.map(|waiting| Nanos((waiting * window.0 as f64).round() as u64))
    }
}
