//! The file that holds the former values, `settings.json`.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::TuningError;
use crate::Root;

const NAME: &str = "settings.json";
/// Settings are nowhere else, and a record that names other files is not toll's.
const FOLDERS: [&str; 2] = ["/proc/sys/", "/sys/devices/system/"];

/// Former values, in the order in which they were kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The boot in which they were read.
    boot: String,
    /// The network namespace in which they were read.
    network_namespace: String,
    /// Each file once.
    pub settings: Vec<Former>,
}

/// A file with the value that it had before toll changed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Former {
    /// The file, from `/`.
    pub file: String,
    pub value: String,
}

/// Held while settings are made; it ends with the process.
pub(super) struct Lock {
    _file: File,
}

/// Takes the right to change settings, and makes the folder.
pub(super) fn lock(folder: &Path) -> Result<Lock, TuningError> {
    let failed = |source| TuningError::Record { path: folder.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(failed)?;
    let file = File::open(folder).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(Lock { _file: file }),
        Err(TryLockError::WouldBlock) => Err(TuningError::Busy { path: folder.to_owned() }),
        Err(TryLockError::Error(source)) => Err(failed(source)),
    }
}

impl Record {
    /// Of this boot and this network namespace, without settings yet.
    pub(super) fn new(root: &Root) -> Self {
        Self { boot: boot(root), network_namespace: namespace(root), settings: Vec::new() }
    }

    /// Where the record of a folder is.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join(NAME)
    }

    /// The record of a folder, where there is one.
    pub fn read(folder: &Path) -> Result<Option<Self>, TuningError> {
        let path = Self::path(folder);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(TuningError::Record { path, source }),
        };
        let record: Self = serde_json::from_str(&text)
            .map_err(|error| TuningError::Damaged { path: path.clone(), why: error.to_string() })?;
        let is_setting = |former: &&Former| {
            FOLDERS.iter().any(|folder| former.file.starts_with(folder))
                && !former.file.contains("..")
        };
        match record.settings.iter().find(|former| !is_setting(former)) {
            Some(former) => {
                let why = format!("{} is not a kernel setting", former.file);
                Err(TuningError::Damaged { path, why })
            }
            None => Ok(Some(record)),
        }
    }

    /// Keeps a former value, unless there is one of that file already.
    pub(super) fn keep(&mut self, file: &str, value: &str) {
        if !self.settings.iter().any(|former| former.file == file) {
            self.settings.push(Former { file: file.to_owned(), value: value.to_owned() });
        }
    }

    pub(super) fn is_of_earlier_boot(&self, root: &Root) -> bool {
        self.boot != boot(root)
    }

    pub(super) fn check_namespace(self, root: &Root) -> Result<Self, TuningError> {
        let is = namespace(root);
        match self.network_namespace == is {
            true => Ok(self),
            false => Err(TuningError::OtherNamespace { was: self.network_namespace, is }),
        }
    }

    /// Writes it, as a whole or not at all, for the owner's eyes, and waits until it is on disk.
    pub(super) fn write(&self, folder: &Path) -> Result<(), TuningError> {
        let path = Self::path(folder);
        let new = folder.join(format!("{NAME}.new"));
        let write = || {
            let text = serde_json::to_string_pretty(self)?;
            let mut options = OpenOptions::new();
            let mut file =
                options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            std::fs::rename(&new, &path)?;
            File::open(folder)?.sync_all()
        };
        write().map_err(|source| TuningError::Record { path: path.clone(), source })
    }

    pub(super) fn remove(folder: &Path) -> Result<(), TuningError> {
        let path = Self::path(folder);
        match std::fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(TuningError::Record { path, source })
            }
            _ => Ok(()),
        }
    }
}

fn boot(root: &Root) -> String {
    root.line("/proc/sys/kernel/random/boot_id").known().cloned().unwrap_or_default()
}

/// Such as `net:[4026531840]`.
fn namespace(root: &Root) -> String {
    let link = std::fs::read_link(root.path("/proc/self/ns/net"));
    link.map(|name| name.display().to_string()).unwrap_or_default()
}
