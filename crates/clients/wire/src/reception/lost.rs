//! Records that are not what the walk needs them to be.

use super::Given;
use crate::handshake::Alert;
use crate::record::RecordError;
use crate::{ErrorKind, Failure};

pub(super) fn lost(seen: &str) -> Failure {
    Failure::new(ErrorKind::UnverifiableRecord, seen)
}

pub(super) fn unopened(error: RecordError) -> Failure {
    lost(&error.to_string())
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
