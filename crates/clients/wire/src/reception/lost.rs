//! Records that are not what the walk needs them to be.

use crate::record::RecordError;
use crate::{ErrorKind, Failure};

pub(super) fn lost(seen: &str) -> Failure {
    Failure::new(ErrorKind::UnverifiableRecord, seen)
}

pub(super) fn unopened(error: RecordError) -> Failure {
    lost(&error.to_string())
}

/// All alerts but close_notify are failures.
pub(super) fn alert(message: &[u8]) -> Result<(), Failure> {
    match message {
        [_, 0] => Ok(()),
        [_, description] => Err(crate::handshake::alert(*description)),
        _ => Err(lost("a malformed alert")),
    }
}
