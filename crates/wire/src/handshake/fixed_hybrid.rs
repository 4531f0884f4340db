//! X25519MLKEM768 at almost no cost for the client: the method of `fixed_group` for both halves.
//!
//! An encapsulation key of ML-KEM (FIPS 203) is a vector t and a seed. The server draws a message,
//! adds noise and the inner product of t and its own secret, and sends the sum v. Where t is zero,
//! v is the message with noise, which anyone can read. The server's computation is the same. So the
//! client sends t = 0 and the base point of X25519, and needs neither a key pair nor a
//! decapsulation.
//!
//! Shares are those of draft-ietf-tls-ecdhe-mlkem: first ML-KEM's part, then X25519's.

use std::sync::LazyLock;

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use sha3::{Digest, Sha3_256, Sha3_512};

/// FIPS 203, table 3: t and the seed.
const ENCAPSULATION_KEY: usize = 3 * 384 + 32;
/// The same: u in 10 bits a coefficient, then v in 4 bits.
const CIPHERTEXT: usize = 3 * 320 + V;
const V: usize = 128;
const X25519: usize = 32;

/// X25519MLKEM768 with a share that is always the same.
#[derive(Debug)]
pub(super) struct FixedHybrid;

static SHARE: LazyLock<[u8; ENCAPSULATION_KEY + X25519]> = LazyLock::new(|| {
    let mut share = [0; ENCAPSULATION_KEY + X25519];
    // RFC 7748, section 4.1.
    share[ENCAPSULATION_KEY] = 9;
    share
});

/// H(ek) of FIPS 203, section 6.2, which goes into every shared secret.
static KEY_HASH: LazyLock<[u8; 32]> =
    LazyLock::new(|| Sha3_256::digest(&SHARE[..ENCAPSULATION_KEY]).into());

impl SupportedKxGroup for FixedHybrid {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(FixedExchange))
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

struct FixedExchange;

impl ActiveKeyExchange for FixedExchange {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Ok(shared(peer_pub_key).ok_or(PeerMisbehaved::InvalidKeyShare)?.into())
    }

    fn pub_key(&self) -> &[u8] {
        &*SHARE
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

/// The shared secret with a server's share; `None` where that has another length.
pub(super) fn shared(share: &[u8]) -> Option<Vec<u8>> {
    let (ciphertext, point) = share.split_first_chunk::<CIPHERTEXT>()?;
    let message = message(&ciphertext[CIPHERTEXT - V..]);
    let hashed = Sha3_512::new().chain_update(message).chain_update(*KEY_HASH).finalize();
    (point.len() == X25519).then(|| [&hashed[..32], point].concat())
}

/// The message in v. Each coefficient is given by its four highest bits: near 0 means 0, near half
/// the modulus means 1 (FIPS 203, algorithm 15).
fn message(v: &[u8]) -> [u8; V / 4] {
    let mut message = [0; V / 4];
    for (i, byte) in v.iter().enumerate() {
        for (half, coefficient) in [byte & 15, byte >> 4].into_iter().enumerate() {
            let bit = u8::from((5..12).contains(&coefficient));
            message[i / 4] |= bit << (2 * (i % 4) + half);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_in_their_order() {
        let mut v = [0; V];
        v[0] = 0x80;
        v[5] = 0x08;
        v[V - 1] = 0x88;
        let mut expected = [0; 32];
        (expected[0], expected[1], expected[31]) = (0b10, 0b100, 0b1100_0000);
        assert_eq!(message(&v), expected);
        // With noise on either side.
        assert_eq!(message(&[0x79; V]), [0xff; 32]);
        assert_eq!(message(&[0x1f; V]), [0; 32]);
    }

    #[test]
    fn shares_of_another_length_are_refused() {
        for length in [0, X25519, CIPHERTEXT, CIPHERTEXT + X25519 - 1, CIPHERTEXT + X25519 + 1] {
            assert!(FixedHybrid.start().unwrap().complete(&vec![4; length]).is_err(), "{length}");
        }
        assert!(!FixedHybrid.usable_for_version(ProtocolVersion::TLSv1_2));
    }
}
