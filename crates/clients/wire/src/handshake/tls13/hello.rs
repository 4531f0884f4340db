//! ClientHellos: those that rustls sends with the same configuration, each with a new random and
//! session identifier.
//!
//! The server is asked for exactly what rustls would ask for, so it has the same work.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::UnbufferedClientConnection;
use rustls::crypto::SecureRandom;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};

use crate::handshake::encoding::{
    self, Reader, in_vector16, put_extension, put_records, put_vector16,
};
use crate::handshake::numbers::{extension, kind};
use crate::handshake::rustls_output::encode;
use crate::randomness::Buffered;

/// The random's place in the body of a ClientHello: after its version.
const RANDOM: std::ops::Range<usize> = 2..34;
/// The session identifier's place, after its length.
const SESSION_ID: std::ops::Range<usize> = 35..67;

/// A template for ClientHellos.
pub(super) struct Hello {
    /// The whole message, with its header of four bytes.
    message: Vec<u8>,
    /// The extensions that it offers, by type.
    pub(super) offered: Vec<u16>,
    /// The code point of the group whose share it carries; 0 where it has none.
    pub(super) group: u16,
}

/// What a HelloRetryRequest asks for.
pub(super) struct Retry<'a> {
    /// The requested group and its share.
    pub(super) share: Option<(u16, &'a [u8])>,
    pub(super) cookie: Option<&'a [u8]>,
}

impl Hello {
    /// The ClientHello that rustls would send; `None` where it cannot be parsed.
    pub(super) fn of_rustls(config: Arc<ClientConfig>, name: ServerName<'static>) -> Option<Self> {
        let mut connection = UnbufferedClientConnection::new(config, name).ok()?;
        let UnbufferedStatus { state, .. } = connection.process_tls_records(&mut []);
        let Ok(ConnectionState::EncodeTlsData(mut data)) = state else { return None };
        let mut record = Vec::new();
        encode(|out| data.encode(out), &mut record).ok()?;
        Self::parse(record.get(5..)?)
    }

    fn parse(message: &[u8]) -> Option<Self> {
        let mut reader = Reader(message);
        if reader.u8()? != kind::CLIENT_HELLO {
            return None;
        }
        let body = reader.vector24()?;
        reader.end(())?;
        let extensions = Self::extensions_of(body)?;
        let (_, shares) = extensions.iter().find(|(kind, _)| *kind == extension::KEY_SHARE)?;
        let group = Reader(Reader(shares).vector16()?).u16()?;
        let offered = extensions.iter().map(|(kind, _)| *kind).collect();
        Some(Self { message: message.to_owned(), offered, group })
    }

    fn extensions_of(body: &[u8]) -> Option<Vec<(u16, &[u8])>> {
        let mut reader = Reader(body);
        reader.bytes(SESSION_ID.start - 1)?;
        if reader.vector8()?.len() != SESSION_ID.len() {
            return None;
        }
        reader.vector16()?;
        reader.vector8()?;
        reader.extensions()
    }

    /// The same without a key share.
    pub(super) fn without_share(self) -> Option<Self> {
        let message = Self::changed(&self.message, Some(&[]), None)?;
        Some(Self { message, group: 0, ..self })
    }

    /// A message with a new random and session identifier; `None` if the system has no randomness.
    pub(super) fn fresh(&self) -> Option<Vec<u8>> {
        let mut message = self.message.clone();
        for place in [RANDOM, SESSION_ID] {
            Buffered.fill(&mut message[4 + place.start..4 + place.end]).ok()?;
        }
        Some(message)
    }

    /// The session identifier of a message that [`Self::fresh`] or [`Self::after_retry`] made.
    pub(super) fn session_id(message: &[u8]) -> &[u8] {
        message.get(4 + SESSION_ID.start..4 + SESSION_ID.end).unwrap_or_default()
    }

    /// The answer to a HelloRetryRequest: the first message with the requested changes (RFC 8446,
    /// section 4.1.2).
    pub(super) fn after_retry(first: &[u8], retry: &Retry<'_>) -> Option<Vec<u8>> {
        let entry = retry.share.map(|(group, share)| {
            let mut entry = group.to_be_bytes().to_vec();
            put_vector16(&mut entry, share);
            entry
        });
        Self::changed(first, entry.as_deref(), retry.cookie)
    }

    /// A message with these entries in place of its key shares, and this cookie.
    fn changed(message: &[u8], shares: Option<&[u8]>, cookie: Option<&[u8]>) -> Option<Vec<u8>> {
        let body = message.get(4..)?;
        let mut extensions = Vec::new();
        for (kind, content) in Self::extensions_of(body)? {
            match shares {
                Some(entries) if kind == extension::KEY_SHARE => {
                    put_extension(&mut extensions, kind, &in_vector16(entries));
                }
                _ => put_extension(&mut extensions, kind, content),
            }
        }
        if let Some(cookie) = cookie {
            put_extension(&mut extensions, extension::COOKIE, &in_vector16(cookie));
        }
        let mut reader = Reader(body.get(SESSION_ID.end..)?);
        let suites = 2 + reader.vector16()?.len();
        let methods = 1 + reader.vector8()?.len();
        let mut second = body.get(..SESSION_ID.end + suites + methods)?.to_owned();
        put_vector16(&mut second, &extensions);
        Some(encoding::message(kind::CLIENT_HELLO, &second))
    }

    /// Appends a message as a record of the version that RFC 8446, section 5.1, asks for.
    pub(super) fn put(out: &mut Vec<u8>, message: &[u8], is_first: bool) {
        put_records(out, 22, if is_first { [3, 1] } else { [3, 3] }, message);
    }
}
