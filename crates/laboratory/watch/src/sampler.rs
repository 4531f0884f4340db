//! Watches a server for a while: samples the stacks of all its threads, and counts calls of its TLS library.
//!
//! A thread is sampled by its own CPU time, so that a sample stands for as much time on each, and one that sleeps has
//! none. Samples are unwound while they come: what is kept is how often each stack was seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use cpus::CpuList;
use observe::{
    Counted, Fact, ObserveError, PARANOID_ALLOWS_CPUS, PerfEvent, ProcessTree, Recorder,
    SentBytesMeter, TreeMeter,
};
use profile::CallStack;
use rustix::time::{ClockId, clock_gettime};

use crate::calls::{self, CallCounters};
use crate::image::{Images, Mapping};
use crate::kernel_names::KernelNames;
use crate::observed::{CountedUntil, Observed};
use crate::sample::{SAMPLE, Sample};
use crate::sort::Sorter;
use crate::unwind::{SAMPLED, Unwinder};

/// Samples per second of a thread's CPU time.
pub const FREQUENCY: u64 = 499;
/// What a sample has of a stack: that of an OpenSSL that signs is 3 KiB to 10 KiB deep.
const STACK_BYTES: u32 = 16 << 10;
/// Room for the samples of one thread, as a power of 2 of pages: 1 MiB, a tenth of a second of a busy one.
const PAGES: u32 = 8;
/// More threads are not sampled: their samples would take more than 128 MiB of memory.
const MOST_THREADS: usize = 128;
/// More different stacks are not kept, only sorted.
const MOST_STACKS: usize = 100_000;
/// How often samples are taken from the kernel, and how often new threads are looked for.
const DRAIN: Duration = Duration::from_millis(25);
pub(crate) const LOOK: Duration = Duration::from_millis(200);
/// What a call that is counted takes of the server, in seconds: measured on AMD Zen 3 in a virtual machine (docs/watch.md).
const COUNTED_CALL_S: f64 = 3e-6;
/// How much of the server's CPU time counting may take. For the first second and the first calls it may take more: a server
/// that did nothing in the window's first second would not be counted at all, and of a few handshakes nothing follows for
/// others. These calls take it 6 ms.
pub(crate) const MOST_COUNTING: f64 = 0.01;
const LEAST_COUNTED: Duration = Duration::from_secs(1);
const LEAST_CALLS: u64 = 2_000;
/// How often the mappings of a process may be read again, where code is in none.
const REMAP: Duration = Duration::from_millis(100);
/// The window's parts, from whose differences the intervals come.
pub(crate) const BLOCKS: usize = 20;

/// The software clock of CPU time (`PERF_TYPE_SOFTWARE`, `PERF_COUNT_SW_CPU_CLOCK`).
const SOFTWARE: u32 = 1;
const CPU_CLOCK: u64 = 0;
/// `exclude_hv`, and `exclude_callchain_user`: the kernel does not follow the program's frame pointers.
const FLAGS: u64 = 1 << 6 | 1 << 22;
/// Why a server cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("{0}")]
    Server(#[from] ObserveError),
    #[error(
        "the kernel does not let this user sample the server's threads (kernel.perf_event_paranoid is {0}): run toll as \
         root, or as the server's user with sysctl kernel.perf_event_paranoid={PARANOID_ALLOWS_CPUS}"
    )]
    NotAllowed(String),
    #[error("the server's threads cannot be sampled: {0}")]
    NoSamples(io::Error),
    #[error("stacks are unwound on x86-64 only so far")]
    Processor,
    #[error("the clock or the affinity of this process cannot be read: {0}")]
    Own(io::Error),
}

/// A thread that is sampled.
struct SampledThread {
    process: u32,
    samples: Recorder,
    calls: Option<CallCounters>,
}

/// The memory of a process.
struct Memory {
    mappings: Vec<Mapping>,
    name: String,
    read: Instant,
}

struct Sampler {
    root: u32,
    images: Images,
    memories: HashMap<u32, Memory>,
    threads: BTreeMap<u32, SampledThread>,
    /// The number of uprobes, or why there are none.
    probes: Result<u32, String>,
    unwinder: Unwinder,
    kernel: KernelNames,
    sorter: Sorter,
    begin: u64,
    block: u64,
    seen: Observed,
}

