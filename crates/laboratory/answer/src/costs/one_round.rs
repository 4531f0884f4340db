//! What one round says of an algorithm, in a plain sentence.

use study::primitive::LIBRARY;
use units::Bytes;

use super::AlgorithmRow;
use crate::findings::Headline;

/// The figure of a row, and that of another for a reader to compare; one round decides nothing.
pub fn of_one_round(row: &AlgorithmRow, other: Option<&AlgorithmRow>) -> Option<Headline> {
    let cost = row.cost.as_ref()?;
    let with = |row: &AlgorithmRow| {
        Some(format!("{} with {}", row.cost_in_words()?, row.label(LIBRARY).unwrap_or_default()))
    };
    let algorithm = row.key.algorithm.name();
    let size = row.key.size_bytes.map(|size| format!(", {}", Bytes(size))).unwrap_or_default();
    let messages = match cost.messages_per_op {
        1 => String::new(),
        messages => format!(", {messages} messages at once"),
    };
    let beside = match other.and_then(with) {
        Some(other) => format!(", {other}"),
        None => format!(" ({})", cost.rate().0),
    };
    Some(Headline {
        value: row.cost_in_words()?,
        unit: row.metric().row().words.to_owned(),
        sentence: format!("{algorithm}{size}: {}{messages}{beside}.", with(row)?),
        advice: None,
    })
}
