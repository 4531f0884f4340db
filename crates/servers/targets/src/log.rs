//! A server's logs: their last lines, for messages, and lines that tell of a loss.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Lines that a message quotes of each log.
const LINES: usize = 3;
/// The longest end of a log that is read for them, in bytes.
const END: u64 = 4096;

/// The last lines of each log that says something, in one line, with the file's name.
pub(crate) fn last_words(logs: &[PathBuf]) -> String {
    let words: Vec<String> = logs
        .iter()
        .filter_map(|log| {
            let lines = last_lines(log);
            (!lines.is_empty())
                .then(|| format!("{} ends with: {}", log.display(), lines.join(" | ")))
        })
        .collect();
    if words.is_empty() { "it logged nothing".to_owned() } else { words.join("; ") }
}

fn last_lines(log: &Path) -> Vec<String> {
    let Ok(text) = File::open(log).and_then(|log| end_of(&log, END)) else { return Vec::new() };
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LINES)..].iter().map(|line| (*line).to_owned()).collect()
}

/// What is at the end of a file, of which there may be gigabytes. It moves the offset of the file.
///
/// # Errors
/// The system's.
pub fn end_of(mut file: &File, most_bytes: u64) -> io::Result<String> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(most_bytes)))?;
    let mut end = Vec::new();
    file.take(most_bytes).read_to_end(&mut end)?;
    Ok(String::from_utf8_lossy(&end).into_owned())
}

/// A log in which lines of a certain kind tell that the server lost a process.
#[derive(Debug)]
pub(crate) struct LogWatch {
    log: PathBuf,
    is_incident: fn(&str) -> bool,
    /// Bytes that were looked at.
    seen: u64,
    incident: Option<String>,
}

impl LogWatch {
    pub(crate) fn new(log: PathBuf, is_incident: fn(&str) -> bool) -> Self {
        Self { log, is_incident, seen: 0, incident: None }
    }

    /// The first such line ever.
    pub(crate) fn incident(&mut self) -> Option<String> {
        if self.incident.is_none() {
            // A log that cannot be read is no sign of death.
            self.incident = self.next_incident().unwrap_or(None);
        }
        self.incident.clone()
    }

    fn next_incident(&mut self) -> io::Result<Option<String>> {
        let mut file = File::open(&self.log)?;
        file.seek(SeekFrom::Start(self.seen))?;
        let mut lines = BufReader::new(file);
        let mut line = Vec::new();
        loop {
            line.clear();
            lines.read_until(b'\n', &mut line)?;
            if line.last() != Some(&b'\n') {
                // The end, or a line that is being written.
                return Ok(None);
            }
            self.seen += line.len() as u64;
            let text = String::from_utf8_lossy(&line);
            if (self.is_incident)(&text) {
                return Ok(Some(text.trim().to_owned()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incident_is_seen_once_its_line_is_whole_and_remembered() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("error.log");
        let mut watch = LogWatch::new(log.clone(), |line| line.contains("died"));
        assert_eq!(watch.incident(), None);
        std::fs::write(&log, "all is well\nworker 7 di").unwrap();
        assert_eq!(watch.incident(), None);
        std::fs::write(&log, "all is well\nworker 7 died\nworker 8 died\n").unwrap();
        assert_eq!(watch.incident().as_deref(), Some("worker 7 died"));
        assert_eq!(watch.incident().as_deref(), Some("worker 7 died"));
    }

    #[test]
    fn the_last_lines_are_quoted_with_their_file() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("error.log");
        let many: String = (1..=2000).map(|n| format!("line {n}\n\n")).collect();
        std::fs::write(&log, many).unwrap();
        let words = last_words(&[folder.path().join("missing"), log.clone()]);
        let quoted = words.strip_prefix(log.to_str().unwrap()).unwrap();
        assert!(quoted.ends_with(": line 1998 | line 1999 | line 2000"), "{words}");
    }

    #[test]
    fn an_empty_log_is_not_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("empty.log");
        std::fs::write(&log, "\n").unwrap();
        assert!(!last_words(&[log]).contains("empty.log"));
    }
}
