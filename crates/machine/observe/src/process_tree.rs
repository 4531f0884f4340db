//! CPU time of a process and all its descendants, over all their threads.
//!
//! Of a descendant that has ended, the kernel adds its time and that of its own descendants to its parent's when the
//! parent waits for it, and to nobody's where the parent ignores its children's ends (wait(2)).
//!
//! The time on a CPU comes from each process's CPU-time clock, in nanoseconds, and counts threads
//! that have ended. A thread that runs while it is read counts up to the scheduler's last tick, at
//! most some milliseconds ago; at both ends of a window these errors mostly cancel. The time spent
//! waiting for a CPU comes from the `schedstat` of each thread that lives.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rustix::param::clock_ticks_per_second;
use units::Nanos;

use crate::cpu_clock;
use crate::error::{ObserveError, read};
use crate::pid_stat::{PidStat, parse_schedstat};

/// A process and its descendants, as they were when [`find`](Self::find) looked.
///
/// Processes that are started later are not in it: find it again, when the server is ready.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessTree {
    processes: Vec<Process>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Process {
    pid: u32,
    start_ticks: u64,
}

/// What a process tree has used since its processes started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCpu {
    pub on_cpu: Nanos,
    /// The same of descendants that ended and that a process of the tree waited for, to the tick (10 ms).
    pub ended: Nanos,
    /// Where `on_cpu` comes from.
    pub source: CpuSource,
    /// Time ready to run without a CPU, of the threads that live; `None` where the kernel does
    /// not account for it.
    pub waiting: Option<Nanos>,
    /// The part of the time in user mode, to the tick (10 ms) and as the kernel's sampling splits
    /// it.
    pub user: Nanos,
    /// The part of the time in the kernel, likewise.
    pub system: Nanos,
    /// The time on a CPU of each thread that lives, in all processes together, by the kernel's
    /// number; those are left out of which it keeps no account. Up to the scheduler's last tick.
    pub threads: BTreeMap<u32, Nanos>,
    /// How many threads live in all processes together.
    pub tasks: usize,
    /// The time on a CPU of each process.
    processes: BTreeMap<Process, Nanos>,
}

/// Where the time on a CPU comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuSource {
    /// The CPU-time clocks of the processes: nanoseconds.
    ProcessClock,
    /// User and system time in `/proc/PID/stat`: ticks of 10 ms, where a clock cannot be read.
    Ticks,
}

impl TreeCpu {
    /// How coarse [`CpuSource::Ticks`] are.
    pub const TICK: Nanos = Nanos(10_000_000);

    /// What was used between `earlier` and this. Time waited that went with a thread that ended
    /// in between is missing from it; threads are those that lived at both ends.
    pub fn since(&self, earlier: &Self) -> Self {
        let less = |now: Nanos, then: Nanos| Nanos(now.0.saturating_sub(then.0));
        Self {
            on_cpu: less(self.on_cpu, earlier.on_cpu),
            ended: less(self.ended, earlier.ended),
            waiting: self.waiting.zip(earlier.waiting).map(|(now, then)| less(now, then)),
            user: less(self.user, earlier.user),
            system: less(self.system, earlier.system),
            threads: self
                .threads
                .iter()
                .filter_map(|(id, now)| Some((*id, less(*now, *earlier.threads.get(id)?))))
                .collect(),
            source: self.source,
            tasks: self.tasks,
            processes: self.processes.clone(),
        }
    }

    /// Whether all that was used since `earlier` is in this, `ended` included, though processes ended in between:
    /// those that lived then have left at least what they had used until then to one that lives.
    pub fn has_all_since(&self, earlier: &Self) -> bool {
        let gone = earlier.processes.iter().filter(|(of, _)| !self.processes.contains_key(of));
        let left: u64 = gone.map(|(_, on_cpu)| on_cpu.0).sum();
        self.ended.0.saturating_sub(earlier.ended.0) + Self::TICK.0 > left
    }
}

impl ProcessTree {
    /// The process `root` and its descendants, from one scan of `/proc`.
    pub fn find(root: u32) -> Result<Self, ObserveError> {
        let all = scan()?;
        let mut pids = vec![root];
        let mut next = 0;
        while let Some(&parent) = pids.get(next) {
            let children = all.iter().filter(|(_, stat)| stat.parent == parent);
            pids.extend(children.map(|(pid, _)| *pid));
            next += 1;
        }
        let processes: Vec<Process> = pids
            .iter()
            .filter_map(|pid| Some((pid, all.get(pid)?)))
            .map(|(&pid, stat)| Process { pid, start_ticks: stat.start_ticks })
            .collect();
        match processes.first() {
            Some(first) if first.pid == root => Ok(Self { processes }),
            _ => Err(ObserveError::ProcessGone { pid: root }),
        }
    }

