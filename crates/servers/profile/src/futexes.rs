//! How often a server's threads waited for each other.

use serde::{Deserialize, Serialize};

/// Calls of futex(2) on the server's CPUs, and the operations that ended meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Futexes {
    pub calls: u64,
    pub operations: u64,
}

impl Futexes {
    /// `None` where no operation ended.
    pub fn per_operation(self) -> Option<f64> {
        (self.operations > 0).then(|| self.calls as f64 / self.operations as f64)
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self { calls: self.calls + other.calls, operations: self.operations + other.operations }
    }
}
