//! What the samples of one trial say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::perf::{Event, FREQUENCY, Samples};
use crate::rules::Rules;
use crate::stack::Stack;

/// From fewer samples a share is not worth printing.
const FEWEST: u64 = 1_000;

/// Where the time of a server's CPUs went within a window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
    pub event: Event,
    /// Samples per second and CPU.
    pub frequency_hz: u32,
    /// Samples of the server's processes, by class.
    pub server: BTreeMap<Class, u64>,
    /// Samples of kernel threads on the server's CPUs, by the thread's name without its CPU:
    /// `ksoftirqd`.
    pub kernel_threads: BTreeMap<String, u64>,
    /// Samples in which the CPUs had nothing to do.
    pub idle: u64,
    /// Samples of all other processes.
    pub foreign: u64,
    /// Samples that the kernel could not hand over.
    pub lost: u64,
    /// Whether no stack of the server's own code was deeper than a frame: it was built without frame
    /// pointers, and rules see no callers in it.
    pub lacks_frame_pointers: bool,
}

impl Profile {
    /// Sorts the samples that were taken from `begin` to `end`, in ns of the monotonic clock;
    /// `server` are the numbers of the server's processes. Returns the server's stacks too.
    #[must_use]
    pub fn of(
        samples: Samples,
        event: Event,
        (begin, end): (u64, u64),
        server: &[u32],
        rules: &Rules,
    ) -> (Self, Vec<Stack>) {
        let mut profile = Self {
            event,
            frequency_hz: FREQUENCY,
            server: BTreeMap::new(),
            kernel_threads: BTreeMap::new(),
            idle: 0,
            foreign: 0,
            lost: samples.lost,
            lacks_frame_pointers: false,
        };
        let mut of_server = Vec::new();
        let mut is_deep = false;
        for (_, stack) in samples.stacks.into_iter().filter(|(at, _)| (begin..end).contains(at)) {
            if server.contains(&stack.process) {
                *profile.server.entry(rules.class(&stack)).or_default() += 1;
                is_deep |= stack.frames.iter().filter(|frame| !frame.is_of_kernel()).count() > 2;
                of_server.push(stack);
            } else if rules.class(&stack) == Class::Idle || stack.process == 0 {
                profile.idle += 1;
            } else if stack.frames.iter().all(crate::Frame::is_of_kernel)
                && is_kernel_thread(&stack)
            {
                let name = stack.thread.split(['/', ':']).next().unwrap_or_default().to_owned();
                *profile.kernel_threads.entry(name).or_default() += 1;
            } else {
                profile.foreign += 1;
            }
        }
        profile.lacks_frame_pointers = !of_server.is_empty() && !is_deep;
        (profile, of_server)
    }

    /// The samples of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for (class, count) in other.server {
            *self.server.entry(class).or_default() += count;
        }
        for (name, count) in other.kernel_threads {
            *self.kernel_threads.entry(name).or_default() += count;
        }
        self.idle += other.idle;
        self.foreign += other.foreign;
        self.lost += other.lost;
        self.lacks_frame_pointers &= other.lacks_frame_pointers;
        self
    }

    /// How many samples of the server there are.
    #[must_use]
    pub fn samples(&self) -> u64 {
        self.server.values().sum()
    }

    /// The share of the server's samples, from 0 to 1; `None` without samples.
    #[must_use]
    pub fn share(&self, class: Class) -> Option<f64> {
        let all = self.samples();
        let of_class = self.server.get(&class).copied().unwrap_or_default();
        (all > 0).then(|| of_class as f64 / all as f64)
    }

    /// Why its shares are not to be relied on, a clause each.
    #[must_use]
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let samples = self.samples();
        if samples < FEWEST {
            doubts.push(format!("only {samples} samples, of {FEWEST} that it takes"));
        }
        if self.lost > 0 {
            doubts.push(format!("{} samples were lost", self.lost));
        }
        doubts
    }
}

/// Kernel threads have no program, and names such as `ksoftirqd/0`, `kworker/0:1`, `rcu_sched`.
fn is_kernel_thread(stack: &Stack) -> bool {
    ["ksoftirqd", "kworker", "rcu", "migration", "kswapd", "irq", "jbd2", "kcompactd"]
        .iter()
        .any(|name| stack.thread.starts_with(name))
}
