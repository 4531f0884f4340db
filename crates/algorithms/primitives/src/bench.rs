//! Measures rows: an algorithm of a library at a size, on one CPU or on several at once.
//!
//! All rows are set up and checked first. Then they are visited in turn, some samples at a time, so
//! that what drifts touches all alike, until each has enough quiet samples or has been visited so
//! often that no more are to be expected. Rows of which too few are quiet to compare are then visited
//! for half a minute more at most. On several CPUs all measure the same row at the same time,
//! and each goes on until the last has its samples; that they disturb each other is what is
//! measured then, so no sample is dropped for it.

use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use cpus::{CpuList, pin_current_thread};

use crate::algorithm::{Algorithm, Unit};
use crate::barrier::Barrier;
use crate::cache::Cache;
use crate::check::Checker;
use crate::hardware::Hardware;
use crate::instruments::{CycleSource, ThisCore};
use crate::libraries::library::Library;
use crate::row::{Measured, NoFigure, Outcome, Row, RowKey};
use crate::sampler::{Core, Instruments, Quality, Series, Tick};
use crate::work::Work;
use crate::workload::set_up;

pub struct Bench<'a> {
    /// The algorithms, in the order of the table.
    pub algorithms: &'a [Algorithm],
    /// The libraries, in the order of the table.
    pub libraries: &'a [Box<dyn Library>],
    /// Libraries that check results, measured or not.
    pub checkers: &'a [Box<dyn Library>],
    /// Sizes of messages in bytes, for algorithms that go over bytes.
    pub sizes: &'a [usize],
    pub cache: Cache,
    /// The CPUs, a thread on each.
    pub cpus: &'a CpuList,
    /// Quiet samples of a row that are enough.
    pub samples: usize,
}

#[derive(Clone, Copy)]
struct RowSpec {
    algorithm: Algorithm,
    /// The library's place in the request.
    library: usize,
    /// Bytes of a message, for algorithms that go over bytes.
    size: Option<usize>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Measurement {
    /// In the order of the request. Rows that an interrupt left without samples are not there.
    pub rows: Vec<Row>,
    /// Where cycles come from.
    pub source: CycleSource,
    pub interrupted: bool,
}

/// What has been done so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BenchProgress {
    /// Rows are set up and checked.
    Preparing { done: usize, all: usize },
    /// Samples are taken.
    Sampling { done: usize, all: usize },
}

#[derive(Debug, thiserror::Error)]
pub enum BenchError {
    #[error("CPU {cpu}: {source}; choose one of those that this process may use")]
    Cpu { cpu: usize, source: std::io::Error },
    #[error("{0}")]
    Instruments(#[from] observe::ObserveError),
    #[error("the measurement on CPU {cpu} panicked: {why}; please report this")]
    Panicked { cpu: usize, why: String },
}

impl BenchError {
    /// The panic of the thread on `cpu`, by what joining it gave.
    pub(crate) fn panicked(cpu: usize, panic: Box<dyn Any + Send>) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let why = text.or_else(|| panic.downcast_ref().copied()).unwrap_or("no message").to_owned();
        Self::Panicked { cpu, why }
    }
}

/// Visits without enough quiet samples, in multiples of those that would do on a quiet machine.
const PATIENCE: usize = 4;
/// How long rows with too few quiet samples are visited beyond that, all together.
const LONGEST_WAIT: Duration = Duration::from_secs(30);
const REPORT: Duration = Duration::from_millis(200);

