//! What tests of runs share.

use tempfile::TempDir;

/// A folder in memory where there is one: a journal waits for the disk after each trial.
pub(crate) fn folder_in_memory() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}