    pub fn pids(&self) -> impl ExactSizeIterator<Item = u32> {
        self.processes.iter().map(|process| process.pid)
    }

    /// How long before now the first process of this tree began that is not of `earlier`, to the tick (10 ms).
    pub fn began_since(&self, earlier: &Self) -> Option<Nanos> {
        let new = self.processes.iter().filter(|process| !earlier.processes.contains(process));
        let first = ticks(new.map(|process| process.start_ticks).min()?);
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let now = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
        Some(Nanos(now.saturating_sub(first.0)))
    }

    /// What the tree has used until now. Costs two system calls per process and three per thread,
    /// some microseconds each.
    pub fn read(&self) -> Result<TreeCpu, ObserveError> {
        let mut sum = TreeCpu {
            on_cpu: Nanos(0),
            ended: Nanos(0),
            source: CpuSource::ProcessClock,
            waiting: None,
            user: Nanos(0),
            system: Nanos(0),
            threads: BTreeMap::new(),
            tasks: 0,
            processes: BTreeMap::new(),
        };
        for process in &self.processes {
            process.add_to(&mut sum)?;
        }
        Ok(sum)
    }

    /// What the processes have had read from disks for them since they started, in bytes, by
    /// `/proc/PID/io` (proc_pid_io(5)): what came from the page cache is not in it.
    ///
    /// # Errors
    /// One of the processes has ended, is another user's, or the kernel does not count that.
    pub fn read_from_disk(&self) -> Result<u64, ObserveError> {
        self.pids().map(read_from_disk).sum()
    }

    /// The memory of the processes in bytes, where each has its part of what several map: the sum of their
    /// proportional set sizes, by `/proc/PID/smaps_rollup`. The kernel looks at each page that is mapped, 4 KiB
    /// at a time: a gigabyte takes some milliseconds.
    ///
    /// # Errors
    /// One of the processes has ended, or is another user's.
    pub fn memory(&self) -> Result<u64, ObserveError> {
        self.pids().map(memory).sum()
    }
}

fn memory(pid: u32) -> Result<u64, ObserveError> {
    let text = read(format!("/proc/{pid}/smaps_rollup"))?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:")?.trim().strip_suffix(" kB"));
    let kib: Option<u64> = line.and_then(|kib| kib.parse().ok());
    let malformed =
        || ObserveError::Malformed { file: "/proc/PID/smaps_rollup", what: text.clone() };
    kib.map(|kib| kib << 10).ok_or_else(malformed)
}

fn read_from_disk(pid: u32) -> Result<u64, ObserveError> {
    let text = read(format!("/proc/{pid}/io"))?;
    let count = text.lines().find_map(|line| line.strip_prefix("read_bytes: ")?.parse().ok());
    count.ok_or(ObserveError::Malformed { file: "/proc/PID/io", what: text })
}

impl Process {
    fn add_to(self, sum: &mut TreeCpu) -> Result<(), ObserveError> {
        let clock = cpu_clock::of_process(self.pid);
        let stat = self.stat()?;
        let (user, system) = (ticks(stat.user_ticks), ticks(stat.system_ticks));
        sum.user.0 += user.0;
        sum.system.0 += system.0;
        let on_cpu = clock.unwrap_or_else(|_| {
            sum.source = CpuSource::Ticks;
            Nanos(user.0 + system.0)
        });
        sum.on_cpu.0 += on_cpu.0;
        sum.ended.0 += ticks(stat.ended_ticks).0;
        sum.processes.insert(self, on_cpu);
        for task in self.tasks()? {
            sum.tasks += 1;
            if let Some(Task { id, on_cpu, waiting }) = task {
                sum.waiting = Some(Nanos(sum.waiting.map_or(0, |sum| sum.0) + waiting.0));
                sum.threads.insert(id, on_cpu);
            }
        }
        Ok(())
    }

    /// The process's stat, if it is still the same process and runs.
    fn stat(self) -> Result<PidStat, ObserveError> {
        match stat_of(self.pid)? {
            Some(stat) if stat.start_ticks == self.start_ticks => Ok(stat),
            _ => Err(ObserveError::ProcessGone { pid: self.pid }),
        }
    }

