//! The result folder of a run: `machine.json`, `journal.jsonl`, `logs/`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::journal::{Journal, JournalError};

/// A result folder that was made for one run.
#[derive(Debug)]
pub struct Results {
    folder: PathBuf,
}

/// Why a result folder or a file in it could not be made.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}; give a folder that can be written with --out")]
pub struct ResultsError {
    path: String,
    source: io::Error,
}

impl Results {
    /// Makes `parent/<time>-<study>/`; with a number behind it where that is there already.
    ///
    /// # Errors
    /// The system's.
    pub fn create(parent: &Path, study: &str, now: SystemTime) -> Result<Self, ResultsError> {
        let failed =
            |path: &Path, source| ResultsError { path: path.display().to_string(), source };
        std::fs::create_dir_all(parent).map_err(|source| failed(parent, source))?;
        let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let name = format!("{}-{study}", utc(since.as_secs()));
        let mut folder = parent.join(&name);
        for number in 2.. {
            match std::fs::create_dir(&folder) {
                Ok(()) => break,
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    folder = parent.join(format!("{name}-{number}"));
                }
                Err(source) => return Err(failed(&folder, source)),
            }
        }
        Ok(Self { folder })
    }

    /// The folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Makes the journal.
    ///
    /// # Errors
    /// The system's.
    pub fn journal(&self) -> Result<Journal, JournalError> {
        Journal::create(&self.folder.join("journal.jsonl"))
    }

    /// Writes `machine.json`.
    ///
    /// # Errors
    /// The system's.
    pub fn write_machine(&self, machine: &observe::Machine) -> Result<(), ResultsError> {
        let path = self.folder.join("machine.json");
        let text = serde_json::to_string_pretty(machine).map_err(io::Error::other);
        text.and_then(|text| std::fs::write(&path, text + "\n"))
            .map_err(|source| ResultsError { path: path.display().to_string(), source })
    }
}

/// `2026-11-21T20-51-34Z`: ISO 8601, but without colons, which some file systems and tools take
/// amiss.
fn utc(unix_seconds: u64) -> String {
    let (days, second) = (unix_seconds / 86_400, unix_seconds % 86_400);
    let (year, month, day) = civil(days);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}-{:02}-{:02}Z",
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Year, month and day of a day since 1970-01-01, in the Gregorian calendar.
fn civil(mut days: u64) -> (u64, u64, u64) {
    let mut year = 1970;
    let is_leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    loop {
        let length = 365 + u64::from(is_leap(year));
        if days < length {
            break;
        }
        days -= length;
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if days < length {
            break;
        }
        days -= length;
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        // From `date -u -d @N`.
        for (seconds, text) in [
            (0, "1970-01-01T00-00-00Z"),
            (951_782_399, "2000-02-28T23-59-59Z"),
            (951_782_400, "2000-02-29T00-00-00Z"),
            (1_735_689_599, "2024-12-31T23-59-59Z"),
            (1_795_000_000, "2026-11-18T11-06-40Z"),
            (4_107_542_400, "2100-03-01T00-00-00Z"),
        ] {
            assert_eq!(utc(seconds), text);
        }
    }

    #[test]
    fn each_run_has_a_folder_of_its_own() {
        let parent = tempfile::tempdir().unwrap();
        let make =
            || Results::create(&parent.path().join("results"), "quick", SystemTime::UNIX_EPOCH);
        let (first, second) = (make().unwrap(), make().unwrap());
        assert!(first.folder().ends_with("results/1970-01-01T00-00-00Z-quick"));
        assert!(second.folder().ends_with("results/1970-01-01T00-00-00Z-quick-2"));
        assert!(first.journal().is_ok() && first.journal().is_err());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let message = Results::create(Path::new("/dev/null/x"), "quick", SystemTime::UNIX_EPOCH)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("/dev/null/x: ") && message.contains("--out"), "{message}");
    }
}
