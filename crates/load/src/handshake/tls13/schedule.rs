//! The key schedule of TLS 1.3 without a pre-shared key (RFC 8446, section 7.1).
//!
//! Secrets are kept as keys of HMACs, because all of them are used as such.

use tls::{PrfHash, Suite};

use super::mac::MacKey;
use crate::handshake::transcript::{Hashed, LONGEST, Transcript};
use crate::record::{AeadKey, Protection};

/// A secret as the key of an HMAC.
#[derive(Clone, Copy)]
pub(super) struct Secret(MacKey);

impl Secret {
    /// HKDF-Extract, with this secret as the salt (RFC 5869, section 2.2).
    fn extract(&self, keying_material: &[u8]) -> Self {
        Self(MacKey::new(self.0.hash(), &self.0.sign(keying_material)))
    }

    /// HKDF-Expand-Label, up to the hash's length.
    fn expand(&self, label: &[u8], context: &[u8], length: usize) -> Hashed {
        const PREFIX: &[u8] = b"tls13 ";
        // Two lengths, the longest label and context, and HKDF's counter (RFC 5869, section 2.3).
        let mut info = [0; 2 + 1 + 6 + 12 + 1 + LONGEST + 1];
        let mut end = 0;
        let parts = [
            &(length as u16).to_be_bytes()[..],
            &[(PREFIX.len() + label.len()) as u8],
            PREFIX,
            label,
            &[context.len() as u8],
            context,
            &[1],
        ];
        for part in parts {
            info[end..end + part.len()].copy_from_slice(part);
            end += part.len();
        }
        self.0.sign(&info[..end]).cut(length)
    }

    /// Derive-Secret, ready to be expanded.
    fn derive(&self, label: &[u8], transcript: &Hashed) -> Self {
        let derived = self.expand(label, transcript.as_ref(), transcript.length());
        Self(MacKey::new(self.0.hash(), &derived))
    }

    /// The protection of the records of one direction (RFC 8446, section 7.3).
    pub(super) fn protection(&self, suite: &Suite) -> Option<Protection> {
        let key = self.expand(b"key", &[], AeadKey::length(suite.cipher)?);
        let iv = self.expand(b"iv", &[], 12);
        let iv = iv.as_ref().try_into().ok()?;
        AeadKey::new(suite.cipher, key.as_ref(), iv).map(Protection::Tls13)
    }

    /// The secret that follows this one after a KeyUpdate (RFC 8446, section 7.2).
    pub(super) fn next(&self) -> Self {
        let hash = self.0.hash();
        let length = match hash {
            PrfHash::Sha256 => 32,
            PrfHash::Sha384 => 48,
        };
        Self(MacKey::new(hash, &self.expand(b"traffic upd", &[], length)))
    }

    /// The content of a Finished message (RFC 8446, section 4.4.4).
    pub(super) fn finished(&self, transcript: &Hashed) -> Hashed {
        let key = self.expand(b"finished", &[], transcript.length());
        MacKey::new(self.0.hash(), &key).sign(transcript.as_ref())
    }
}

/// What all handshakes with one hash share.
pub(super) struct Beginning {
    /// The salt of the handshake secret, derived from the early secret.
    salt: Secret,
    nothing: Hashed,
}

impl Beginning {
    pub(super) fn new(hash: PrfHash) -> Self {
        let nothing = Transcript::new(hash).hash();
        let zeros = Hashed::from(&[0; LONGEST][..nothing.length()]);
        // There is no pre-shared key, and no salt.
        let early = Secret(MacKey::new(hash, &zeros)).extract(zeros.as_ref());
        Self { salt: early.derive(b"derived", &nothing), nothing }
    }

    /// The handshake's secrets, from the shared secret of the key exchange and the transcript to
    /// ServerHello.
    pub(super) fn handshake(&self, shared: &[u8], hello: &Hashed) -> Handshake {
        let secret = self.salt.extract(shared);
        Handshake {
            client: secret.derive(b"c hs traffic", hello),
            server: secret.derive(b"s hs traffic", hello),
            salt: secret.derive(b"derived", &self.nothing),
        }
    }
}

/// The secrets of a handshake under way.
pub(super) struct Handshake {
    pub(super) client: Secret,
    pub(super) server: Secret,
    salt: Secret,
}

impl Handshake {
    /// Client's and server's secret for application data, from the transcript to the server's
    /// Finished.
    pub(super) fn application(&self, finished: &Hashed) -> (Secret, Secret) {
        let master = self.salt.extract(&[0; LONGEST][..finished.length()]);
        (master.derive(b"c ap traffic", finished), master.derive(b"s ap traffic", finished))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hex::bytes;

    /// The values of RFC 8448, section 3.
    #[test]
    fn the_published_handshake_gives_the_published_keys() {
        let shared = bytes("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d");
        let hello = bytes("860c06edc07858ee8e78f0e7428c58edd6b43f2ca3e6e95f02ed063cf0e1cad8");
        let beginning = Beginning::new(PrfHash::Sha256);
        let handshake = beginning.handshake(&shared, &Hashed::from(&hello[..]));
        let key = |secret: &Secret| secret.expand(b"key", &[], 16).as_ref().to_vec();
        let iv = |secret: &Secret| secret.expand(b"iv", &[], 12).as_ref().to_vec();
        assert_eq!(key(&handshake.server), bytes("3fce516009c21727d0f2e4e86ee403bc"));
        assert_eq!(iv(&handshake.server), bytes("5d313eb2671276ee13000b30"));
        assert_eq!(key(&handshake.client), bytes("dbfaa693d1762c5b666af5d950258d01"));
        assert_eq!(iv(&handshake.client), bytes("5bd3c71b836e0b76bb73265f"));

        let finished = bytes("9608102a0f1ccc6db6250b7b7e417b1a000eaada3daae4777a7686c9ff83df13");
        let (client, server) = handshake.application(&Hashed::from(&finished[..]));
        assert_eq!(key(&server), bytes("9f02283b6c9c07efc26bb9f2ac92e356"));
        assert_eq!(iv(&server), bytes("cf782b88dd83549aadf1e984"));
        assert_eq!(key(&client), bytes("17422dda596ed5d9acd890e3c63f5051"));
        assert_eq!(iv(&client), bytes("5b78923dee08579033e523d9"));
    }
}
