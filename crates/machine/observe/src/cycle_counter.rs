//! The processor's own count of core cycles, where the machine has one (perf_event_open(2)).

use std::fs::File;
use std::io;

use crate::chains;
use crate::perf_event::{PerfEvent, count};

/// Counts the core cycles that the thread which opened it spends in user mode.
///
/// Virtual machines often have none; then [`CoreReading`](crate::CoreReading) is the way to cycles.
#[derive(Debug)]
pub struct CycleCounter(File);

impl CycleCounter {
    /// Opens a counter for the calling thread and tries it.
    ///
    /// # Errors
    /// The kernel's refusal, or a counter that stays at 0.
    pub fn open() -> io::Result<Self> {
        let cycles = PerfEvent {
            kind: PERF_TYPE_HARDWARE,
            config: PERF_COUNT_HW_CPU_CYCLES,
            flags: USER_MODE_ONLY,
            ..PerfEvent::default()
        };
        let mut counter = Self(cycles.open()?);
        chains::one_chain(1000);
        match counter.read()? {
            0 => Err(io::Error::other("the cycle counter stays at 0")),
            _ => Ok(counter),
        }
    }

    /// Cycles since it was opened.
    pub fn read(&mut self) -> io::Result<u64> {
        count(&self.0)
    }
}

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
/// `exclude_kernel` and `exclude_hv`: what a user without privileges may ask for.
const USER_MODE_ONLY: u64 = (1 << 5) | (1 << 6);
