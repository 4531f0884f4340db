//! What the CPUs did between two moments, from the most exact file that this machine has.
//!
//! The scheduler's account of each CPU is there where the control groups of version 1 have `cpuacct` (the kernel's
//! Documentation/admin-guide/cgroup-v1/cpuacct.rst); version 2 counts no CPU apart, and what `/proc/schedstat`
//! counts leaves out whoever runs at that moment, for as long as it has run. `/proc/stat` is always there, and
//! sampled. Steal and idle time come from clocks, but are shown in steps of 10 ms.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::time::Instant;

use cpus::CpuList;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::cgroup::Mount;
use crate::cpu_share::{CpuShare, CpuTimeSource};
use crate::interrupt_time::{self, InterruptTime};
use crate::pid_stat::parse_schedstat;
use crate::task_time::{TaskTime, TaskUse};
use crate::{CoreTicks, ObserveError, Root, parse_proc_stat};

/// How long `/proc/stat` takes for one count (`USER_HZ`), in seconds.
const STEP: f64 = 0.01;

/// The tick of the slowest kernels, which holds where the configuration is hidden.
const LONGEST_TICK: Nanos = Nanos(10_000_000);

/// Reads what the CPUs of a machine have done.
#[derive(Debug)]
pub struct CpuMeter {
    pub(crate) root: Root,
    /// The scheduler's account of each CPU, and which CPU each of its numbers is of.
    usage: Option<(String, CpuList)>,
    /// How often the kernel samples, and brings its accounts of running tasks up to date.
    tick: Nanos,
    interrupt_time: Option<InterruptTime>,
    softirq_threads: Vec<(usize, u32)>,
    /// Whether the thread that reads is on the machine that it reads.
    is_here: bool,
}

impl CpuMeter {
    /// That of this machine.
    pub fn machine() -> &'static Self {
        static METER: OnceLock<CpuMeter> = OnceLock::new();
        METER.get_or_init(|| Self { is_here: true, ..Self::of(Root::machine()) })
    }

    /// Looks once for what does not change while a machine runs.
    pub fn of(root: Root) -> Self {
        let hertz = root.kernel_config("HZ").known().cloned().flatten();
        let hertz: Option<u64> = hertz.and_then(|hertz| hertz.parse().ok());
        Self {
            usage: usage(&root),
            tick: hertz.map_or(LONGEST_TICK, |hertz| Nanos(1_000_000_000 / hertz.max(1))),
            interrupt_time: interrupt_time::of(&root).known().copied(),
            softirq_threads: interrupt_time::softirq_threads(&root),
            is_here: false,
            root,
        }
    }

    /// Whether the scheduler counts each CPU here.
    pub(crate) fn has_account(&self) -> bool {
        self.usage.is_some()
    }

    /// Whether a process is a thread of the kernel that does a CPU's network work, which is the load's.
    pub(crate) fn is_softirq_thread(&self, pid: usize) -> bool {
        self.softirq_threads.iter().any(|(_, of)| *of as usize == pid)
    }

    pub(crate) fn tick(&self) -> Nanos {
        self.tick
    }

    /// What the CPUs have done until now, which is the instant `at`.
    ///
    /// # Errors
    /// `/proc/stat` cannot be read.
    pub fn read(&self, at: Instant) -> Result<CpuTimes, ObserveError> {
        // First, as they stand beside readings of the scheduler's other accounts.
        let observer = self.is_here.then(TaskTime::of_this_thread).flatten();
        let programs = self.programs();
        let thread = |pid: u32| {
            let text = self.root.text(&format!("/proc/{pid}/schedstat"));
            Some(parse_schedstat(text.known()?).ok()?.0)
        };
        let threads: BTreeMap<usize, Nanos> = self
            .softirq_threads
            .iter()
            .filter_map(|(cpu, pid)| Some((*cpu, thread(*pid)?)))
            .collect();
        let text = self.root.text("/proc/stat").or_why().map_err(ObserveError::OnHost)?;
        let time = |(cpu, ticks)| {
            let programs = programs.get(&cpu).copied();
            (cpu, CpuTime { ticks, programs, softirq_thread: threads.get(&cpu).copied() })
        };
        let cpus = parse_proc_stat(&text)?.into_iter().map(time).collect();
        Ok(CpuTimes { at, tick: self.tick, interrupt_time: self.interrupt_time, observer, cpus })
    }

    /// By the scheduler's account; empty where there is none.
    fn programs(&self) -> BTreeMap<usize, Nanos> {
        let Some((file, cpus)) = &self.usage else { return BTreeMap::new() };
        let text = self.root.line(file);
        let times = text.known().map_or("", String::as_str).split_ascii_whitespace();
        let times = times.filter_map(|time| time.parse().ok().map(Nanos));
        cpus.as_slice().iter().copied().zip(times).collect()
    }
}

