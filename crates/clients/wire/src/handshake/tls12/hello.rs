//! ClientHellos (RFC 5246, section 7.4.1.2).
//!
//! They ask a server for what OpenSSL's client asks for with the same settings, so that it has the
//! same work.

use ::tls::{KeyExchange, Suite};
use rustls::crypto::SecureRandom;
use rustls::pki_types::ServerName;

use super::sessions::Session;
use crate::handshake::encoding::{in_vector16, message, put_extension, put_vector8, put_vector16};
use crate::handshake::numbers::{extension, kind};
use crate::handshake::signature::TLS12_SCHEMES;
use crate::randomness::Buffered;

/// A pseudo suite with the meaning of renegotiation_info (RFC 5746, section 3.3).
const RENEGOTIATION_INFO_SCSV: u16 = 0x00ff;

/// What all ClientHellos of a client say.
pub(super) struct Hello {
    /// The code points of the suites.
    suites: Vec<u8>,
    /// All extensions but session_ticket.
    extensions: Vec<u8>,
    /// Their types, and those that the suites stand for.
    pub(super) offered: Vec<u16>,
}

/// Whether a session is offered to the server, or wanted of it.
#[derive(Clone, Copy)]
pub(super) enum Sessions<'a> {
    Unwanted,
    Wanted,
    Offered(&'a Session),
}

impl<'a> Sessions<'a> {
    /// `session` is what is offered, if anything; `is_kept` says whether the server's is wanted.
    pub(super) fn of(session: Option<&'a Session>, is_kept: bool) -> Self {
        match session {
            Some(session) => Self::Offered(session),
            None if is_kept => Self::Wanted,
            None => Self::Unwanted,
        }
    }
}

impl Hello {
    pub(super) fn new(
        name: &ServerName<'_>,
        suites: &[&'static Suite],
        groups: &[u16],
        encrypt_then_mac: bool,
        protocol: &[u8],
    ) -> Self {
        let mut hello = Self {
            suites: numbers(suites.iter().map(|suite| suite.code_point)),
            extensions: Vec::new(),
            offered: vec![extension::RENEGOTIATION_INFO],
        };
        hello.suites.extend_from_slice(&RENEGOTIATION_INFO_SCSV.to_be_bytes());
        // An address is no name (RFC 6066, section 3).
        if let ServerName::DnsName(name) = name {
            let mut entry = vec![0];
            put_vector16(&mut entry, name.as_ref().as_bytes());
            hello.add(extension::SERVER_NAME, &in_vector16(&entry));
        }
        if suites.iter().any(|suite| suite.key_exchange != KeyExchange::Rsa) {
            // Uncompressed points (RFC 8422, section 5.1.2).
            hello.add(extension::EC_POINT_FORMATS, &[1, 0]);
            hello.add(extension::SUPPORTED_GROUPS, &in_vector16(&numbers(groups.iter().copied())));
        }
        if encrypt_then_mac {
            hello.add(extension::ENCRYPT_THEN_MAC, &[]);
        }
        hello.add(extension::EXTENDED_MASTER_SECRET, &[]);
        hello.add(extension::APPLICATION_PROTOCOLS, &in_vector16(&in_vector8(protocol)));
        let schemes = numbers(TLS12_SCHEMES.iter().copied());
        hello.add(extension::SIGNATURE_ALGORITHMS, &in_vector16(&schemes));
        hello
    }

    fn add(&mut self, kind: u16, content: &[u8]) {
        self.offered.push(kind);
        put_extension(&mut self.extensions, kind, content);
    }

    /// A message with a new random, and the random; `None` if the system has none.
    pub(super) fn message(&self, sessions: Sessions<'_>) -> Option<(Vec<u8>, [u8; 32])> {
        let mut random = [0; 32];
        Buffered.fill(&mut random).ok()?;
        let (id, ticket) = match sessions {
            Sessions::Unwanted => (&[][..], None),
            Sessions::Wanted => (&[][..], Some(&[][..])),
            Sessions::Offered(session) => (&session.id[..], Some(&session.ticket[..])),
        };
        let mut extensions = Vec::new();
        if let Some(ticket) = ticket {
            put_extension(&mut extensions, extension::SESSION_TICKET, ticket);
        }
        extensions.extend_from_slice(&self.extensions);
        let mut body = Vec::with_capacity(128 + self.suites.len() + extensions.len());
        body.extend_from_slice(&[3, 3]);
        body.extend_from_slice(&random);
        put_vector8(&mut body, id);
        put_vector16(&mut body, &self.suites);
        // No compression.
        body.extend_from_slice(&[1, 0]);
        put_vector16(&mut body, &extensions);
        Some((message(kind::CLIENT_HELLO, &body), random))
    }
}

fn numbers(numbers: impl Iterator<Item = u16>) -> Vec<u8> {
    numbers.flat_map(u16::to_be_bytes).collect()
}

fn in_vector8(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(1 + content.len());
    put_vector8(&mut out, content);
    out
}
