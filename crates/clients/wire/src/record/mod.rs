//! The record layer after the handshake: sealing requests, and opening or counting the records of
//! responses (RFC 8446 section 5, RFC 5246 section 6).

mod aead;
mod block;
mod cbc;
mod header;
mod key_block;
mod protection;

pub use aead::AeadKey;
pub use cbc::CbcKeys;
pub use header::{HEADER, Header, MOST_PLAINTEXT, content_type};
pub(crate) use key_block::hmac_key;
pub use key_block::{Tls12Keys, tls12_keys, tls12_prf};
pub use protection::Protection;

use std::ops::Range;

use header::tls12_aad;

/// What a record held.
#[derive(Debug, PartialEq, Eq)]
pub struct Opened {
    pub content_type: u8,
    /// Where the plaintext is in the record's body.
    pub plaintext: Range<usize>,
}

/// Why a record does not open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    #[error("a record that is not authentic at its sequence number")]
    Unauthentic,
    /// RFC 8446, sections 5.1, 5.2 and 5.4; RFC 5246, section 6.2.
    #[error("a record that holds more than 2^14 bytes")]
    TooLong,
}

impl Opened {
    fn checked(self) -> Result<Self, RecordError> {
        if self.plaintext.len() > MOST_PLAINTEXT { Err(RecordError::TooLong) } else { Ok(self) }
    }
}

/// Opens or counts received records in their order.
pub struct Opener {
    protection: Protection,
    /// The sequence number that the next record must have.
    sequence: u64,
}

impl Opener {
    pub fn new(protection: Protection, sequence: u64) -> Self {
        Self { protection, sequence }
    }

    /// Opens the record with this header in place, as the next in sequence.
    ///
    /// # Errors
    /// It is not authentic there, or too long.
    pub fn open(&mut self, header: Header, body: &mut [u8]) -> Result<Opened, RecordError> {
        if self.is_too_long(header.length) {
            return Err(RecordError::TooLong);
        }
        let opened = self.open_unchecked(header, body);
        opened.ok_or(RecordError::Unauthentic)?.checked()
    }

    fn open_unchecked(&mut self, header: Header, body: &mut [u8]) -> Option<Opened> {
        let sequence = self.next();
        let of_type = |plaintext| Opened { content_type: header.content_type, plaintext };
        match &mut self.protection {
            Protection::Tls13(key) => {
                let nonce = key.nonce(sequence);
                let plaintext = key.open_in_place(nonce, &header.to_bytes(), body, 0)?;
                // The inner content type is the last byte that is not padding.
                let end = body[plaintext.clone()].iter().rposition(|byte| *byte != 0)?;
                Some(Opened {
                    content_type: body[plaintext.start + end],
                    plaintext: plaintext.start..plaintext.start + end,
                })
            }
            Protection::Tls12Gcm(key) => {
                let nonce = key.nonce_with(*body.first_chunk()?);
                let aad = tls12_aad(sequence, header, header.length.checked_sub(8 + 16)?);
                Some(of_type(key.open_in_place(nonce, &aad, body, 8)?))
            }
            Protection::Tls12ChaCha20(key) => {
                let aad = tls12_aad(sequence, header, header.length.checked_sub(16)?);
                Some(of_type(key.open_in_place(key.nonce(sequence), &aad, body, 0)?))
            }
            Protection::Tls12Cbc(keys) => Some(of_type(keys.open(sequence, header, body)?)),
        }
    }

    /// As [`Self::open`], of a record that is not [too long](Self::is_too_long), without computing the MAC where
    /// `is_known` accepts the plaintext, if the suite decrypts before it authenticates.
    pub fn open_known(
        &mut self,
        header: Header,
        body: &mut [u8],
        is_known: impl FnOnce(&[u8]) -> bool,
    ) -> Result<Opened, RecordError> {
        match &self.protection {
            Protection::Tls12Cbc(keys) if keys.decrypts_first() => {
                let plaintext = keys.decrypt_content(body).ok_or(RecordError::Unauthentic)?;
                let is_authentic = is_known(&body[plaintext.clone()])
                    || keys.is_authentic(self.sequence, header, body, plaintext.clone());
                self.next();
                match is_authentic {
                    true => Opened { content_type: header.content_type, plaintext }.checked(),
                    false => Err(RecordError::Unauthentic),
                }
            }
            Protection::Tls12Cbc(_) => self.open(header, body),
            _ => self.open_unchecked(header, body).ok_or(RecordError::Unauthentic),
        }
    }

    /// Whether a record of this length holds too much, its padding in TLS 1.3 included. With CBC its length
    /// does not show that.
    #[inline]
    pub fn is_too_long(&self, length: usize) -> bool {
        self.tail() == 0 && self.most_plaintext(length).is_some_and(|most| most > MOST_PLAINTEXT)
    }

