//! CPU time by core over a window of time, from `/proc/stat`.
//!
//! The kernel counts in ticks of 10 ms, so shares of a window of 600 ms are known to about 2%.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::read;
use crate::{CoreTicks, ObserveError, parse_proc_stat};

/// A thread that looks at `/proc/stat` at an interval, until it is stopped or dropped.
#[derive(Debug)]
pub struct Sampler {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Result<CpuSeries, ObserveError>>,
}

impl Sampler {
    /// Takes the first snapshot now, and starts the thread. It inherits the affinity of the
    /// calling thread.
    pub fn start(interval: Duration) -> Result<Self, ObserveError> {
        let recorder = Recorder::new(Instant::now(), snapshot()?);
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("cpu-sampler".into())
            .spawn(move || sample(recorder, interval, &stopped))
            .map_err(|e| ObserveError::Sampler(e.to_string()))?;
        Ok(Self { stop, thread })
    }

    /// Takes the last snapshot and ends the thread.
    pub fn stop(self) -> Result<CpuSeries, ObserveError> {
        drop(self.stop);
        self.thread.join().map_err(|_| ObserveError::Sampler("it panicked".into()))?
    }
}

fn sample(
    mut recorder: Recorder,
    interval: Duration,
    stopped: &mpsc::Receiver<()>,
) -> Result<CpuSeries, ObserveError> {
    let mut next = Instant::now();
    loop {
        // From the intended instant, so that the interval does not drift; but without a burst of
        // snapshots after this thread was held up.
        next = (next + interval).max(Instant::now());
        let wait = stopped.recv_timeout(next.saturating_duration_since(Instant::now()));
        recorder.add(Instant::now(), snapshot()?);
        if wait != Err(RecvTimeoutError::Timeout) {
            return Ok(recorder.series);
        }
    }
}

fn snapshot() -> Result<BTreeMap<usize, CoreTicks>, ObserveError> {
    parse_proc_stat(&read("/proc/stat")?)
}

/// Turns snapshots into differences.
struct Recorder {
    series: CpuSeries,
    last: BTreeMap<usize, CoreTicks>,
}

impl Recorder {
    fn new(start: Instant, first: BTreeMap<usize, CoreTicks>) -> Self {
        Self { series: CpuSeries { start, at_ns: vec![0], cores: BTreeMap::new() }, last: first }
    }

    fn add(&mut self, at: Instant, now: BTreeMap<usize, CoreTicks>) {
        let intervals = self.series.at_ns.len() - 1;
        self.series.at_ns.push(nanos_between(self.series.start, at));
        let known: BTreeSet<usize> = self.series.cores.keys().chain(now.keys()).copied().collect();
        for cpu in known {
            let passed = match (self.last.get(&cpu), now.get(&cpu)) {
                (Some(before), Some(after)) => after.since(before),
                _ => CoreTicks::default(),
            };
            let core = self.series.cores.entry(cpu).or_default();
            core.resize(intervals, CoreTicks::default());
            core.push(passed);
        }
        self.last = now;
    }
}

fn nanos_between(start: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(start).as_nanos()).unwrap_or(u64::MAX)
}

/// What each core did, interval by interval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSeries {
    #[serde(with = "crate::instant")]
    pub start: Instant,
    /// The instants of all snapshots in ns since `start`: n + 1 for n intervals.
    pub at_ns: Vec<u64>,
    /// For each core that was seen, the ticks of each interval; none at all for an interval in
    /// which it came or went.
    pub cores: BTreeMap<usize, Vec<CoreTicks>>,
}

/// How a core spent its time; each a share of one, together one.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct CoreShares {
    /// In user mode, including nice.
    pub user: f64,
    /// In the kernel, without interrupts.
    pub system: f64,
    /// In hardware interrupts.
    pub irq: f64,
    /// In soft interrupts.
    pub softirq: f64,
    /// Taken by the hypervisor.
    pub steal: f64,
    /// Idle, including idle with I/O outstanding.
    pub idle: f64,
}

impl CoreShares {
    /// The share of time in which the core worked here: neither idle nor stolen.
    pub fn busy(&self) -> f64 {
        self.user + self.system + self.irq + self.softirq
    }
}

impl CpuSeries {
    /// The shares of each core between two instants.
    ///
    /// An interval that lies partly in the window counts with that part of its ticks. A core of
    /// which nothing is known in the window is left out, so the map is empty where the window
    /// lies outside of the series.
    pub fn shares(&self, from: Instant, to: Instant) -> BTreeMap<usize, CoreShares> {
        let (from, to) = (nanos_between(self.start, from), nanos_between(self.start, to));
        let weights: Vec<f64> =
            self.at_ns.windows(2).map(|ends| overlap(ends[0], ends[1], from, to)).collect();
        self.cores
            .iter()
            .filter_map(|(&cpu, ticks)| Some((cpu, weighted_shares(ticks, &weights)?)))
            .collect()
    }
}

/// Which part, 0 to 1, of the interval from `start` to `end` lies between `from` and `to`.
fn overlap(start: u64, end: u64, from: u64, to: u64) -> f64 {
    let inside = end.min(to).saturating_sub(start.max(from));
    if inside == 0 { 0.0 } else { inside as f64 / (end - start) as f64 }
}

