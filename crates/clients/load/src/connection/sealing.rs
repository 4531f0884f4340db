//! What is to be sent, in records.

use wire::record::{MOST_PLAINTEXT, Sealer, content_type};
use wire::{ErrorKind, Failure};

/// How much waits encrypted until the socket has room for it.
pub(super) const PART: usize = 16 * MOST_PLAINTEXT;

/// The largest mark that the default receive buffer has room for.
pub(super) const LEAST_ROOM: u32 = 32 << 10;

/// Appends content to what is to be sent, over TLS in records.
#[inline]
pub(super) fn seal(
    sealer: &mut Option<Sealer>,
    content: &[u8],
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let Some(sealer) = sealer else {
        out.extend_from_slice(content);
        return Ok(());
    };
    for content in content.chunks(MOST_PLAINTEXT) {
        sealer.seal(content_type::APPLICATION_DATA, content, out).ok_or_else(unsealed)?;
    }
    Ok(())
}

pub(super) fn seal_close_notify(sealer: &mut Sealer, out: &mut Vec<u8>) -> Result<(), Failure> {
    const CLOSE_NOTIFY: [u8; 2] = [1, 0];
    sealer.seal(content_type::ALERT, &CLOSE_NOTIFY, out).ok_or_else(unsealed)
}

/// The alert that answers a message after the handshake that may not come there (RFC 8446, section 6.2).
pub(super) fn seal_unexpected_message(sealer: &mut Sealer, out: &mut Vec<u8>) {
    const UNEXPECTED_MESSAGE: [u8; 2] = [2, 10];
    // The connection has failed already.
    let _ = sealer.seal(content_type::ALERT, &UNEXPECTED_MESSAGE, out);
}

pub(super) fn unsealed() -> Failure {
    Failure::new(ErrorKind::Handshake, "the request could not be sealed")
}
