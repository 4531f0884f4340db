//! Which CPUs share a core, and whether a CPU's sibling is busy now.
//!
//! A virtual machine often hides that two of its CPUs are hyperthreads of one core. But they share
//! the core's adders, and four chains of additions use nearly all of them: beside
//! a busy sibling they are a fifth to a third slower. The cycles come from a single chain that runs
//! right before, so the core's frequency does not matter.
//!
//! A host may move a virtual machine's CPUs from core to core, and the sibling may belong to
//! another machine. So the answers hold for the moment, and are measured again with each trial.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use cpus::CpuList;
use stats::median;

use crate::{ObserveError, chains, on_cpu};

/// Blocks of one sample's single chain (10,000 cycles, 4 µs); the four chains do four times the
/// additions in about the same time. Short, so that few samples are interrupted.
const BLOCKS: u64 = 50;
/// Samples of a CPU that [`throughput`] takes: less than half a millisecond.
const SAMPLES: usize = 41;

/// Between the additions per cycle next to a quiet sibling (3.4 to 3.5 on Sapphire Rapids; x86-64
/// cores have had four adders or more since Haswell and Zen) and next to a busy one (2.3 to 2.9).
pub(crate) const QUIET: f64 = 3.2;

/// A ratio below this shows that two CPUs share a core.
const SHARED: f64 = 0.85;

/// Additions per cycle that four chains reach on `cpu` now; the median of samples over less than a
/// millisecond.
pub fn throughput(cpu: usize) -> Result<f64, ObserveError> {
    chains::check_supported()?;
    let samples = on_cpu::run(cpu, || (0..SAMPLES).map(|_| sample()).collect::<Vec<_>>())?;
    median_of(&samples)
}

