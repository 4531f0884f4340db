//! Samples a server's CPU time while it is loaded.

use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use cpus::CpuList;
use observe::{CycleCounter, Fact, FutexCalls, ProcessTree};
use profile::{Event, Futexes, Maps, Profile, Recording, Rules, flame_graph, folded, read};
use rustix::time::{ClockId, clock_gettime};
use trial::{Moment, TrialRecord};

/// What has been counted until now.
type Counter = Box<dyn Fn() -> io::Result<u64>>;

/// What server threads do that wait for each other, counted over the whole steps of a trial's window.
struct FutexMeter {
    calls: Fact<Counter>,
    first: Option<Futexes>,
    last: Option<Futexes>,
}

impl FutexMeter {
    fn look(&mut self, moment: &Moment) {
        let is_in_window = !moment.elapsed.is_zero() && moment.elapsed <= moment.window;
        let Some(count) = self.calls.known().filter(|_| is_in_window) else { return };
        let operations = moment.progress.completed;
        match count().map(|calls| Futexes { calls, operations }) {
            Ok(now) if self.first.is_none() => self.first = Some(now),
            Ok(now) => self.last = Some(now),
            Err(why) => self.calls = Fact::unknown(why),
        }
    }

    fn counted(self) -> Fact<Futexes> {
        self.calls.and_then(|_| match self.first.zip(self.last) {
            Some((first, last)) => Fact::Known(Futexes {
                calls: last.calls - first.calls,
                operations: last.operations.saturating_sub(first.operations),
            }),
            None => Fact::unknown("the trial was too short"),
        })
    }
}

/// A recording that is under way.
pub(super) struct Sampling {
    recording: Recording,
    event: Event,
    server: u32,
    futexes: FutexMeter,
    /// Where its files go, without an extension.
    files: PathBuf,
}

impl Sampling {
    /// Begins to sample the CPUs of the server with this first process.
    ///
    /// # Errors
    /// The server's process or its CPUs are not known, or `perf` does not sample here: with what to do.
    pub(super) fn start(server: Option<(u32, CpuList)>, files: PathBuf) -> Result<Self, String> {
        let Some((server, cpus)) = server else {
            return Err("only a server with a known process and CPUs can be sampled".to_owned());
        };
        let event = match CycleCounter::open() {
            Ok(_) => Event::Cycles,
            Err(_) => Event::CpuClock,
        };
        let folder = files.parent().unwrap_or(&files);
        let fail = |error: std::io::Error| format!("{}: {error}", folder.display());
        std::fs::create_dir_all(folder).map_err(fail)?;
        let calls = Fact::from(FutexCalls::open(&cpus));
        let calls = calls.map(|calls| Box::new(move || calls.read()) as Counter);
        let futexes = FutexMeter { calls, first: None, last: None };
        let recording = Recording::start(event, &cpus, &files.with_extension("data"))
            .map_err(|error| error.to_string())?;
        Ok(Self { recording, event, server, futexes, files })
    }

    /// Looks at what is counted beside the samples, in a moment of the trial.
    pub(super) fn look(&mut self, moment: &Moment) {
        self.futexes.look(moment);
    }

    /// Ends it, and sorts what was sampled within the window of the trial. The stacks are kept, folded
    /// and as a flame graph. Of a trial that was interrupted nothing is kept.
    ///
    /// # Errors
    /// `perf` failed, or a file cannot be written.
    pub(super) fn end(self, line: &TrialRecord, rules: &Rules) -> Result<Option<Profile>, String> {
        let tree = ProcessTree::find(self.server).map_err(|error| error.to_string())?;
        let processes: Vec<u32> = tree.pids().collect();
        let maps = Maps::of(&processes);
        let data = self.recording.stop().map_err(|error| error.to_string())?;
        let remove =
            || std::fs::remove_file(&data).map_err(|error| format!("{}: {error}", data.display()));
        if line.interrupted {
            return remove().map(|()| None);
        }
        let samples = read(&data, &maps).map_err(|error| error.to_string())?;
        let begin = to_monotonic(line.started_unix_ms);
        let window = (begin, begin.saturating_add(line.window_ns));
        let (profile, stacks) =
            Profile::of(samples, self.event, window, &processes, self.futexes.counted(), rules);
        let write = |extension: &str, text: &str| {
            let path = self.files.with_extension(extension);
            std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
        };
        let folded = folded(&stacks);
        write("folded", &folded)?;
        let name = self.files.file_name().unwrap_or_default().to_string_lossy().into_owned();
        flame_graph(&folded, &name).map_or(Ok(()), |svg| write("svg", &svg))?;
        remove()?;
        Ok(Some(profile))
    }
}

/// A time in milliseconds since 1970 on the monotonic clock, in ns, by what both show now.
fn to_monotonic(unix_ms: u64) -> u64 {
    let monotonic = clock_gettime(ClockId::Monotonic);
    let now = monotonic.tv_sec.cast_unsigned() * 1_000_000_000 + monotonic.tv_nsec.cast_unsigned();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
    let ago = since.saturating_sub(u128::from(unix_ms) * 1_000_000);
    now.saturating_sub(u64::try_from(ago).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;
    use std::time::Duration;

    use load::Progress;

    use super::*;

    fn moment(ms: u64, completed: u64) -> Moment {
        let [elapsed, window] = [ms, 300].map(Duration::from_millis);
        let progress = Progress { completed, failures: 0, body_bytes: 0 };
        Moment { prepared: Duration::ZERO, elapsed, window, progress }
    }

    #[test]
    fn futex_calls_are_those_of_the_window_for_each_operation_of_it() {
        let counted = Rc::new(Cell::new(40_000_u64));
        let count = counted.clone();
        let calls = Fact::Known(Box::new(move || Ok(count.get())) as Counter);
        let mut meter = FutexMeter { calls, first: None, last: None };
        for (ms, completed) in [(0, 0), (100, 10), (200, 110), (300, 210), (400, 210)] {
            meter.look(&moment(ms, completed));
            counted.set(counted.get() + 1_000);
        }
        let expected = Futexes { calls: 2_000, operations: 200 };
        assert_eq!(meter.counted().known(), Some(&expected));
        let calls = Fact::unknown("not here");
        let none = FutexMeter { calls, first: None, last: None };
        assert_eq!(none.counted().or_why(), Err("not here".to_owned()));
    }
}
