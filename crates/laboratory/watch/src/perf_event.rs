//! Events of the kernel that leave a record each time: samples of a thread's stack, and calls of a function
//! (perf_event_open(2)). They end with their descriptors, so a process that is killed leaves none.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, FromRawFd};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

/// What an event is, and what its records have. The numbers are those of `linux/perf_event.h`.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventSpec {
    pub(crate) kind: u32,
    pub(crate) config: u64,
    /// The file of a uprobe, and the place in it.
    pub(crate) probe: Option<(CString, u64)>,
    /// After how many events, or nanoseconds of a clock, there is a record.
    pub(crate) period: u64,
    pub(crate) sample_type: u64,
    pub(crate) flags: u64,
    /// A bit for each register of the program that a record has.
    pub(crate) registers: u64,
    /// How many bytes of the program's stack a record has.
    pub(crate) stack_bytes: u32,
}

pub(crate) const SAMPLE_TID: u64 = 1 << 1;
pub(crate) const SAMPLE_TIME: u64 = 1 << 2;
pub(crate) const SAMPLE_CALLCHAIN: u64 = 1 << 5;
pub(crate) const SAMPLE_CPU: u64 = 1 << 7;
pub(crate) const SAMPLE_REGISTERS: u64 = 1 << 12;
pub(crate) const SAMPLE_STACK: u64 = 1 << 13;
pub(crate) const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// The kernel does not follow the program's frame pointers.
pub(crate) const NO_CALLERS_OF_PROGRAM: u64 = 1 << 22;
pub(crate) const USE_CLOCK: u64 = 1 << 25;

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;

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

const CLOSE_ON_EXEC: libc::c_ulong = 1 << 3;

/// An event of one thread, with the memory that its records come in.
#[derive(Debug)]
pub(crate) struct Recorder {
    event: File,
    ring: Ring,
    /// A record that goes over the end of the memory, put together.
    whole: Vec<u8>,
    /// Records that the kernel had no room for.
    pub(crate) lost: u64,
}

impl Recorder {
    /// Begins to record, with room for 2 to the power of `pages` pages.
    ///
    /// # Errors
    /// The kernel's: the thread has ended, or this user may not.
    pub(crate) fn open(spec: &EventSpec, thread: u32, pages: u32) -> io::Result<Self> {
        let (path, offset) = match &spec.probe {
            Some((path, offset)) => (path.as_ptr() as u64, *offset),
            None => (0, 0),
        };
        let attributes = Attributes {
            kind: spec.kind,
            size: size_of::<Attributes>() as u32,
            config: spec.config,
            sample_period: spec.period,
            sample_type: spec.sample_type,
            flags: spec.flags | USE_CLOCK,
            config1: path,
            config2: offset,
            sample_regs_user: spec.registers,
            sample_stack_user: spec.stack_bytes,
            clock: libc::CLOCK_MONOTONIC,
            ..Attributes::default()
        };
        let (any_cpu, no_group) = (-1, -1);
        // SAFETY: `attributes` is readable for the size that it states, and the text that `config1` points to lives as
        // long as `spec`; the rest are plain numbers.
        let event = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                thread as libc::c_int,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        let event = match i32::try_from(event) {
            // SAFETY: the descriptor is new and has no other owner.
            Ok(event) if event >= 0 => unsafe { File::from_raw_fd(event) },
            _ => return Err(io::Error::last_os_error()),
        };
        let ring = Ring::map(&event, page_size() << pages)?;
        Ok(Self { event, ring, whole: Vec::new(), lost: 0 })
    }

    /// How often the event has happened, recorded or not.
    ///
    /// # Errors
    /// The kernel's.
    pub(crate) fn count(&self) -> io::Result<u64> {
        let mut value = [0; 8];
        (&self.event).read_exact(&mut value)?;
        Ok(u64::from_ne_bytes(value))
    }

    /// Hands over the bodies of the samples that have come.
    pub(crate) fn drain(&mut self, mut sample: impl FnMut(&[u8])) {
        let head = self.ring.head().load(Ordering::Acquire);
        let mut tail = self.ring.tail().load(Ordering::Relaxed);
        while tail < head {
            let header = self.ring.read(tail, 8, &mut self.whole);
            let kind = u32_at(header, 0).unwrap_or_default();
            let size = u16::from_ne_bytes([header[6], header[7]]);
            if size < 8 {
                // No record is so short: what is there cannot be read.
                tail = head;
                break;
            }
            let record = &self.ring.read(tail, size.into(), &mut self.whole)[8..];
            match kind {
                RECORD_SAMPLE => sample(record),
                RECORD_LOST => self.lost += u64_at(record, 8).unwrap_or_default(),
                _ => {}
            }
            tail += u64::from(size);
        }
        self.ring.tail().store(tail, Ordering::Release);
    }
}

/// The memory that the kernel writes records into, in a circle, after a page of its own (`struct
/// perf_event_mmap_page`).
#[derive(Debug)]
struct Ring {
    page: *mut u8,
    data: usize,
}

// SAFETY: the memory is this value's alone, and the kernel's, which is asked by atomic operations.
unsafe impl Send for Ring {}

impl Ring {
    /// Where the kernel's page has the ends of what was written and of what was read.
    const HEAD: usize = 1024;
    const TAIL: usize = 1032;

    fn map(event: &File, data: usize) -> io::Result<Self> {
        let length = page_size() + data;
        // SAFETY: the kernel chooses the place, and nothing else has it.
        let page = unsafe {
            mmap(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                event.as_fd(),
                0,
            )
        }?;
        Ok(Self { page: page.cast(), data })
    }

    fn head(&self) -> &AtomicU64 {
        // SAFETY: it is within the page, aligned, and lives as long as `self`.
        unsafe { AtomicU64::from_ptr(self.page.add(Self::HEAD).cast()) }
    }

    fn tail(&self) -> &AtomicU64 {
        // SAFETY: as above.
        unsafe { AtomicU64::from_ptr(self.page.add(Self::TAIL).cast()) }
    }

    /// The bytes at a place, where they are or, over the end, put together in `whole`.
    fn read<'a>(&'a self, at: u64, length: usize, whole: &'a mut Vec<u8>) -> &'a [u8] {
        // SAFETY: the kernel does not write between tail and head, where `at` is; the data comes after the first page.
        let data = unsafe { std::slice::from_raw_parts(self.page.add(page_size()), self.data) };
        let from = (at % self.data as u64) as usize;
        match data.get(from..from + length) {
            Some(bytes) => bytes,
            None => {
                whole.clear();
                whole.extend_from_slice(&data[from..]);
                whole.extend_from_slice(&data[..length - (self.data - from)]);
                whole
            }
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody refers to it any more. Nothing is to be done on failure.
        let _ = unsafe { munmap(self.page.cast(), page_size() + self.data) };
    }
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
