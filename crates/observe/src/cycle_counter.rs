//! The processor's own count of core cycles, where the machine has one (perf_event_open(2)).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

use crate::chains;

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
        let mut counter = Self(open()?);
        chains::one_chain(1000);
        match counter.read()? {
            0 => Err(io::Error::other("the cycle counter stays at 0")),
            _ => Ok(counter),
        }
    }

    /// Cycles since it was opened.
    pub fn read(&mut self) -> io::Result<u64> {
        let mut value = [0; 8];
        self.0.read_exact(&mut value)?;
        Ok(u64::from_ne_bytes(value))
    }
}

/// `struct perf_event_attr` in its first version, which all later kernels accept.
#[repr(C)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_COUNT_HW_CPU_CYCLES: u64 = 0;
/// `exclude_kernel` and `exclude_hv`: what a user without privileges may ask for.
const USER_MODE_ONLY: u64 = (1 << 5) | (1 << 6);

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

fn open() -> io::Result<File> {
    let attributes = Attributes {
        kind: PERF_TYPE_HARDWARE,
        size: size_of::<Attributes>() as u32,
        config: PERF_COUNT_HW_CPU_CYCLES,
        sample_period: 0,
        sample_type: 0,
        read_format: 0,
        flags: USER_MODE_ONLY,
        wakeup_events: 0,
        breakpoint_type: 0,
        config1: 0,
    };
    let (this_thread, any_cpu, no_group) = (0, -1, -1);
    // SAFETY: `attributes` is readable for the size that it states; the rest are plain numbers.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            this_thread,
            any_cpu,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    match i32::try_from(fd) {
        // SAFETY: the descriptor is new and has no other owner.
        Ok(fd) if fd >= 0 => Ok(unsafe { File::from_raw_fd(fd) }),
        _ => Err(io::Error::last_os_error()),
    }
}
