//! CPU time of a process and all its descendants, over all their threads, of those too that begin and end meanwhile.
//!
//! A control group that has these processes and no others has the kernel's account of them all. Where there is none,
//! the time comes from each process's CPU-time clock, in nanoseconds, which counts threads that have ended. Of a
//! descendant that has ended, the kernel adds its time and that of its own descendants to its parent's when the
//! parent waits for it, to the tick, and to nobody's where the parent ignores its children's ends (wait(2)). Which of
//! the two it was is seen by page faults, which go the same way and are counted exactly.
//!
//! What runs while it is read counts up to the scheduler's last tick, at most some milliseconds ago; at both ends of
//! a window these errors mostly cancel. The time spent waiting for a CPU comes from the `schedstat` of each thread
//! that lives.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::cgroup::CpuAccount;
use crate::cpu_clock;
use crate::error::ObserveError;
use crate::process_tree::{Process, any_stat_of, descendants, stat_of, tasks, ticks};
use crate::root::Root;

/// How coarse `/proc/PID/stat` is: a tick of user time and one of system time.
const COARSE: Nanos = Nanos(20_000_000);

/// How often is looked anew because children were waited for during the look.
const MOST_LOOKS: usize = 5;

/// The least that a process takes to begin and to end. Of processes whose parent ignores their ends none may be seen,
/// so all that the machine begins are taken to be such.
const LEAST: Nanos = Nanos(1_000_000);

/// As many begin on any machine, and in toll itself, in no time.
const FEW: u64 = 2;

/// The part of the time that may be in no account.
const NEGLIGIBLE: f64 = 0.03;

/// Counts the CPU time of a process tree from one moment on.
#[derive(Debug)]
pub struct TreeMeter {
    root: u32,
    begun: Look,
    /// Their control group and what it had counted.
    group: Option<(CpuAccount, Nanos)>,
    /// How many processes the machine had begun, where one of the tree ignores the ends of its children.
    ignored_from: Option<u64>,
    seen: RefCell<Seen>,
}

/// What was found at the looks so far.
#[derive(Debug)]
struct Seen {
    last: Look,
    /// Whether the group has had them all and no others.
    is_group_whole: bool,
    /// Whether processes took with them what they had used.
    is_lost: bool,
}

/// What a process tree has used since a [meter](TreeMeter) began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeCpu {
    pub at: Instant,
    pub on_cpu: Nanos,
    /// What counted it.
    pub source: TreeCpuSource,
    /// How much `on_cpu` may be wrong by, beside what a scheduler's tick hides.
    pub doubt: Nanos,
    /// Time ready to run without a CPU, of the threads that live, since they began; `None` where the kernel does not
    /// account for it, or processes ended, whose waiting is in no account.
    pub waiting: Option<Nanos>,
    /// The time on a CPU of each thread that lives since it began, in all processes together, by the kernel's number;
    /// those are left out of which it keeps no account. Up to the scheduler's last tick.
    pub threads: BTreeMap<u32, Nanos>,
}

/// What counted the CPU time of a process tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TreeCpuSource {
    /// A control group that has these processes and no others.
    ControlGroup,
    /// The clocks of processes, and what parents were charged for children that ended.
    Clocks,
}

impl TreeMeter {
    /// Begins with the process `root` and its descendants.
    ///
    /// # Errors
    /// There is no such process, or `/proc` cannot be read.
    pub fn begin(root: u32) -> Result<Self, ObserveError> {
        let begun = Look::take(root, &Look::default())?;
        let account = CpuAccount::of(&Root::machine(), root).ok();
        let group = account.and_then(|account| Some((account.clone(), account.used()?)));
        let ignores = begun.0.keys().any(|process| ignores_ends(process.pid));
        let seen = Seen { last: begun.clone(), is_group_whole: group.is_some(), is_lost: false };
        let meter = Self {
            root,
            begun: begun.clone(),
            group,
            ignored_from: ignores.then(processes_begun).flatten(),
            seen: RefCell::new(seen),
        };
        let is_whole = meter.is_group_whole(&Look::default(), &begun);
        meter.seen.borrow_mut().is_group_whole = is_whole;
        Ok(meter)
    }

