//! CPU time and counters at one moment, and what was used between two.

use std::collections::BTreeMap;
use std::time::Instant;

use cpus::CpuList;
use load::ThreadUse;
use observe::{
    CpuTimes, CpuWindow, EnergyReading, LinkCounters, MemoryBytes, MemorySource, NetCounters,
    Throttled, Throttling, TreeCpuSource,
};
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::memory_use::MemoryUse;
use crate::usage::{TaskReading, Usage};

/// What was read at one moment.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Reading {
    /// When it was read; the tasks have instants of their own.
    #[serde(with = "observe::instant::optional")]
    pub at: Option<Instant>,
    /// The server's process tree, where it is known and lives.
    pub server: Option<TaskReading>,
    /// The process tree of the server's backend, where that is accounted for apart.
    pub backend: Option<TaskReading>,
    /// What the server's processes have had read from disks, in bytes, where that is counted.
    pub server_disk_bytes: Option<u64>,
    /// Time on a CPU of each of the server's threads, by the kernel's number.
    pub server_threads: BTreeMap<u32, Nanos>,
    /// The load threads that live, in the order in which they were asked for.
    pub threads: Vec<Option<TaskReading>>,
    /// Where each of them may run.
    pub client_cpus: Vec<Option<CpuList>>,
    /// Where the server's threads may run, those that serve.
    pub server_cpus: Option<CpuList>,
    /// What CPU quotas had done to the server's control groups, where they have any.
    pub server_throttling: Throttling,
    /// The same of toll's own, which are those of the load that is made here.
    pub client_throttling: Throttling,
    /// What the CPUs had done, where that can be read.
    pub cpus: Option<CpuTimes>,
    /// Counters of the server's network namespace, where they can be read.
    pub net: Option<NetReading>,
    /// Connections that the server's listeners have dropped, where the kernel counts that.
    pub listener_drops: Option<u64>,
    /// Counters of the interfaces on the way, in the order in which they were found.
    pub links: Vec<LinkCounters>,
    /// What moved between processors and memory, and what counted it.
    pub memory: Option<(MemorySource, MemoryBytes)>,
    /// What the processors have taken from the mains.
    pub energy: Option<EnergyReading>,
    /// What was read on the server's machine, where that is another one, by the clock of that.
    pub there: Option<Box<Reading>>,
}

/// What TCP has counted in a network namespace since it began.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetReading {
    /// Connections that found an accept queue full.
    pub listen_overflows: i64,
    /// Connections that a listener dropped, for that or another reason.
    pub listen_drops: i64,
    /// Segments sent, those that were sent again left out.
    pub segments_sent: i64,
    /// Segments sent again.
    pub segments_retransmitted: i64,
}

impl NetReading {
    /// Those of the kernel's counters that matter here.
    pub fn of(counters: &NetCounters) -> Option<Self> {
        Some(Self {
            listen_overflows: counters.get("TcpExt", "ListenOverflows")?,
            listen_drops: counters.get("TcpExt", "ListenDrops")?,
            segments_sent: counters.get("Tcp", "OutSegs")?,
            segments_retransmitted: counters.get("Tcp", "RetransSegs")?,
        })
    }
}

/// What an interface did between two readings.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LinkUsage {
    /// In the busier of its two directions.
    pub bits_per_s: f64,
    /// The share of looks at which packets waited before it.
    pub queued: f64,
    /// Packets that its queue dropped.
    pub queue_drops: u64,
    /// How often its queue held packets back.
    pub queue_overlimits: u64,
}

/// A server's processes at a window's end are not those at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessesChanged {
    /// How many there were at the start.
    pub before: usize,
    /// How many there were at the end; it may be as many, but others.
    pub after: usize,
    /// How long before the window's end the first of those began that are new, where any are.
    pub began: Option<Nanos>,
    /// What all of them used, those included that ended, and what counted it; `None` where some of that is in no
    /// account.
    pub used: Option<(TaskReading, TreeCpuSource)>,
}

/// The readings around a window.
///
/// toll's own load threads read their clocks themselves. Those of another program may end with the
/// window and take their times with them: so readings go on during the window, and the last one of each
/// thread counts. Each usage is taken over the time between the readings that it comes from. A load that
/// ends by itself is read from before its first packet until after its last one: there, all that was used
/// between the readings was used within the window.
#[derive(Debug, Clone, Default)]
pub struct Readings {
    start: Reading,
    end: Reading,
    /// How often was looked since the start, and of each interface, how often packets waited then.
    looks: u32,
    waiting: Vec<u32>,
    /// Where the server's threads and each load thread could run at any look, and where a load thread could then run
    /// that could run elsewhere before.
    server_cpus: Option<CpuList>,
    client_cpus: Vec<Option<CpuList>>,
    client_moved: Option<CpuList>,
    /// What the load threads used by their own clocks.
    own: Vec<Usage>,
    /// The length of the window, where the load ended by itself.
    whole: Option<Nanos>,
    /// Those of the server's machine, where that is another one.
    there: Option<Box<Readings>>,
}

