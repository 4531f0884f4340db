//! Makes settings of the kernel, and takes them back exactly.
//!
//! The former values lie in a [`Record`] that is on disk before the first setting is made, so that a
//! crash in between loses nothing. What is set twice keeps its first former value.
//!
//! Settings end with the boot, and those of the network belong to one network namespace. So a record
//! names both, and is not applied to others.

mod error;
mod record;

pub use error::TuningError;
pub use record::{Former, Record};

use std::path::Path;

use crate::Root;

/// A value to write into a file of the kernel.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Change {
    /// The file, from `/`.
    pub file: String,
    pub to: String,
}

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Made {
    /// The file, from `/`.
    pub file: String,
    pub from: String,
    /// Its value now, or the value that could not be set.
    pub to: String,
    /// Why it could not be set; nothing was changed then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Makes settings and keeps the former values in the record of `folder`. What cannot be read or
/// written is in the returned list, and the others are made all the same.
///
/// # Errors
/// The record cannot be read or written, another toll holds it, or it is of another network
/// namespace. Then nothing is set.
pub fn apply(
    root: &Root,
    folder: &Path,
    changes: &[Change],
    report: &mut dyn FnMut(&Made),
) -> Result<Vec<Made>, TuningError> {
    let _lock = record::lock(folder)?;
    let mut record = match Record::read(folder)? {
        Some(record) if !record.is_of_earlier_boot(root) => record.check_namespace(root)?,
        Some(_) | None => Record::new(root),
    };
    let mut made = Vec::new();
    let mut possible = Vec::new();
    for change in changes {
        match writable(root, &change.file) {
            Ok(from) if from == normal(&change.to) => {}
            Ok(from) => {
                record.keep(&change.file, &from);
                possible.push((change, from));
            }
            Err(refused) => made.push(Made {
                file: change.file.clone(),
                from: value(root, &change.file).unwrap_or_default(),
                to: change.to.clone(),
                refused: Some(refused),
            }),
        }
    }
    made.iter().for_each(&mut *report);
    if possible.is_empty() {
        return Ok(made);
    }
    record.write(folder)?;
    for (change, from) in possible {
        let refused = set(root, &change.file, &change.to).err();
        let one = Made { file: change.file.clone(), from, to: change.to.clone(), refused };
        report(&one);
        made.push(one);
    }
    forget_what_is_as_before(root, folder, record)?;
    Ok(made)
}

/// Puts every setting of the record of `folder` back, the last one first, and removes the record.
/// What cannot be put back stays in it.
///
/// # Errors
/// There is no record, or it cannot be read, or it is of another network namespace, or of before the
/// machine was started. Then nothing is set; in the last case the record is removed, because the
/// settings have ended with the boot.
pub fn restore(root: &Root, folder: &Path) -> Result<Vec<Made>, TuningError> {
    let nothing = || TuningError::NothingToRestore { path: Record::path(folder) };
    if !Record::path(folder).exists() {
        return Err(nothing());
    }
    let _lock = record::lock(folder)?;
    let record = Record::read(folder)?.ok_or_else(nothing)?;
    if record.is_of_earlier_boot(root) {
        Record::remove(folder)?;
        return Err(TuningError::Rebooted);
    }
    let record = record.check_namespace(root)?;
    let mut made = Vec::new();
    for former in record.settings.iter().rev() {
        let from = value(root, &former.file).unwrap_or_default();
        if from == former.value {
            continue;
        }
        let refused = set(root, &former.file, &former.value).err();
        made.push(Made { file: former.file.clone(), from, to: former.value.clone(), refused });
    }
    forget_what_is_as_before(root, folder, record)?;
    Ok(made)
}

/// Leaves in the record what has another value than before; no record where nothing has.
fn forget_what_is_as_before(
    root: &Root,
    folder: &Path,
    mut record: Record,
) -> Result<(), TuningError> {
    record.settings.retain(|former| value(root, &former.file).as_ref() != Ok(&former.value));
    match record.settings.is_empty() {
        true => Record::remove(folder),
        false => record.write(folder),
    }
}

/// The value of a file that can be written.
fn writable(root: &Root, file: &str) -> Result<String, String> {
    let from = value(root, file)?;
    // Opened, not written: the kernel sees no value.
    match std::fs::OpenOptions::new().write(true).open(root.path(file)) {
        Ok(_) => Ok(from),
        Err(error) => Err(in_words(&error)),
    }
}

fn value(root: &Root, file: &str) -> Result<String, String> {
    std::fs::read_to_string(root.path(file)).map(|text| normal(&text)).map_err(|e| e.to_string())
}

/// Writes a value, and looks whether the kernel took it.
fn set(root: &Root, file: &str, to: &str) -> Result<(), String> {
    std::fs::write(root.path(file), format!("{to}\n")).map_err(|error| in_words(&error))?;
    match value(root, file)? {
        now if now == normal(to) => Ok(()),
        now => Err(format!("the kernel changed it to {now}")),
    }
}

fn in_words(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::PermissionDenied => "it needs root".to_owned(),
        std::io::ErrorKind::ReadOnlyFilesystem => {
            "it is read-only here, as in a container; set it on the host".to_owned()
        }
        _ => error.to_string(),
    }
}

/// The kernel separates numbers by tabs, and takes spaces.
fn normal(value: &str) -> String {
    value.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