/// Watches the process `root` and its descendants, which listen at these ports, for `duration`, or until it ends or
/// `interrupted` is set.
///
/// # Errors
/// What is lacking, and what to do.
pub(crate) fn watch(
    root: u32,
    ports: Vec<u16>,
    duration: Duration,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(Duration),
) -> Result<Observed, WatchError> {
    if !cfg!(target_arch = "x86_64") {
        return Err(WatchError::Processor);
    }
    let mut sampler = Sampler::new(root, duration)?;
    sampler.keep_off()?;
    sampler.look()?;
    if sampler.threads.is_empty() {
        return Err(ObserveError::ProcessGone { pid: root }.into());
    }
    let meter = TreeMeter::begin(root)?;
    let own = own_cpu_s();
    let mut sent = match ports.is_empty() {
        true => Err(io::Error::other("no TCP port is seen at which it listens")),
        false => SentBytesMeter::begin(root, ports),
    };
    sampler.begin_window();
    let begin = Instant::now();
    let (mut looked, mut cpu) = (begin, Fact::unknown("it was not watched for long enough"));
    let read_cpu = || match meter.read() {
        Ok(read) => Ok(Fact::Known(read.on_cpu.seconds())),
        Err(error @ ObserveError::ProcessGone { .. }) => Err(error),
        Err(error) => Ok(Fact::unknown(error)),
    };
    while begin.elapsed() < duration {
        if interrupted.load(Ordering::Relaxed) {
            sampler.seen.ended = Some("interrupted".to_owned());
            break;
        }
        std::thread::sleep(DRAIN.min(duration.saturating_sub(begin.elapsed())));
        sampler.drain();
        if let Ok(sent) = &mut sent {
            sent.drain();
        }
        if looked.elapsed() < LOOK {
            continue;
        }
        looked = Instant::now();
        progress(begin.elapsed());
        match read_cpu().and_then(|read| {
            cpu = read;
            if let Fact::Known(used) = cpu {
                let ended = sent.as_ref().map_or(0, SentBytesMeter::ended_connections);
                sampler.spare(used, CountedUntil { time: begin.elapsed(), ended }, duration);
            }
            sampler.look_again()
        }) {
            Ok(()) => {}
            Err(error) => {
                sampler.seen.ended = Some(format!("the server ended: {error}"));
                break;
            }
        }
    }
    let window = begin.elapsed();
    if sampler.seen.ended.is_none() || interrupted.load(Ordering::Relaxed) {
        cpu = read_cpu().unwrap_or(cpu);
    }
    let sent = sent.and_then(SentBytesMeter::end).map_or_else(Fact::unknown, Fact::Known);
    let mut seen = sampler.end();
    seen.sent = sent;
    (seen.window, seen.cpu_s, seen.own_cpu_s) = (window, cpu, own_cpu_s() - own);
    Ok(seen)
}

impl Sampler {
    fn new(root: u32, duration: Duration) -> Result<Self, WatchError> {
        let kernel = KernelNames::read();
        let seen = Observed {
            window: Duration::ZERO,
            ended: None,
            cpu_s: Fact::unknown("it was not read"),
            blocks: vec![BTreeMap::new(); BLOCKS],
            stacks: HashMap::new(),
            lost: 0,
            calls: Ok(BTreeMap::new()),
            counted: None,
            sent: Fact::unknown("it was not counted"),
            cpus: BTreeSet::new(),
            threads_left_out: 0,
            new_processes: 0,
            hides_kernel: kernel.is_empty(),
            libraries: Vec::new(),
            own_cpu_s: 0.0,
        };
        Ok(Self {
            root,
            images: Images::default(),
            memories: HashMap::new(),
            threads: BTreeMap::new(),
            probes: calls::kind(),
            unwinder: Unwinder::default(),
            kernel,
            sorter: Sorter::new(),
            begin: 0,
            block: (duration.as_nanos() as u64 / BLOCKS as u64).max(1),
            seen,
        })
    }

    /// Moves toll to CPUs that the server may not use, where there are some.
    fn keep_off(&mut self) -> Result<(), WatchError> {
        let allowed = CpuList::allowed().map_err(WatchError::Own)?;
        let mut servers: Option<CpuList> = None;
        for pid in ProcessTree::find(self.root)?.pids() {
            for task in tasks(pid) {
                let task = rustix::thread::Pid::from_raw(task.cast_signed());
                if let Some(cpus) = task.and_then(|task| CpuList::of_thread(task).ok()) {
                    servers = Some(servers.map_or(cpus.clone(), |all| all.with(&cpus)));
                }
            }
        }
        let Some(servers) = servers else { return Ok(()) };
        if let Some(others) = allowed.without(&servers) {
            self.seen.cpus.extend(servers.as_slice());
            cpus::pin_current_thread(&others).map_err(WatchError::Own)?;
        }
        Ok(())
    }

