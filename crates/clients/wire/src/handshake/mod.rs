//! Handshakes as one trait: those of TLS 1.2 and the full ones of TLS 1.3 are toll's own, rustls makes
//! the others and hands its keys over.

mod alpn;
mod certificates;
mod client_certificate;
mod distrust;
mod driver;
mod encoding;
mod fingerprint;
mod fixed_group;
mod fixed_kem;
mod fixed_share;
mod fresh_p521;
mod numbers;
mod offer;
mod provider;
mod refusal;
mod resuming_share;
mod rustls;
mod rustls_output;
mod sessions;
mod signature;
mod tls12;
mod tls13;
mod transcript;
mod trust;
mod verifier;

use ::tls::{CertificateKey, Group, Suite, Version};
use serde::{Deserialize, Serialize};
use serde_with::{DisplayFromStr, serde_as};

pub use client_certificate::ClientCertificate;
pub use distrust::Distrust;
pub(crate) use encoding::message_length;
pub use fingerprint::Fingerprint;
pub(crate) use numbers::kind;
pub use offer::{Offer, OfferError, Sampler, Trust};

use crate::record::{Opener, Protection, Sealer};
use crate::{ErrorKind, Failure};

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

/// One handshake under way. It does no input or output itself.
pub trait Handshake: Send {
    /// Takes received bytes, of which it removes those that it used, and appends bytes to send.
    /// `Some` when both sides have finished; the appended bytes must still be sent then.
    ///
    /// On failure, the appended bytes (an alert) should be sent if that is possible.
    fn advance(
        &mut self,
        received: &mut Vec<u8>,
        to_send: &mut Vec<u8>,
    ) -> Result<Option<Established>, Failure>;
}

/// Starts handshakes of one offer, on one thread.
pub trait Client: Send {
    fn start(&self) -> Result<Box<dyn Handshake>, Failure>;

    /// Whether handshakes are full from now on, and their tickets and sessions kept for later ones.
    fn collect(&self, _is_collecting: bool) {}
}

/// The handshakes of one thread. Each thread has its own client, so that none waits for another.
/// `signatures` says which are verified.
///
/// # Errors
/// An offer that cannot be made here.
pub fn client(offer: &Offer, signatures: Sampler) -> Result<Box<dyn Client>, OfferError> {
    match offer.version() {
        Some(Version::Tls12) => Ok(Box::new(tls12::Tls12Client::new(offer, signatures)?)),
        _ => rustls::client(offer, signatures),
    }
}

/// The peer ended the connection by this alert (RFC 8446, section 6).
pub(crate) fn alert(description: u8) -> Failure {
    let name = match description {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => "of an unknown kind",
    };
    Failure::new(ErrorKind::Alert, format!("{name} ({description})"))
}
