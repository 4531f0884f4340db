use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::cpu_clock;
use crate::thread_cpu::current_tid;

/// What a task has run until one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskTime {
    /// The CPU that it ran on last.
    pub cpu: usize,
    pub ran: Nanos,
}

/// What a task used between two moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskUse {
    /// Those that it ran on last at the two moments.
    cpus: [usize; 2],
    pub(crate) ran: Nanos,
}

impl TaskTime {
    pub(crate) fn of_this_thread() -> Option<Self> {
        let ran = cpu_clock::of_thread(current_tid()).ok()?;
        Some(Self { cpu: rustix::thread::sched_getcpu(), ran })
    }

    pub(crate) fn since(self, earlier: &Self) -> TaskUse {
        let ran = Nanos(self.ran.0.saturating_sub(earlier.ran.0));
        TaskUse { cpus: [earlier.cpu, self.cpu], ran }
    }
}

impl TaskUse {
    /// For how many seconds it ran on these CPUs, and the variance of that. Of what a task used that came from
    /// another CPU or went to one, any part may have been on these: so half of it was, give or take the standard
    /// deviation of what is spread evenly.
    pub(crate) fn time_on(&self, cpus: &[usize]) -> (f64, f64) {
        let ran = self.ran.seconds();
        match self.cpus.map(|cpu| cpus.contains(&cpu)) {
            [true, true] => (ran, 0.0),
            [false, false] => (0.0, 0.0),
            _ => (ran / 2.0, ran.powi(2) / 12.0),
        }
    }
}
