//! What RustCrypto does not take.

use crate::routine::Unavailable;

pub(super) fn refused(error: impl std::fmt::Display) -> Unavailable {
    Unavailable::because(format_args!("RustCrypto refuses it: {error}"))
}
