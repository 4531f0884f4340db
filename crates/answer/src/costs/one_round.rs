//! What one round says of an algorithm, in a plain sentence: `one_round.txt`.

use serde::Serialize;
use study::primitive::LIBRARY;
use units::Bytes;

use super::AlgorithmRow;
use crate::findings::Headline;
use crate::wording::filled;

const SENTENCE: &str = include_str!("one_round.txt");

/// What the sentence is filled with.
#[derive(Debug, Serialize)]
struct RoundFacts {
    /// `AES-128-GCM, 8KiB`
    what: String,
    cost: String,
    /// `AWS-LC 1.30`
    name: String,
    rate: String,
    /// Empty where there is none.
    other_cost: String,
    other_name: String,
}

/// The figure of a row, and that of another for a reader to compare; one round decides nothing.
#[must_use]
pub fn of_one_round(row: &AlgorithmRow, other: Option<&AlgorithmRow>) -> Option<Headline> {
    let cost = row.cost.as_ref()?;
    let name = |row: &AlgorithmRow| row.label(LIBRARY).unwrap_or_default();
    let size = row.key.size_bytes.map(|size| format!(", {}", Bytes(size))).unwrap_or_default();
    let messages = match cost.messages_per_op {
        1 => String::new(),
        messages => format!(", {messages} messages at once"),
    };
    let facts = RoundFacts {
        what: format!("{}{size}", row.key.algorithm.name()),
        cost: row.cost_in_words()?,
        name: name(row) + &messages,
        rate: cost.rate().0,
        other_cost: other.and_then(AlgorithmRow::cost_in_words).unwrap_or_default(),
        other_name: other.map(name).unwrap_or_default(),
    };
    let sentence = filled(SENTENCE, &facts)?;
    let unit = row.metric().row().words.to_owned();
    Some(Headline { value: facts.cost, unit, sentence, advice: None })
}
