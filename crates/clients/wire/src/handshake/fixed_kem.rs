//! Groups with ML-KEM at almost no cost for the client: the method of `fixed_group` for both of their parts.
//!
//! An encapsulation key of ML-KEM (FIPS 203) is a vector t and a seed. The server draws a message,
//! adds noise and the inner product of t and its own secret, and sends the sum v. Where t is zero,
//! v is the message with noise, which anyone can read. The server's computation is the same. So the
//! client sends t = 0 and the base point of the other part, and needs neither a key pair nor a
//! decapsulation.
//!
//! Shares are those of draft-ietf-tls-ecdhe-mlkem: ML-KEM's part first with X25519, and last with P-256.

use std::sync::LazyLock;

use rustls::crypto::{ActiveKeyExchange, SharedSecret, SupportedKxGroup};
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use sha3::{Digest, Sha3_256, Sha3_512};

use super::fixed_group::{FixedGroup, SECP256R1, X25519};

/// What parameters of ML-KEM are like (FIPS 203, tables 2 and 3).
#[derive(Debug)]
struct Kem {
    /// Bytes of an encapsulation key: t and the seed.
    key: usize,
    /// Bytes of a ciphertext: u, then v.
    ciphertext: usize,
    /// Bits of a coefficient in v.
    bits: usize,
}

static ML_KEM_768: Kem = Kem { key: 3 * 384 + 32, ciphertext: 3 * 320 + 128, bits: 4 };
static ML_KEM_1024: Kem = Kem { key: 4 * 384 + 32, ciphertext: 4 * 352 + 160, bits: 5 };

/// The group beside ML-KEM in a share, and on which side of it.
#[derive(Debug, Clone, Copy)]
enum Beside {
    Nothing,
    First(&'static FixedGroup),
    Last(&'static FixedGroup),
}

/// A group with a share that is always the same.
#[derive(Debug, Clone, Copy)]
pub(super) struct FixedKem(&'static Parts);

#[derive(Debug)]
struct Parts {
    name: NamedGroup,
    kem: &'static Kem,
    beside: Beside,
    prepared: LazyLock<Prepared>,
}

/// What follows from the rest.
#[derive(Debug)]
struct Prepared {
    share: Vec<u8>,
    /// H(ek) of FIPS 203, section 6.2, which goes into every shared secret.
    key_hash: [u8; 32],
}

/// A group of these parts.
macro_rules! group {
    ($group:ident, $name:ident, $kem:ident, $beside:expr) => {
        pub(super) static $group: FixedKem = {
            static PARTS: Parts = Parts {
                name: NamedGroup::$name,
                kem: &$kem,
                beside: $beside,
                prepared: LazyLock::new(|| Prepared::of(&PARTS)),
            };
            FixedKem(&PARTS)
        };
    };
}

group!(X25519MLKEM768, X25519MLKEM768, ML_KEM_768, Beside::Last(&X25519));
group!(SECP256R1MLKEM768, secp256r1MLKEM768, ML_KEM_768, Beside::First(&SECP256R1));
group!(MLKEM1024, MLKEM1024, ML_KEM_1024, Beside::Nothing);

impl Prepared {
    fn of(parts: &Parts) -> Self {
        let key = vec![0; parts.kem.key];
        let key_hash = Sha3_256::digest(&key).into();
        let share = match parts.beside {
            Beside::Nothing => key,
            Beside::First(group) => [group.base_point, &key].concat(),
            Beside::Last(group) => [&key, group.base_point].concat(),
        };
        Self { share, key_hash }
    }
}

impl FixedKem {
    /// The shared secret with a server's share; `None` where that has another length.
    pub(super) fn shared(&self, share: &[u8]) -> Option<Vec<u8>> {
        let Parts { kem, beside, prepared, .. } = self.0;
        let (ciphertext, group, point) = match *beside {
            Beside::Nothing => (share, None, &[][..]),
            Beside::Last(group) => {
                let (ciphertext, point) = share.split_at_checked(kem.ciphertext)?;
                (ciphertext, Some(group), point)
            }
            Beside::First(group) => {
                let (point, ciphertext) = share.split_at_checked(group.base_point.len())?;
                (ciphertext, Some(group), point)
            }
        };
        if ciphertext.len() != kem.ciphertext {
            return None;
        }
        let message = message(&ciphertext[kem.ciphertext - 256 * kem.bits / 8..], kem.bits);
        let hash = prepared.key_hash;
        let hashed = Sha3_512::new().chain_update(message).chain_update(hash).finalize();
        let secret = &hashed[..32];
        let Some(group) = group else { return Some(secret.to_vec()) };
        let other = group.shared(point)?;
        Some(match beside {
            Beside::First(_) => [other, secret].concat(),
            _ => [secret, other].concat(),
        })
    }
}

/// The message in v. Each coefficient is given by its highest bits: near 0 means 0, near half the modulus
/// means 1 (FIPS 203, algorithm 15).
fn message(v: &[u8], bits: usize) -> [u8; 32] {
    let mut message = [0; 32];
    let values = 1_u64 << bits;
    // Rounded, a quarter and three quarters of the modulus are those of 0.
    let ones = values / 4 + 1..3 * values / 4;
    for (byte, eight) in message.iter_mut().zip(v.chunks_exact(bits)) {
        let mut word = eight.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        for place in 0..8 {
            *byte |= u8::from(ones.contains(&(word & (values - 1)))) << place;
            word >>= bits;
        }
    }
    message
}

impl SupportedKxGroup for FixedKem {
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        Ok(Box::new(*self))
    }

    fn name(&self) -> NamedGroup {
        self.0.name
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

impl ActiveKeyExchange for FixedKem {
    fn complete(self: Box<Self>, peer_pub_key: &[u8]) -> Result<SharedSecret, Error> {
        Ok(self.shared(peer_pub_key).ok_or(PeerMisbehaved::InvalidKeyShare)?.into())
    }

    fn pub_key(&self) -> &[u8] {
        &self.0.prepared.share
    }

    fn group(&self) -> NamedGroup {
        self.0.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_read_in_their_order() {
        let mut v = [0; 128];
        v[0] = 0x80;
        v[5] = 0x08;
        v[127] = 0x88;
        let mut expected = [0; 32];
        (expected[0], expected[1], expected[31]) = (0b10, 0b100, 0b1100_0000);
        assert_eq!(message(&v, 4), expected);
        // With noise on either side.
        assert_eq!(message(&[0x79; 128], 4), [0xff; 32]);
        assert_eq!(message(&[0x1f; 128], 4), [0; 32]);
        // Coefficients of five bits: 16 is half the modulus.
        let mut v = [0; 160];
        (v[0], v[4], v[159]) = (0b1_0000, 0b1000_0000, 0b1000_0000);
        let mut expected = [0; 32];
        (expected[0], expected[31]) = (0b1000_0001, 0b1000_0000);
        assert_eq!(message(&v, 5), expected);
    }

    #[test]
    fn shares_of_another_length_are_refused() {
        for (group, right) in
            [(&X25519MLKEM768, 1088 + 32), (&SECP256R1MLKEM768, 65 + 1088), (&MLKEM1024, 1568)]
        {
            for length in [0, 32, 65, 1088, right - 1, right + 1] {
                let exchange = group.start().unwrap();
                assert!(exchange.complete(&vec![4; length]).is_err(), "{length}");
            }
            assert!(group.start().unwrap().complete(&vec![4; right]).is_ok());
            assert!(!group.usable_for_version(ProtocolVersion::TLSv1_2));
        }
    }
}
