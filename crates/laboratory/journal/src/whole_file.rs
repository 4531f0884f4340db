//! Files that are written as a whole or not at all, also where the power fails.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Writes a file: a new one, `NAME.new`, takes the old one's place when it is complete on the disk.
///
/// # Errors
/// The system's. The old file is as it was, and nothing is left of the new one: a disk that is full is not to keep half a
/// file.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut new = OsString::from(path);
    new.push(".new");
    let new = Path::new(&new);
    let written = File::create(new).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(new, path)?;
        sync_folder_of(path)
    });
    written.inspect_err(|_| {
        // The first error is the one to report.
        let _ = std::fs::remove_file(new);
    })
}

/// Waits until the name of a file is on the disk.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        None => Ok(()),
        Some(folder) if folder.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(folder) => File::open(folder)?.sync_all(),
    }
}