/// Whether the core of `cpu` does nothing else at this moment.
///
/// # Errors
/// As [`throughput`]; and not available except on x86-64, because the number of adders of others is
/// not known beforehand.
pub fn is_quiet(cpu: usize) -> Result<bool, ObserveError> {
    if cfg!(target_arch = "x86_64") {
        Ok(throughput(cpu)? >= QUIET)
    } else {
        Err(ObserveError::NotAvailable("the number of this processor's adders is not known"))
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SiblingRatio {
    pub first: usize,
    /// The CPU that added, or paused, meanwhile.
    pub second: usize,
    /// The throughput of the first while the second adds, over that while it pauses.
    pub ratio: f64,
}

impl SiblingRatio {
    /// Whether the two are hyperthreads of one core.
    pub fn share_a_core(&self) -> bool {
        self.ratio < SHARED
    }
}

/// Pairs that are measured at most; twelve CPUs, a little more than 1 s.
pub const MOST_PAIRS: usize = 66;

/// Measures each pair of `cpus`, about 15 ms each on a quiet machine; none for a list of one.
pub fn siblings(cpus: &CpuList) -> Result<Vec<SiblingRatio>, ObserveError> {
    chains::check_supported()?;
    let cpus = cpus.as_slice();
    let pairs = cpus
        .iter()
        .enumerate()
        .flat_map(|(i, &first)| cpus[i + 1..].iter().map(move |&second| (first, second)));
    pairs
        .map(|(first, second)| Ok(SiblingRatio { first, second, ratio: ratio(first, second)? }))
        .collect()
}

/// Additions per cycle, from one pass of about 8 µs.
fn sample() -> f64 {
    let (one, four) = chains::seconds(BLOCKS);
    4.0 * one / four
}

/// The median of samples, which are finite unless the clock stood still during one.
fn median_of(samples: &[f64]) -> Result<f64, ObserveError> {
    median(samples).map_err(|_| ObserveError::NotAvailable("the clock is too coarse for a probe"))
}

/// Rounds of a pair: the second CPU adds, then pauses, so that what drifts touches both alike.
const ROUNDS: usize = 15;
/// Samples of each half of a round, about 0.2 ms.
const SAMPLES_A_HALF: usize = 25;
/// Laps of the second CPU, of about 1 µs each, without which a sample does not count.
const LAPS_A_SAMPLE: u64 = 3;
/// How long a pair may take where other work uses both CPUs.
const PAIR_LIMIT: Duration = Duration::from_secs(3);

/// The throughput of `first` while a thread on `second` adds, over that while it pauses.
///
/// The thread keeps its CPU while it pauses, instead of leaving it, so that the CPU is quiet for
/// certain: on a busy machine another program would run there instead. And a sample counts
/// only if that thread ran during it.
fn ratio(first: usize, second: usize) -> Result<f64, ObserveError> {
    let neighbour = Neighbour::start(second)?;
    on_cpu::run(first, move || {
        let deadline = Instant::now() + PAIR_LIMIT;
        let (mut adding, mut pausing) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            neighbour.order(ADD);
            neighbour.samples_into(&mut adding, deadline)?;
            neighbour.order(PAUSE);
            neighbour.samples_into(&mut pausing, deadline)?;
        }
        Ok(median_of(&adding)? / median_of(&pausing)?)
    })?
}

const ADD: u8 = 0;
const PAUSE: u8 = 1;
const END: u8 = 2;

/// A thread that adds or pauses on a CPU as requested; it ends when this is dropped.
struct Neighbour {
    cpu: usize,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    order: AtomicU8,
    /// Counts what the thread has done.
    laps: AtomicU64,
}

impl Neighbour {
    fn start(cpu: usize) -> Result<Self, ObserveError> {
        let shared = Arc::new(Shared::default());
        let neighbour = Self { cpu, shared: Arc::clone(&shared) };
        on_cpu::spawn(cpu, move || shared.obey())?;
        Ok(neighbour)
    }

    fn order(&self, order: u8) {
        self.shared.order.store(order, Ordering::Relaxed);
    }

    fn laps(&self) -> u64 {
        self.shared.laps.load(Ordering::Relaxed)
    }

    /// Adds the samples of half a round, taken from when the thread follows its new order.
    fn samples_into(&self, samples: &mut Vec<f64>, deadline: Instant) -> Result<(), ObserveError> {
        let enough = samples.len() + SAMPLES_A_HALF;
        let ordered = self.laps();
        while samples.len() < enough {
            if Instant::now() > deadline {
                return Err(ObserveError::CpuStarved { cpu: self.cpu });
            }
            let before = self.laps();
            let sample = sample();
            if before >= ordered + 2 && self.laps() >= before + LAPS_A_SAMPLE {
                samples.push(sample);
            }
        }
        Ok(())
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.order(END);
    }
}

impl Shared {
    fn obey(&self) {
        loop {
            match self.order.load(Ordering::Relaxed) {
                ADD => chains::four_chains(LAP_BLOCKS),
                PAUSE => (0..LAP_PAUSES).for_each(|_| std::hint::spin_loop()),
                _ => return,
            }
            self.laps.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Blocks of a lap: 1,000 to 2,000 cycles.
const LAP_BLOCKS: u64 = 20;
/// Pauses of a lap, of about 140 cycles each on Intel's processors since Skylake, less on others.
const LAP_PAUSES: u32 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_one_has_no_pairs() {
        let one = CpuList::from(CpuList::allowed().unwrap().as_slice()[0]);
        assert_eq!(siblings(&one).unwrap(), []);
    }

    #[test]
    fn each_pair_is_measured_once() {
        let allowed = CpuList::allowed().unwrap();
        let some: Vec<String> = allowed.as_slice().iter().take(3).map(usize::to_string).collect();
        let some: CpuList = some.join(",").parse().unwrap();
        let pairs = siblings(&some).unwrap();
        assert_eq!(pairs.len(), some.len() * (some.len() - 1) / 2);
        for pair in pairs {
            assert!(pair.first < pair.second);
            assert!(pair.ratio.is_finite() && pair.ratio > 0.0, "{pair:?}");
        }
    }

    #[test]
    fn a_cpu_has_a_throughput() {
        let cpu = CpuList::allowed().unwrap().as_slice()[0];
        let additions_a_cycle = throughput(cpu).unwrap();
        assert!(additions_a_cycle.is_finite() && additions_a_cycle > 0.0);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_an_error() {
        let pair = "0,1023".parse().unwrap();
        assert!(matches!(siblings(&pair), Err(ObserveError::CpuUnusable { cpu: 1023, .. })));
        assert!(matches!(throughput(1023), Err(ObserveError::CpuUnusable { cpu: 1023, .. })));
    }
}
