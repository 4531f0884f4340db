//! What a client offers to a server, and how it takes part.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tls::{Group, Suite, Version};

use super::alpn;
use super::client_certificate::ClientCertificate;

/// An offer. A server can choose nothing else.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The server's name or address.
    pub host: String,
    pub trust: Trust,
    /// What the client sends where the server asks for a certificate.
    pub client_certificate: Option<Arc<ClientCertificate>>,
    /// The only version; `None` for TLS 1.2 and 1.3.
    pub version: Option<Version>,
    /// The only suite.
    pub suite: Option<&'static Suite>,
    /// The only group.
    pub group: Option<Group>,
    /// Whether the extension of RFC 7366 is offered.
    pub encrypt_then_mac: bool,
    /// Whether the client's part of the key exchange costs it nothing.
    pub fixed_key_exchange: bool,
    /// Whether the ClientHello has no key share, so that the server asks for one (RFC 8446, section 4.2.8). Only in
    /// full handshakes of TLS 1.3 alone whose key exchange is fixed.
    pub sends_no_share: bool,
    /// How many of a hundred handshakes resume a session.
    pub resumed_percent: u8,
    /// Which one of the clients of a thread this is, and how many those are: they resume that share together,
    /// and share the room for tickets.
    pub client: (usize, NonZeroUsize),
    /// Whether KeyUpdates are followed, so that secrets outlive the handshake.
    pub follows_key_updates: bool,
    /// The only application protocol (RFC 7301).
    pub protocol: &'static [u8],
}

/// Whose certificates are accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Trust {
    /// Any certificate; signatures are still sampled.
    Anyone,
    /// The system's certificate authorities.
    System,
    /// The certificates in this PEM file.
    File(PathBuf),
}

/// Says of each handshake whether its signature is verified.
pub type Sampler = Box<dyn FnMut() -> bool + Send>;

impl Offer {
    /// Offers all versions, suites and groups of rustls to this server, in full handshakes whose key
    /// exchange is fixed.
    pub fn to(host: &str, trust: Trust) -> Self {
        Self {
            host: host.to_owned(),
            trust,
            client_certificate: None,
            version: None,
            suite: None,
            group: None,
            encrypt_then_mac: false,
            fixed_key_exchange: true,
            sends_no_share: false,
            resumed_percent: 0,
            client: (0, NonZeroUsize::MIN),
            follows_key_updates: false,
            protocol: alpn::HTTP11,
        }
    }

    /// The only version, which a suite has too.
    pub(super) fn version(&self) -> Option<Version> {
        self.version.or(self.suite.map(Suite::version))
    }
}