    /// Of each thread that lives, what it has used, where the kernel says.
    fn tasks(self) -> Result<Vec<Option<Task>>, ObserveError> {
        let folder = format!("/proc/{}/task", self.pid);
        let failed = |source: io::Error| {
            if is_gone(&source) {
                ObserveError::ProcessGone { pid: self.pid }
            } else {
                ObserveError::Unreadable { path: folder.clone().into(), source }
            }
        };
        let mut tasks = Vec::new();
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            match read(path.join("schedstat")) {
                Ok(text) => tasks.push(Task::parse(&path, &text)?),
                // A thread that ends meanwhile takes its folder with it; a kernel without this
                // accounting has the folder, but no such file in it.
                Err(_) if path.exists() => tasks.push(None),
                Err(_) => {}
            }
        }
        Ok(tasks)
    }
}

struct Task {
    id: u32,
    on_cpu: Nanos,
    waiting: Nanos,
}

impl Task {
    fn parse(path: &Path, schedstat: &str) -> Result<Option<Self>, ObserveError> {
        let id = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        let (on_cpu, waiting) = parse_schedstat(schedstat)?;
        Ok(id.zip(waiting).map(|(id, waiting)| Self { id, on_cpu, waiting }))
    }
}

fn scan() -> Result<BTreeMap<u32, PidStat>, ObserveError> {
    let failed = |source| ObserveError::Unreadable { path: "/proc".into(), source };
    let mut all = BTreeMap::new();
    for entry in std::fs::read_dir("/proc").map_err(failed)? {
        let name = entry.map_err(failed)?.file_name();
        let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
        if let Some(stat) = stat_of(pid)? {
            all.insert(pid, stat);
        }
    }
    Ok(all)
}