impl Bench<'_> {
    fn places(&self) -> Vec<RowSpec> {
        let mut places = Vec::new();
        for &algorithm in self.algorithms {
            let sizes: Vec<Option<usize>> = match algorithm.unit() {
                Unit::Byte => self.sizes.iter().copied().map(Some).collect(),
                Unit::Operation => vec![None],
            };
            for size in sizes {
                let all = 0..self.libraries.len();
                places.extend(all.map(|library| RowSpec { algorithm, library, size }));
            }
        }
        places
    }

    /// Measures. `report` is called now and then.
    ///
    /// # Errors
    /// Nothing can be measured at all. What a single row lacks is in its outcome.
    pub fn run(
        &self,
        interrupted: &AtomicBool,
        report: &mut dyn FnMut(BenchProgress),
    ) -> Result<Measurement, BenchError> {
        let places = self.places();
        let cpus = self.cpus.as_slice();
        let shared = Shared::new(cpus.len(), places.len(), interrupted);
        let threads = std::thread::scope(|scope| {
            // Nothing is sent: the channel closes when the last thread ends, in whatever way.
            let (running, all_ended) = mpsc::channel::<()>();
            let threads: Vec<_> = cpus
                .iter()
                .map(|&cpu| {
                    let (places, shared, running) = (&places, &shared, running.clone());
                    let thread = scope.spawn(move || {
                        let _running = running;
                        self.on_one_cpu(cpu, places, shared)
                    });
                    (cpu, thread)
                })
                .collect();
            drop(running);
            while let Err(mpsc::RecvTimeoutError::Timeout) = all_ended.recv_timeout(REPORT) {
                report(shared.progress(self.samples));
            }
            // All are joined before the first error is looked at: a scope panics for the others.
            let joined: Vec<_> =
                threads.into_iter().map(|(cpu, thread)| (cpu, thread.join())).collect();
            joined
                .into_iter()
                .map(|(cpu, joined)| joined.map_err(|panic| BenchError::panicked(cpu, panic))?)
                .collect::<Result<Vec<_>, _>>()
        })?;
        // Without an error, no thread has left the others early.
        let mut threads: Vec<OneCpu> = threads.into_iter().flatten().collect();
        let sources = threads.iter().map(|thread| thread.source);
        let source = sources.max_by_key(|source| *source as u8).unwrap_or(CycleSource::Counter);
        let rows = places
            .iter()
            .enumerate()
            .filter_map(|(at, &place)| {
                let of_all = threads.iter_mut().map(|thread| thread.rows[at].take()).collect();
                Some(self.row(place, source, together(of_all)?))
            })
            .collect();
        Ok(Measurement { rows, source, interrupted: interrupted.load(Ordering::Relaxed) })
    }

    fn row(&self, place: RowSpec, cycles_source: CycleSource, outcome: Outcome) -> Row {
        let library = &self.libraries[place.library];
        let key = RowKey {
            algorithm: place.algorithm,
            library: library.id().to_owned(),
            size_bytes: place.size.map(|size| size as u64),
            hardware: Hardware::of_this_process(),
            cache: self.cache,
            threads: self.cpus.len(),
        };
        Row { key, library_title: library.title().to_owned(), cycles_source, outcome }
    }

    /// The work of one thread: all rows. `None` where another thread has left before the end, whose
    /// error says why.
    fn on_one_cpu(
        &self,
        cpu: usize,
        places: &[RowSpec],
        shared: &Shared<'_>,
    ) -> Result<Option<OneCpu>, BenchError> {
        let _member = shared.together.join();
        pin_current_thread(&CpuList::from(cpu))
            .map_err(|source| BenchError::Cpu { cpu, source })?;
        let core = ThisCore::new()?;
        Ok(self.all_rows(core, places, shared))
    }

    fn all_rows(&self, core: ThisCore, places: &[RowSpec], shared: &Shared<'_>) -> Option<OneCpu> {
        shared.together.wait()?;
        let mut core = SharedCores { core, are_alone: self.cpus.len() == 1 };
        let checker = Checker::new(self.checkers);
        let set_up = |place: &RowSpec| {
            let row =
                (!shared.together.is_over()).then(|| Measuring::new(self, *place, &checker))?;
            shared.prepared.fetch_add(1, Ordering::Relaxed);
            Some(row)
        };
        let mut rows: Vec<_> = places.iter().map(set_up).collect::<Option<_>>()?;
        let visits = self.samples.div_ceil(crate::sampler::SAMPLES_A_VISIT) * PATIENCE;
        for _ in 0..visits {
            if shared.decide_together(|| shared.interrupted.load(Ordering::Relaxed))? {
                break;
            }
            for (at, row) in rows.iter_mut().enumerate() {
                shared.visit(at, row, &mut core, self.samples)?;
            }
        }
        let until = Instant::now() + LONGEST_WAIT;
        loop {
            if rows.iter().any(|row| row.is_too_disturbed(self.samples)) {
                shared.are_disturbed.store(true, Ordering::Relaxed);
            }
            let is_over = || {
                !shared.are_disturbed.swap(false, Ordering::Relaxed)
                    || Instant::now() >= until
                    || shared.interrupted.load(Ordering::Relaxed)
            };
            if shared.decide_together(is_over)? {
                break;
            }
            for (at, row) in rows.iter_mut().enumerate() {
                // Several CPUs visit the same rows.
                if self.cpus.len() > 1 || row.is_too_disturbed(self.samples) {
                    shared.visit(at, row, &mut core, self.samples)?;
                }
            }
        }
        let rows = rows.into_iter().map(|row| row.end(self, &checker)).collect();
        Some(OneCpu { source: core.core.source(), rows })
    }
}

/// What a thread found of each place; `None` of those that an interrupt left out.
struct OneCpu {
    source: CycleSource,
    rows: Vec<Option<Outcome>>,
}