    /// How many bytes of a record's body come before its plaintext; `None` where the beginning
    /// cannot be decrypted without the rest.
    #[inline]
    pub fn before_plaintext(&self) -> Option<usize> {
        match &self.protection {
            Protection::Tls13(key) => key.can_peek().then_some(0),
            Protection::Tls12Gcm(key) => key.can_peek().then_some(8),
            Protection::Tls12ChaCha20(_) => None,
            Protection::Tls12Cbc(_) => Some(cbc::IV),
        }
    }

    /// Decrypts the beginning of the next record's body without authenticating it:
    /// [`Self::before_plaintext`] bytes and then whole blocks of 16.
    #[inline]
    pub fn peek(&mut self, beginning: &[u8]) -> Option<Vec<u8>> {
        let sequence = self.sequence;
        match &mut self.protection {
            Protection::Tls13(key) => key.peek(key.nonce(sequence), beginning),
            Protection::Tls12Gcm(key) => {
                let (explicit, sealed) = beginning.split_first_chunk()?;
                key.peek(key.nonce_with(*explicit), sealed)
            }
            Protection::Tls12ChaCha20(_) => None,
            Protection::Tls12Cbc(keys) => Some(keys.peek(beginning)),
        }
    }

    /// Whether the records are those of TLS 1.3.
    pub(crate) fn is_tls13(&self) -> bool {
        matches!(self.protection, Protection::Tls13(_))
    }

    /// Counts a record that is dropped unopened.
    #[inline]
    pub fn pass(&mut self) {
        self.next();
    }

    /// The most plaintext that a record of this length can hold; `None` where none can be that
    /// short.
    #[inline]
    pub fn most_plaintext(&self, length: usize) -> Option<usize> {
        match &self.protection {
            Protection::Tls13(_) => length.checked_sub(16 + 1),
            Protection::Tls12Gcm(_) => length.checked_sub(8 + 16),
            Protection::Tls12ChaCha20(_) => length.checked_sub(16),
            Protection::Tls12Cbc(keys) => keys.most_plaintext(length),
        }
    }

    /// How many bytes at a record's end are needed to know its length of plaintext, where the
    /// record's length is not enough (CBC's padding).
    #[inline]
    pub fn tail(&self) -> usize {
        match &self.protection {
            Protection::Tls12Cbc(keys) => keys.tail(),
            _ => 0,
        }
    }

    /// The length of the plaintext of a record of this length, unauthenticated, from its last
    /// [`Self::tail`] bytes; `None` where its padding is impossible.
    #[inline]
    pub fn plaintext_by_tail(&self, length: usize, tail: &[u8]) -> Option<usize> {
        match &self.protection {
            Protection::Tls12Cbc(keys) => keys.plaintext_by_tail(length, tail),
            _ => self.most_plaintext(length),
        }
    }

    #[inline]
    fn next(&mut self) -> u64 {
        let sequence = self.sequence;
        self.sequence += 1;
        sequence
    }
}

/// Seals requests.
pub struct Sealer {
    protection: Protection,
    sequence: u64,
}

impl Sealer {
    pub fn new(protection: Protection, sequence: u64) -> Self {
        Self { protection, sequence }
    }

