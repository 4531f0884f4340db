//! Records that the kernel makes of an event: samples of a thread's stack, calls of a function (perf_event_open(2)).

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::param::page_size;

use crate::netlink::{u16_at, u32_at, u64_at};
use crate::perf_event::{PerfEvent, count};

const RECORD_LOST: u32 = 2;
const RECORD_SAMPLE: u32 = 9;

/// An event of one thread, with the memory that its records come in.
#[derive(Debug)]
pub struct Recorder {
    event: File,
    ring: Ring,
    /// A record that goes over the end of the memory, put together.
    whole: Vec<u8>,
    /// Records that the kernel had no room for.
    pub lost: u64,
}

impl Recorder {
    /// Begins to record, with room for 2 to the power of `pages` pages.
    ///
    /// # Errors
    /// The kernel's: the thread has ended, or this user may not.
    pub fn open(event: &PerfEvent, pages: u32) -> io::Result<Self> {
        let event = event.open()?;
        let ring = Ring::map(&event, page_size() << pages)?;
        Ok(Self { event, ring, whole: Vec::new(), lost: 0 })
    }

    /// How often the event has happened, recorded or not.
    ///
    /// # Errors
    /// The kernel's.
    pub fn count(&self) -> io::Result<u64> {
        count(&self.event)
    }

    /// Hands over the bodies of the samples that have come.
    pub fn drain(&mut self, mut sample: impl FnMut(&[u8])) {
        let head = self.ring.head().load(Ordering::Acquire);
        let mut tail = self.ring.tail().load(Ordering::Relaxed);
        while tail < head {
            let header = self.ring.read(tail, 8, &mut self.whole);
            let kind = u32_at(header, 0).unwrap_or_default();
            let size = u16_at(header, 6).unwrap_or_default();
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
        // SAFETY: the tail, too, is within the page, aligned, and lives as long as `self`.
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
