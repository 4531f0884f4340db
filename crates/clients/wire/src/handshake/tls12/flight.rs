//! Parses a server's handshake messages (RFC 5246, section 7.4).
//!
//! A message that does not fit its grammar as a whole is a decode_error.

use crate::handshake::encoding::Reader;
use crate::handshake::established::GivenSession;
use crate::handshake::numbers::{extension, kind};
use crate::record::content_type;

/// A ServerHello.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerHello<'a> {
    pub(super) version: u16,
    pub(super) random: [u8; 32],
    pub(super) session_id: &'a [u8],
    pub(super) suite: u16,
    /// The types of all extensions.
    pub(super) extensions: Vec<u16>,
    /// The content of the extension of application protocols.
    pub(super) protocol: Option<&'a [u8]>,
}

impl<'a> ServerHello<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(body);
        let version = reader.u16()?;
        let random = reader.bytes(32)?.try_into().ok()?;
        let session_id = reader.vector8().filter(|session_id| session_id.len() <= 32)?;
        let suite = reader.u16()?;
        if reader.u8()? != 0 {
            return None;
        }
        let given = if reader.is_empty() { Vec::new() } else { reader.extensions()? };
        for (kind, content) in &given {
            let is_well_formed = match *kind {
                extension::ENCRYPT_THEN_MAC
                | extension::EXTENDED_MASTER_SECRET
                | extension::SESSION_TICKET => content.is_empty(),
                // In a first handshake it is empty (RFC 5746, section 3.4).
                extension::RENEGOTIATION_INFO => *content == [0],
                _ => true,
            };
            is_well_formed.then_some(())?;
        }
        let protocol = given.iter().find(|(kind, _)| *kind == extension::APPLICATION_PROTOCOLS);
        let protocol = protocol.map(|(_, content)| *content);
        let extensions = given.into_iter().map(|(kind, _)| kind).collect();
        Some(Self { version, random, session_id, suite, extensions, protocol })
    }

    pub(super) fn has(&self, extension: u16) -> bool {
        self.extensions.contains(&extension)
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

/// A ServerKeyExchange with a named group (RFC 8422, section 5.4).
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerKeyExchange<'a> {
    /// What is signed, beside the randoms.
    pub(super) parameters: &'a [u8],
    pub(super) group: u16,
    /// The server's share.
    pub(super) point: &'a [u8],
    pub(super) scheme: u16,
    pub(super) signature: &'a [u8],
}

impl<'a> ServerKeyExchange<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        const NAMED_CURVE: u8 = 3;
        let mut reader = Reader(body);
        (reader.u8()? == NAMED_CURVE).then_some(())?;
        let group = reader.u16()?;
        let point = reader.vector8()?;
        let parameters = &body[..1 + 2 + 1 + point.len()];
        let scheme = reader.u16()?;
        let signature = reader.vector16()?;
        reader.end(Self { parameters, group, point, scheme, signature })
    }
}

/// What a server asks of a client's certificate.
pub(super) struct CertificateRequest {
    /// The types of certificates (RFC 5246, section 7.4.4).
    pub(super) types: Vec<u8>,
    pub(super) schemes: Vec<u16>,
}

impl CertificateRequest {
    /// The names of authorities, which it has too, are only a hint.
    pub(super) fn read(body: &[u8]) -> Option<Self> {
        let mut reader = Reader(body);
        let types = reader.vector8().filter(|types| !types.is_empty())?.to_owned();
        let schemes = Reader(reader.vector16()?).numbers()?;
        let mut authorities = Reader(reader.vector16()?);
        while !authorities.is_empty() {
            authorities.vector16()?;
        }
        reader.end(Self { types, schemes })
    }
}

/// The ticket of a NewSessionTicket, which may be empty (RFC 5077, section 3.3).
pub(super) fn ticket(body: &[u8]) -> Option<&[u8]> {
    const LIFETIME: usize = 4;
    let mut reader = Reader(body);
    reader.bytes(LIFETIME)?;
    let ticket = reader.vector16()?;
    reader.end(ticket)
}

/// The session that a later handshake can resume; `None` where this one resumed another and no new
/// ticket came.
pub(super) fn given(session_id: &[u8], ticket: &[u8], is_resumed: bool) -> Option<GivenSession> {
    match (session_id, ticket) {
        (_, [_, ..]) => Some(GivenSession::Ticket),
        ([_, ..], []) if !is_resumed => Some(GivenSession::Id),
        _ => None,
    }
}

/// The session that a server's bytes give, up to where they are protected. rustls has no call that
/// reports whether it came as a ticket or as an identifier.
pub(in crate::handshake) fn given_session(bytes: &[u8], is_resumed: bool) -> Option<GivenSession> {
    let mut records = Reader(bytes);
    let mut messages = Vec::new();
    while let Some(&[content_type::HANDSHAKE, 3, _]) = records.bytes(3) {
        messages.extend_from_slice(records.vector16()?);
    }
    let mut messages = Reader(&messages);
    let (mut session_id, mut new_ticket) = (&[][..], &[][..]);
    while let (Some(kind), Some(body)) = (messages.u8(), messages.vector24()) {
        match kind {
            kind::SERVER_HELLO => session_id = ServerHello::read(body)?.session_id,
            kind::NEW_SESSION_TICKET => new_ticket = ticket(body)?,
            _ => {}
        }
    }
    given(session_id, new_ticket, is_resumed)
}
