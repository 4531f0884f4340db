//! Two other libraries, which must also agree with each other.

use multibuffer::{Algorithm, Sha1, Sha256, Sha512};
use sha2::Digest as _;

pub trait Reference: Algorithm {
    /// The digest, from RustCrypto and ring.
    fn digest_of(message: &[u8]) -> Vec<u8>;
}

macro_rules! reference {
    ($algorithm:ident: $rust_crypto:ty, $ring:ident) => {
        impl Reference for $algorithm {
            fn digest_of(message: &[u8]) -> Vec<u8> {
                let digest = <$rust_crypto>::digest(message).to_vec();
                assert_eq!(ring::digest::digest(&ring::digest::$ring, message).as_ref(), digest);
                digest
            }
        }
    };
}

reference!(Sha1: sha1::Sha1, SHA1_FOR_LEGACY_USE_ONLY);
reference!(Sha256: sha2::Sha256, SHA256);
reference!(Sha512: sha2::Sha512, SHA512);

/// Bytes that differ between messages and have a long period.
pub fn message(seed: usize, bytes: usize) -> Vec<u8> {
    let mut state = seed as u64 + 1;
    let next = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(bytes).collect()
}
