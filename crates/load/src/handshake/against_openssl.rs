//! For tests: handshakes in memory with OpenSSL's server, and a check that both sides have the same
//! keys.

use openssl::ssl::{ErrorCode, SslStream};

use super::openssl::Wire;
use super::wire::header_of;
use super::{Established, Handshake};
use crate::failure::{ErrorKind, Failure};
use crate::record::{HEADER, content_type};

/// Runs a handshake with OpenSSL's server, whose bytes arrive in pieces of this length.
pub(super) fn with_openssl(
    handshake: &mut dyn Handshake,
    server: &mut SslStream<Wire>,
    piece: usize,
) -> Result<Established, Failure> {
    let (mut received, mut to_send) = (Vec::new(), Vec::new());
    let mut established = handshake.advance(&mut received, &mut to_send)?;
    for _ in 0..4 {
        server.get_mut().incoming.append(&mut to_send);
        match server.accept() {
            Ok(()) => {}
            Err(error) => assert_eq!(error.code(), ErrorCode::WANT_READ, "{error}"),
        }
        let said = std::mem::take(&mut server.get_mut().outgoing);
        for piece in said.chunks(piece) {
            received.extend_from_slice(piece);
            if established.is_none() {
                established = handshake.advance(&mut received, &mut to_send)?;
            }
        }
    }
    established.ok_or_else(|| Failure::new(ErrorKind::Stall, "no end"))
}

/// Checks that the server reads a request and that its answer opens.
pub(super) fn assert_keys_agree(mut established: Established, server: &mut SslStream<Wire>) {
    let mut request = Vec::new();
    established.sealer.seal(content_type::APPLICATION_DATA, b"ping", &mut request).unwrap();
    server.get_mut().incoming.append(&mut request);
    let mut read = [0; 10];
    assert_eq!(server.ssl_read(&mut read).unwrap(), 4);
    assert_eq!(&read[..4], b"ping");
    server.get_mut().outgoing.clear();
    server.ssl_write(b"answer").unwrap();
    let mut record = std::mem::take(&mut server.get_mut().outgoing);
    let (header, body) = record.split_at_mut(HEADER);
    let opened = established.opener.open(header_of(header).unwrap(), body).unwrap();
    assert_eq!(&body[opened.plaintext], b"answer");
}
