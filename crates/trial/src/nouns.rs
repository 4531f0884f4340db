//! What sentences about a load call its operations and connections.

use load::Operation;

use crate::line::Line;

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

impl Line {
    /// Those of this trial's load.
    #[must_use]
    pub fn nouns(&self) -> Nouns {
        if self.walks.is_some() { Nouns::OF_SESSION } else { Nouns::USUAL }
    }

    /// What limited the trial and by which figures, in a sentence without its full stop.
    #[must_use]
    pub fn reason(&self) -> String {
        self.verdict.reason(self.nouns())
    }
}
