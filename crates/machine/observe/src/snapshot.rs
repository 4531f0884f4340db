use std::collections::BTreeMap;
use std::time::Instant;

use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Fact;
use crate::cpu_share::{CpuShare, CpuTimeSource};
use crate::cpu_times::{CpuMeter, CpuTimes, CpuWindow};
use crate::pid_stat::{PidStat, parse_schedstat};
use crate::task_time::{TaskTime, TaskUse};

/// CPU time of all CPUs and all processes until one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    at: Instant,
    cpus: Fact<CpuTimes>,
    /// By number and start, which together are never given twice.
    processes: BTreeMap<(u32, u64), Process>,
    /// All tasks, where nothing counts what runs on each CPU.
    tasks: Option<Tasks>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    ticks: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Tasks {
    tick: Nanos,
    /// The number that was given last: of those that it has passed, some may have ended unseen.
    last: u32,
    /// By number and start.
    times: BTreeMap<(u32, u64), Task>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Task {
    process: u32,
    time: TaskTime,
}

impl Snapshot {
    /// At the instant `at`, which is now. Takes some 10 µs for each process, and where nothing counts what runs on
    /// each CPU, as much for each thread.
    pub fn take(meter: &CpuMeter, at: Instant) -> Self {
        let root = &meter.root;
        let pids = root.numbered("/proc", "");
        let process = |pid: &usize| {
            // A process that has ended meanwhile has no file.
            let text = root.text(&format!("/proc/{pid}/stat")).known()?.clone();
            let stat = PidStat::parse(&text).ok()?;
            let name = text.split_once('(')?.1.rsplit_once(')')?.0.to_owned();
            let ticks = stat.user_ticks + stat.system_ticks;
            Some(((u32::try_from(*pid).ok()?, stat.start_ticks), Process { name, ticks }))
        };
        Self {
            at,
            cpus: meter.read(at).into(),
            processes: pids.iter().filter_map(process).collect(),
            tasks: match meter.has_account() {
                true => None,
                false => Tasks::of(meter, &pids),
            },
        }
    }

    /// What the CPUs did since `earlier`; `None` where that is not known.
    pub fn cpus_since(&self, earlier: &Self) -> Option<CpuWindow> {
        self.cpus.known()?.since(earlier.cpus.known()?)
    }

    /// What tasks used since `earlier`, those of the processes `without` left out; `None` where one ended meanwhile,
    /// or they were not looked at.
    pub fn tasks_since(&self, earlier: &Self, without: &[u32]) -> Option<TaskWindow> {
        let seconds = self.at.checked_duration_since(earlier.at)?.as_secs_f64();
        let (now, then) = (self.tasks.as_ref()?, earlier.tasks.as_ref()?);
        let begun = now.times.keys().filter(|key| !then.times.contains_key(key)).count();
        let all_live = then.times.keys().all(|key| now.times.contains_key(key));
        // Each task has a number of its own, and so has each that began and ended in between.
        let given = now.last.checked_sub(then.last)? as usize;
        let is_other = |task: &Task| !without.contains(&task.process);
        let others =
            now.times.iter().filter(|((id, _), task)| is_other(task) && !without.contains(id));
        let used = |(key, task): (&(u32, u64), &Task)| {
            let began_here = TaskTime { ran: Nanos(0), ..task.time };
            task.time.since(then.times.get(key).map_or(&began_here, |before| &before.time))
        };
        let is_whole = seconds > 0.0 && all_live && given <= begun;
        is_whole.then(|| TaskWindow {
            seconds,
            tick: now.tick,
            tasks: others.map(used).filter(|task| task.ran > Nanos(0)).collect(),
        })
    }

    /// The programs that ran since `earlier` with their CPU time to the tick of 10 ms, those of one name together,
    /// the busiest first. Those of the processes `without` are left out.
    pub fn programs_since(&self, earlier: &Self, without: &[u32]) -> Vec<(String, Nanos)> {
        let tick = 1_000_000_000 / clock_ticks_per_second();
        let mut programs: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, process) in self.processes.iter().filter(|((pid, _), _)| !without.contains(pid)) {
            let before = earlier.processes.get(key).map_or(0, |process| process.ticks);
            *programs.entry(&process.name).or_default() += process.ticks.saturating_sub(before);
        }
        let mut programs: Vec<(String, Nanos)> = programs
            .into_iter()
            .filter(|(_, ticks)| *ticks > 0)
            .map(|(name, ticks)| (name.to_owned(), Nanos(ticks * tick)))
            .collect();
        programs.sort_by_key(|(_, time)| std::cmp::Reverse(*time));
        programs
    }
}

impl Tasks {
    /// `None` where not all of this machine's are seen, as in a container, or the kernel keeps no account of them.
    fn of(meter: &CpuMeter, pids: &[usize]) -> Option<Self> {
        let (root, tick) = (&meter.root, meter.tick());
        // The second process of a machine starts the kernel's own threads.
        let kernels = root.line("/proc/2/comm");
        let load = root.line("/proc/loadavg");
        let last = load.known()?.split_ascii_whitespace().nth(4)?.parse().ok()?;
        let mut times = BTreeMap::new();
        for pid in pids.iter().filter(|pid| !meter.is_softirq_thread(**pid)) {
            let folder = format!("/proc/{pid}/task");
            for id in root.numbered(&folder, "") {
                let text = |file: &str| root.text(&format!("{folder}/{id}/{file}"));
                let (stat, schedstat) = (text("stat"), text("schedstat"));
                let (Some(stat), Some(schedstat)) = (stat.known(), schedstat.known()) else {
                    continue;
                };
                let (stat, (ran, _)) =
                    (PidStat::parse(stat).ok()?, parse_schedstat(schedstat).ok()?);
                let time = TaskTime { cpu: stat.cpu?, ran };
                let task = Task { process: u32::try_from(*pid).ok()?, time };
                times.insert((u32::try_from(id).ok()?, stat.start_ticks), task);
            }
        }
        let is_whole = kernels.known().is_some_and(|name| name == "kthreadd") && !times.is_empty();
        is_whole.then_some(Self { tick, last, times })
    }
}

