//! Why a handshake fails: what is recorded, and the alert that is sent.

use super::alert::{Alert, alert};
use crate::quote::with_text;
use crate::record::RecordError;
use crate::{ErrorKind, Failure};

/// A failure and the alert for the server (RFC 8446, section 6.2; RFC 5246, section 7.2.2).
pub(super) struct Refusal {
    pub(super) failure: Failure,
    /// `None` where the server has ended the handshake.
    pub(super) alert: Option<u8>,
}

impl Refusal {
    fn new(kind: ErrorKind, seen: impl Into<String>, alert: u8) -> Self {
        Self { failure: Failure::new(kind, seen), alert: Some(alert) }
    }

    /// The server ended the handshake with this alert, unless it means nothing: user_canceled, after which the
    /// close follows, and, where it is ignored, a warning.
    pub(super) fn from_alert<'r>(
        content: &[u8],
        is_warning_ignored: bool,
    ) -> Result<Option<&'r [u8]>, Self> {
        let failure = match Alert::read(content).ok_or_else(|| Self::malformed("alert"))? {
            Alert::UserCanceled => return Ok(None),
            Alert::Other(_, true) if is_warning_ignored => return Ok(None),
            Alert::Other(description, _) => alert(description),
            Alert::CloseNotify => {
                Failure::new(ErrorKind::EarlyClose, "close_notify within the handshake")
            }
        };
        Err(Self { failure, alert: None })
    }

    /// The server refuses a client of TLS 1.2 without a certificate by an alert that may say no more than
    /// handshake_failure (RFC 5246, section 7.4.6).
    pub(super) fn after_certificate_request(mut self) -> Self {
        self.failure.seen += " after the request for a client certificate";
        self
    }

    /// The bytes are no record.
    pub(super) fn not_tls(bytes: &[u8]) -> Self {
        Self::new(ErrorKind::NotTls, with_text("bytes that are not a TLS record", bytes), 50)
    }

    /// A message out of order.
    pub(super) fn unexpected(seen: impl Into<String>) -> Self {
        Self::new(ErrorKind::Handshake, seen, 10)
    }

    /// A message that breaks its own grammar.
    pub(super) fn malformed(message: &str) -> Self {
        Self::new(ErrorKind::Handshake, format!("a malformed {message}"), 50)
    }

    /// A choice that was not offered, or that contradicts another.
    pub(super) fn illegal(seen: impl Into<String>) -> Self {
        Self::new(ErrorKind::Handshake, seen, 47)
    }

    /// A version that was not offered.
    pub(super) fn version() -> Self {
        Self::new(ErrorKind::Handshake, "a version that was not offered", 70)
    }

    /// An extension that was not offered.
    pub(super) fn extension(kind: u16) -> Self {
        Self::new(ErrorKind::Handshake, format!("extension {kind}, which was not offered"), 110)
    }

    /// A message without an extension that it must have.
    pub(super) fn missing(extension: &str) -> Self {
        Self::new(ErrorKind::Handshake, format!("a message without {extension}"), 109)
    }

    /// A record that does not open, or holds too much.
    pub(super) fn unopened(error: RecordError) -> Self {
        let alert = match error {
            RecordError::Unauthentic => 20,
            RecordError::TooLong => 22,
        };
        Self::new(ErrorKind::Handshake, format!("within the handshake {error}"), alert)
    }

    /// A certificate that is not accepted.
    pub(super) fn certificate(failure: Failure) -> Self {
        Self { failure, alert: Some(42) }
    }

    /// A signature or a Finished that does not match the handshake.
    pub(super) fn unauthentic(seen: &str) -> Self {
        Self::new(ErrorKind::Authentication, seen, 51)
    }

    /// An error of the client itself.
    pub(super) fn internal(seen: &str) -> Self {
        Self::new(ErrorKind::Handshake, seen, 80)
    }
}