impl Readings {
    /// With the reading at the window's start.
    pub fn begin(mut start: Reading) -> Self {
        let there = start.there.take().map(|there| Box::new(Self::begin(*there)));
        let waiting = vec![0; start.links.len()];
        let (server_cpus, client_cpus) = (start.server_cpus.clone(), start.client_cpus.clone());
        let end = start.clone();
        Self { start, end, waiting, there, server_cpus, client_cpus, ..Self::default() }
    }

    /// With what load threads report of themselves.
    pub fn report_threads(&mut self, threads: &[ThreadUse]) {
        self.own = threads.iter().copied().map(Usage::from).collect();
    }

    /// All between the readings was used by a load that lasted so long and ended by itself.
    pub fn are_of_whole_load(&mut self, window: Nanos) {
        self.whole = Some(window);
        if let Some(there) = &mut self.there {
            there.are_of_whole_load(window);
        }
    }

    /// With a later reading. A thread that is gone keeps its last one; a server does not, because
    /// one that dies is no longer what is measured.
    pub fn advance(&mut self, mut later: Reading) {
        if let Some(there) = &mut self.there {
            there.advance(later.there.take().map_or_else(Reading::default, |later| *later));
        }
        let threads =
            later.threads.iter().zip(&self.end.threads).map(|(now, last)| now.or(*last)).collect();
        self.looks += 1;
        self.server_cpus = all_of([self.server_cpus.take(), later.server_cpus.clone()]);
        self.client_cpus.resize(self.client_cpus.len().max(later.client_cpus.len()), None);
        for (known, now) in self.client_cpus.iter_mut().zip(&later.client_cpus) {
            match (&known, now) {
                (Some(then), Some(now)) if then != now => self.client_moved = Some(now.clone()),
                (None, Some(_)) => known.clone_from(now),
                _ => {}
            }
        }
        for (waiting, link) in self.waiting.iter_mut().zip(&later.links) {
            *waiting += u32::from(link.queued_bytes > 0);
        }
        self.end = Reading { threads, ..later };
    }

    /// Takes what was read of all of the server's processes, old and new, in place of what was read of those that it
    /// had at the window's start.
    pub fn server_changed(&mut self, change: &ProcessesChanged) {
        if let Some(there) = &mut self.there {
            return there.server_changed(change);
        }
        self.end.server = change.used.map(|(used, _)| used);
        self.end.server_disk_bytes = None;
        self.end.server_threads.clear();
    }

    /// Where those of the server's threads could run that serve, at any look.
    pub fn server_cpus(&self) -> Option<&CpuList> {
        self.at_server().server_cpus.as_ref()
    }

    /// Where load threads could run that were not on these CPUs, or not always on the same of them.
    pub fn client_moved_from(&self, cpus: &CpuList) -> Option<CpuList> {
        let began = all_of(self.client_cpus.iter().cloned());
        let all = all_of([began, self.client_moved.clone()]);
        all.filter(|all| self.client_moved.is_some() || all.without(cpus).is_some())
    }

    /// Those of the server's machine.
    fn at_server(&self) -> &Self {
        self.there.as_deref().unwrap_or(self)
    }

    /// The window by the clock of the server's machine, where that is another one.
    pub fn window_there(&self) -> Option<(Instant, Instant)> {
        let there = self.there.as_ref()?;
        there.start.at.zip(there.end.at)
    }

    /// The server's usage, where it is known and lived to the end.
    pub fn server(&self) -> Option<Usage> {
        let readings = self.at_server();
        readings.used(|reading| reading.server)
    }

    /// What the server's CPU time may be wrong by, and that time, where it is so little that it is not known.
    pub fn too_coarse(&self) -> Option<(Nanos, Nanos)> {
        let readings = self.at_server();
        let (end, start) = (readings.end.server?, readings.start.server?);
        end.too_coarse_since(&start)
    }

    /// What a process tree used.
    fn used(&self, of: fn(&Reading) -> Option<TaskReading>) -> Option<Usage> {
        let (start, end) = (of(&self.start)?, of(&self.end)?);
        if end.too_coarse_since(&start).is_some() {
            return None;
        }
        match self.whole {
            Some(window) => end.used_in(window.seconds(), &start),
            None => end.since(&start),
        }
    }