/// One row, of all CPUs.
fn together(of_all: Vec<Option<Outcome>>) -> Option<Outcome> {
    let mut measured = Vec::new();
    for one in of_all {
        match one? {
            Outcome::Measured(one) => measured.push(one),
            none @ Outcome::None(_) => return Some(none),
        }
    }
    let ops_per_s = measured.iter().map(|one| one.ops_per_s).sum();
    let bytes_per_s = measured.iter().map(|one| one.bytes_per_s).sum();
    measured.sort_by(|a, b| a.cycles_per_op.median.total_cmp(&b.cycles_per_op.median));
    let middle = (measured.len().checked_sub(1)?) / 2;
    // One disturbed CPU makes a disturbed row.
    let worst = [Quality::Disturbed, Quality::Unknown, Quality::Quiet];
    let quality = worst.into_iter().find(|is| measured.iter().any(|one| one.quality == *is))?;
    let sum = |of: fn(&Measured) -> u64| measured.iter().map(|one| of(one)).sum();
    let samples = match quality {
        // As of one CPU: those that do not count are among them.
        Quality::Disturbed => sum(Measured::taken),
        Quality::Quiet | Quality::Unknown => sum(|one| one.samples),
    };
    let dropped_shared = sum(|one| one.dropped_shared);
    let dropped_unsteady = sum(|one| one.dropped_unsteady);
    let median = *measured.swap_remove(middle);
    Some(Outcome::Measured(Box::new(Measured {
        ops_per_s,
        bytes_per_s,
        samples,
        dropped_shared,
        dropped_unsteady,
        quality,
        ..median
    })))
}

/// The instruments where other CPUs of the same measurement are busy on purpose.
struct SharedCores {
    core: ThisCore,
    are_alone: bool,
}

impl Instruments for SharedCores {
    fn tick(&mut self) -> Tick {
        self.core.tick()
    }

    fn core(&mut self) -> Core {
        let core = self.core.core();
        Core { is_quiet: if self.are_alone { core.is_quiet } else { Some(true) }, ..core }
    }
}

struct Measuring {
    place: RowSpec,
    workload: Result<Box<dyn Work>, NoFigure>,
    series: Series,
}

impl Measuring {
    fn new(request: &Bench<'_>, place: RowSpec, checker: &Checker<'_>) -> Self {
        let library = request.libraries[place.library].as_ref();
        let size = place.size.unwrap_or_default();
        let workload = Hardware::of_this_process()
            .reaches(library)
            .map_err(NoFigure::from)
            .and_then(|()| set_up(library, place.algorithm, size, request.cache, checker));
        Self { place, workload, series: Series::default() }
    }

    fn needs(&self, samples: usize) -> bool {
        self.taken(samples) < samples
    }

    /// How many of the samples it has; all, where it will have none.
    fn taken(&self, samples: usize) -> usize {
        if self.workload.is_ok() { self.series.quiet().min(samples) } else { samples }
    }

    fn is_too_disturbed(&self, enough: usize) -> bool {
        self.workload.is_ok() && self.series.has_too_few_quiet(enough)
    }

    fn visit(&mut self, instruments: &mut dyn Instruments) {
        if let Ok(workload) = &mut self.workload
            && let Err(failed) = self.series.visit(workload.as_mut(), instruments)
        {
            self.workload = Err(failed.into());
        }
    }

    fn end(self, request: &Bench<'_>, checker: &Checker<'_>) -> Option<Outcome> {
        let mut workload = match self.workload {
            Ok(workload) => workload,
            Err(no_figure) => return Some(Outcome::None(no_figure)),
        };
        let figure = self.series.figure()?;
        let library = request.libraries[self.place.library].as_ref();
        if let Err(wrong) = workload.confirm_again(library, checker) {
            return Some(Outcome::None(wrong.into()));
        }
        let bytes = self.place.size.map(|_| workload.message_bytes() as f64);
        // Messages are counted by their bytes, and operations by their number.
        let operations = if bytes.is_some() { 1.0 } else { workload.lanes() as f64 };
        let cycles_per_op = figure.cycles.per(operations);
        let ops_per_s = 1e9 / figure.nanos * operations;
        Some(Outcome::Measured(Box::new(Measured {
            cycles_per_byte: bytes.map(|bytes| figure.cycles.per(bytes)),
            cycles_per_op,
            core_hz: cycles_per_op.median * ops_per_s,
            ops_per_s,
            bytes_per_s: bytes.map(|bytes| ops_per_s * bytes),
            messages_per_op: workload.lanes() as u64,
            samples: figure.samples as u64,
            dropped_shared: figure.dropped_shared as u64,
            dropped_unsteady: figure.dropped_unsteady as u64,
            quality: figure.quality,
            confirmed_by: workload.confirmed_by().to_owned(),
        })))
    }
}

