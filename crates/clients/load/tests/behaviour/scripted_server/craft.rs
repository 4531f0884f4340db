//! Records of TLS 1.3 sealed by hand: padded, empty, of any type (RFC 8446, section 5.2).

use std::io::{self, Write};
use std::net::TcpStream;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::ConnectionTrafficSecrets;

pub const ALERT: u8 = 21;
pub const HANDSHAKE: u8 = 22;
pub const DATA: u8 = 23;

/// The sending side of a connection, with its key.
pub struct Craft {
    key: LessSafeKey,
    iv: [u8; 12],
    sequence: u64,
    pub stream: TcpStream,
}

impl Craft {
    /// Of the suite that rustls prefers.
    pub(super) fn new(
        (sequence, secrets): (u64, ConnectionTrafficSecrets),
        stream: TcpStream,
    ) -> io::Result<Self> {
        let ConnectionTrafficSecrets::Aes256Gcm { key, iv } = secrets else {
            return Err(io::Error::other("another suite was agreed on"));
        };
        let key = UnboundKey::new(&AES_256_GCM, key.as_ref()).unwrap();
        let iv = iv.as_ref().try_into().map_err(io::Error::other)?;
        Ok(Self { key: LessSafeKey::new(key), iv, sequence, stream })
    }

    /// A record of this inner type with `padding` zeros after it.
    pub fn seal(&mut self, kind: u8, content: &[u8], padding: usize) -> Vec<u8> {
        let mut nonce = self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(self.sequence.to_be_bytes()) {
            *byte ^= number;
        }
        self.sequence += 1;
        let mut inner = [content, &[kind], &vec![0; padding]].concat();
        let [high, low] = (inner.len() as u16 + 16).to_be_bytes();
        let header = [DATA, 3, 3, high, low];
        let nonce = Nonce::assume_unique_for_key(nonce);
        self.key.seal_in_place_append_tag(nonce, Aad::from(header), &mut inner).unwrap();
        [&header[..], &inner].concat()
    }

    pub fn send(&mut self, kind: u8, content: &[u8], padding: usize) -> io::Result<()> {
        let record = self.seal(kind, content, padding);
        self.stream.write_all(&record)
    }
}