    /// What the tree has used since it began. Takes some 20 µs for each process and 5 for each thread.
    ///
    /// # Errors
    /// The first process has ended, or others did that took with them what they had used.
    pub fn read(&self) -> Result<TreeCpu, ObserveError> {
        let mut seen = self.seen.borrow_mut();
        let at = Instant::now();
        let now = Look::take(self.root, &seen.last)?;
        seen.is_lost |= now.lacks_some_of(&seen.last)?;
        seen.is_group_whole &= self.is_group_whole(&seen.last, &now);
        let used = self.group.as_ref().filter(|_| seen.is_group_whole);
        let used = used
            .and_then(|(account, before)| Some(Nanos(account.used()?.0.saturating_sub(before.0))));
        let (on_cpu, source, doubt) = match used {
            Some(used) => (used, TreeCpuSource::ControlGroup, Nanos(0)),
            None => {
                let (used, doubt) = now.used_since(&self.begun);
                if seen.is_lost || self.may_lack_of(used) {
                    return Err(ObserveError::CpuTimeLost { pid: self.root });
                }
                (used, TreeCpuSource::Clocks, doubt)
            }
        };
        let (mut waiting, mut threads) = (None, BTreeMap::new());
        for process in now.0.keys() {
            for task in tasks(process.pid)? {
                waiting = Some(Nanos(waiting.map_or(0, |sum: Nanos| sum.0) + task.waiting.0));
                threads.insert(task.id, task.on_cpu);
            }
        }
        let all_live = self.begun.0.keys().all(|process| now.0.contains_key(process));
        let waiting = waiting.filter(|_| all_live && !now.has_waited_since(&self.begun));
        seen.last = now;
        Ok(TreeCpu { at, on_cpu, source, doubt, waiting, threads })
    }

    /// Whether the group has all of these processes, of which `before` is known, and no others.
    fn is_group_whole(&self, before: &Look, now: &Look) -> bool {
        let Some((account, _)) = &self.group else { return false };
        let mut new = now.0.keys().filter(|process| !before.0.contains_key(process));
        let is_known = |pid| now.number(pid).is_some() || self.is_in_tree(pid);
        // One that ends was in the group of its parent, and is shown in none or another.
        new.all(|process| account.has(process.pid) || process.is_ending())
            && account.holds_only(&is_known)
    }

    /// Whether a process descends from the first one, or is gone.
    fn is_in_tree(&self, pid: u32) -> bool {
        let mut pid = pid;
        while pid != self.root {
            match stat_of(pid) {
                Ok(Some(stat)) if stat.parent > 0 => pid = stat.parent,
                Ok(None) if pid > 0 => return true,
                _ => return false,
            }
        }
        true
    }

    /// Whether processes that nobody saw may have used a part that matters.
    fn may_lack_of(&self, used: Nanos) -> bool {
        let Some(before) = self.ignored_from else { return false };
        let begun = processes_begun().unwrap_or(u64::MAX).saturating_sub(before);
        begun > FEW && begun.saturating_mul(LEAST.0) as f64 > NEGLIGIBLE * used.0 as f64
    }
}

/// The processes of a tree at one moment, those too that ended and that nobody has waited for yet.
#[derive(Debug, Clone, Default)]
struct Look(BTreeMap<Process, Account>);

#[derive(Debug, Clone, Copy)]
struct Account {
    parent: u32,
    on_cpu: Nanos,
    /// What `on_cpu` may be wrong by.
    doubt: Nanos,
    /// Of its descendants that ended and were waited for.
    ended: Nanos,
    faults: u64,
    ended_faults: u64,
}

impl Look {
    /// The process of this number, and its account.
    fn number(&self, pid: u32) -> Option<(&Process, &Account)> {
        let any = |start_ticks| Process { pid, start_ticks };
        self.0.range(any(0)..=any(u64::MAX)).next()
    }