/// Where the first control group counts the time of all tasks by CPU. A container sees its own group in its place,
/// which has no `release_agent`, and does not count what runs outside.
fn usage(root: &Root) -> Option<(String, CpuList)> {
    let mounts = Mount::text(root);
    let mut mounts = Mount::all(mounts.known()?);
    let folder = mounts.find(|mount| mount.is_version_1_of("cpuacct"))?.folder;
    let is_first = root.path(&format!("{folder}/release_agent")).exists();
    let possible = root.line("/sys/devices/system/cpu/possible");
    let cpus = possible.known()?.parse().ok()?;
    is_first.then(|| (format!("{folder}/cpuacct.usage_percpu"), cpus))
}

/// What the CPUs of a machine had done at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTimes {
    #[serde(with = "crate::instant")]
    pub at: Instant,
    /// How often the kernel samples.
    pub tick: Nanos,
    pub interrupt_time: Option<InterruptTime>,
    /// The thread that reads, which is no other program.
    pub observer: Option<TaskTime>,
    pub cpus: BTreeMap<usize, CpuTime>,
}

/// What a CPU had done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuTime {
    pub ticks: CoreTicks,
    /// The time of all tasks, by the scheduler's account.
    pub programs: Option<Nanos>,
    /// The part of it that the kernel's own thread for deferred interrupt work had; `None` where that is not seen,
    /// as in a container.
    pub softirq_thread: Option<Nanos>,
}

impl CpuTimes {
    /// What they did since `earlier`; `None` where no time passed. A CPU that came or went is left out.
    pub fn since(&self, earlier: &Self) -> Option<CpuWindow> {
        let seconds = self.at.checked_duration_since(earlier.at)?.as_secs_f64();
        let less = |now: Option<Nanos>, then: Option<Nanos>| {
            now.zip(then).map(|(now, then)| Nanos(now.0.saturating_sub(then.0)))
        };
        let passed = |(cpu, now): (&usize, &CpuTime)| {
            let then = earlier.cpus.get(cpu)?;
            let time = CpuTime {
                ticks: now.ticks.since(&then.ticks),
                programs: less(now.programs, then.programs),
                softirq_thread: less(now.softirq_thread, then.softirq_thread),
            };
            Some((*cpu, time))
        };
        let cpus = self.cpus.iter().filter_map(passed).collect();
        let Self { tick, interrupt_time, observer, .. } = *self;
        let observer = observer.zip(earlier.observer).map(|(now, then)| now.since(&then));
        (seconds > 0.0).then_some(CpuWindow { seconds, tick, interrupt_time, observer, cpus })
    }
}

/// What CPUs did between two moments.
#[derive(Debug, Clone, PartialEq)]
pub struct CpuWindow {
    seconds: f64,
    tick: Nanos,
    interrupt_time: Option<InterruptTime>,
    observer: Option<TaskUse>,
    cpus: BTreeMap<usize, CpuTime>,
}

impl CpuWindow {
    pub fn seconds(&self) -> f64 {
        self.seconds
    }

    pub fn cpus(&self) -> impl Iterator<Item = usize> {
        self.cpus.keys().copied()
    }

    /// What all programs used of these CPUs, as the kernel charges it to processes: their mean share. Without the
    /// kernel's own work for the network, and without the thread that reads this. `None` where one of them is not
    /// known.
    pub fn programs(&self, cpus: &[usize]) -> Option<CpuShare> {
        let counted = self.mean(cpus, CpuTimeSource::Cpuacct, |time| {
            let ran = time.programs?.0.saturating_sub(time.softirq_thread?.0);
            Some((ran as f64 / 1e9 / self.seconds, self.of_account()))
        });
        let programs = counted.or_else(|| {
            self.mean(cpus, CpuTimeSource::ProcStat, |time| {
                let share = self.steps(self.sampled_programs(time));
                Some((share, self.of_samples(share)))
            })
        })?;
        let (read_for, variance) = self.observer.map_or((0.0, 0.0), |task| task.time_on(cpus));
        let all = self.seconds * cpus.len() as f64;
        Some(CpuShare {
            share: programs.share - read_for / all,
            error: programs.error.hypot(variance.sqrt() / all),
            ..programs
        })
    }

