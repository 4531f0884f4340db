//! How many instructions processes run outside the kernel, by the processor's counters
//! (perf_event_open(2)). Many virtual machines have none.

use std::fs::File;
use std::io::{self, Read};

use crate::perf_event::{Counted, PerfEvent};

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_COUNT_HW_INSTRUCTIONS: u64 = 1;
/// `exclude_kernel` and `exclude_hv`: what a user without privileges may ask for.
const USER_MODE_ONLY: u64 = (1 << 5) | (1 << 6);
/// `inherit`: threads and processes that are started later count too.
const WITH_CHILDREN: u64 = 1 << 1;
/// How long the event was meant to count, and how long it did.
const READ_TIMES: u64 = 1 | (1 << 1);

/// Counts the instructions of some processes outside the kernel, of all their threads and of what they
/// start later.
#[derive(Debug)]
pub struct InstructionCounter(Vec<File>);

/// What to count.
#[derive(Clone, Copy)]
struct Kind {
    kind: u32,
    config: u64,
}

const INSTRUCTIONS: Kind = Kind { kind: PERF_TYPE_HARDWARE, config: PERF_COUNT_HW_INSTRUCTIONS };

impl InstructionCounter {
    /// Begins to count.
    ///
    /// # Errors
    /// The machine has no such counter, the kernel does not let this user have it, or a process is gone.
    pub fn open(processes: &[u32]) -> io::Result<Self> {
        Self::open_kind(INSTRUCTIONS, processes)
    }

    fn open_kind(Kind { kind, config }: Kind, processes: &[u32]) -> io::Result<Self> {
        let mut events = Vec::new();
        for process in processes {
            for task in std::fs::read_dir(format!("/proc/{process}/task"))? {
                let name = task?.file_name();
                let Some(id) = name.to_str().and_then(|name| name.parse().ok()) else { continue };
                let of = Counted::Thread(id);
                let flags = USER_MODE_ONLY | WITH_CHILDREN;
                let read_format = READ_TIMES;
                let event =
                    PerfEvent { kind, config, read_format, flags, of, ..PerfEvent::default() };
                events.push(event.open().map_err(explained)?);
            }
        }
        Ok(Self(events))
    }

    /// Instructions since it was opened.
    ///
    /// # Errors
    /// A counter does not answer, or others had it for a part of the time, so that it has not counted all.
    pub fn read(&self) -> io::Result<u64> {
        let read = |mut event: &File| {
            let mut values = [0; 24];
            event.read_exact(&mut values)?;
            let value =
                |at: usize| u64::from_ne_bytes(std::array::from_fn(|byte| values[8 * at + byte]));
            match value(1) == value(2) {
                true => Ok(value(0)),
                false => Err(io::Error::other(
                    "the counter of instructions was shared with others and has not counted all; end other \
                     programs that count (perf)",
                )),
            }
        };
        self.0.iter().map(read).sum()
    }
}

/// With what to do, where the kernel has no counter or does not let this user have it.
fn explained(error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::EOPNOTSUPP | libc::ENODEV) => {
            io::Error::other("the kernel has no counter of instructions on this machine")
        }
        Some(libc::EACCES | libc::EPERM) => io::Error::other(
            "the kernel lets this user count no instructions: sysctl kernel.perf_event_paranoid=2, or run toll \
             as root or as the user of the server",
        ),
        _ => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CPU time in nanoseconds, which each kernel counts in the same way as instructions.
    const TASK_CLOCK: Kind = Kind { kind: 1, config: 1 };

    /// Until the thread has used this much CPU time.
    fn work(nanos: i64) {
        let clock = || rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        let used = |from: rustix::time::Timespec| {
            let now = clock();
            (now.tv_sec - from.tv_sec) * 1_000_000_000 + now.tv_nsec - from.tv_nsec
        };
        let begin = clock();
        while used(begin) < nanos {}
    }

    #[test]
    fn threads_that_are_started_later_count() {
        let counter = match InstructionCounter::open_kind(TASK_CLOCK, &[std::process::id()]) {
            Ok(counter) => counter,
            Err(why) => return println!("not available here: {why}"),
        };
        let before = counter.read().unwrap();
        std::thread::spawn(|| work(20_000_000)).join().unwrap();
        assert!(counter.read().unwrap() - before >= 20_000_000);
    }

    #[test]
    fn instructions_are_counted_or_said_not_to_be() {
        match InstructionCounter::open(&[std::process::id()]) {
            Ok(counter) => {
                let before = counter.read().unwrap();
                work(1_000_000);
                assert!(counter.read().unwrap() - before > 100_000);
            }
            Err(why) => assert!(why.to_string().contains("the kernel"), "{why}"),
        }
        let gone = InstructionCounter::open(&[u32::MAX >> 1]).unwrap_err();
        assert_eq!(gone.kind(), io::ErrorKind::NotFound);
    }
}
