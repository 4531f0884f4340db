//! What keeps Open MPI from starting a rank on a machine without a word of it.

use std::env;
use std::io::{self, Write};
use std::path::Path;

use rustix::process::{Resource, getrlimit};

use crate::control;

/// As many files as Open MPI and a rank that does not load have open.
const FEWEST_FILES: u64 = 64;

/// Refuses this machine where a rank would not start on it.
pub(crate) fn check(control: Option<&str>) -> Result<(), String> {
    control::check(control)?;
    check_files(getrlimit(Resource::Nofile).current)?;
    check_folder(&env::temp_dir())
}

fn check_files(most: Option<u64>) -> Result<(), String> {
    match most.filter(|most| *most < FEWEST_FILES) {
        Some(most) => Err(format!(
            "a process may have {most} files open there, too few for Open MPI; raise the limit, such as \
             ulimit -n 1024"
        )),
        None => Ok(()),
    }
}

/// Open MPI's daemon keeps its files there.
fn check_folder(folder: &Path) -> Result<(), String> {
    let write = || tempfile::tempfile_in(folder)?.write_all(&[0; 64 << 10]);
    write().map_err(|error: io::Error| {
        format!(
            "its temporary folder {} cannot be written ({error}); make room there, or set TMPDIR",
            folder.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_open_mpi_would_fail_on_says_why() {
        assert_eq!(check(Some("lo")), Ok(()));
        assert_eq!((check_files(None), check_files(Some(64))), (Ok(()), Ok(())));
        assert!(check_files(Some(63)).unwrap_err().contains("63"));
        assert!(check_folder(Path::new("/proc/self")).unwrap_err().contains("/proc/self"));
    }
}
