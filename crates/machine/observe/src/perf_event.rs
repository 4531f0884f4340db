//! Events of the processor, of what surrounds it, and of the kernel (perf_event_open(2)). They end with their descriptors,
//! so a process that is killed leaves none.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;

/// The highest `kernel.perf_event_paranoid` at which a user who is not root may count and sample all that
/// a CPU does; at 1 and 2 only threads of the user's own (Documentation/admin-guide/sysctl/kernel.rst).
pub const PARANOID_ALLOWS_CPUS: i32 = 0;

/// What to count, of whom, and what records of it have. The numbers are those of `linux/perf_event.h`.
#[derive(Debug, Clone, Default)]
pub struct PerfEvent {
    /// The kernel's number of the unit that counts.
    pub kind: u32,
    pub config: u64,
    /// What a read gives beside the count.
    pub read_format: u64,
    pub flags: u64,
    pub of: Counted,
    /// The file of a uprobe, and the place in it.
    pub probe: Option<(CString, u64)>,
    /// After how many events, or nanoseconds of a clock, there is a record; 0 for none.
    pub period: u64,
    pub sample_type: u64,
    /// A bit for each register of the program that a record has.
    pub registers: u64,
    /// How many bytes of the program's stack a record has.
    pub stack_bytes: u32,
}

#[derive(Debug, Clone, Copy, Default)]
pub enum Counted {
    #[default]
    ThisThread,
    /// A thread, by the kernel's number, and what it starts later where the flags say so.
    Thread(u32),
    /// All that this CPU's unit counts.
    Cpu(usize),
}

/// `struct perf_event_attr`, as of its fifth version.
#[repr(C)]
#[derive(Default)]
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
    config2: u64,
    branch_sample_type: u64,
    sample_regs_user: u64,
    sample_stack_user: u32,
    clock: i32,
    sample_regs_intr: u64,
    aux_watermark: u32,
    sample_max_stack: u16,
    reserved: u16,
}

const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
/// Records have times of the clock that is named.
const USE_CLOCK: u64 = 1 << 25;

impl PerfEvent {
    /// Begins to count.
    ///
    /// # Errors
    /// The kernel's: it has no such event, the thread has ended, or this user may not.
    pub fn open(&self) -> io::Result<File> {
        let (path, offset) =
            self.probe.as_ref().map_or((0, 0), |(path, offset)| (path.as_ptr() as u64, *offset));
        let is_recorded = self.period > 0;
        let attributes = Attributes {
            kind: self.kind,
            size: size_of::<Attributes>() as u32,
            config: self.config,
            sample_period: self.period,
            sample_type: self.sample_type,
            read_format: self.read_format,
            flags: self.flags | if is_recorded { USE_CLOCK } else { 0 },
            config1: path,
            config2: offset,
            sample_regs_user: self.registers,
            sample_stack_user: self.stack_bytes,
            clock: if is_recorded { libc::CLOCK_MONOTONIC } else { 0 },
            ..Attributes::default()
        };
        let (pid, cpu) = match self.of {
            Counted::ThisThread => (0, -1),
            Counted::Thread(id) => (id as libc::c_int, -1),
            Counted::Cpu(cpu) => (-1, cpu as libc::c_int),
        };
        let no_group = -1;
        // SAFETY: `attributes` is readable for the size that it states, and the text that `config1` points to lives as
        // long as `self`; the rest are plain numbers.
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