    /// The bytes that the server's processes had read from disks; `None` where that is not known.
    pub fn read_from_disk(&self) -> Option<u64> {
        let Self { start, end, .. } = self.at_server();
        end.server_disk_bytes?.checked_sub(start.server_disk_bytes?)
    }

    /// What moved between processors and memory of the server's machine within a window of this length,
    /// by what moved between the readings; `None` of a window that ended before it began.
    pub fn memory(&self, window: Nanos) -> Option<MemoryUse> {
        let readings = self.at_server();
        let ((source, end), (_, start)) = (readings.end.memory?, readings.start.memory?);
        let part = window.seconds() / readings.seconds()?;
        if part == 0.0 {
            return None;
        }
        let moved = |end: u64, start: u64| (end.saturating_sub(start) as f64 * part).round() as u64;
        let side = |end: Option<u64>, start: Option<u64>| Some(moved(end?, start?));
        Some(MemoryUse {
            source,
            read_bytes: side(end.read, start.read),
            written_bytes: side(end.written, start.written),
            bytes: moved(end.total, start.total),
        })
    }

    /// Joules of the server's machine within a window of this length, by those between the readings.
    pub fn joules(&self, window: Nanos) -> Option<f64> {
        let readings = self.at_server();
        let (start, end) = (readings.start.energy.as_ref()?, readings.end.energy.as_ref()?);
        Some(end.joules_since(start)? * window.seconds() / readings.seconds()?)
    }

    /// What the quota did that held the server back most; `None` where it is under none.
    pub fn server_throttled(&self) -> Option<Throttled> {
        let Self { start, end, .. } = self.at_server();
        end.server_throttling.since(&start.server_throttling)
    }

    /// The same of the client, where that is on this machine.
    pub fn client_throttled(&self) -> Option<Throttled> {
        self.end.client_throttling.since(&self.start.client_throttling)
    }

    /// The usage of the server's backend.
    pub fn backend(&self) -> Option<Usage> {
        self.at_server().used(|reading| reading.backend)
    }

    /// The usage of each load thread; `None` where one was not read.
    pub fn threads(&self) -> Option<Vec<Usage>> {
        if !self.own.is_empty() {
            return Some(self.own.clone());
        }
        if self.start.threads.is_empty() {
            return None;
        }
        let both = self.start.threads.iter().zip(&self.end.threads);
        both.map(|(start, end)| end.as_ref()?.since(start.as_ref()?)).collect()
    }

    /// The share of a CPU that each of the server's threads used that lived at both ends, the
    /// busiest first; empty where the server is not known.
    pub fn server_threads(&self) -> Vec<f64> {
        let mut shares: Vec<f64> = self.server_threads_by_id().into_values().collect();
        shares.sort_by(|a, b| b.total_cmp(a));
        shares
    }

    /// The same by the kernel's number of the thread.
    pub fn server_threads_by_id(&self) -> BTreeMap<u32, f64> {
        let readings = self.at_server();
        let Self { start: first, end: last, whole, .. } = readings;
        let passed = last.server.zip(first.server).and_then(|(end, start)| match whole {
            Some(window) => Some(window.seconds()),
            None => Some(end.at.checked_duration_since(start.at)?.as_secs_f64()),
        });
        let Some(passed) = passed.filter(|seconds| *seconds > 0.0) else { return BTreeMap::new() };
        let share = |time: u64| time as f64 / 1e9 / passed;
        last.server_threads
            .iter()
            .filter_map(|(id, end)| {
                let start = first.server_threads.get(id)?;
                Some((*id, share(end.0.saturating_sub(start.0))))
            })
            .collect()
    }

    /// What the CPUs of the client's machine did between the readings.
    pub fn cpus(&self) -> Option<CpuWindow> {
        self.end.cpus.as_ref()?.since(self.start.cpus.as_ref()?)
    }

    /// What those of the server's machine did.
    pub fn cpus_at_server(&self) -> Option<CpuWindow> {
        self.at_server().cpus()
    }

    /// Whether the server's machine is another one.
    pub fn is_server_elsewhere(&self) -> bool {
        self.there.is_some()
    }

    /// The part of the time between the readings, so many seconds, that usages are of.
    pub(crate) fn part_of(&self, seconds: f64) -> f64 {
        self.whole.map_or(1.0, |window| window.seconds() / seconds)
    }

    /// How often accept queues overflowed.
    pub fn listen_overflows(&self) -> Option<u64> {
        self.net(|net| net.listen_overflows)
    }

