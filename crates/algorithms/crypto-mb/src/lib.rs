//! Intel's crypto_mb (of its Cryptography Primitives Library): up to eight operations with private keys at
//! once, in the lanes of 512-bit vectors, on CPUs with AVX-512 IFMA.
//!
//! It is loaded when it is asked for, from the file or folder that `CRYPTO_MB` names, from where `make
//! crypto-mb` puts it, or from the system's folders, and never linked. A batch costs about the same however
//! many of its lanes are used.
//!
//! Intel states that the private-key functions take the same time for all secrets. They do not blind: a
//! fault in one half of an RSA operation would give the key away, so each result is checked with the public
//! key ([`CryptoMb::rsa_private`]) before anyone has it.

mod curve;
mod functions;
mod lanes;
mod library;
mod rsa;
#[cfg(test)]
mod tests;

pub use curve::{Curve, Ecdsa, Scalar, Signature, X25519};
pub use lanes::{Fault, LANES};
pub use library::{CryptoMb, OpenError, VARIABLE};
pub use rsa::{RsaKey, RsaOperation, UnfitKey};