    /// Where the kernel leaves the interrupts' time in the processes', these run a part of what `/proc/stat` calls
    /// interrupts, and the kernel's own threads run the rest: so the interrupts' time counts too, less those
    /// threads'. Otherwise the interrupts would hide a program beside the server that are charged to the server.
    /// Where those threads are not seen, or it is not known what the kernel does, only what is certain counts.
    fn sampled_programs(&self, time: &CpuTime) -> f64 {
        let CoreTicks { user, system, irq, softirq, .. } = time.ticks;
        let interrupts = match (self.interrupt_time, time.softirq_thread) {
            (Some(InterruptTime::InProcesses), Some(thread)) => {
                ((irq + softirq) as f64 - thread.seconds() / STEP).max(0.0)
            }
            _ => 0.0,
        };
        (user + system) as f64 + interrupts
    }

    /// For how much of the time these CPUs were idle. Interrupts on a CPU that no program runs on are in no task's
    /// account: where `/proc/stat` surely shows less idleness than that, it is right.
    pub fn idle(&self, cpus: &[usize]) -> Option<CpuShare> {
        let shown = self.mean(cpus, CpuTimeSource::ProcStat, |time| {
            Some((self.steps(time.ticks.idle as f64), self.of_steps()))
        })?;
        let counted = self.mean(cpus, CpuTimeSource::Cpuacct, |time| {
            let CoreTicks { irq, softirq, steal, .. } = time.ticks;
            let is_apart = self.interrupt_time == Some(InterruptTime::Apart);
            let elsewhere = if is_apart { irq + softirq + steal } else { steal };
            let ran = time.programs?.seconds() / self.seconds;
            // What ran since the last tick before the first moment was counted after it.
            Some(((1.0 - ran - self.steps(elsewhere as f64)).max(0.0), self.of_account()))
        });
        Some(counted.filter(|counted| !shown.is_surely_less(counted)).unwrap_or(shown))
    }

    /// What the hypervisor took of a CPU.
    pub fn steal(&self, cpu: usize) -> Option<CpuShare> {
        self.mean(&[cpu], CpuTimeSource::ProcStat, |time| {
            Some((self.steps(time.ticks.steal as f64), self.of_steps()))
        })
    }

    /// For how much of the time something ran on these CPUs.
    pub fn busy(&self, cpus: &[usize]) -> Option<CpuShare> {
        let idle = self.idle(cpus)?;
        let stolen: Option<f64> = cpus.iter().map(|cpu| Some(self.steal(*cpu)?.share)).sum();
        let share = 1.0 - idle.share - stolen? / cpus.len() as f64;
        Some(CpuShare { share: share.max(0.0), ..idle })
    }

    /// The share of a CPU's time that went to interrupts, where the kernel counts that apart from processes.
    pub fn interrupts_apart(&self, cpu: usize) -> Option<f64> {
        let CoreTicks { irq, softirq, .. } = self.cpus.get(&cpu)?.ticks;
        (self.interrupt_time == Some(InterruptTime::Apart))
            .then(|| self.steps((irq + softirq) as f64))
    }

    /// The mean over CPUs of a share and its variance.
    fn mean(
        &self,
        cpus: &[usize],
        source: CpuTimeSource,
        figure: impl Fn(&CpuTime) -> Option<(f64, f64)>,
    ) -> Option<CpuShare> {
        let of_cpu = |cpu: &usize| figure(self.cpus.get(cpu)?);
        let figures: Option<Vec<(f64, f64)>> = cpus.iter().map(of_cpu).collect();
        let figures = figures.filter(|figures| !figures.is_empty())?;
        let count = figures.len() as f64;
        let share = figures.iter().map(|(share, _)| share).sum::<f64>() / count;
        let variance = figures.iter().map(|(_, variance)| variance).sum::<f64>();
        Some(CpuShare { share, error: variance.sqrt() / count, source: Some(source) })
    }

    fn steps(&self, steps: f64) -> f64 {
        steps * STEP / self.seconds
    }

    /// The variance of a share between two moments at each of which up to a whole `step` (in seconds) is left out.
    fn of_ends(&self, step: f64) -> f64 {
        (step / self.seconds).powi(2) / 6.0
    }

    /// Of a share of whole steps.
    fn of_steps(&self) -> f64 {
        self.of_ends(STEP)
    }

    /// Of a share by the scheduler's account, in which a task that runs counts up to the last tick.
    fn of_account(&self) -> f64 {
        self.of_ends(self.tick.seconds())
    }

    /// Of a share that is sampled: that of a binomial, in which none or all of a few samples still leave a doubt
    /// (Laplace's rule of succession), in steps of user and of system time.
    fn of_samples(&self, share: f64) -> f64 {
        let samples = self.seconds / self.tick.seconds();
        let likely = (share.clamp(0.0, 1.0) * samples + 1.0) / (samples + 2.0);
        likely * (1.0 - likely) / samples + 2.0 * self.of_steps()
    }
}

#[cfg(test)]
mod tests;
