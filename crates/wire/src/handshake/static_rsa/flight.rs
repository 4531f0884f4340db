//! Parses a server's handshake messages (RFC 5246, section 7.4).
//!
//! A message that does not fit its grammar as a whole is a decode_error.

use super::hello::RENEGOTIATION_INFO;
use crate::handshake::encoding::Reader;

pub(super) mod kind {
    pub const HELLO_REQUEST: u8 = 0;
    pub const SERVER_HELLO: u8 = 2;
    pub const CERTIFICATE: u8 = 11;
    pub const CERTIFICATE_REQUEST: u8 = 13;
    pub const SERVER_HELLO_DONE: u8 = 14;
    pub const CLIENT_KEY_EXCHANGE: u8 = 16;
    pub const FINISHED: u8 = 20;
}

const ENCRYPT_THEN_MAC: u16 = 22;
const EXTENDED_MASTER_SECRET: u16 = 23;

/// A ServerHello.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerHello {
    pub(super) version: u16,
    pub(super) random: [u8; 32],
    pub(super) suite: u16,
    /// RFC 7366.
    pub(super) encrypt_then_mac: bool,
    /// RFC 7627.
    pub(super) extended_master_secret: bool,
    /// The types of all extensions.
    pub(super) extensions: Vec<u16>,
}

impl ServerHello {
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        let version = reader.u16()?;
        let random = reader.bytes(32)?.try_into().ok()?;
        reader.vector8().filter(|session_id| session_id.len() <= 32)?;
        let suite = reader.u16()?;
        if reader.u8()? != 0 {
            return None;
        }
        let given = if reader.is_empty() { Vec::new() } else { reader.extensions()? };
        for (kind, content) in &given {
            let is_well_formed = match *kind {
                ENCRYPT_THEN_MAC | EXTENDED_MASTER_SECRET => content.is_empty(),
                // In a first handshake it is empty (RFC 5746, section 3.4).
                RENEGOTIATION_INFO => *content == [0],
                _ => true,
            };
            is_well_formed.then_some(())?;
        }
        let extensions: Vec<u16> = given.into_iter().map(|(kind, _)| kind).collect();
        Some(Self {
            version,
            random,
            suite,
            encrypt_then_mac: extensions.contains(&ENCRYPT_THEN_MAC),
            extended_master_secret: extensions.contains(&EXTENDED_MASTER_SECRET),
            extensions,
        })
    }
}

/// The certificates of a Certificate message, the server's own first.
pub(super) fn certificates(body: &[u8]) -> Option<Vec<&[u8]>> {
    let mut reader = Reader(body);
    let mut list = Reader(reader.vector24()?);
    reader.end(())?;
    let mut certificates = Vec::new();
    while !list.is_empty() {
        certificates.push(list.vector24()?);
    }
    Some(certificates)
}

/// Whether this is the body of a CertificateRequest.
pub(super) fn is_certificate_request(body: &[u8]) -> bool {
    let read = || {
        let mut reader = Reader(body);
        reader.vector8()?;
        reader.vector16()?;
        reader.vector16()?;
        reader.end(())
    };
    read().is_some()
}
