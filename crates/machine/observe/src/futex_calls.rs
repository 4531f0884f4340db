//! How often threads asked the kernel to wait for each other, or to wake each other (futex(2)): what locks do where
//! several threads want one at a time.

use std::fs::File;
use std::io;

use cpus::CpuList;

use crate::perf_event::{Counted, PerfEvent, count};
use crate::root::Root;

const PERF_TYPE_TRACEPOINT: u32 = 2;

/// Where the kernel says the number of the event (Documentation/trace/events.rst); the second where only debugfs
/// is mounted.
const NUMBERS: [&str; 2] = [
    "/sys/kernel/tracing/events/syscalls/sys_enter_futex/id",
    "/sys/kernel/debug/tracing/events/syscalls/sys_enter_futex/id",
];

/// Counts the calls that are made on some CPUs, of all programs.
#[derive(Debug)]
pub struct FutexCalls(Vec<File>);

impl FutexCalls {
    /// Begins to count.
    ///
    /// # Errors
    /// The kernel does not show its events, or does not let this process count them.
    pub fn open(cpus: &CpuList) -> io::Result<Self> {
        let root = Root::machine();
        let [number, older] = NUMBERS.map(|file| root.number::<u64>(file).or_why());
        let config = number.or_else(|why| older.map_err(|_| io::Error::other(why)))?;
        let counter = |&cpu: &usize| {
            let of = Counted::Cpu(cpu);
            let kind = PERF_TYPE_TRACEPOINT;
            PerfEvent { kind, config, of, ..PerfEvent::default() }.open()
        };
        cpus.as_slice().iter().map(counter).collect::<io::Result<_>>().map(Self)
    }

    /// Calls since it was opened.
    ///
    /// # Errors
    /// A counter does not answer.
    pub fn read(&self) -> io::Result<u64> {
        self.0.iter().map(count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted() {
        let counter = match FutexCalls::open(&CpuList::allowed().unwrap()) {
            Ok(counter) => counter,
            Err(why) => return println!("not available here: {why}"),
        };
        let before = counter.read().unwrap();
        let word = 0_u32;
        for _ in 0..1_000 {
            // SAFETY: `word` is a whole futex word; waking needs nothing else.
            let woken =
                unsafe { libc::syscall(libc::SYS_futex, &raw const word, libc::FUTEX_WAKE, 1) };
            assert_eq!(woken, 0);
        }
        assert!(counter.read().unwrap() - before >= 1_000);
    }
}
