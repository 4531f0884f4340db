//! Files that hold a private key. They are there while the server is.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file that only its owner may read, removed when this value is dropped.
#[derive(Debug)]
pub struct Secret(PathBuf);

impl Secret {
    /// Writes a new one.
    pub(crate) fn write(path: PathBuf, content: &[u8]) -> io::Result<Self> {
        let mut options = fs::File::options();
        let mut file = options.write(true).create_new(true).mode(0o600).open(&path)?;
        let secret = Self(path);
        file.write_all(content)?;
        Ok(secret)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Secret {
    fn drop(&mut self) {
        // It may not have been written.
        let _ = fs::remove_file(&self.0);
    }
}