struct Shared<'a> {
    interrupted: &'a AtomicBool,
    /// Rows that are set up, of all threads together.
    prepared: AtomicUsize,
    /// What the leader of a barrier decided for all.
    decision: AtomicBool,
    /// Whether a thread has a row with too few quiet samples.
    are_disturbed: AtomicBool,
    together: Barrier,
    threads: usize,
    /// Threads that have their samples of the visit under way.
    finished: AtomicUsize,
    /// The samples that each row has.
    samples: Vec<AtomicUsize>,
}

impl<'a> Shared<'a> {
    fn new(threads: usize, rows: usize, interrupted: &'a AtomicBool) -> Self {
        Self {
            interrupted,
            prepared: AtomicUsize::new(0),
            decision: AtomicBool::new(false),
            are_disturbed: AtomicBool::new(false),
            together: Barrier::new(threads),
            threads,
            finished: AtomicUsize::new(0),
            samples: (0..rows).map(|_| AtomicUsize::new(0)).collect(),
        }
    }

    /// One thread decides, and all follow. `None` where a thread has left.
    fn decide_together(&self, decide: impl FnOnce() -> bool) -> Option<bool> {
        if self.together.wait()? {
            self.decision.store(decide(), Ordering::Relaxed);
        }
        self.together.wait()?;
        Some(self.decision.load(Ordering::Relaxed))
    }

    /// Visits a row, at the same time as the other threads do. `None` where one of them has left.
    fn visit(
        &self,
        at: usize,
        row: &mut Measuring,
        core: &mut SharedCores,
        samples: usize,
    ) -> Option<()> {
        if self.threads == 1 {
            if row.needs(samples) && !self.interrupted.load(Ordering::Relaxed) {
                row.visit(core);
            }
            self.samples[at].store(row.taken(samples), Ordering::Relaxed);
            return Some(());
        }
        self.finished.store(0, Ordering::Relaxed);
        self.together.wait()?;
        row.visit(core);
        self.finished.fetch_add(1, Ordering::Relaxed);
        // Whoever has its samples keeps its CPU as busy as before, until all have theirs.
        while self.finished.load(Ordering::Relaxed) < self.threads {
            if self.together.is_over() {
                return None;
            }
            match &mut row.workload {
                Ok(workload) => {
                    if workload.run(1, core).is_err() {
                        std::hint::spin_loop();
                    }
                }
                Err(_) => std::hint::spin_loop(),
            }
        }
        self.samples[at].store(row.taken(samples), Ordering::Relaxed);
        self.together.wait()?;
        Some(())
    }

    fn progress(&self, samples: usize) -> BenchProgress {
        let (done, all) =
            (self.prepared.load(Ordering::Relaxed), self.samples.len() * self.threads);
        if done < all {
            return BenchProgress::Preparing { done, all };
        }
        let done = self.samples.iter().map(|taken| taken.load(Ordering::Relaxed)).sum();
        BenchProgress::Sampling { done, all: self.samples.len() * samples }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sampler::Quartiles;

    fn measured(cycles: f64, samples: u64, dropped_unsteady: u64, quality: Quality) -> Outcome {
        let cycles_per_op = Quartiles { low: cycles, median: cycles, high: cycles };
        Outcome::Measured(Box::new(Measured {
            cycles_per_byte: None,
            cycles_per_op,
            core_hz: 1e9,
            ops_per_s: 1e9 / cycles,
            bytes_per_s: None,
            messages_per_op: 1,
            samples,
            dropped_shared: 0,
            dropped_unsteady,
            quality,
            confirmed_by: "another".to_owned(),
        }))
    }

    #[test]
    fn a_disturbed_cpu_shows_in_a_row_of_several() {
        let row = |of_all: [Outcome; 3]| match together(of_all.map(Some).into()) {
            Some(Outcome::Measured(row)) => *row,
            none => panic!("{none:?}"),
        };
        let quiet = |cycles| measured(cycles, 30, 10, Quality::Quiet);
        let all_quiet = row([quiet(1.0), quiet(2.0), quiet(3.0)]);
        assert_eq!((all_quiet.quality, all_quiet.quiet()), (Quality::Quiet, 90));
        assert_eq!(all_quiet.taken(), 120);
        let disturbed = row([quiet(1.0), quiet(2.0), measured(3.0, 120, 118, Quality::Disturbed)]);
        assert_eq!((disturbed.quality, disturbed.quiet()), (Quality::Disturbed, 62));
        assert_eq!((disturbed.taken(), disturbed.cycles_per_op.median), (200, 2.0));
    }
}