    /// How many connections listeners dropped.
    pub fn listen_drops(&self) -> Option<u64> {
        self.net(|net| net.listen_drops)
    }

    /// How many connections the server's own listeners dropped; `None` where that is not known, or they
    /// are not the same at both ends.
    pub fn listener_drops(&self) -> Option<u64> {
        let Self { start, end, .. } = self.at_server();
        end.listener_drops?.checked_sub(start.listener_drops?)
    }

    /// Segments sent again over all that were sent; `None` where none were.
    pub fn retransmitted(&self) -> Option<f64> {
        let again = self.net(|net| net.segments_retransmitted)?;
        let all = self.net(|net| net.segments_sent)? + again;
        (all > 0).then(|| again as f64 / all as f64)
    }

    fn net(&self, counter: fn(&NetReading) -> i64) -> Option<u64> {
        let readings = self.at_server();
        let (start, end) = (readings.start.net.as_ref()?, readings.end.net.as_ref()?);
        u64::try_from(counter(end).checked_sub(counter(start))?).ok()
    }

    /// What each interface did, in the order of the readings, those of the server's machine last.
    pub fn links(&self) -> Vec<LinkUsage> {
        let there = self.there.as_ref().map(|there| there.links()).unwrap_or_default();
        self.own_links().into_iter().chain(there).collect()
    }

    fn own_links(&self) -> Vec<LinkUsage> {
        let Some(seconds) = self.seconds() else { return Vec::new() };
        let less = u64::saturating_sub;
        let both = self.start.links.iter().zip(&self.end.links).zip(&self.waiting);
        both.map(|((start, end), waiting)| {
            let bytes = less(end.sent_bytes, start.sent_bytes)
                .max(less(end.received_bytes, start.received_bytes));
            LinkUsage {
                bits_per_s: 8.0 * bytes as f64 / seconds,
                queued: f64::from(*waiting) / f64::from(self.looks.max(1)),
                queue_drops: less(end.queue_drops, start.queue_drops),
                queue_overlimits: less(end.queue_overlimits, start.queue_overlimits),
            }
        })
        .collect()
    }

    /// The time in which all between the readings happened.
    pub(crate) fn seconds(&self) -> Option<f64> {
        let passed = self.end.at?.checked_duration_since(self.start.at?)?;
        let seconds = self.whole.map_or(passed.as_secs_f64(), Nanos::seconds);
        (seconds > 0.0).then_some(seconds)
    }
}

fn all_of(lists: impl IntoIterator<Item = Option<CpuList>>) -> Option<CpuList> {
    lists.into_iter().flatten().reduce(|all, list| all.with(&list))
}

