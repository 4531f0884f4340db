//! What a line of the journal is.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use trial::Line;

use crate::left_out::LeftOutLines;
use crate::primitive::{BoundLine, RowLine};

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "role")]
pub enum Entry {
    /// A row of a table of primitives in one round.
    #[serde(rename = "primitive")]
    Row(RowLine),
    /// What the instructions of the processor allow.
    #[serde(rename = "bound")]
    Bound(BoundLine),
    /// A trial, which has a role of its own.
    #[serde(untagged)]
    Trial(Box<Line>),
}

/// All lines of a journal, by what they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Entries {
    pub trials: Vec<Line>,
    /// Rows of the tables of primitives.
    pub primitives: Vec<RowLine>,
    pub bounds: Vec<BoundLine>,
    /// Lines that are in none of these.
    pub left_out: LeftOutLines,
}

impl Entry {
    /// Reads a line, or says why it is none.
    pub(crate) fn read(value: Value) -> Result<Self, String> {
        Ok(match value.get("role").and_then(Value::as_str) {
            Some("primitive") => Self::Row(typed(value)?),
            Some("bound") => Self::Bound(typed(value)?),
            _ => {
                let line: Line = typed(value)?;
                if let Some(why) = line.contradiction() {
                    return Err(why.to_owned());
                }
                Self::Trial(Box::new(line.with_rates()))
            }
        })
    }
}

impl Entries {
    pub(crate) fn add(&mut self, entry: Entry) {
        match entry {
            Entry::Row(line) => self.primitives.push(line),
            Entry::Bound(line) => self.bounds.push(line),
            Entry::Trial(line) => self.trials.push(*line),
        }
    }
}

fn typed<T: DeserializeOwned>(value: Value) -> Result<T, String> {
    serde_json::from_value(value).map_err(|error| in_words(&error))
}

/// Without serde's "at line 1 column 7": the line is named already.
pub(crate) fn in_words(error: &serde_json::Error) -> String {
    error.to_string().split(" at line ").next().unwrap_or_default().to_owned()
}
