//! Requests that the server does not take: not yet, and not any more.

use crate::Stream;
use crate::hpack::Fields;

/// The server takes no more requests on this connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NoMoreRequests;

/// A request for which the server takes no stream yet.
pub(super) struct Waiting {
    pub(super) stream: Stream,
    pub(super) has_body: bool,
    pub(super) fields: Fields,
}
