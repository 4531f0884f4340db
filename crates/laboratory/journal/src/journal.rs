//! The journal file: one line per trial, on disk before the next trial begins.
//!
//! A crash or `kill -9` can leave half a line at the end, nowhere else. So a torn last line is
//! discarded when the file is read. Any other line that is damaged is left out too, but named.
//!
//! Rates are in the lines for other programs; toll computes them from counts and times again.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::entries::Entries;
use crate::entry::{Entry, in_words};
use crate::whole_file::sync_folder_of;
use trial::SCHEMA;

#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The file cannot be opened or read.
    #[error("{path}: {source}")]
    File { path: String, source: io::Error },
    /// A line cannot be written.
    #[error("{path}: {source}")]
    Append { path: String, source: io::Error },
    /// A line of a form that this version does not know.
    #[error(
        "{path}, line {number}: schema {schema}, but this toll reads {SCHEMA}; use the toll that wrote it"
    )]
    Schema {
        path: String,
        /// Which line, from 1.
        number: usize,
        schema: u64,
    },
}

impl Journal {
    /// Opens a journal file, a new one or that of an earlier run, with the lines that it has. A
    /// torn last line is removed, so that the next trial begins a line of its own.
    ///
    /// # Errors
    /// The system's; a line of another schema.
    pub fn open(path: &Path) -> Result<(Self, Entries), JournalError> {
        let failed = |source| JournalError::file(path, source);
        let file =
            OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        sync_folder_of(path).map_err(failed)?;
        let bytes = std::fs::read(path).map_err(failed)?;
        let whole = whole_lines(&bytes);
        let entries = parse_lines(path, whole)?;
        file.set_len(whole.len() as u64).map_err(failed)?;
        Ok((Self { file, path: path.to_owned() }, entries))
    }

    /// Appends entries that belong together and waits until all are on disk.
    pub fn append(&mut self, entries: &[Entry]) -> Result<(), JournalError> {
        let path = || self.path.display().to_string();
        let failed = |source| JournalError::Append { path: path(), source };
        let mut text = String::new();
        for entry in entries {
            text += &serde_json::to_string(entry).map_err(|e| failed(io::Error::other(e)))?;
            text.push('\n');
        }
        self.file.write_all(text.as_bytes()).and_then(|()| self.file.sync_data()).map_err(failed)
    }

    /// Reads all lines of a journal; a torn last line is left out.
    ///
    /// # Errors
    /// The system's; a line of another schema.
    pub fn read(path: &Path) -> Result<Entries, JournalError> {
        let bytes = std::fs::read(path).map_err(|source| JournalError::file(path, source))?;
        parse_lines(path, whole_lines(&bytes))
    }
}

/// What follows the last newline is a torn line, or nothing.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1)]
}

fn parse_lines(path: &Path, whole: &[u8]) -> Result<Entries, JournalError> {
    let mut entries = Entries::default();
    for (place, text) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let number = place + 1;
        let value = serde_json::from_slice::<Value>(text).map_err(|error| in_words(&error));
        let schema = value.as_ref().ok().and_then(|value| value.get("schema")?.as_u64());
        if let Some(schema) = schema.filter(|schema| *schema != u64::from(SCHEMA)) {
            let path = path.display().to_string();
            return Err(JournalError::Schema { path, number, schema });
        }
        match value.and_then(Entry::read) {
            Ok(entry) => entries.add(entry),
            Err(why) => entries.left_out.add_damaged(format!("line {number} ({why})")),
        }
    }
    Ok(entries)
}

impl JournalError {
    /// Whether the journal could not be read, so that nothing was added to it.
    pub fn is_of_reading(&self) -> bool {
        !matches!(self, Self::Append { .. })
    }

