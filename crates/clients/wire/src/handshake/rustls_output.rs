//! What rustls gives: bytes to send, and errors.

use rustls::Error;
use rustls::unbuffered::EncodeError;

use super::alert::alert;
use super::distrust::in_words;
use crate::{ErrorKind, Failure};

/// Appends what `encode` writes, with as much room as it asks for.
pub(super) fn encode(
    mut encode: impl FnMut(&mut [u8]) -> Result<usize, EncodeError>,
    out: &mut Vec<u8>,
) -> Result<(), Failure> {
    let start = out.len();
    let mut room = 1024;
    loop {
        out.resize(start + room, 0);
        match encode(&mut out[start..]) {
            Ok(length) => {
                out.truncate(start + length);
                return Ok(());
            }
            Err(EncodeError::InsufficientSize(needed)) if needed.required_size > room => {
                room = needed.required_size;
            }
            Err(error) => {
                out.truncate(start);
                return Err(Failure::new(ErrorKind::Handshake, format!("rustls: {error}")));
            }
        }
    }
}

pub(super) fn failure(error: &Error) -> Failure {
    let kind = match error {
        Error::AlertReceived(description) => return alert((*description).into()),
        Error::InvalidCertificate(_) | Error::DecryptError | Error::NoCertificatesPresented => {
            ErrorKind::Authentication
        }
        _ => ErrorKind::Handshake,
    };
    Failure::new(kind, in_words(error))
}
