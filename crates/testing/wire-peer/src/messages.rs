//! Handshake messages as a server would write them (RFC 8446, section 4; RFC 5246, section 7.4).

use wire::record::content_type;

/// Types of messages.
pub mod kind {
    pub const HELLO_REQUEST: u8 = 0;
    pub const SERVER_HELLO: u8 = 2;
    pub const NEW_SESSION_TICKET: u8 = 4;
    pub const ENCRYPTED_EXTENSIONS: u8 = 8;
    pub const CERTIFICATE: u8 = 11;
    pub const SERVER_KEY_EXCHANGE: u8 = 12;
    pub const CERTIFICATE_REQUEST: u8 = 13;
    pub const SERVER_HELLO_DONE: u8 = 14;
    pub const CERTIFICATE_VERIFY: u8 = 15;
    pub const CLIENT_KEY_EXCHANGE: u8 = 16;
    pub const FINISHED: u8 = 20;
}

/// Extensions by their types.
pub type Extensions<'a> = [(u16, &'a [u8])];

/// The random that makes a ServerHello a HelloRetryRequest (RFC 8446, section 4.1.3).
pub const RETRY: [u8; 32] = [
    0xcf, 0x21, 0xad, 0x74, 0xe5, 0x9a, 0x61, 0x11, 0xbe, 0x1d, 0x8c, 0x02, 0x1e, 0x65, 0xb8, 0x91,
    0xc2, 0xa2, 0x11, 0x16, 0x7a, 0xbb, 0x8c, 0x5e, 0x07, 0x9e, 0x09, 0xe2, 0xc8, 0xa8, 0x33, 0x9c,
];

/// A vector with its length in two bytes.
pub fn vector16(content: &[u8]) -> Vec<u8> {
    [&(content.len() as u16).to_be_bytes(), content].concat()
}

/// A vector with its length in three bytes.
pub fn vector24(content: &[u8]) -> Vec<u8> {
    [&(content.len() as u32).to_be_bytes()[1..], content].concat()
}

/// A handshake message.
pub fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind], &vector24(body)[..]].concat()
}

/// A list of extensions with its length.
pub fn extensions(extensions: &Extensions<'_>) -> Vec<u8> {
    let list = extensions
        .iter()
        .flat_map(|(kind, content)| [&kind.to_be_bytes()[..], &vector16(content)].concat());
    vector16(&list.collect::<Vec<_>>())
}

/// A ServerHello with these contents.
pub fn server_hello(
    version: [u8; 2],
    random: &[u8; 32],
    session_id: &[u8],
    suite: u16,
    listed: &Extensions<'_>,
) -> Vec<u8> {
    let id_length = [session_id.len() as u8];
    let chosen = [&suite.to_be_bytes()[..], &[0], &extensions(listed)].concat();
    message(kind::SERVER_HELLO, &[&version[..], random, &id_length, session_id, &chosen].concat())
}

/// The session identifier of a ClientHello, a record; all that this client sends have one of 32 bytes
/// in TLS 1.3.
pub fn session_id(client_hello: &[u8]) -> &[u8] {
    client_hello.get(44..76).unwrap_or_default()
}

/// Records without protection that carry `content`.
pub fn in_records(content_type: u8, content: &[u8]) -> Vec<u8> {
    content
        .chunks(1 << 14)
        .flat_map(|fragment| [&[content_type, 3, 3], &vector16(fragment)[..]].concat())
        .collect()
}

/// A handshake message in records without protection.
pub fn in_handshake_records(message: &[u8]) -> Vec<u8> {
    in_records(content_type::HANDSHAKE, message)
}