/// Core frequency right before and after the load, by a chain of dependent additions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreHz {
    /// Before the load began.
    pub before: Option<u64>,
    /// After it ended.
    pub after: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn task(base: Instant, at_ms: u64, on_cpu_ms: u64, waiting_ms: u64) -> Option<TaskReading> {
        Some(TaskReading {
            at: base + Duration::from_millis(at_ms),
            on_cpu: Nanos(on_cpu_ms * 1_000_000),
            doubt: Nanos(0),
            waiting: Some(Nanos(waiting_ms * 1_000_000)),
        })
    }

    fn reading(threads: Vec<Option<TaskReading>>) -> Reading {
        Reading { threads, ..Reading::default() }
    }

    #[test]
    fn usage_is_over_the_time_between_its_readings() {
        let base = Instant::now();
        let mut readings =
            Readings::begin(reading(vec![task(base, 0, 100, 5), task(base, 0, 0, 0)]));
        readings.advance(reading(vec![task(base, 900, 0, 0), task(base, 900, 450, 225)]));
        // The second thread is gone.
        readings.advance(reading(vec![task(base, 1000, 600, 255), None]));
        let usages = readings.threads().unwrap();
        assert_eq!(usages[0], Usage { on_cpu: 0.5, waiting: Some(0.25) });
        assert_eq!(usages[1], Usage { on_cpu: 0.5, waiting: Some(0.25) });
        assert_eq!(usages[0].busy(), 0.75);
        assert_eq!(usages[0].on_cpu_within(Nanos(600)), Nanos(300));
        assert_eq!(usages[0].waiting_within(Nanos(600)), Some(Nanos(150)));
    }

    #[test]
    fn a_cpu_time_that_may_be_wrong_by_more_than_3_percent_is_not_known() {
        let base = Instant::now();
        let reading = |at_ms, on_cpu_ms, doubt_ms: u64| {
            let server = task(base, at_ms, on_cpu_ms, 0);
            let doubt = Nanos(doubt_ms * 1_000_000);
            let server = server.map(|server| TaskReading { doubt, ..server });
            Reading { server, ..Reading::default() }
        };
        let used = |on_cpu_ms| {
            let mut readings = Readings::begin(reading(0, 100, 0));
            readings.advance(reading(1_000, on_cpu_ms, 20));
            (readings.server().map(|usage| usage.on_cpu), readings.too_coarse())
        };
        assert_eq!(used(800), (Some(0.7), None));
        assert_eq!(used(700), (None, Some((Nanos(20_000_000), Nanos(600_000_000)))));
    }

    #[test]
    fn load_threads_that_may_run_elsewhere_have_moved() {
        let list = |text: &str| Some(text.parse::<CpuList>().unwrap());
        let moved = |looks: &[[Option<CpuList>; 2]]| {
            let reading = |cpus: &[Option<CpuList>; 2]| Reading {
                client_cpus: cpus.to_vec(),
                ..Reading::default()
            };
            // The first reading of a load that ends by itself has no threads.
            let mut readings = Readings::begin(Reading::default());
            looks.iter().for_each(|look| readings.advance(reading(look)));
            readings.client_moved_from(&list("1-2").unwrap())
        };
        let pinned = [list("1"), list("2")];
        assert_eq!(moved(&[pinned.clone(), pinned.clone(), [list("1"), None]]), None);
        // For a moment, from the beginning, and within its own CPUs.
        let free = [list("0-2"), list("2")];
        assert_eq!(moved(&[pinned.clone(), free, pinned.clone()]), list("0-2"));
        assert_eq!(moved(&[[list("0"), list("2")]]), list("0,2"));
        assert_eq!(moved(&[pinned, [list("2"), list("2")]]), list("1-2"));
        assert_eq!(moved(&[]), None);
    }

    #[test]
    fn threads_have_their_shares() {
        let base = Instant::now();
        let times = |times: &[(u32, u64)]| {
            times.iter().map(|(id, ms)| (*id, Nanos(ms * 1_000_000))).collect()
        };
        let reading = |at_ms, threads: &[(u32, u64)]| Reading {
            at: Some(base + Duration::from_millis(at_ms)),
            server: task(base, at_ms, 0, 0),
            server_threads: times(threads),
            ..Reading::default()
        };
        let mut readings = Readings::begin(reading(0, &[(7, 100), (8, 0), (9, 50)]));
        // One has ended, another is new.
        readings.advance(reading(1000, &[(7, 350), (8, 990), (10, 700)]));
        assert_eq!(readings.server_threads(), [0.99, 0.25]);
        assert_eq!(Readings::default().server_threads(), [] as [f64; 0]);
    }

    #[test]
    fn memory_traffic_is_that_of_the_window() {
        let base = Instant::now();
        let reading = |at_ms, read, written| Reading {
            at: Some(base + Duration::from_millis(at_ms)),
            memory: Some((
                MemorySource::UncoreImc,
                MemoryBytes { read: Some(read), written: Some(written), total: read + written },
            )),
            ..Reading::default()
        };
        let mut readings = Readings::begin(reading(0, 1_000_000, 500_000));
        // The readings are a little longer apart than the window is.
        readings.advance(reading(1250, 6_000_000, 1_500_000));
        let second = Nanos(1_000_000_000);
        let expected = MemoryUse {
            source: MemorySource::UncoreImc,
            read_bytes: Some(4_000_000),
            written_bytes: Some(800_000),
            bytes: 4_800_000,
        };
        assert_eq!(readings.memory(second), Some(expected));
        assert_eq!(readings.memory(Nanos(0)), None);
        readings.advance(Reading { memory: None, ..reading(1300, 0, 0) });
        assert_eq!(readings.memory(second), None);
    }

    #[test]
    fn what_was_not_read_is_not_known() {
        let base = Instant::now();
        let readings = Readings::begin(reading(vec![task(base, 0, 0, 0)]));
        assert_eq!(readings.threads(), None);
        assert_eq!(readings.server(), None);
        assert_eq!(Readings::default().threads(), None);
        assert_eq!(Readings::default().listen_overflows(), None);
        let mut died =
            Readings::begin(Reading { server: task(base, 0, 0, 0), ..Reading::default() });
        died.advance(Reading { server: task(base, 100, 50, 0), ..Reading::default() });
        assert_eq!(died.server().map(|usage| usage.on_cpu), Some(0.5));
        died.advance(Reading::default());
        assert_eq!(died.server(), None);
        let same = task(base, 0, 0, 0).unwrap();
        assert_eq!(same.since(&same), None);
    }
}
