//! Counters of the processor and of what surrounds it (perf_event_open(2)).

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// The highest `kernel.perf_event_paranoid` at which a user who is not root may count and sample all that
/// a CPU does; at 1 and 2 only threads of the user's own (Documentation/admin-guide/sysctl/kernel.rst).
pub const PARANOID_ALLOWS_CPUS: i32 = 0;

/// What to count, and of whom.
pub(crate) struct PerfEvent {
    /// The kernel's number of the unit that counts.
    pub(crate) kind: u32,
    pub(crate) config: u64,
    /// What a read gives beside the count.
    pub(crate) read_format: u64,
    pub(crate) flags: u64,
    pub(crate) of: Counted,
}

pub(crate) enum Counted {
    ThisThread,
    /// A thread, by the kernel's number, and what it starts later where the flags say so.
    Thread(u32),
    /// All that this CPU's unit counts.
    Cpu(usize),
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

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

impl PerfEvent {
    /// Begins to count.
    pub(crate) fn open(&self) -> io::Result<File> {
        let attributes = Attributes {
            kind: self.kind,
            size: size_of::<Attributes>() as u32,
            config: self.config,
            sample_period: 0,
            sample_type: 0,
            read_format: self.read_format,
            flags: self.flags,
            wakeup_events: 0,
            breakpoint_type: 0,
            config1: 0,
        };
        let (pid, cpu) = match self.of {
            Counted::ThisThread => (0, -1),
            Counted::Thread(id) => (id as libc::c_int, -1),
            Counted::Cpu(cpu) => (-1, cpu as libc::c_int),
        };
        let no_group = -1;
        // SAFETY: `attributes` is readable for the size that it states; the rest are plain numbers.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                pid,
                cpu,
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
}

/// What an event has counted since it was opened, where nothing else is read with it.
pub(crate) fn count(mut event: &File) -> io::Result<u64> {
    let mut value = [0; 8];
    event.read_exact(&mut value)?;
    Ok(u64::from_ne_bytes(value))
}