/// What tasks used between two moments.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskWindow {
    seconds: f64,
    tick: Nanos,
    tasks: Vec<TaskUse>,
}

impl TaskWindow {
    /// Their share of these CPUs.
    pub fn share_of(&self, cpus: &[usize]) -> CpuShare {
        let all = self.seconds * cpus.len() as f64;
        let (mut ran, mut variance) = (0.0, cpus.len() as f64 * self.tick.seconds().powi(2) / 6.0);
        for task in &self.tasks {
            let (time, doubt) = task.time_on(cpus);
            (ran, variance) = (ran + time, variance + doubt);
        }
        let source = Some(CpuTimeSource::Schedstat);
        CpuShare { share: ran / all, error: variance.sqrt() / all, source }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::Root;

    /// Tasks with their process, number, CPU and time in ms, where no file counts what runs on a CPU.
    fn snapshot(at: Instant, last: u32, tasks: &[(u32, u32, usize, u64)]) -> Snapshot {
        let task = |&(process, id, cpu, ms): &(u32, u32, usize, u64)| {
            ((id, 5), Task { process, time: TaskTime { cpu, ran: Nanos(ms * 1_000_000) } })
        };
        let times = tasks.iter().map(task).collect();
        Snapshot {
            at,
            cpus: Fact::unknown("no files"),
            processes: BTreeMap::new(),
            tasks: Some(Tasks { tick: Nanos(4_000_000), last, times }),
        }
    }

    /// What was used of CPU 0 within 100 ms beside process 7.
    fn of_cpu_0(
        before: &[(u32, u32, usize, u64)],
        after: (u32, &[(u32, u32, usize, u64)]),
    ) -> Option<CpuShare> {
        let start = Instant::now();
        let before = snapshot(start, 90, before);
        let after = snapshot(start + Duration::from_millis(100), after.0, after.1);
        Some(after.tasks_since(&before, &[7])?.share_of(&[0]).rounded())
    }

    #[test]
    fn tasks_that_stay_on_their_cpus_are_known_to_the_tick() {
        let before = [(7, 7, 0, 0), (7, 8, 0, 0), (20, 20, 0, 500), (20, 21, 1, 100)];
        let after = [(7, 7, 0, 60), (7, 8, 0, 10), (20, 20, 0, 515), (20, 21, 1, 180)];
        let found = of_cpu_0(&before, (90, &after)).unwrap();
        assert_eq!((found.share, found.error), (0.15, 0.0163));
        assert_eq!(found.source, Some(CpuTimeSource::Schedstat));
        assert!(found.exceeds(0.1));
    }

    #[test]
    fn the_kernels_network_threads_are_no_other_programs() {
        let folder = tempfile::tempdir().unwrap();
        let file = |path: String, text: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        file("proc/loadavg".to_owned(), "0.00 0.00 0.00 1/90 90\n");
        for (pid, name) in [(2, "kthreadd"), (10, "ksoftirqd/0"), (20, "cargo")] {
            let zeros = "0 ".repeat(40);
            file(format!("proc/{pid}/comm"), &format!("{name}\n"));
            file(format!("proc/{pid}/cmdline"), if pid == 20 { "cargo" } else { "" });
            file(format!("proc/{pid}/task/{pid}/stat"), &format!("{pid} ({name}) R {zeros}0\n"));
            file(format!("proc/{pid}/task/{pid}/schedstat"), "5000000 0 1\n");
        }
        let meter = CpuMeter::of(Root::at(folder.path()));
        let tasks = Tasks::of(&meter, &[2, 10, 20]).unwrap();
        let seen: Vec<u32> = tasks.times.values().map(|task| task.process).collect();
        assert_eq!(seen, [2, 20]);
    }

    #[test]
    fn what_a_task_did_on_the_way_to_another_cpu_is_in_doubt() {
        let found = of_cpu_0(&[(20, 20, 1, 0)], (90, &[(20, 20, 0, 60)])).unwrap();
        assert_eq!(found.share, 0.3);
        assert!(found.error > 0.17 && !found.exceeds(0.1), "{found:?}");
    }

    #[test]
    fn where_a_task_ended_the_sum_is_not_known() {
        let (first, second) = ((20, 20, 0, 0), (30, 91, 0, 25));
        let lives = [first, second];
        assert_eq!(of_cpu_0(&lives, (91, &lives[..1])), None);
        // One that began is counted from its beginning.
        assert_eq!(of_cpu_0(&lives[..1], (91, &lives)).unwrap().share, 0.25);
        // Another number was given, and nobody has it.
        assert_eq!(of_cpu_0(&lives[..1], (92, &lives)), None);
        // The numbers have begun anew.
        assert_eq!(of_cpu_0(&lives, (12, &lives)), None);
    }

    #[test]
    fn the_tasks_of_this_machine_are_found_where_all_are_seen() {
        let root = Root::machine();
        let pids = root.numbered("/proc", "");
        let Some(tasks) = Tasks::of(&CpuMeter::of(root), &pids) else { return };
        let own = tasks.times.iter().filter(|(_, task)| task.process == std::process::id());
        assert!(own.count() >= 2 && tasks.times.len() > pids.len() / 2);
    }
}
