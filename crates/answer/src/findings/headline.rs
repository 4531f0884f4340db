//! What a person reads first: one figure and one sentence for each question, and how well the figures
//! hold.

use serde::Serialize;

/// An answer at a glance. Intervals are in the details, in charts and in tables; what they do not
/// show is not stated here.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Headline {
    /// One figure with its unit: `2.7x`, `56%`, `28.1 Gb/s`.
    pub value: String,
    /// What the figure counts, in a few words: `the handshakes per core`.
    pub unit: String,
    /// One short sentence.
    pub sentence: String,
    /// What to do, in a sentence, where the figures say so.
    pub advice: Option<String>,
}

/// How well the figures hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Quality {
    pub is_good: bool,
    /// In one line: `Good: intervals within 4%.`
    pub sentence: String,
}