/// The stat of a process, or `None` where it has ended.
pub(crate) fn stat_of(pid: u32) -> Result<Option<PidStat>, ObserveError> {
    match read(format!("/proc/{pid}/stat")) {
        Ok(text) => Ok(Some(PidStat::parse(&text)?).filter(|stat| !stat.has_ended())),
        Err(ObserveError::Unreadable { source, .. }) if is_gone(&source) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the kernel answers for a process that has ended: before its folder is opened, or after.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

fn ticks(count: u64) -> Nanos {
    Nanos(count.saturating_mul(1_000_000_000 / clock_ticks_per_second()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::process::CommandExt;
    use std::process::{Child, Command};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::thread_cpu::ThreadCpu;

    const MUCH: Nanos = Nanos(50_000_000);
    const LIMIT: Duration = Duration::from_secs(60);

    /// A child and all that it starts, killed when the test ends.
    struct Group(Child);

    impl Group {
        fn start(script: &str) -> Self {
            Self(Command::new("sh").args(["-c", script]).process_group(0).spawn().unwrap())
        }

        fn pid(&self) -> u32 {
            self.0.id()
        }

        fn kill(&mut self) {
            // SAFETY: the group was made by this child and holds only what it started.
            unsafe { libc::kill(-(self.0.id() as i32), libc::SIGKILL) };
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            self.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn what_comes_from_a_disk_counts_and_what_is_cached_does_not() {
        const SIZE: u64 = 4 << 20;
        // On the disk that the build is on.
        let folder = std::env::current_exe().unwrap().parent().unwrap().to_owned();
        let path = folder.join(format!("disk-reads-{}", std::process::id()));
        let file = std::fs::File::create(&path).unwrap();
        std::io::copy(&mut io::repeat(7).take(SIZE), &mut &file).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        let tree = ProcessTree::find(std::process::id()).unwrap();
        let read = || {
            let before = tree.read_from_disk().unwrap();
            std::fs::read(&path).unwrap();
            tree.read_from_disk().unwrap() - before
        };
        let (first, again) = (read(), read());
        std::fs::remove_file(&path).unwrap();
        assert!(first >= SIZE && again < SIZE / 2, "{first} {again}");
    }

    const SPINS: &str = "i=0; while [ $i -lt 500000 ]; do i=$((i+1)); done";

    /// The tree of a group, once it has this number of processes.
    fn tree_of(group: &Group, count: usize) -> ProcessTree {
        until(|| ProcessTree::find(group.pid()).ok().filter(|tree| tree.pids().len() == count))
    }

    #[test]
    fn what_a_process_used_that_ended_is_its_parents() {
        let group = Group::start(&format!("({SPINS}) & wait; exec sleep 60"));
        let with_child = tree_of(&group, 2);
        let before = with_child.read().unwrap();
        let tree = tree_of(&group, 1);
        // It may have ended and not been waited for yet.
        let after = until(|| Some(tree.read().unwrap()).filter(|now| now.ended > before.ended));
        assert!(after.has_all_since(&before) && after.ended > before.ended, "{before:?} {after:?}");
        assert_eq!(tree.began_since(&with_child), None);
    }

    #[test]
    fn what_a_process_used_that_nobody_waits_for_is_lost() {
        // The kernel lets a child go at once whose parent ignores SIGCHLD.
        let script = format!("trap '' CHLD; ({SPINS}; sleep 0.5) & exec sleep 60");
        let group = Group::start(&script);
        let tree = tree_of(&group, 2);
        let before = until(|| Some(tree.read().unwrap()).filter(|used| used.on_cpu >= MUCH));
        let tree = tree_of(&group, 1);
        assert!(!tree.read().unwrap().has_all_since(&before));
    }

    #[test]
    fn memory_that_is_written_counts() {
        let group = Group::start("exec sleep 60");
        let tree = ProcessTree::find(std::process::id()).unwrap();
        let before = tree.memory().unwrap();
        let much = vec![7_u8; 32 << 20];
        let after = tree.memory().unwrap();
        // The child and other threads of this test move a little.
        let grown = after.saturating_sub(before);
        assert!((31 << 20..40 << 20).contains(&grown), "{grown} {}", much[1]);
        drop(group);
    }

    fn until<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
        let deadline = Instant::now() + LIMIT;
        loop {
            if let Some(value) = attempt() {
                return value;
            }
            assert!(Instant::now() < deadline, "nothing came within {LIMIT:?}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn burn(own_time: Nanos) {
        let start = ThreadCpu::current().unwrap().on_cpu.0;
        while ThreadCpu::current().unwrap().on_cpu.0 - start < own_time.0 {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_thread_counts_also_after_it_has_ended() {
        let tree = ProcessTree::find(std::process::id()).unwrap();
        let before = tree.read().unwrap();
        assert_eq!(before.source, CpuSource::ProcessClock);
        std::thread::spawn(|| burn(MUCH)).join().unwrap();
        until(|| (tree.read().unwrap().since(&before).on_cpu >= MUCH).then_some(()));
    }

    #[test]
    fn what_a_grandchild_burns_is_counted() {
        let group = Group::start("(while :; do :; done) & wait");
        let tree = tree_of(&group, 2);
        let used = until(|| Some(tree.read().unwrap()).filter(|used| used.on_cpu >= MUCH));
        assert_eq!(tree.pids().next(), Some(group.pid()));
        assert_eq!((used.tasks, used.threads.len()), (2, 2));
        // Nearly all of it is one thread's.
        let busiest = until(|| {
            let used = tree.read().unwrap();
            used.threads.into_iter().max_by_key(|(_, time)| *time).filter(|(_, time)| *time >= MUCH)
        });
        assert_eq!(tree.pids().nth(1), Some(busiest.0));
        until(|| (tree.read().unwrap().user >= MUCH).then_some(()));
        let root_alone = ProcessTree { processes: tree.processes[..1].to_vec() }.read().unwrap();
        assert!(root_alone.on_cpu < used.on_cpu);
    }

    #[test]
    fn a_killed_process_is_an_error_before_and_after_it_is_waited_for() {
        let mut group = Group::start("while :; do :; done");
        let pid = group.pid();
        let tree = ProcessTree::find(pid).unwrap();
        tree.read().unwrap();
        group.kill();
        let is_gone = |result: Result<_, _>| matches!(result, Err(ObserveError::ProcessGone { pid: gone }) if gone == pid);
        until(|| is_gone(tree.read().map(drop)).then_some(()));
        assert!(is_gone(ProcessTree::find(pid).map(drop)));
        group.0.wait().unwrap();
        assert!(is_gone(tree.read().map(drop)));
        assert!(is_gone(ProcessTree::find(pid).map(drop)));
    }

    #[test]
    fn a_number_that_went_to_another_process_is_an_error() {
        let mut tree = ProcessTree::find(std::process::id()).unwrap();
        tree.processes[0].start_ticks ^= 1;
        assert!(matches!(tree.read(), Err(ObserveError::ProcessGone { .. })));
    }
}
