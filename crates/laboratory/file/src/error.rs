use std::io;

/// Why there is no study; one line that says what, where and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StudyError {
    /// The file says something that it cannot mean.
    #[error("{file}, line {line}: {what}")]
    Wrong {
        /// The file, as it was named.
        file: String,
        /// Counted from 1.
        line: usize,
        /// What is wrong with it, and what to do.
        what: String,
    },
    /// The file lacks something that has no place yet.
    #[error("{file}: {what}")]
    Lacking {
        /// The file, as it was named.
        file: String,
        /// What is lacking, and what to do.
        what: String,
    },
    /// Neither a shipped study nor a file.
    #[error("{0}")]
    Unknown(String),
    /// The file cannot be read.
    #[error("{path}: {source}; give the path of a study file, or one of: {shipped}")]
    Unreadable {
        /// The file, as it was named.
        path: String,
        /// The system's word.
        source: io::Error,
        /// The shipped studies' names.
        shipped: String,
    },
}

/// What is wrong in a file whose name is not known here.
#[derive(Debug)]
pub(super) struct Flaw {
    /// Counted from 1; `None` where something is lacking.
    line: Option<usize>,
    pub(super) what: String,
}

impl Flaw {
    pub(super) fn at(line: usize, what: impl Into<String>) -> Self {
        Self { line: Some(line), what: what.into() }
    }

    pub(super) fn lacking(what: impl Into<String>) -> Self {
        Self { line: None, what: what.into() }
    }

    /// A key without which there is nothing to read.
    pub(super) fn missing(key: &str) -> Self {
        let value = if key == "schema" { "1" } else { "\"...\"" };
        Self::lacking(format!("{key} is missing; write {key} = {value}"))
    }

    /// The same in a part of the file, which has a name and begins at a line.
    pub(super) fn within(self, part: &str, line: usize) -> Self {
        Self::at(self.line.unwrap_or(line), format!("{part}: {}", self.what))
    }

    /// The same at a place, where it has none yet.
    pub(super) fn or_at(self, line: usize, name: &str) -> Self {
        match self.line {
            Some(_) => self,
            None => Self::at(line, format!("{name}: {}", self.what)),
        }
    }
    pub(super) fn in_file(self, file: &str) -> StudyError {
        let file = one_line(file);
        let what = one_line(&self.what);
        match self.line {
            Some(line) => StudyError::Wrong { file, line, what },
            None => StudyError::Lacking { file, what },
        }
    }
}

/// Without line ends and other control characters, which quoted keys and texts may hold.
pub(super) fn one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    text.chars().map(shown).collect()
}