    /// Begins to sample the threads that are new.
    fn look(&mut self) -> Result<(), WatchError> {
        let mut left_out = 0;
        for pid in ProcessTree::find(self.root)?.pids() {
            if !self.memories.contains_key(&pid) {
                self.map(pid);
                self.seen.new_processes += usize::from(self.begin > 0);
            }
            for task in tasks(pid) {
                if self.threads.contains_key(&task) {
                    continue;
                }
                if self.threads.len() == MOST_THREADS {
                    left_out += 1;
                    continue;
                }
                match self.open(pid, task) {
                    Ok(watched) => {
                        self.threads.insert(task, watched);
                    }
                    // It has ended meanwhile.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                    Err(error)
                        if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) =>
                    {
                        let level = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
                        let level =
                            level.map_or("not known".to_owned(), |text| text.trim().to_owned());
                        return Err(WatchError::NotAllowed(level));
                    }
                    Err(error) => return Err(WatchError::NoSamples(error)),
                }
            }
        }
        self.seen.threads_left_out = self.seen.threads_left_out.max(left_out);
        Ok(())
    }

    /// New threads while it is watched; only that the server has ended ends that.
    fn look_again(&mut self) -> Result<(), ObserveError> {
        // Ended ones have handed over all that they had.
        let ended: Vec<u32> = self
            .threads
            .iter()
            .filter(|(task, of)| {
                !std::fs::exists(format!("/proc/{}/task/{task}", of.process)).unwrap_or(false)
            })
            .map(|(task, _)| *task)
            .collect();
        for task in ended {
            if let Some(mut watched) = self.threads.remove(&task) {
                self.take_rest(&mut watched);
            }
        }
        match self.look() {
            Err(WatchError::Server(error)) => Err(error),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    fn open(&mut self, process: u32, task: u32) -> io::Result<SampledThread> {
        let event = PerfEvent {
            kind: SOFTWARE,
            config: CPU_CLOCK,
            period: 1_000_000_000 / FREQUENCY,
            sample_type: SAMPLE,
            flags: FLAGS,
            registers: SAMPLED,
            stack_bytes: STACK_BYTES,
            of: Counted::Thread(task),
            ..PerfEvent::default()
        };
        let samples = Recorder::open(&event, PAGES)?;
        let counters = match (&self.probes, self.memories.get(&process)) {
            (Ok(kind), Some(memory)) if self.seen.counted.is_none() => {
                CallCounters::open(*kind, &memory.mappings, task)
            }
            _ => return Ok(SampledThread { process, samples, calls: None }),
        };
        let calls = match counters {
            Ok(calls) => Some(calls),
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Err(error),
            Err(error) => {
                self.probes = Err(format!(
                    "the kernel does not let toll count calls ({error}); run toll as root"
                ));
                None
            }
        };
        Ok(SampledThread { process, samples, calls })
    }

    /// Reads what a process has mapped.
    fn map(&mut self, pid: u32) {
        let mappings = self.images.mapped_by(pid);
        let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
        for map in &mappings {
            let libraries = &mut self.seen.libraries;
            match libraries.iter_mut().find(|known| known.file == map.file) {
                Some(known) => known.is_deleted |= map.is_deleted,
                None if self.sorter.is_tls_library(&map.image.name) => libraries.push(map.clone()),
                None => {}
            }
        }
        let memory = Memory { mappings, name: name.trim().to_owned(), read: Instant::now() };
        self.memories.insert(pid, memory);
    }

    /// What came before does not count.
    fn begin_window(&mut self) {
        for watched in self.threads.values_mut() {
            watched.samples.drain(|_| ());
            watched.samples.lost = 0;
            if let Some(calls) = &mut watched.calls {
                calls.forget();
            }
        }
        let now = clock_gettime(ClockId::Monotonic);
        self.begin = now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs();
    }

    fn drain(&mut self) {
        let mut threads = std::mem::take(&mut self.threads);
        for watched in threads.values_mut() {
            watched.samples.drain(|record| self.note(record));
            if let Some(calls) = &mut watched.calls {
                calls.drain();
            }
        }
        self.threads = threads;
    }

    /// Counts no more calls where that would take too much of the server's CPU time; `used` are the seconds of it until
    /// now.
    fn spare(&mut self, used: f64, now: CountedUntil, window: Duration) {
        if self.seen.counted.is_some() || now.time < LEAST_COUNTED {
            return;
        }
        let running = self.threads.values().filter_map(|of| of.calls.as_ref());
        let ended = self.seen.calls.iter().flat_map(BTreeMap::values);
        let calls = running.map(CallCounters::recorded).sum::<u64>()
            + ended.map(|tally| tally.recorded).sum::<u64>();
        let all = used * window.as_secs_f64() / now.time.as_secs_f64();
        if calls < LEAST_CALLS || calls as f64 * COUNTED_CALL_S < MOST_COUNTING * all {
            return;
        }
        self.seen.counted = Some(now);
        let mut closing = Vec::new();
        for watched in self.threads.values_mut() {
            if let (Some(mut counters), Ok(all)) = (watched.calls.take(), &mut self.seen.calls) {
                counters.add_to(all);
                closing.push(counters);
            }
        }
        // The kernel takes a tenth of a second for each, in which samples would be lost. Where there may be no thread they
        // are closed here.
        drop(std::thread::Builder::new().spawn(|| drop(closing)));
    }

    /// Takes what is left of a thread.
    fn take_rest(&mut self, watched: &mut SampledThread) {
        watched.samples.drain(|record| self.note(record));
        self.seen.lost += watched.samples.lost;
        if let (Some(counters), Ok(all)) = (&mut watched.calls, &mut self.seen.calls) {
            counters.add_to(all);
        }
    }

    fn end(mut self) -> Observed {
        // Of all before the first of them is closed, for which the kernel takes its time.
        let mut threads = std::mem::take(&mut self.threads);
        for watched in threads.values_mut() {
            self.take_rest(watched);
        }
        // A library may have been replaced since its mapping was read.
        for pid in self.memories.keys().copied().collect::<Vec<u32>>() {
            self.map(pid);
        }
        if let Err(why) = &self.probes {
            self.seen.calls = Err(why.clone());
        }
        self.seen
    }

    /// Sorts a sample.
    fn note(&mut self, record: &[u8]) {
        let Some(sample) = Sample::parse(record) else { return };
        self.seen.cpus.insert(sample.cpu as usize);
        let (mut frames, mut is_whole) = (Vec::new(), true);
        frames.extend(sample.kernel.iter().map(|&address| self.kernel.frame(address)));
        if let Some(registers) = &sample.registers {
            if !self.memories.contains_key(&sample.process) {
                self.map(sample.process);
            }
            let memory = &self.memories[&sample.process];
            let mut unwound = self.unwinder.unwind(&memory.mappings, registers, sample.stack);
            if unwound.is_unmapped && memory.read.elapsed() > REMAP {
                self.map(sample.process);
                let mappings = &self.memories[&sample.process].mappings;
                unwound = self.unwinder.unwind(mappings, registers, sample.stack);
            }
            is_whole = unwound.is_whole;
            frames.extend(unwound.frames);
        }
        let thread =
            self.memories.get(&sample.process).map_or("", |memory| &memory.name).to_owned();
        let stack = CallStack { process: sample.process, thread, frames };
        let sorted = self.sorter.sort(&stack, is_whole);
        let block = (sample.time.saturating_sub(self.begin) / self.block) as usize;
        *self.seen.blocks[block.min(BLOCKS - 1)].entry(sorted).or_default() += 1;
        let is_kept = self.seen.stacks.len() < MOST_STACKS;
        if is_kept || self.seen.stacks.contains_key(&stack) {
            *self.seen.stacks.entry(stack).or_default() += 1;
        }
    }
}

/// The threads of a process; none of one that has ended.
fn tasks(pid: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// The CPU time of this process.
fn own_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

/// As [`profile::folded`] takes them: each as often as it was seen.
pub(crate) fn repeated(stacks: &HashMap<CallStack, u64>) -> impl Iterator<Item = &CallStack> {
    stacks.iter().flat_map(|(stack, count)| std::iter::repeat_n(stack, *count as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calls::{Call, Tally};

    #[test]
    fn counting_ends_where_it_takes_too_much_of_what_the_server_will_use_and_enough_was_seen() {
        let window = Duration::from_secs(10);
        let mut sampler = Sampler::new(std::process::id(), window).unwrap();
        let mut ends = |calls: u64, used: f64, ms: u64| {
            sampler.seen.counted = None;
            let tally = Tally { counted: calls, recorded: calls, all: calls };
            sampler.seen.calls = Ok(BTreeMap::from([(Call::Connection, tally)]));
            let now = CountedUntil { time: Duration::from_millis(ms), ended: 7 };
            sampler.spare(used, now, window);
            assert!(sampler.seen.counted.is_none_or(|until| until == now));
            sampler.seen.counted.is_some()
        };
        // 12 ms and 9 ms of what will be a second.
        assert!(ends(4_000, 0.5, 5_000));
        assert!(!ends(3_000, 0.5, 5_000));
        // Too early; and a server that has done nothing yet, or little.
        assert!(!ends(4_000, 0.1, 900));
        assert!(!ends(0, 0.0, 5_000));
        assert!(!ends(1_500, 0.01, 5_000));
    }
}
