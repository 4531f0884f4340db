//! The lines that primitives have in the journal: one for each row and round, and one for each bound
//! and round.

use primitives::Row;
use primitives::instructions::Bound;
use serde::{Deserialize, Serialize};

/// What the rows of tables differ in.
pub const ALGORITHM: &str = "algorithm";
pub const LIBRARY: &str = "library";
pub const HARDWARE: &str = "hardware";
pub const CACHE: &str = "cache";
/// Of a message.
pub const SIZE: &str = "size";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RowLine {
    pub schema: u32,
    pub table: String,
    #[serde(flatten)]
    pub row: Row,
    /// Which repetition it was, from 0.
    pub round: u32,
    /// The part's place in the order in which parts ran, from 0.
    pub order: u32,
    /// When the part began, in milliseconds since 1970-01-01 UTC.
    pub started_unix_ms: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundLine {
    pub schema: u32,
    #[serde(flatten)]
    pub bound: Bound,
    /// Which repetition it was, from 0.
    pub round: u32,
    /// The part's place in the order in which parts ran, from 0.
    pub order: u32,
}
