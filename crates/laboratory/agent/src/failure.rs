//! Why a server or a client does not run, here or on another machine.

use std::fmt;

use serde::{Deserialize, Serialize};
use targets::TargetError;

/// Why a server, an agent or its machine does not do what it is asked, in one line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Display)]
#[display("{why}")]
pub struct Refusal {
    /// Whether the others may be measured without this target.
    pub is_missing: bool,
    pub why: String,
}

impl Refusal {
    pub fn of(why: impl fmt::Display) -> Self {
        Self { is_missing: false, why: why.to_string() }
    }

    /// For what is not installed, or cannot do what it is asked.
    pub fn missing(why: impl fmt::Display) -> Self {
        Self { is_missing: true, why: why.to_string() }
    }

    /// The same, with the name of its machine.
    pub(crate) fn on(self, host: &targets::Host) -> Self {
        Self { why: format!("on {host}: {}", self.why), ..self }
    }
}

impl From<TargetError> for Refusal {
    fn from(error: TargetError) -> Self {
        Self { is_missing: error.is_missing(), why: error.to_string() }
    }
}
