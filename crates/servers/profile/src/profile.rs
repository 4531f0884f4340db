//! What the samples of one trial say.

use std::collections::BTreeMap;

use observe::Fact;
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::futexes::Futexes;
use crate::perf::{Event, FREQUENCY, Samples};
use crate::rules::Rules;
use crate::stack::CallStack;

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
    #[serde(default = "not_counted")]
    pub futexes: Fact<Futexes>,
}

/// Of a trial of an older version.
fn not_counted() -> Fact<Futexes> {
    Fact::unknown("they were not counted")
}

impl Profile {
    /// Sorts the samples that were taken from `begin` to `end`, in ns of the monotonic clock;
    /// `server` are the numbers of the server's processes. Returns the server's stacks too.
    pub fn of(
        samples: Samples,
        event: Event,
        (begin, end): (u64, u64),
        server: &[u32],
        futexes: Fact<Futexes>,
        rules: &Rules,
    ) -> (Self, Vec<CallStack>) {
        let mut profile = Self {
            event,
            frequency_hz: FREQUENCY,
            server: BTreeMap::new(),
            kernel_threads: BTreeMap::new(),
            idle: 0,
            foreign: 0,
            lost: samples.lost,
            lacks_frame_pointers: false,
            futexes,
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
        self.futexes = self.futexes.and_then(|ours| other.futexes.map(|theirs| ours.and(theirs)));
        self
    }

    /// How many samples of the server there are.
    pub fn samples(&self) -> u64 {
        self.server.values().sum()
    }

    /// The share of the server's samples, from 0 to 1; `None` without samples.
    pub fn share(&self, class: Class) -> Option<f64> {
        let all = self.samples();
        let of_class = self.server.get(&class).copied().unwrap_or_default();
        (all > 0).then(|| of_class as f64 / all as f64)
    }

    /// Why its shares are not reliable, a clause each.
    pub fn doubts(&self) -> Vec<String> {
        let mut doubts = Vec::new();
        let samples = self.samples();
        if samples < FEWEST {
            doubts
                .push(format!("there are only {samples} of the {FEWEST} samples that are needed"));
        }
        if self.lost > 0 {
            doubts.push(format!("{} samples were lost", self.lost));
        }
        doubts
    }
}

/// Kernel threads have no program, and names such as `ksoftirqd/0`, `kworker/0:1`, `rcu_sched`.
fn is_kernel_thread(stack: &CallStack) -> bool {
    ["ksoftirqd", "kworker", "rcu", "migration", "kswapd", "irq", "jbd2", "kcompactd"]
        .iter()
        .any(|name| stack.thread.starts_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Frame;

    const SERVER: u32 = 7;

    fn sample(at: u64, process: u32, thread: &str, functions: &[&str]) -> (u64, CallStack) {
        let frame = |name: &&str| {
            let (library, function) = name.split_once(':').unwrap_or(("[kernel.kallsyms]", *name));
            Frame { library: Some(library.to_owned()), function: Some(function.to_owned()) }
        };
        let frames = functions.iter().map(frame).collect();
        (at, CallStack { process, thread: thread.to_owned(), frames })
    }

    /// Of the samples from 100 to 199.
    fn profile(stacks: Vec<(u64, CallStack)>) -> (Profile, Vec<CallStack>) {
        let samples = Samples { stacks, lost: 0 };
        let futexes = Fact::Known(Futexes { calls: 3, operations: 6 });
        Profile::of(samples, Event::CpuClock, (100, 200), &[SERVER], futexes, &Rules::built_in())
    }

    #[test]
    fn each_sample_of_the_window_is_counted_for_who_ran() {
        let main = ["nginx:ngx_sum", "nginx:ngx_event", "nginx:main"];
        let softirq = ["tcp_v4_rcv", "run_ksoftirqd", "kthread"];
        let (profile, stacks) = profile(vec![
            sample(99, SERVER, "nginx", &main),
            sample(100, SERVER, "nginx", &main),
            sample(150, SERVER, "nginx", &["tcp_sendmsg"]),
            sample(150, 15, "ksoftirqd/0", &softirq),
            sample(151, 16, "kworker/0:1", &["process_one_work"]),
            sample(152, 0, "swapper", &["default_idle_call", "do_idle"]),
            sample(153, 99, "cron", &["cron:main"]),
            sample(200, SERVER, "nginx", &main),
        ]);
        assert_eq!(profile.server, [(Class::HttpServer, 1), (Class::TcpIp, 1)].into());
        assert_eq!((profile.samples(), stacks.len()), (2, 2));
        let threads = [("ksoftirqd".to_owned(), 1), ("kworker".to_owned(), 1)];
        assert_eq!(profile.kernel_threads, threads.into());
        assert_eq!((profile.idle, profile.foreign), (1, 1));
        assert!(!profile.lacks_frame_pointers);
    }

    #[test]
    fn a_server_that_shows_no_callers_was_built_without_frame_pointers() {
        let shallow =
            |at| sample(at, SERVER, "nginx", &["tcp_sendmsg", "libc.so.6:writev", "nginx:x"]);
        assert!(profile((100..200).map(shallow).collect()).0.lacks_frame_pointers);
        assert!(!profile(Vec::new()).0.lacks_frame_pointers);
    }

    #[test]
    fn few_and_lost_samples_are_doubts() {
        let (of, _) =
            profile((100..200).map(|at| sample(at, SERVER, "nginx", &["tcp_ack"])).collect());
        assert_eq!(of.doubts(), ["there are only 100 of the 1000 samples that are needed"]);
        let mut many = (0..9).fold(of.clone(), |sum, _| sum.and(of.clone()));
        assert_eq!(
            (many.samples(), many.share(Class::TcpIp), many.doubts()),
            (1_000, Some(1.0), vec![])
        );
        assert_eq!(many.futexes.known().and_then(|of| of.per_operation()), Some(0.5));
        many.lost = 2;
        assert_eq!(many.doubts(), ["2 samples were lost"]);
    }
}
