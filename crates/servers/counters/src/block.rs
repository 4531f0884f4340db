//! The mapped file.

use std::fs::File;
use std::io;
use std::mem::ManuallyDrop;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;

use rustix::fs::FallocateFlags;
use rustix::mm::{MapFlags, ProtFlags};

/// How many numbers a row has beside its version.
pub(crate) const NUMBERS: usize = 79;
const ROW: u64 = size_of::<Cells>() as u64;
/// How many processes of a server may count at once, each in a row of its own.
pub const PROCESSES: usize = 64;

/// A row. Two threads never write to the same cache line, whichever pairs of lines a CPU fetches.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct Cells {
    pub(crate) version: AtomicU64,
    pub(crate) numbers: [AtomicU64; NUMBERS],
}

/// A file of rows in this process's memory.
pub(crate) struct Block {
    start: NonNull<Cells>,
    rows: usize,
}

/// Makes a file of rows in which nothing is counted yet, in place of the one that is there.
///
/// # Errors
/// It cannot be written.
pub fn create(path: &Path, rows: usize) -> io::Result<()> {
    allocate(&File::create(path)?, rows)
}

/// A full disk is an error now, not the end of the process later.
fn allocate(file: &File, rows: usize) -> io::Result<()> {
    Ok(rustix::fs::fallocate(file, FallocateFlags::empty(), 0, rows as u64 * ROW)?)
}

impl Block {
    /// Maps a file to add to it, with at least this many rows; a new file where there is none.
    pub(crate) fn to_add(path: &Path, rows: usize) -> io::Result<&'static [Cells]> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        allocate(&file, rows)?;
        let block = ManuallyDrop::new(Self::map(&file)?);
        // SAFETY: rows of a mapping that is never unmapped, since its owner is not dropped.
        Ok(unsafe { std::slice::from_raw_parts(block.start.as_ptr(), block.rows) })
    }

    /// Maps a file that somebody adds to.
    pub(crate) fn to_read(path: &Path) -> io::Result<Self> {
        Self::map(&File::options().read(true).write(true).open(path)?)
    }

    fn map(file: &File) -> io::Result<Self> {
        let rows = (file.metadata()?.len() / ROW) as usize;
        if rows == 0 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "it is no file of counters"));
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let length = rows * size_of::<Cells>();
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start = unsafe {
            rustix::mm::mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, file, 0)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, rows })
    }

    pub(crate) fn rows(&self) -> &[Cells] {
        // SAFETY: the mapping begins at a page and is as long; all bytes of it are numbers, which all processes
        // that have it change atomically.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.rows) }
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: what `map` has mapped, which nothing refers to any more.
        let _ = unsafe {
            rustix::mm::munmap(self.start.as_ptr().cast(), self.rows * size_of::<Cells>())
        };
    }
}
