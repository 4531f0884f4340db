//! Handshakes in memory with OpenSSL's server, and a check that both sides have the same keys.

use std::io::{self, Read, Write};

use openssl::ssl::{ErrorCode, SslStream};
use wire::handshake::{Established, Handshake};
use wire::record::{HEADER, Header, content_type};
use wire::{ErrorKind, Failure};

/// The two directions of a connection.
#[derive(Default)]
pub struct InMemory {
    pub incoming: Vec<u8>,
    pub outgoing: Vec<u8>,
}

impl Read for InMemory {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.incoming.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let count = buffer.len().min(self.incoming.len());
        buffer[..count].copy_from_slice(&self.incoming[..count]);
        self.incoming.drain(..count);
        Ok(count)
    }
}

impl Write for InMemory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.outgoing.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs a handshake with OpenSSL's server, whose bytes arrive in pieces of this length.
///
/// # Errors
/// Why the client failed.
pub fn with_openssl(
    handshake: &mut dyn Handshake,
    server: &mut SslStream<InMemory>,
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
        let sent = std::mem::take(&mut server.get_mut().outgoing);
        for piece in sent.chunks(piece) {
            received.extend_from_slice(piece);
            if established.is_none() {
                established = handshake.advance(&mut received, &mut to_send)?;
            }
        }
    }
    established.ok_or_else(|| Failure::new(ErrorKind::Stall, "no end"))
}

/// Checks that the server reads a request and that its answer opens.
pub fn assert_keys_agree(mut established: Established, server: &mut SslStream<InMemory>) {
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
    let header = Header::parse(header.try_into().unwrap()).unwrap();
    let opened = established.opener.open(header, body).unwrap();
    assert_eq!(&body[opened.plaintext], b"answer");
}
