//! ClientHellos: those that OpenSSL sends with the same settings, each with a new random.

use rustls::crypto::SecureRandom;

use crate::handshake::encoding::Reader;
use crate::randomness::Buffered;
use crate::record::HEADER;

/// The random's place in the message: after its header and the version.
const RANDOM: std::ops::Range<usize> = 6..38;

const CLIENT_HELLO: u8 = 1;
/// A pseudo suite with the meaning of the extension below (RFC 5746, section 3.3).
const RENEGOTIATION_INFO_SCSV: u16 = 0x00ff;
pub(super) const RENEGOTIATION_INFO: u16 = 0xff01;

/// A template for ClientHellos.
pub(super) struct Hello {
    /// The whole message, with its header of four bytes.
    message: Vec<u8>,
    /// The extensions that it offers, by type.
    pub(super) offered: Vec<u16>,
}

impl Hello {
    /// `None` where the record does not hold a ClientHello and nothing else.
    pub(super) fn parse(record: &[u8]) -> Option<Self> {
        let message = record.get(HEADER..)?;
        let mut reader = Reader(message);
        if reader.u8()? != CLIENT_HELLO {
            return None;
        }
        let mut body = Reader(reader.vector24()?);
        reader.end(())?;
        body.bytes(2 + 32)?;
        body.vector8()?;
        let mut suites = Reader(body.vector16()?);
        body.vector8()?;
        let extensions = if body.is_empty() { Vec::new() } else { body.extensions()? };
        let mut offered: Vec<u16> = extensions.into_iter().map(|(kind, _)| kind).collect();
        while !suites.is_empty() {
            if suites.u16()? == RENEGOTIATION_INFO_SCSV {
                offered.push(RENEGOTIATION_INFO);
            }
        }
        Some(Self { message: message.to_owned(), offered })
    }

    /// A message with a new random, and the random; `None` if the system has none.
    pub(super) fn fresh(&self) -> Option<(Vec<u8>, [u8; 32])> {
        let mut random = [0; 32];
        Buffered.fill(&mut random).ok()?;
        let mut message = self.message.clone();
        message[RANDOM].copy_from_slice(&random);
        Some((message, random))
    }
}
