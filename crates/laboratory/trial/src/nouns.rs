//! What sentences about a load call its operations and connections.

use load::Operation;

/// In the singular; an s makes them plural.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nouns {
    pub operation: &'static str,
    pub connection: &'static str,
}

impl Nouns {
    pub(crate) const USUAL: Self = Self { operation: "operation", connection: "connection" };

    /// In a session each connection is a user, who asks for pages.
    pub(crate) const OF_SESSION: Self = Self { operation: "page", connection: "user" };

    pub(crate) fn of(operation: Operation) -> Self {
        if operation == Operation::Session { Self::OF_SESSION } else { Self::USUAL }
    }
}
