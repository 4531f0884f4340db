//! What the backend of a proxy served.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What a backend served from before the load to after it, by its own count.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BackendUse {
    /// Full handshakes: it gives no sessions.
    pub handshakes: u64,
    /// The suite of these, the only one that it takes.
    pub suite: Option<String>,
    /// Requests over TLS.
    pub tls_requests: u64,
    /// Connections over plain HTTP.
    pub plain_connections: u64,
    /// Requests over these.
    pub plain_requests: u64,
}
