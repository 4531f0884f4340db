//! A difference between what was asked and what was got, for the receipt.

use serde::{Deserialize, Serialize};

/// The field of one that says that connections were not up.
pub(crate) const CONNECTIONS: &str = "connections";

/// One difference from what was asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, derive_more::Display)]
#[display("{what}: asked {asked}, got {obtained}")]
pub struct Mismatch {
    /// The field of [`Asked`](crate::Asked) that it is about.
    pub what: String,
    pub asked: String,
    /// What was got instead.
    pub obtained: String,
}

impl Mismatch {
    pub(crate) fn new(what: &str, asked: impl Into<String>, obtained: impl Into<String>) -> Self {
        Self { what: what.to_owned(), asked: asked.into(), obtained: obtained.into() }
    }
}