    /// Appends `content`, which fits into one record, as a record to `out`; `None` where the
    /// library refuses, which cannot happen with a content that fits.
    pub fn seal(&mut self, content_type: u8, content: &[u8], out: &mut Vec<u8>) -> Option<()> {
        let sequence = self.sequence;
        self.sequence += 1;
        let (key, explicit) = match &mut self.protection {
            Protection::Tls13(key) => {
                let (outer, length) = (content_type::APPLICATION_DATA, content.len() + 1 + 16);
                let header = Header { content_type: outer, length }.to_bytes();
                out.extend_from_slice(&header);
                let start = out.len();
                out.extend_from_slice(content);
                out.push(content_type);
                return key.seal_in_place(key.nonce(sequence), &header, out, start);
            }
            Protection::Tls12Gcm(key) => (key, 8),
            Protection::Tls12ChaCha20(key) => (key, 0),
            Protection::Tls12Cbc(keys) => return keys.seal(sequence, content_type, content, out),
        };
        let nonce = key.nonce(sequence);
        let header = Header { content_type, length: explicit + content.len() + 16 };
        out.extend_from_slice(&header.to_bytes());
        out.extend_from_slice(&nonce[4..4 + explicit]);
        let start = out.len();
        out.extend_from_slice(content);
        key.seal_in_place(nonce, &tls12_aad(sequence, header, content.len()), out, start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tls::{SUITES, Version};

    /// Both directions of one suite of TLS 1.2, or AES-128-GCM as in TLS 1.3.
    fn pair(suite: &'static tls::Suite, encrypt_then_mac: bool) -> (Sealer, Opener) {
        if suite.version() == Version::Tls13 {
            let key = || {
                let (length, fill) =
                    if suite.cipher == tls::Cipher::Aes128Gcm { (16, 7) } else { (32, 9) };
                AeadKey::new(suite.cipher, &vec![fill; length], &[3; 12]).unwrap()
            };
            return (
                Sealer::new(Protection::Tls13(key()), 5),
                Opener::new(Protection::Tls13(key()), 5),
            );
        }
        let protection =
            || tls12_keys(suite, encrypt_then_mac, &[1; 48], &[2; 32], &[3; 32]).unwrap().server;
        (Sealer::new(protection(), 5), Opener::new(protection(), 5))
    }

    fn each_suite(check: impl Fn(&'static tls::Suite, bool)) {
        for suite in SUITES {
            check(suite, false);
            if suite.mac != tls::Mac::Aead {
                check(suite, true);
            }
        }
    }

    #[test]
    fn every_suite_opens_what_it_sealed_and_knows_its_length() {
        each_suite(|suite, etm| {
            for size in [0, 1, 15, 16, 17, 100, 16_384] {
                let (mut sealer, mut opener) = pair(suite, etm);
                let content: Vec<u8> = (0..size).map(|i| i as u8).collect();
                let mut record = Vec::new();
                sealer.seal(content_type::APPLICATION_DATA, &content, &mut record).unwrap();
                let header = Header::parse(record[..HEADER].try_into().unwrap()).unwrap();
                let body = &mut record[HEADER..];
                assert_eq!(header.length, body.len());
                assert!(opener.most_plaintext(header.length).unwrap() >= size, "{suite} {size}");
                let tail = &body[body.len() - opener.tail()..];
                assert_eq!(
                    opener.plaintext_by_tail(header.length, tail),
                    Some(size),
                    "{suite} {size}"
                );
                let opened = opener.open(header, body).unwrap();
                assert_eq!(opened.content_type, content_type::APPLICATION_DATA);
                assert_eq!(&body[opened.plaintext], content);
            }
        });
    }

    #[test]
    fn the_beginning_of_a_record_can_be_decrypted_alone() {
        each_suite(|suite, etm| {
            let (mut sealer, mut opener) = pair(suite, etm);
            let content: Vec<u8> = (0..1000).map(|i| i as u8).collect();
            for _ in 0..2 {
                let mut record = Vec::new();
                sealer.seal(content_type::APPLICATION_DATA, &content, &mut record).unwrap();
                let Some(before) = opener.before_plaintext() else {
                    assert_eq!(suite.cipher, tls::Cipher::ChaCha20Poly1305);
                    return;
                };
                for length in [16, 160, 256] {
                    let beginning = &record[HEADER..HEADER + before + length];
                    assert_eq!(opener.peek(beginning).unwrap(), content[..length], "{suite}");
                }
                opener.pass();
            }
        });
    }

    #[test]
    fn a_record_out_of_sequence_or_with_a_changed_byte_does_not_open() {
        each_suite(|suite, etm| {
            let (mut sealer, mut opener) = pair(suite, etm);
            let mut record = Vec::new();
            sealer.seal(content_type::APPLICATION_DATA, b"0123456789", &mut record).unwrap();
            let header = Header::parse(record[..HEADER].try_into().unwrap()).unwrap();
            opener.pass();
            assert!(opener.open(header, &mut record[HEADER..].to_vec()).is_err(), "{suite}");
            for at in HEADER..record.len() {
                let (_, mut opener) = pair(suite, etm);
                let mut damaged = record[HEADER..].to_vec();
                damaged[at - HEADER] ^= 0x40;
                assert!(opener.open(header, &mut damaged).is_err(), "{suite} byte {at}");
            }
        });
    }

    #[test]
    fn headers_of_other_protocols_are_none() {
        assert_eq!(Header::parse(*b"HTTP/"), None);
        assert_eq!(Header::parse([23, 3, 3, 0xff, 0xff]), None);
        assert_eq!(Header::parse([23, 3, 1, 0, 1]), None);
        assert_eq!(Header::parse([23, 3, 3, 1, 0]), Some(Header { content_type: 23, length: 256 }));
    }

    proptest! {
        #[test]
        fn the_opener_never_panics(
            which in 0..SUITES.len(),
            etm: bool,
            mut body in proptest::collection::vec(any::<u8>(), 0..200),
        ) {
            let suite = &SUITES[which];
            let (_, mut opener) = pair(suite, etm && suite.mac != tls::Mac::Aead);
            let header = Header { content_type: 23, length: body.len() };
            if body.len() >= opener.tail() {
                let _ = opener.plaintext_by_tail(body.len(), &body[body.len() - opener.tail()..]);
            }
            prop_assert!(opener.open(header, &mut body).is_err());
        }
    }
}
