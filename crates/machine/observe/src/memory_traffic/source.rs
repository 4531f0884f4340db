//! What can count what moves between processors and memory.

use serde::{Deserialize, Serialize};

/// What counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum MemorySource {
    /// Intel's memory controllers.
    UncoreImc,
    /// AMD's memory controllers, from Zen 4 on.
    AmdUmc,
    /// AMD's data fabric, before Zen 4.
    AmdDf,
    /// The processor's count of what its caches exchange with memory.
    Resctrl,
}
