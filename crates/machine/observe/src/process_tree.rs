//! The processes of a server: one and all its descendants.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use rustix::param::clock_ticks_per_second;
use units::Nanos;

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
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) start_ticks: u64,
}

impl ProcessTree {
    /// The process `root` and its descendants.
    pub fn find(root: u32) -> Result<Self, ObserveError> {
        let all = descendants(root, &[])?;
        let living = all.iter().filter(|(_, stat)| !stat.has_ended());
        let mut processes: Vec<Process> =
            living.map(|(&pid, stat)| Process { pid, start_ticks: stat.start_ticks }).collect();
        let first = processes.iter().position(|process| process.pid == root);
        let first = first.ok_or(ObserveError::ProcessGone { pid: root })?;
        processes[..=first].rotate_right(1);
        Ok(Self { processes })
    }

    /// The numbers of the processes, that of the first one first.
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

/// The numbers and stats of a process and its descendants, and of those of `known` that are still there; those that
/// have ended and were not waited for are among them. Takes some 10 µs for each.
pub(crate) fn descendants(
    root: u32,
    known: &[Process],
) -> Result<BTreeMap<u32, PidStat>, ObserveError> {
    let mut found = BTreeMap::new();
    let mut next = vec![root];
    for process in known {
        let stat = any_stat_of(process.pid)?;
        if stat.is_some_and(|stat| stat.start_ticks == process.start_ticks) {
            next.push(process.pid);
        }
    }
    let children = Children::of_all()?;
    while let Some(pid) = next.pop() {
        if found.contains_key(&pid) {
            continue;
        }
        if let Some(stat) = any_stat_of(pid)? {
            found.insert(pid, stat);
            next.extend(children.of(pid));
        }
    }
    Ok(found)
}

/// Whose child each process is.
enum Children {
    /// The kernel says it of each thread (`CONFIG_PROC_CHILDREN`).
    Asked,
    /// The parent of each process.
    Scanned(BTreeMap<u32, u32>),
}

impl Children {
    fn of_all() -> Result<Self, ObserveError> {
        if Path::new("/proc/thread-self/children").exists() {
            return Ok(Self::Asked);
        }
        let failed = |source| ObserveError::Unreadable { path: "/proc".into(), source };
        let mut parents = BTreeMap::new();
        for entry in std::fs::read_dir("/proc").map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
            if let Some(stat) = any_stat_of(pid)? {
                parents.insert(pid, stat.parent);
            }
        }
        Ok(Self::Scanned(parents))
    }

    /// None of a process that is gone.
    fn of(&self, pid: u32) -> Vec<u32> {
        match self {
            Self::Asked => {
                let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten();
                let of_task = |task: std::fs::DirEntry| read(task.path().join("children")).ok();
                let lists = tasks.flatten().filter_map(of_task);
                let parsed = |list: String| -> Vec<u32> {
                    list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect()
                };
                lists.flat_map(parsed).collect()
            }
            Self::Scanned(parents) => {
                let of_it = parents.iter().filter(|(_, parent)| **parent == pid);
                of_it.map(|(child, _)| *child).collect()
            }
        }
    }
}

/// A thread, with what it has used.
pub(crate) struct Task {
    pub(crate) id: u32,
    pub(crate) on_cpu: Nanos,
    pub(crate) waiting: Nanos,
}

/// Of each thread of a process that lives, what it has used, where the kernel keeps an account of that; none of a
/// process that is gone.
pub(crate) fn tasks(pid: u32) -> Result<Vec<Task>, ObserveError> {
    let mut tasks = Vec::new();
    for entry in std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten() {
        let path = entry.path();
        // A thread that ends meanwhile takes its folder with it, and a kernel without this accounting has no such
        // file in it.
        if let Ok(text) = read(path.join("schedstat")) {
            tasks.extend(Task::parse(&path, &text)?);
        }
    }
    Ok(tasks)
}

impl Task {
    fn parse(path: &Path, schedstat: &str) -> Result<Option<Self>, ObserveError> {
        let id = path.file_name().and_then(|name| name.to_str()?.parse().ok());
        let (on_cpu, waiting) = parse_schedstat(schedstat)?;
        Ok(id.zip(waiting).map(|(id, waiting)| Self { id, on_cpu, waiting }))
    }
}

/// The stat of a process, or `None` where it has ended.
pub(crate) fn stat_of(pid: u32) -> Result<Option<PidStat>, ObserveError> {
    Ok(any_stat_of(pid)?.filter(|stat| !stat.has_ended()))
}

/// The same also of one that has ended and that nobody has waited for.
pub(crate) fn any_stat_of(pid: u32) -> Result<Option<PidStat>, ObserveError> {
    match read(format!("/proc/{pid}/stat")) {
        Ok(text) => Ok(Some(PidStat::parse(&text)?)),
        Err(ObserveError::Unreadable { source, .. }) if is_gone(&source) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the kernel answers for a process that has ended: before its folder is opened, or after.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

pub(crate) fn ticks(count: u64) -> Nanos {
    Nanos(count.saturating_mul(1_000_000_000 / clock_ticks_per_second()))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

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

    #[test]
    fn memory_that_is_written_counts() {
        let tree = ProcessTree::find(std::process::id()).unwrap();
        let before = tree.memory().unwrap();
        let much = vec![7_u8; 32 << 20];
        let after = tree.memory().unwrap();
        // Other threads of this test move a little.
        let grown = after.saturating_sub(before);
        assert!((31 << 20..40 << 20).contains(&grown), "{grown} {}", much[1]);
    }
}
