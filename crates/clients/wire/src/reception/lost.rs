//! Records that are not what the walk needs them to be.

use super::given::Given;
use crate::handshake::{Alert, kind};
use crate::record::RecordError;
use crate::{ErrorKind, Failure};

pub(super) fn lost(seen: &str) -> Failure {
    Failure::new(ErrorKind::UnverifiableRecord, seen)
}

pub(super) fn unopened(error: RecordError) -> Failure {
    lost(&error.to_string())
}

/// A message of this type may not come after the handshake: [`ErrorKind::Handshake`], which a client answers with the
/// alert unexpected_message.
pub(super) fn unexpected_message(kind: u8) -> Failure {
    let name = match kind {
        kind::HELLO_REQUEST => "HelloRequest",
        kind::CLIENT_HELLO => "ClientHello",
        kind::SERVER_HELLO => "ServerHello",
        kind::CERTIFICATE_REQUEST => "CertificateRequest",
        _ => "a message",
    };
    let seen = format!("{name} (type {kind}) after the handshake: unexpected_message");
    Failure::new(ErrorKind::Handshake, seen)
}

/// What an alert after the handshake means. Where the server has answered all that it was asked
/// (`has_answered`), it may end the connection by any; else all but close_notify are failures.
pub(super) fn alert(message: &[u8], has_answered: bool) -> Result<Given, Failure> {
    match Alert::read(message).ok_or_else(|| lost("a malformed alert"))? {
        Alert::UserCanceled => Ok(Given::More),
        Alert::CloseNotify => Ok(Given::Closed),
        Alert::Other(..) if has_answered => Ok(Given::Closed),
        Alert::Other(description, _) => Err(crate::handshake::alert(description)),
    }
}