fn weighted_shares(ticks: &[CoreTicks], weights: &[f64]) -> Option<CoreShares> {
    let sum = |field: fn(&CoreTicks) -> u64| -> f64 {
        ticks.iter().zip(weights).map(|(ticks, weight)| field(ticks) as f64 * weight).sum()
    };
    let total = sum(CoreTicks::total);
    (total > 0.0).then(|| CoreShares {
        user: sum(|t| t.user) / total,
        system: sum(|t| t.system) / total,
        irq: sum(|t| t.irq) / total,
        softirq: sum(|t| t.softirq) / total,
        steal: sum(|t| t.steal) / total,
        idle: sum(|t| t.idle) / total,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fixture(snapshots: &[&str]) -> CpuSeries {
        let start = Instant::now();
        let parse = |text: &str| parse_proc_stat(text).unwrap();
        let mut recorder = Recorder::new(start, parse(snapshots[0]));
        for (i, text) in snapshots.iter().enumerate().skip(1) {
            recorder.add(start + Duration::from_millis(100 * i as u64), parse(text));
        }
        recorder.series
    }

    fn shares(series: &CpuSeries, from_ms: u64, to_ms: u64) -> BTreeMap<usize, CoreShares> {
        let at = |ms| series.start + Duration::from_millis(ms);
        series.shares(at(from_ms), at(to_ms))
    }

    #[test]
    fn steal_and_soft_interrupts_are_apart() {
        let series = fixture(&["cpu0 0 0 0 0 0 0 0 0 0 0", "cpu0 1 1 1 1 1 1 2 2 1 1"]);
        let expected =
            CoreShares { user: 0.2, system: 0.1, irq: 0.1, softirq: 0.2, steal: 0.2, idle: 0.2 };
        let core = shares(&series, 0, 100)[&0];
        assert_eq!(core, expected);
        assert!((core.busy() - 0.6).abs() < 1e-12);
    }

    #[test]
    fn a_window_takes_its_part_of_each_interval() {
        let series = fixture(&[
            "cpu0 0 0 0 0 0 0 0 0",
            "cpu0 10 0 0 0 0 0 0 0",
            "cpu0 10 0 0 10 0 0 0 0",
            "cpu0 10 0 0 10 0 0 0 10",
        ]);
        assert_eq!(shares(&series, 0, 100)[&0].user, 1.0);
        assert_eq!(shares(&series, 100, 200)[&0].idle, 1.0);
        let across = shares(&series, 50, 250)[&0];
        assert_eq!((across.user, across.idle, across.steal), (0.25, 0.5, 0.25));
        // A window that reaches beyond the series counts what is known of it.
        assert_eq!(shares(&series, 200, 900)[&0].steal, 1.0);
    }

    #[test]
    fn nothing_is_known_outside_of_the_series() {
        let series = fixture(&["cpu0 0 0 0 0 0 0 0 0", "cpu0 10 0 0 0 0 0 0 0"]);
        assert!(shares(&series, 100, 200).is_empty());
        assert!(shares(&series, 50, 50).is_empty());
        assert!(shares(&series, 80, 20).is_empty());
    }

    #[test]
    fn a_core_that_comes_or_goes_is_known_only_while_it_was_there() {
        let series = fixture(&[
            "cpu0 0 0 0 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0",
            "cpu0 0 0 0 10 0 0 0 0\ncpu1 10 0 0 0 0 0 0 0",
            "cpu0 0 0 0 20 0 0 0 0\ncpu2 900 0 0 0 0 0 0 0",
            "cpu0 0 0 0 30 0 0 0 0\ncpu1 5 0 0 900 0 0 0 0\ncpu2 900 0 10 0 0 0 0 0",
            "cpu0 0 0 0 40 0 0 0 0\ncpu1 5 0 0 910 0 0 0 0\ncpu2 900 0 20 0 0 0 0 0",
        ]);
        assert!(series.cores.values().all(|ticks| ticks.len() == 4));
        assert_eq!(shares(&series, 0, 300)[&1].user, 1.0);
        assert_eq!(shares(&series, 100, 300).keys().copied().collect::<Vec<_>>(), [0, 2]);
        assert_eq!(shares(&series, 0, 400)[&2].system, 1.0);
        assert_eq!(shares(&series, 0, 400)[&1].user, 0.5);
    }

    #[test]
    fn the_sampler_sees_this_machine_and_stops() {
        let sampler = Sampler::start(Duration::from_millis(5)).unwrap();
        let from = Instant::now();
        std::thread::sleep(Duration::from_millis(60));
        let to = Instant::now();
        let series = sampler.stop().unwrap();
        assert!(series.at_ns.len() >= 3, "{:?}", series.at_ns);
        assert!(series.at_ns.windows(2).all(|ends| ends[0] <= ends[1]));
        let shares = series.shares(from, to);
        assert!(!shares.is_empty());
        for core in shares.values() {
            assert!((core.busy() + core.idle + core.steal - 1.0).abs() < 1e-9, "{core:?}");
        }
    }

    #[test]
    fn stopping_does_not_wait_for_the_interval() {
        let sampler = Sampler::start(Duration::from_secs(3600)).unwrap();
        assert_eq!(sampler.stop().unwrap().at_ns.len(), 2);
    }
}
