//! Parses a server's handshake messages (RFC 8446, section 4).
//!
//! A message that does not fit its grammar as a whole is a decode_error.

use crate::handshake::encoding::Reader;
use crate::handshake::numbers::extension;

/// The random that makes a ServerHello a HelloRetryRequest (RFC 8446, section 4.1.3).
pub(super) const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A ServerHello or HelloRetryRequest.
pub(super) struct ServerHello<'a> {
    pub(super) is_retry: bool,
    pub(super) session_id: &'a [u8],
    pub(super) suite: u16,
    /// The version in supported_versions, if it is there.
    pub(super) version: Option<u16>,
    pub(super) group: Option<u16>,
    /// The server's share; a HelloRetryRequest has none.
    pub(super) share: &'a [u8],
    pub(super) cookie: Option<&'a [u8]>,
    /// Whether it has an extension that the client did not common.
    pub(super) has_others: bool,
}

impl<'a> ServerHello<'a> {
    pub(super) fn read(body: &'a [u8]) -> Option<Self> {
        let mut reader = Reader(body);
        let legacy_version = reader.u16()?;
        let random = reader.bytes(32)?;
        let session_id = reader.vector8().filter(|id| id.len() <= 32)?;
        let suite = reader.u16()?;
        let compression = reader.u8()?;
        if legacy_version != 0x0303 || compression != 0 {
            return None;
        }
        let mut hello = Self {
            is_retry: random == RETRY,
            session_id,
            suite,
            version: None,
            group: None,
            share: &[],
            cookie: None,
            has_others: false,
        };
        // Servers of TLS 1.2 may send none.
        let extensions = if reader.is_empty() { Vec::new() } else { reader.extensions()? };
        for (kind, content) in extensions {
            let mut content = Reader(content);
            match kind {
                extension::SUPPORTED_VERSIONS => hello.version = Some(content.u16()?),
                extension::KEY_SHARE => {
                    hello.group = Some(content.u16()?);
                    if !hello.is_retry {
                        hello.share = content.vector16()?;
                    }
                }
                extension::COOKIE if hello.is_retry => hello.cookie = Some(content.vector16()?),
                _ => {
                    hello.has_others = true;
                    continue;
                }
            }
            content.end(())?;
        }
        Some(hello)
    }
}

/// The extensions in EncryptedExtensions.
pub(super) fn encrypted_extensions(body: &[u8]) -> Option<Vec<(u16, &[u8])>> {
    Reader(body).extensions()
}

/// The signature schemes of a CertificateRequest; `Some(None)` where it names none. Its context is empty
/// within a handshake (RFC 8446, section 4.3.2).
pub(super) fn certificate_request(body: &[u8]) -> Option<Option<Vec<u16>>> {
    let mut reader = Reader(body);
    reader.vector8().filter(|context| context.is_empty())?;
    let extensions = reader.extensions()?;
    let Some((_, content)) =
        extensions.iter().find(|(kind, _)| *kind == extension::SIGNATURE_ALGORITHMS)
    else {
        return Some(None);
    };
    let mut content = Reader(content);
    let schemes = Reader(content.vector16()?).numbers()?;
    content.end(Some(schemes))
}

/// The certificates of a Certificate message, the server's own first, and the types of their
/// extensions.
pub(super) fn certificates(body: &[u8]) -> Option<(Vec<&[u8]>, Vec<u16>)> {
    let mut reader = Reader(body);
    // A server's context is empty (RFC 8446, section 4.4.2).
    if !reader.vector8()?.is_empty() {
        return None;
    }
    let mut list = Reader(reader.vector24()?);
    reader.end(())?;
    let (mut certificates, mut extensions) = (Vec::new(), Vec::new());
    while !list.is_empty() {
        certificates.push(list.vector24()?);
        let length = 2 + usize::from(Reader(list.0).u16()?);
        let own = Reader(list.bytes(length)?).extensions()?;
        extensions.extend(own.into_iter().map(|(kind, _)| kind));
    }
    Some((certificates, extensions))
}

/// The scheme and the signature of a CertificateVerify.
pub(super) fn certificate_verify(body: &[u8]) -> Option<(u16, &[u8])> {
    let mut reader = Reader(body);
    let scheme = reader.u16()?;
    let signature = reader.vector16()?;
    reader.end((scheme, signature))
}
