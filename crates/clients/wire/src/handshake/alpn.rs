//! The protocol that is spoken within TLS (RFC 7301): a server that speaks only another one says so in the
//! handshake, and not by bytes that are no response.

use super::encoding::Reader;
use super::refusal::Refusal;

/// The protocol that is offered where no other is.
pub(super) const HTTP11: &[u8] = b"http/1.1";

/// The server may choose what was offered, or leave it open.
pub(super) fn check_answer(content: &[u8], offered: &[u8]) -> Result<(), Refusal> {
    let chosen = || {
        let mut reader = Reader(content);
        let mut names = Reader(reader.vector16()?);
        let name = names.vector8().filter(|name| !name.is_empty())?;
        names.end(()).and_then(|()| reader.end(name))
    };
    match chosen().ok_or_else(|| Refusal::malformed("list of application protocols"))? {
        chosen if chosen == offered => Ok(()),
        other => Err(Refusal::illegal(format!(
            "the application protocol `{}`, which was not offered",
            String::from_utf8_lossy(other)
        ))),
    }
}
