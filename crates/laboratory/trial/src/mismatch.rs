//! A difference between what was asked and what was got, for the receipt.

use serde::{Deserialize, Serialize};

/// Of one that says that connections were not up. That there were too few turns of them, or too many new ones, is
/// about the same field, and is so again when it is tried again.
pub(crate) const CONNECTIONS_UP: &str = "connections up";

/// One difference from what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Display)]
#[display("{what}: asked {asked}, got {obtained}")]
pub struct Mismatch {
    /// The field of [`Asked`](crate::Asked) that it is about, and what of it where it is not all.
    pub what: String,
    pub asked: String,
    /// What was got instead.
    pub obtained: String,
}

impl Mismatch {
    /// Whether it is about this field.
    pub(crate) fn is_about(&self, field: &str) -> bool {
        let rest = self.what.strip_prefix(field);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' '))
    }

    pub(crate) fn new(what: &str, asked: impl Into<String>, obtained: impl Into<String>) -> Self {
        Self { what: what.to_owned(), asked: asked.into(), obtained: obtained.into() }
    }
}
