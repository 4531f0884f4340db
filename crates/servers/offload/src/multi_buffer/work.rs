//! What Intel's library is asked for.

use std::mem;
use std::sync::Arc;

use counters::KeyUse;
use crypto_mb::{CryptoMb, Curve, Ecdsa, RsaOperation, Scalar, X25519};
use zeroize::Zeroizing;

/// The result of an operation; none where OpenSSL is to do it. A signature of ECDSA is its two numbers, each
/// as long as the curve has bytes.
pub(crate) type Answer = Option<Zeroizing<Vec<u8>>>;

/// A private key of X25519.
pub(crate) type X25519Secret = Zeroizing<[u8; 32]>;

/// Operations of one class share a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// With keys of this length in bits.
    Rsa(u32),
    Ecdsa(Curve),
    X25519,
    Ecdh(Curve),
    X25519Key,
    EcdhKey(Curve),
}

impl Class {
    /// What its operations are for.
    pub(crate) fn uses(self) -> &'static [KeyUse] {
        match self {
            Self::Rsa(_) => &[KeyUse::RsaDecrypt, KeyUse::RsaSign],
            Self::Ecdsa(_) => &[KeyUse::EcdsaSign],
            Self::X25519 => &[KeyUse::X25519Derive],
            Self::Ecdh(_) => &[KeyUse::EcdhDerive],
            Self::X25519Key => &[KeyUse::X25519Key],
            Self::EcdhKey(_) => &[KeyUse::EcdhKey],
        }
    }
}

/// An operation with a private key.
pub(crate) enum Work {
    Rsa {
        of: KeyUse,
        operation: RsaOperation,
    },
    Ecdsa {
        key: Arc<Scalar>,
        /// As many bytes as the curve has.
        digest: Vec<u8>,
    },
    X25519 {
        secret: Arc<X25519Secret>,
        peer: [u8; 32],
    },
    Ecdh {
        secret: Arc<Scalar>,
        /// A point of the curve, uncompressed, without its first byte.
        peer: Vec<u8>,
    },
}

impl Work {
    pub(crate) fn class(&self) -> Class {
        match self {
            Self::Rsa { operation, .. } => Class::Rsa(operation.bits()),
            Self::Ecdsa { key, .. } => Class::Ecdsa(key.curve()),
            Self::X25519 { .. } => Class::X25519,
            Self::Ecdh { secret, .. } => Class::Ecdh(secret.curve()),
        }
    }

    pub(crate) fn key_use(&self) -> KeyUse {
        match self {
            Self::Rsa { of, .. } => *of,
            Self::Ecdsa { .. } => KeyUse::EcdsaSign,
            Self::X25519 { .. } => KeyUse::X25519Derive,
            Self::Ecdh { .. } => KeyUse::EcdhDerive,
        }
    }
}

/// Computes operations of one class, at most as many as there are lanes.
pub(crate) fn compute(library: &CryptoMb, class: Class, batch: Vec<Work>) -> Vec<Answer> {
    let count = batch.len();
    match class {
        Class::Rsa(_) => {
            let operation = |work| match work {
                Work::Rsa { operation, .. } => Some(operation),
                _ => None,
            };
            let mut operations: Vec<_> = batch.into_iter().filter_map(operation).collect();
            let outcomes = library.rsa_private(&mut operations);
            let outcomes = operations.iter_mut().zip(outcomes);
            outcomes.map(|(one, done)| done.ok().map(|()| mem::take(&mut one.output))).collect()
        }
        Class::Ecdsa(curve) => {
            let operations = batch.iter().filter_map(|work| match work {
                Work::Ecdsa { key, digest } => Some(Ecdsa { key, digest }),
                _ => None,
            });
            let operations: Vec<_> = operations.collect();
            let Ok(signatures) = library.ecdsa_sign(curve, &operations) else {
                // There are no random numbers.
                return (0..count).map(|_| None).collect();
            };
            let signature = signatures.into_iter().map(Result::ok);
            signature.map(|made| made.map(|it| Zeroizing::new([it.r, it.s].concat()))).collect()
        }
        Class::X25519 => {
            let operations = batch.iter().filter_map(|work| match work {
                Work::X25519 { secret, peer } => Some(X25519 { secret, peer }),
                _ => None,
            });
            let operations: Vec<_> = operations.collect();
            library.x25519(&operations).into_iter().map(Result::ok).collect()
        }
        Class::Ecdh(curve) => {
            let operations = batch.iter().filter_map(|work| match work {
                Work::Ecdh { secret, peer } => Some((&**secret, peer.as_slice())),
                _ => None,
            });
            let operations: Vec<_> = operations.collect();
            library.ecdh(curve, &operations).into_iter().map(Result::ok).collect()
        }
        // Those are made in advance.
        Class::X25519Key | Class::EcdhKey(_) => Vec::new(),
    }
}
