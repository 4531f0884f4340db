//! What moved between the processors and the memory over a window.

use observe::MemorySource;
use serde::{Deserialize, Serialize};

/// Of the whole machine: the client's share is in it, and that of other programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryUse {
    /// What counted.
    pub source: MemorySource,
    /// Bytes from memory; absent where the source does not tell the directions apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes to memory; absent as those read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// Both.
    pub bytes: u64,
}
