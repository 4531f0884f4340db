//! The hash of all handshake messages of both sides (RFC 8446, section 4.4.1; RFC 5246, section
//! 7.4.9).

use openssl::sha::{Sha256, Sha384};
use tls::PrfHash;

use super::numbers::kind;

/// The output of the longest hash here.
pub(super) const LONGEST: usize = 48;

/// The output of a hash.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Hashed {
    pub(super) bytes: [u8; LONGEST],
    /// At most [`LONGEST`].
    pub(super) length: usize,
}

impl Hashed {
    /// The first `length` bytes, or all if there are fewer.
    pub(super) fn cut(self, length: usize) -> Self {
        Self { length: length.min(self.length), ..self }
    }
}

impl AsRef<[u8]> for Hashed {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl From<&[u8]> for Hashed {
    /// From a hash's output, which is at most [`LONGEST`] bytes long.
    fn from(output: &[u8]) -> Self {
        let mut bytes = [0; LONGEST];
        let length = output.len().min(LONGEST);
        bytes[..length].copy_from_slice(&output[..length]);
        Self { bytes, length }
    }
}

/// The hash of all handshake messages so far, by OpenSSL: RustCrypto takes a third more instructions for
/// SHA-384, and more than twice as many for SHA-256 where a processor has none of its own.
#[derive(Clone)]
pub(super) enum Transcript {
    Sha256(Sha256),
    Sha384(Sha384),
}

impl Transcript {
    pub(super) fn new(hash: PrfHash) -> Self {
        match hash {
            PrfHash::Sha256 => Self::Sha256(Sha256::new()),
            PrfHash::Sha384 => Self::Sha384(Sha384::new()),
        }
    }

    pub(super) fn add(&mut self, messages: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(messages),
            Self::Sha384(hash) => hash.update(messages),
        }
    }

    pub(super) fn hash(&self) -> Hashed {
        self.clone().finish()
    }

    pub(super) fn finish(self) -> Hashed {
        match self {
            Self::Sha256(hash) => Hashed::from(&hash.finish()[..]),
            Self::Sha384(hash) => Hashed::from(&hash.finish()[..]),
        }
    }

    /// After a HelloRetryRequest the transcript has the hash of the first ClientHello in its place
    /// (RFC 8446, section 4.4.1).
    pub(super) fn replaced_by_its_hash(&self, hash: PrfHash) -> Self {
        let digest = self.hash();
        let mut replaced = Self::new(hash);
        replaced.add(&[kind::MESSAGE_HASH, 0, 0, digest.length as u8]);
        replaced.add(digest.as_ref());
        replaced
    }
}
