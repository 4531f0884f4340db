//! A server of TLS 1.3 whose messages the caller chooses, with the right keys. Its key schedule is
//! written from RFC 8446 (section 7.1) without the client's.
//!
//! The client's key exchange is fixed, so the shared secret is the server's share, whatever it is.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};
use tls::Cipher;
use wire::record::{AeadKey, HEADER, Protection, Sealer, content_type};

use crate::messages::{in_handshake_records, kind, message, server_hello, session_id, vector16};

const SHARE: [u8; 32] = [7; 32];

/// A server that has answered a ClientHello and sends what the caller chooses.
pub struct Puppet {
    /// All handshake messages so far.
    transcript: Vec<u8>,
    /// The server's secret for the rest of the handshake.
    secret: [u8; 32],
    sealer: Sealer,
    /// The bytes to send.
    pub out: Vec<u8>,
}

impl Puppet {
    /// Answers this ClientHello, a record.
    pub fn new(client_hello: &[u8]) -> Option<Self> {
        let hello = Self::hello(client_hello);
        let transcript = [client_hello.get(HEADER..)?, &hello].concat();
        let early = mac(&[0; 32], &[&[0; 32]]);
        let handshake = mac(&expand(&early, b"derived", &hash(b""), 32), &[&SHARE]);
        let secret = expand(&handshake, b"s hs traffic", &hash(&transcript), 32);
        let iv = expand(&secret, b"iv", b"", 12).try_into().ok()?;
        let key = AeadKey::new(Cipher::Aes128Gcm, &expand(&secret, b"key", b"", 16), &iv)?;
        Some(Self {
            transcript,
            secret: secret.try_into().ok()?,
            sealer: Sealer::new(Protection::Tls13(key), 0),
            out: in_handshake_records(&hello),
        })
    }

    /// The ServerHello that answers this ClientHello, a record, with TLS_AES_128_GCM_SHA256 and X25519.
    pub fn hello(client_hello: &[u8]) -> Vec<u8> {
        let key_share = [&29u16.to_be_bytes(), &vector16(&SHARE)[..]].concat();
        let extensions: [(u16, &[u8]); 2] = [(43, &[3, 4]), (51, &key_share)];
        server_hello([3, 3], &[5; 32], session_id(client_hello), 0x1301, &extensions)
    }

    /// Sends this content in its own record.
    pub fn send(&mut self, content_type: u8, content: &[u8]) {
        if content_type == content_type::HANDSHAKE {
            self.transcript.extend_from_slice(content);
        }
        let _ = self.sealer.seal(content_type, content, &mut self.out);
    }

    /// The transcript's hash.
    pub fn transcript(&self) -> [u8; 32] {
        hash(&self.transcript)
    }

    /// The Finished message for this transcript.
    pub fn finished(&self) -> Vec<u8> {
        let key = expand(&self.secret, b"finished", b"", 32);
        message(kind::FINISHED, &mac(&key, &[&self.transcript()]))
    }
}

fn hash(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// HMAC, which is HKDF-Extract with the salt as its key (RFC 5869, section 2.2).
fn mac(key: &[u8], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// HKDF-Expand-Label; one block of output is enough for every label here.
fn expand(secret: &[u8], label: &[u8], context: &[u8], length: u8) -> Vec<u8> {
    let name_length = [6 + label.len() as u8];
    let context_length = [context.len() as u8];
    let parts: [&[u8]; 7] =
        [&[0, length], &name_length, b"tls13 ", label, &context_length, context, &[1]];
    mac(secret, &parts)[..length.into()].to_vec()
}