    fn take(root: u32, before: &Self) -> Result<Self, ObserveError> {
        let known: Vec<Process> = before.0.keys().copied().collect();
        let mut looks = 0;
        loop {
            let look = Self::once(root, &known)?;
            looks += 1;
            // The time of a child that was waited for meanwhile may be there twice, or not at all.
            if looks == MOST_LOOKS
                || !look.0.iter().any(|(process, account)| process.has_waited(account))
            {
                return Ok(look);
            }
        }
    }

    fn once(root: u32, known: &[Process]) -> Result<Self, ObserveError> {
        let found = descendants(root, known)?;
        if found.get(&root).is_none_or(|stat| stat.has_ended()) {
            return Err(ObserveError::ProcessGone { pid: root });
        }
        let account = |(pid, stat): (u32, crate::pid_stat::PidStat)| {
            let clock = cpu_clock::of_process(pid);
            let by_ticks = ticks(stat.user_ticks + stat.system_ticks);
            let account = Account {
                parent: stat.parent,
                doubt: if clock.is_ok() { Nanos(0) } else { COARSE },
                on_cpu: clock.unwrap_or(by_ticks),
                ended: ticks(stat.ended_ticks),
                faults: stat.faults,
                ended_faults: stat.ended_faults,
            };
            (Process { pid, start_ticks: stat.start_ticks }, account)
        };
        Ok(Self(found.into_iter().map(account).collect()))
    }

    /// What was used since `earlier`, and how much that may be wrong by.
    fn used_since(&self, earlier: &Self) -> (Nanos, Nanos) {
        let all = |look: &Self| -> u64 {
            look.0.values().map(|account| account.on_cpu.0 + account.ended.0).sum()
        };
        let doubt = |(process, account): (&Process, &Account)| {
            let has_waited = self.waited(earlier, process) > 0;
            account.doubt.0 + if has_waited { COARSE.0 } else { 0 }
        };
        let doubt = self.0.iter().map(doubt).sum();
        (Nanos(all(self).saturating_sub(all(earlier))), Nanos(doubt))
    }

    /// The faults of children that a process has waited for since `earlier`.
    fn waited(&self, earlier: &Self, process: &Process) -> u64 {
        let of = |look: &Self| look.0.get(process).map_or(0, |account| account.ended_faults);
        of(self).saturating_sub(of(earlier))
    }

    fn has_waited_since(&self, earlier: &Self) -> bool {
        self.0.keys().any(|process| self.waited(earlier, process) > 0)
    }