    fn file(path: &Path, source: io::Error) -> Self {
        Self::File { path: path.display().to_string(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TrialLine;
    use crate::testing::example;

    fn journal_of(trials: u32) -> (tempfile::TempDir, PathBuf, Vec<TrialLine>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.jsonl");
        let (mut journal, before) = Journal::open(&path).unwrap();
        assert_eq!(before, Entries::default());
        let mut lines = Vec::new();
        for order in 0..trials {
            let mut line = example();
            line.place.order = order;
            journal.append(&[Entry::Trial(Box::new(line.clone()))]).unwrap();
            lines.push(line);
        }
        (folder, path, lines)
    }

    #[test]
    fn what_is_written_is_read() {
        let (_folder, path, lines) = journal_of(3);
        assert_eq!(Journal::read(&path).unwrap().trials, lines);
    }

    #[test]
    fn a_line_torn_anywhere_is_left_out_and_nothing_else() {
        let (_folder, path, lines) = journal_of(2);
        let whole = std::fs::read(&path).unwrap();
        let first = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for end in first..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            assert_eq!(Journal::read(&path).unwrap().trials, lines[..1], "torn at {end}");
        }
    }

    #[test]
    fn a_damaged_line_is_named_and_left_out() {
        for (what, damaged, why) in [
            ("\"order\":1", "\"order\":x", "expected value"),
            ("\"completed\":39", "\"completed\":-5", "invalid value: integer `-5`, expected u64"),
            ("600000000,\"op", "0,\"op", "a window of 0 ns that was not interrupted"),
        ] {
            let (_folder, path, mut lines) = journal_of(3);
            let text = std::fs::read_to_string(&path).unwrap();
            let mut texts: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
            assert!(texts[1].contains(what), "{what}");
            texts[1] = texts[1].replacen(what, damaged, 1);
            std::fs::write(&path, texts.concat() + "torn").unwrap();
            let entries = Journal::read(&path).unwrap();
            lines.remove(1);
            assert_eq!(entries.trials, lines);
            let named: Vec<_> = entries.left_out.sentences().collect();
            assert_eq!(named, [format!("1 line is left out as damaged: line 2 ({why})")]);
            // A run that goes on leaves it where it is.
            assert_eq!(Journal::open(&path).unwrap().1, entries);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), texts.concat());
        }
    }

    #[test]
    fn a_line_that_contradicts_itself_is_named_and_left_out() {
        for (what, other) in [
            ("\"rate_per_s\":65.0", "\"rate_per_s\":-5"),
            ("\"rate_per_s\":65.0", "\"rate_per_s\":650"),
            ("\"goodput_bps\":8724152320", "\"goodput_bps\":87241523200"),
            ("\"completed\":39", "\"completed\":390"),
            ("\"body\":654311424", "\"body\":65431142"),
            ("\"window_ns\":600000000", "\"window_ns\":60000000"),
            ("\"limit\":\"server-cpu\"", "\"limit\":\"errors\""),
            ("\"warnings\":[]", "\"warnings\":[],\"target_error\":\"the server died\""),
        ] {
            let (_folder, path, lines) = journal_of(3);
            let text = std::fs::read_to_string(&path).unwrap();
            let mut texts: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
            assert!(texts[1].contains(what), "{what}");
            texts[1] = texts[1].replacen(what, other, 1);
            std::fs::write(&path, texts.concat()).unwrap();
            let entries = Journal::read(&path).unwrap();
            assert_eq!(entries.trials, [lines[0].clone(), lines[2].clone()], "{other}");
            let named: Vec<_> = entries.left_out.sentences().collect();
            assert!(named.len() == 1 && named[0].contains(": line 2 ("), "{named:?}");
        }
        // Fewer digits say the same.
        let (_folder, path, lines) = journal_of(1);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("8724152320", "8724000000")).unwrap();
        assert_eq!(Journal::read(&path).unwrap().trials, lines);
    }

    #[test]
    fn another_schema_is_not_guessed_at() {
        let (_folder, path, _) = journal_of(1);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replacen("\"schema\":1", "\"schema\":2", 1)).unwrap();
        let message = Journal::read(&path).unwrap_err().to_string();
        assert!(message.contains("line 1: schema 2, but this toll reads 1"), "{message}");
    }

    #[test]
    fn an_earlier_run_goes_on_behind_its_last_whole_line() {
        let (_folder, path, mut lines) = journal_of(2);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 9]).unwrap();
        let (mut journal, before) = Journal::open(&path).unwrap();
        assert_eq!(before.trials, lines[..1]);
        let again = lines.pop().unwrap();
        journal.append(&[Entry::Trial(Box::new(again.clone()))]).unwrap();
        lines.push(again);
        assert_eq!(Journal::read(&path).unwrap().trials, lines);
    }
}
