//! A file of counts that processes add to, without a system call, and toll reads.
//!
//! It holds [`Counts`] as numbers of 64 bits in this machine's order, mapped and changed atomically: the
//! processes of a server that is reloaded add up.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use rustix::fs::FallocateFlags;
use rustix::mm::{MapFlags, ProtFlags};

use crate::Counts;

/// The number of counts in a file.
const COUNTS: usize = 7;
const LENGTH: usize = COUNTS * size_of::<u64>();
/// The place of `in_flight_max`, which is the last one.
const MOST: u64 = (LENGTH - size_of::<u64>()) as u64;

/// A file of counts that this process adds to.
#[derive(Debug)]
pub struct CountsFile(&'static [AtomicU64; COUNTS]);

impl CountsFile {
    /// Makes a new file, in which nothing is counted yet.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn create(path: &Path) -> io::Result<()> {
        File::create(path)?.write_all_at(&[0; LENGTH], 0)
    }

    /// Opens a file to add to it; a new one where there is none.
    ///
    /// # Errors
    /// It cannot be written or mapped.
    pub fn open(path: &Path) -> io::Result<Self> {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        // A full disk is an error now, not the end of the process later.
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, LENGTH as u64)?;
        // SAFETY: a new mapping at a place of the kernel's choice, for as long as the process lives. It is
        // aligned to a page, and all its bytes are numbers.
        unsafe {
            let place = std::ptr::null_mut();
            let access = ProtFlags::READ | ProtFlags::WRITE;
            let map = rustix::mm::mmap(place, LENGTH, access, MapFlags::SHARED, &file, 0)?;
            Ok(Self(&*map.cast()))
        }
    }

    /// What was counted in this file.
    ///
    /// # Errors
    /// It cannot be read, or is too short.
    pub fn read(path: &Path) -> io::Result<Counts> {
        let mut bytes = [0; LENGTH];
        File::open(path)?.read_exact_at(&mut bytes, 0)?;
        let mut numbers = bytes.as_chunks().0.iter();
        let mut next = || numbers.next().map_or(0, |bytes| u64::from_ne_bytes(*bytes));
        Ok(Counts {
            submitted: next(),
            completed: next(),
            computed: next(),
            refused: next(),
            timed_out: next(),
            abandoned: next(),
            in_flight_max: next(),
        })
    }

    /// Begins `in_flight_max` of a file anew.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn forget_most(path: &Path) -> io::Result<()> {
        File::options().write(true).open(path)?.write_all_at(&[0; size_of::<u64>()], MOST)
    }

    pub(crate) fn add(&self, new: &Counts) {
        let Counts { submitted, completed, computed, refused, timed_out, abandoned, .. } = new;
        let added = [submitted, completed, computed, refused, timed_out, abandoned];
        for (count, new) in self.0.iter().zip(added) {
            if *new > 0 {
                count.fetch_add(*new, Relaxed);
            }
        }
        self.0[COUNTS - 1].fetch_max(new.in_flight_max, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_all_who_have_it_open_add_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        CountsFile::create(&path).unwrap();
        assert_eq!(CountsFile::read(&path).unwrap(), Counts::default());
        let counts = Counts {
            submitted: 900,
            completed: 200,
            computed: 3,
            refused: 4,
            timed_out: 50,
            abandoned: 6,
            in_flight_max: 70,
        };
        for _ in 0..2 {
            CountsFile::open(&path).unwrap().add(&counts);
        }
        let both = CountsFile::read(&path).unwrap();
        assert_eq!(both, counts.with(&counts));
        assert_eq!((both.submitted, both.in_flight_max, both.in_flight()), (1800, 70, 1288));
        assert_eq!(both.since(&counts), counts);
        CountsFile::forget_most(&path).unwrap();
        assert_eq!(CountsFile::read(&path).unwrap(), Counts { in_flight_max: 0, ..both });
    }

    #[test]
    fn a_file_of_something_else_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("counts");
        assert!(CountsFile::open(folder.path()).is_err());
        std::fs::write(&path, "short").unwrap();
        assert!(CountsFile::read(&path).is_err());
    }
}
