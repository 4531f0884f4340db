use std::ops::Range;

use ring::aead::{
    AES_128_GCM, AES_256_GCM, Aad, CHACHA20_POLY1305, LessSafeKey, Nonce, UnboundKey,
};
use tls::Cipher;

use super::block::BlockCipher;

/// Length of the tag of all AEAD ciphers of TLS that toll measures.
const TAG: usize = 16;

/// An AEAD key with the static part of its nonces.
///
/// What is computed from the key has half a KiB, so it is made when it is needed first: many idle
/// connections have sent nothing yet, and some receive nothing.
pub struct AeadKey {
    cipher: Cipher,
    bytes: [u8; 32],
    iv: [u8; 12],
    /// Seals and opens records.
    records: Option<Box<LessSafeKey>>,
    /// Decrypts the beginnings of records, which most connections with short responses never need.
    beginnings: Option<Box<BlockCipher>>,
}

impl AeadKey {
    /// `None` where the cipher is no AEAD or a length does not fit it.
    pub fn new(cipher: Cipher, key: &[u8], iv: &[u8; 12]) -> Option<Self> {
        let mut bytes = [0; 32];
        let own = &mut bytes[..Self::length(cipher)?];
        (key.len() == own.len()).then(|| own.copy_from_slice(key))?;
        Some(Self { cipher, bytes, iv: *iv, records: None, beginnings: None })
    }

    fn bytes(&self) -> Option<&[u8]> {
        Some(&self.bytes[..Self::length(self.cipher)?])
    }

    fn records(&mut self) -> Option<&LessSafeKey> {
        if self.records.is_none() {
            let algorithm = match self.cipher {
                Cipher::Aes128Gcm => &AES_128_GCM,
                Cipher::Aes256Gcm => &AES_256_GCM,
                Cipher::ChaCha20Poly1305 => &CHACHA20_POLY1305,
                Cipher::Aes128Cbc | Cipher::Aes256Cbc => return None,
            };
            let key = UnboundKey::new(algorithm, self.bytes()?).ok()?;
            self.records = Some(Box::new(LessSafeKey::new(key)));
        }
        self.records.as_deref()
    }

    /// The length of a key; `None` where the cipher is no AEAD.
    pub fn length(cipher: Cipher) -> Option<usize> {
        match cipher {
            Cipher::Aes128Gcm => Some(16),
            Cipher::Aes256Gcm | Cipher::ChaCha20Poly1305 => Some(32),
            Cipher::Aes128Cbc | Cipher::Aes256Cbc => None,
        }
    }

    /// Whether [`Self::peek`] can do anything.
    pub(super) fn can_peek(&self) -> bool {
        self.cipher != Cipher::ChaCha20Poly1305
    }

    /// The plaintext of a record's beginning, unauthenticated; `None` where the cipher is not a
    /// block cipher.
    pub(super) fn peek(&mut self, nonce: [u8; 12], sealed: &[u8]) -> Option<Vec<u8>> {
        if self.beginnings.is_none() {
            self.beginnings = Some(Box::new(BlockCipher::new(self.cipher, self.bytes()?)?));
        }
        Some(self.beginnings.as_ref()?.peek_gcm(nonce, sealed))
    }

    /// The static part, XORed with the sequence number (RFC 8446, section 5.3).
    pub fn nonce(&self, sequence: u64) -> [u8; 12] {
        let mut nonce = self.iv;
        for (byte, number) in nonce[4..].iter_mut().zip(sequence.to_be_bytes()) {
            *byte ^= number;
        }
        nonce
    }

    /// The first 4 bytes of the static part, then those that the record carries (RFC 5288).
    pub fn nonce_with(&self, explicit: [u8; 8]) -> [u8; 12] {
        let mut nonce = self.iv;
        nonce[4..].copy_from_slice(&explicit);
        nonce
    }

    /// Opens `body[from..]` and returns where its plaintext is in `body`.
    pub(super) fn open_in_place(
        &mut self,
        nonce: [u8; 12],
        aad: &[u8],
        body: &mut [u8],
        from: usize,
    ) -> Option<Range<usize>> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let sealed = body.get_mut(from..)?;
        let plaintext = self.records()?.open_in_place(nonce, Aad::from(aad), sealed).ok()?;
        Some(from..from + plaintext.len())
    }

    /// Encrypts `out[from..]` and appends the tag.
    pub(super) fn seal_in_place(
        &mut self,
        nonce: [u8; 12],
        aad: &[u8],
        out: &mut Vec<u8>,
        from: usize,
    ) -> Option<()> {
        let nonce = Nonce::assume_unique_for_key(nonce);
        let content = out.get_mut(from..)?;
        let key = self.records()?;
        let tag = key.seal_in_place_separate_tag(nonce, Aad::from(aad), content).ok()?;
        debug_assert_eq!(tag.as_ref().len(), TAG);
        out.extend_from_slice(tag.as_ref());
        Some(())
    }
}
