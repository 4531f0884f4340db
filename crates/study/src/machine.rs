//! The machine as a trial sees it: its clock, its CPUs, its counters.

use std::time::{Duration, Instant, SystemTime};

use cpus::CpuList;
use observe::{CpuSeries, NetCounters, ObserveError, ProcessTree, Sampler, ThreadCpu};

use crate::reading::{Reading, TaskReading};
use crate::warning::Neighbours;

/// What a trial needs of a machine. Tests have one that stands still.
pub trait Machine {
    /// The monotonic clock.
    fn now(&self) -> Instant;
    /// Milliseconds since 1970-01-01 UTC.
    fn unix_ms(&self) -> u64;
    /// Returns at that instant or, busy as the machine may be, soon after.
    fn sleep_until(&self, instant: Instant);
    /// The frequency of a core now, in cycles a second, if that can be measured.
    fn core_hz(&self, cpu: usize) -> Option<u64>;
    /// Reads CPU times and counters; `threads` are kernel ids of threads of this process.
    fn read(&self, threads: &[i32]) -> Reading;
    /// Begins to record what each CPU does.
    fn start_series(&mut self, interval: Duration);
    /// Ends the record; `None` where there is none.
    fn take_series(&mut self) -> Option<CpuSeries>;
}

/// The machine that toll runs on, with the process tree of the server if it runs here too.
#[derive(Debug, Default)]
pub struct ThisMachine {
    server: Option<ProcessTree>,
    sampler: Option<Sampler>,
}

impl ThisMachine {
    /// With a server whose process is not known, or on another machine.
    #[must_use]
    pub fn without_server() -> Self {
        Self::default()
    }

    /// With a server that is the process `pid` and its descendants as they are now.
    ///
    /// # Errors
    /// There is no such process.
    pub fn with_server(pid: u32) -> Result<Self, ObserveError> {
        Ok(Self { server: Some(ProcessTree::find(pid)?), sampler: None })
    }
}

impl Machine for ThisMachine {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn unix_ms(&self) -> u64 {
        SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    fn sleep_until(&self, instant: Instant) {
        std::thread::sleep(instant.saturating_duration_since(Instant::now()));
    }

    fn core_hz(&self, cpu: usize) -> Option<u64> {
        observe::core_hz(cpu).ok().map(|hertz| hertz.0.round() as u64)
    }

    fn read(&self, threads: &[i32]) -> Reading {
        // The threads first: they may be about to end.
        let threads = threads
            .iter()
            .map(|tid| {
                let cpu = ThreadCpu::of(u32::try_from(*tid).ok()?).ok()?;
                Some(TaskReading { at: Instant::now(), on_cpu: cpu.on_cpu, waiting: cpu.waiting })
            })
            .collect();
        let server = self.server.as_ref().and_then(|tree| {
            let at = Instant::now();
            let cpu = tree.read().ok()?;
            Some(TaskReading { at, on_cpu: cpu.on_cpu, waiting: cpu.waiting })
        });
        let listen_overflows =
            NetCounters::read().ok().and_then(|net| net.get("TcpExt", "ListenOverflows"));
        Reading { server, threads, listen_overflows }
    }

    fn start_series(&mut self, interval: Duration) {
        self.sampler = Sampler::start(interval).ok();
    }

    fn take_series(&mut self) -> Option<CpuSeries> {
        self.sampler.take()?.stop().ok()
    }
}

/// The most CPUs of a client of which each is tried against the server's first one.
const MOST_PAIRS: usize = 8;

/// Where server and client run relative to each other, measured where it has to be: about 20 ms
/// for each of the client's first eight CPUs, during which the server should be idle.
#[must_use]
pub fn neighbours(server: &CpuList, client: &CpuList) -> Neighbours {
    let overlap = |cpu: &usize| server.as_slice().contains(cpu);
    if client.as_slice().iter().any(overlap) {
        return Neighbours::Shared;
    }
    let first = server.as_slice()[0];
    let share_a_core = |cpu: &usize| {
        format!("{first},{cpu}")
            .parse()
            .ok()
            .and_then(|pair: CpuList| observe::siblings(&pair).ok())
            .is_some_and(|ratios| ratios.iter().any(observe::SiblingRatio::share_a_core))
    };
    if client.as_slice().iter().take(MOST_PAIRS).any(share_a_core) {
        Neighbours::Siblings
    } else {
        Neighbours::Apart
    }
}
