//! The part of the key schedule that is the same in all handshakes with one suite, and the messages of
//! its HMACs (RFC 8446, section 7.1).

use ring::hmac;
use tls::{Cipher, Suite};

use super::mac::{MacKey, message};
use super::state::State;
use crate::handshake::transcript::{Hashed, LONGEST, Transcript};
use crate::record::{AeadKey, Protection, hmac_key};

/// Length of the static part of a nonce.
const IV: usize = 12;

/// Messages of HMACs that do not depend on a handshake.
pub(super) struct Constants<S: State> {
    cipher: Cipher,
    /// Length of a key.
    length: usize,
    /// The salt of the handshake secret, derived from the early secret. A shared secret may be longer than a
    /// block.
    pub(super) salt: hmac::Key,
    pub(super) derived: S::Block,
    pub(super) key: S::Block,
    pub(super) iv: S::Block,
    pub(super) finished: S::Block,
    updated: S::Block,
    pub(super) zeros: S::Block,
}

/// The message of an HMAC for HKDF-Expand-Label, up to the hash's length (RFC 5869, section 2.3).
pub(super) fn expanding<S: State>(label: &[u8], context: &[u8], length: usize) -> S::Block {
    const PREFIX: &[u8] = b"tls13 ";
    message::<S>(&[
        &(length as u16).to_be_bytes(),
        &[(PREFIX.len() + label.len()) as u8],
        PREFIX,
        label,
        &[context.len() as u8],
        context,
        // HKDF's counter.
        &[1],
    ])
}

/// What protects the records of one direction (RFC 8446, section 7.3).
pub(super) struct TrafficKey {
    cipher: Cipher,
    pub(super) key: Hashed,
    pub(super) iv: Hashed,
}

impl TrafficKey {
    /// `None` where a library refuses the key, which cannot happen with keys of the right length.
    pub(super) fn protection(&self) -> Option<Protection> {
        let iv = self.iv.as_ref().try_into().ok()?;
        AeadKey::new(self.cipher, self.key.as_ref(), iv).map(Protection::Tls13)
    }
}

impl<S: State> Constants<S> {
    /// `None` where the suite is not one of TLS 1.3.
    pub(super) fn new(suite: &Suite) -> Option<Self> {
        let nothing = Transcript::new(suite.prf).hash();
        let zeros = Hashed::from(&[0; LONGEST][..S::OUTPUT]);
        let derived = expanding::<S>(b"derived", nothing.as_ref(), S::OUTPUT);
        // There is no pre-shared key, and no salt.
        let no_salt = MacKey::<S>::new(zeros);
        let zeros = message::<S>(&[zeros.as_ref()]);
        let [early] = MacKey::sign_all([(&no_salt, &zeros)]);
        let early = MacKey::<S>::new(early);
        let [salt] = MacKey::sign_all([(&early, &derived)]);
        let length = AeadKey::length(suite.cipher)?;
        Some(Self {
            cipher: suite.cipher,
            length,
            salt: hmac_key(suite.prf, salt.as_ref()),
            derived,
            key: expanding::<S>(b"key", &[], length),
            iv: expanding::<S>(b"iv", &[], IV),
            finished: expanding::<S>(b"finished", &[], S::OUTPUT),
            updated: expanding::<S>(b"traffic upd", &[], S::OUTPUT),
            zeros,
        })
    }

    /// The key of outputs for the messages `key` and `iv`.
    pub(super) fn traffic_key(&self, key: Hashed, iv: Hashed) -> TrafficKey {
        TrafficKey { cipher: self.cipher, key: key.cut(self.length), iv: iv.cut(IV) }
    }

    /// The secret that follows this one after a KeyUpdate (RFC 8446, section 7.2), and its key.
    pub(super) fn next(&self, secret: &MacKey<S>) -> (MacKey<S>, TrafficKey) {
        let [next] = MacKey::sign_all([(secret, &self.updated)]);
        let next = MacKey::<S>::new(next);
        let [key, iv] = MacKey::sign_all([(&next, &self.key), (&next, &self.iv)]);
        (next, self.traffic_key(key, iv))
    }
}
