//! An offer that cannot be made.

/// An offer that cannot be made; one line that says what and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OfferError(pub(super) String);
