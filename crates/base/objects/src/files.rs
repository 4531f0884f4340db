//! Many different files of one size, so that a server cannot keep what it sends in its caches.

use std::fmt;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};
use units::{Bytes, counted};

use crate::PERIOD;

/// Where files lie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Storage {
    /// In tmpfs.
    #[default]
    Memory,
    /// On a disk.
    Disk,
}

/// Different files of one size, by number from 0. File `n` is the stream of all objects from byte
/// `n` x [`STRIDE`] on, so that a file in place of another is noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// Where they lie.
    pub storage: Storage,
    /// Of each.
    pub size: Bytes,
    /// How many there are; at most [`MOST_FILES`].
    pub count: NonZeroU32,
}

/// The most files that all differ is the stream's period.
pub const MOST_FILES: u32 = 1_000_000;

/// From the first byte of a file to that of the next: a prime other than the period.
const STRIDE: u64 = 4_099;

impl Files {
    /// Their folder below a server's root, `disk/1MiB`.
    pub fn folder(&self) -> String {
        format!("{}/{}", self.storage, self.size)
    }

    /// The path of a file in a URL, `/disk/1MiB/17`.
    pub fn path(&self, number: u32) -> String {
        format!("/{}/{number}", self.folder())
    }

    /// Where a file's content begins in the stream of all objects.
    pub fn start(number: u32) -> u64 {
        u64::from(number) * STRIDE % PERIOD as u64
    }

    /// The bytes of all of them.
    pub fn total(&self) -> Bytes {
        Bytes(self.size.0.saturating_mul(self.count.get().into()))
    }
}

impl fmt::Display for Files {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { storage, size, count } = self;
        let place = if *storage == Storage::Disk { "on disk" } else { "in memory" };
        write!(f, "{} of {size} {place}", counted(count.get().into(), "file"))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_files_differ_and_have_a_path() {
        let starts: BTreeSet<u64> = (0..MOST_FILES).map(Files::start).collect();
        assert_eq!(starts.len(), MOST_FILES as usize);
        let count = NonZeroU32::new(2_000).unwrap();
        let files = Files { storage: Storage::Disk, size: Bytes(1 << 20), count };
        assert_eq!(files.path(17), "/disk/1MiB/17");
        assert_eq!(files.to_string(), "2,000 files of 1MiB on disk");
        assert_eq!(files.total(), Bytes(2_000 << 20));
    }
}
