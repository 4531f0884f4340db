//! What a handshake ends in.

use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as};
use tls::{CertificateKey, Group, Suite, Version};

use super::fingerprint::Fingerprint;
use crate::Failure;
use crate::record::{Opener, Protection, Sealer};

/// What a handshake negotiated.
#[serde_as]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Negotiated {
    /// The version.
    pub version: Version,
    /// The cipher suite.
    #[serde_as(as = "DisplayFromStr")]
    pub suite: &'static Suite,
    /// The group of the key exchange; `None` with static RSA.
    pub group: Option<Group>,
    /// The code point of the scheme with which the server signed; `None` with static RSA.
    pub signature_scheme: Option<u16>,
    /// The kind of key in the server's certificate, where toll has a name for it.
    pub certificate_key: Option<CertificateKey>,
    /// Whether records are encrypted first and then authenticated (RFC 7366).
    pub encrypt_then_mac: bool,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
    /// With what the client authenticated itself; `None` where it sent no certificate.
    pub client: Option<ClientSignature>,
}

/// A client's signature of a handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ClientSignature {
    /// The code point.
    pub scheme: u16,
    /// The kind of key, where toll has a name for it.
    pub key: Option<CertificateKey>,
}

/// A finished handshake.
pub struct Established {
    pub opener: Opener,
    pub sealer: Sealer,
    pub negotiated: Negotiated,
    pub remarks: Remarks,
    /// Whether the server chose the application protocol that was offered (RFC 7301); it may leave that open.
    pub is_protocol_agreed: bool,
    /// Takes the messages that come after a handshake of TLS 1.3, where they are wanted.
    pub post_handshake: Option<Box<dyn PostHandshake>>,
}

/// What is counted of a handshake beside what it negotiated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Remarks {
    /// Whether the server's signature was verified.
    pub is_signature_verified: bool,
    /// Whether the server asked for a certificate of the client.
    pub asks_certificate: bool,
    /// Whether the server asked for a second ClientHello (HelloRetryRequest; RFC 8446, section 4.1.4).
    pub is_retried: bool,
    /// Whether the client had a session to resume, and so offered it.
    pub offers_session: bool,
    /// Which certificate the server showed; `None` where it resumed a session.
    pub certificate: Option<Fingerprint>,
    /// What the server of TLS 1.2 gave to be resumed. In TLS 1.3 tickets come after the handshake.
    pub given: Option<GivenSession>,
}

/// How a server gives a session (RFC 5077; RFC 5246, section 7.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenSession {
    Ticket,
    /// An identifier, which the server can resume only if it keeps the session itself.
    Id,
}

/// Handles the messages after a handshake (RFC 8446, section 4.6).
pub trait PostHandshake: Send {
    /// Takes the body of a NewSessionTicket message.
    fn take_ticket(&mut self, ticket: &[u8]) -> Result<(), Failure>;

    /// The keys of this side's records after its next KeyUpdate (section 7.2); `None` where
    /// KeyUpdates are not supported.
    fn next_protection(&mut self, side: Side) -> Option<Protection>;
}

/// The sender of records or messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Client,
    Server,
}