    /// Whether a process of `before` has ended for which nobody has waited: a process that has is charged with all
    /// that its child had used.
    fn lacks_some_of(&self, before: &Self) -> Result<bool, ObserveError> {
        let mut charges: BTreeMap<Process, u64> = BTreeMap::new();
        let gone = before.0.iter().filter(|(process, _)| !self.0.contains_key(process));
        for (_, account) in gone {
            // Where its parent has ended too, the one that waited for that.
            let mut parent = account.parent;
            let heir = loop {
                match before.number(parent) {
                    Some((heir, _)) if self.0.contains_key(heir) => break Some(heir),
                    Some((_, gone)) => parent = gone.parent,
                    None => break None,
                }
            };
            let Some(heir) = heir else { return Ok(true) };
            *charges.entry(*heir).or_default() += account.faults + account.ended_faults;
        }
        for (heir, charge) in charges {
            let had = before.0[&heir].ended_faults;
            // It may have waited after it was looked at.
            let stat = any_stat_of(heir.pid)?.filter(|stat| stat.start_ticks == heir.start_ticks);
            if stat.is_some_and(|stat| stat.ended_faults.saturating_sub(had) < charge) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

impl Process {
    /// Whether it is about to end, or gone.
    fn is_ending(&self) -> bool {
        let stat = any_stat_of(self.pid).ok().flatten();
        stat.is_none_or(|stat| stat.is_ending || stat.start_ticks != self.start_ticks)
    }

    /// Whether it has waited for a child since it was looked at, or is gone.
    fn has_waited(&self, account: &Account) -> bool {
        let stat = any_stat_of(self.pid).ok().flatten();
        let same = stat.filter(|stat| stat.start_ticks == self.start_ticks);
        same.is_none_or(|stat| stat.ended_faults != account.ended_faults)
    }
}

/// Whether a process ignores the ends of its children (signal(7)), by its mask of ignored signals.
fn ignores_ends(pid: u32) -> bool {
    let status = Root::machine().text(&format!("/proc/{pid}/status"));
    let mask = status.known().and_then(|text| {
        text.lines()
            .find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok())
    });
    mask.is_some_and(|mask| mask >> (libc::SIGCHLD - 1) & 1 == 1)
}

/// How many processes and threads the machine has begun.
fn processes_begun() -> Option<u64> {
    let text = Root::machine().text("/proc/stat");
    text.known()?.lines().find_map(|line| line.strip_prefix("processes ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Write};
    use std::path::{Path, PathBuf};
    use std::process::{Child, ChildStdout, Command, Stdio};

    use super::*;

    /// What each child works.
    const WORK: Nanos = Nanos(20_000_000);

    /// A program that begins children at each line of its input and answers when they have worked.
    const SERVER: &str = r#"
import os, signal, sys, time
def work():
    while time.thread_time() < 0.02: pass
def fork(then):
    read, write = os.pipe()
    if os.fork() == 0:
        work()
        os.close(read), os.close(write)
        then()
        os._exit(0)
    os.close(write)
    os.read(read, 1), os.close(read)
if len(sys.argv) > 1: signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print(flush=True)
for line in sys.stdin:
    match line.strip():
        case "reap":
            for _ in range(40): fork(lambda: 0), os.wait()
        case "leave":
            for _ in range(5): fork(lambda: 0)
        case "ignore":
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            for _ in range(5): fork(lambda: 0)
        case "keep":
            fork(lambda: time.sleep(1000))
        case "thread":
            import threading
            def spin():
                while time.thread_time() < 0.02: pass
            thread = threading.Thread(target=spin)
            thread.start(), thread.join()
    print(flush=True)
"#;

    struct Server {
        child: Child,
        answers: BufReader<ChildStdout>,
    }

    impl Server {
        fn start(arguments: &[&str]) -> Self {
            let mut child = Command::new("python3")
                .args(["-c", SERVER])
                .args(arguments)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            let answers = BufReader::new(child.stdout.take().unwrap());
            let mut server = Self { child, answers };
            server.answer();
            server
        }

        fn answer(&mut self) {
            assert_eq!(self.answers.read_line(&mut String::new()).unwrap(), 1);
        }

        fn does(&mut self, what: &str) {
            writeln!(self.child.stdin.as_mut().unwrap(), "{what}").unwrap();
            self.answer();
        }

        fn meter(&self) -> TreeMeter {
            TreeMeter::begin(self.child.id()).unwrap()
        }
    }

    impl Drop for Server {
        fn drop(&mut self) {
            let children = descendants(self.child.id(), &[]).unwrap();
            for pid in children.into_keys() {
                // SAFETY: it is this server's or one of its children, none of which is waited for.
                unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
            }
            let _ = self.child.wait();
        }
    }

    /// Until the last process that left is seen to have ended, too.
    fn settled(meter: &TreeMeter, is_so: impl Fn(&TreeCpu) -> bool) -> TreeCpu {
        let begin = Instant::now();
        loop {
            let used = meter.read().unwrap();
            if is_so(&used) {
                return used;
            }
            assert!(begin.elapsed().as_secs() < 60, "{used:?}");
        }
    }

    fn is_lost(read: &Result<TreeCpu, ObserveError>) -> bool {
        matches!(read, Err(ObserveError::CpuTimeLost { .. }))
    }

    #[test]
    fn what_threads_and_children_used_counts_also_when_they_have_ended() {
        let mut server = Server::start(&[]);
        let meter = server.meter();
        server.does("thread");
        let one = settled(&meter, |used| used.on_cpu >= WORK && used.threads.len() == 1);
        assert_eq!((one.source, one.doubt), (TreeCpuSource::Clocks, Nanos(0)));
        assert!(one.waiting.is_some());
        // Of those that nobody has waited for the clocks are still there.
        server.does("leave");
        let left = settled(&meter, |used| used.on_cpu.0 >= 6 * WORK.0);
        assert_eq!(left.doubt, Nanos(0));
        server.does("reap");
        let all = settled(&meter, |used| used.on_cpu.0 + used.doubt.0 >= 46 * WORK.0);
        assert_eq!((all.doubt, all.waiting), (COARSE, None));
    }

    #[test]
    fn what_children_used_that_nobody_waits_for_is_lost() {
        // Those were seen by no look, but their parent is one that ignores them.
        let mut server = Server::start(&["ignore"]);
        let meter = server.meter();
        server.does("leave");
        assert!(is_lost(&meter.read()));

        // Of this one that was not known; a look saw the child.
        let mut server = Server::start(&[]);
        let meter = server.meter();
        server.does("keep");
        let used = settled(&meter, |used| used.on_cpu >= WORK);
        assert_eq!(used.threads.len(), 2);
        server.does("ignore");
        let last = *used.threads.last_key_value().unwrap().0;
        // SAFETY: it is the child of this test's program, which nobody waits for.
        unsafe { libc::kill(last.cast_signed(), libc::SIGKILL) };
        let begin = Instant::now();
        while !is_lost(&meter.read()) {
            assert!(begin.elapsed().as_secs() < 60);
        }
    }

    /// A control group of version 1 or 2; `None` where this user may make none.
    struct Group(PathBuf);

    impl Group {
        fn make(name: &str) -> Option<Self> {
            let places = ["/sys/fs/cgroup/cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup"];
            let is_there = |place: &&&str| {
                ["cpuacct.usage", "cpu.stat"]
                    .iter()
                    .any(|file| Path::new(place).join(file).exists())
            };
            let place = places.iter().find(is_there)?;
            let folder = Path::new(place).join(format!("{name}-{}", std::process::id()));
            std::fs::create_dir(&folder).ok()?;
            Some(Self(folder))
        }

        fn takes(&self, pid: u32) {
            std::fs::write(self.0.join("cgroup.procs"), pid.to_string()).unwrap();
        }
    }

    impl Drop for Group {
        fn drop(&mut self) {
            let begin = Instant::now();
            while std::fs::remove_dir(&self.0).is_err() && begin.elapsed().as_secs() < 10 {}
        }
    }

    #[test]
    fn a_control_group_of_its_own_has_all_that_a_server_used() {
        // Whether its children are gone at once, or wait for it.
        for arguments in [&["ignore"][..], &[]] {
            is_all_of_a_group(arguments);
        }
    }

    fn is_all_of_a_group(arguments: &[&str]) {
        let Some(group) = Group::make("toll-observe") else {
            return println!("skipped: this user may make no control group");
        };
        let (mut other, mut server) = (Server::start(&[]), Server::start(arguments));
        group.takes(server.child.id());
        let meter = server.meter();
        server.does("leave");
        let used = settled(&meter, |used| used.on_cpu.0 >= 5 * WORK.0);
        assert_eq!((used.source, used.doubt), (TreeCpuSource::ControlGroup, Nanos(0)));
        // It is known to be no more than that.
        let (account, before) = meter.group.as_ref().unwrap();
        assert!(used.on_cpu.0 <= account.used().unwrap().0 - before.0);

        // What another program uses there is not the server's.
        group.takes(other.child.id());
        other.does("thread");
        assert!(meter.read().map_or(true, |used| used.source == TreeCpuSource::Clocks));
        assert_eq!(other.meter().read().unwrap().source, TreeCpuSource::Clocks);
    }

    #[test]
    fn a_killed_process_is_an_error_before_and_after_it_is_waited_for() {
        let mut server = Server::start(&[]);
        let meter = server.meter();
        let pid = server.child.id();
        let is_gone =
            |error| matches!(error, ObserveError::ProcessGone { pid: gone } if gone == pid);
        server.child.kill().unwrap();
        let begin = Instant::now();
        while !meter.read().is_err_and(is_gone) {
            assert!(begin.elapsed().as_secs() < 60);
        }
        server.child.wait().unwrap();
        assert!(meter.read().is_err_and(is_gone) && TreeMeter::begin(pid).is_err_and(is_gone));
    }
}
