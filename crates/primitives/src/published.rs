//! Published figures and earlier readings, shown next to those that are measured here, and never as
//! figures of this machine.
//!
//! Intel's measurements of its Xeon E5 v4 (Broadwell) and Xeon Scalable (Skylake), 2017, in core
//! cycles per byte at 8 KiB: OpenSSL 1.1 for the ciphers, one stream, and ISA-L crypto's
//! multi-buffer hashes, many streams with cold caches.

use crate::algorithm::{Aes, Algorithm, Direction, Hash};

/// Which machine, or which software.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Published {
    OneStream,
    ManyBuffers,
}

/// The two figures of a table's line.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Reference {
    pub xeon_v4: f64,
    pub xeon_scalable: f64,
}

/// What ISA-L crypto's multi-buffer hashes cost on one Xeon of the Sapphire Rapids generation, in core
/// cycles per byte with warm caches, by lanes and size: read there once, beside toll's kernels, and
/// no figure of the machine that toll runs on.
pub fn isa_l_reading(hash: Hash, messages: u64, size: u64) -> Option<f64> {
    Some(match (hash, messages, size) {
        (Hash::Sha1, 16, 1024) => 0.684,
        (Hash::Sha1, 16, 8192) => 0.490,
        (Hash::Sha1, 8, 8192) => 1.096,
        (Hash::Sha256, 16, 1024) => 1.146,
        (Hash::Sha256, 16, 8192) => 0.928,
        (Hash::Sha256, 8, 8192) => 2.346,
        (Hash::Sha512, 8, 1024) => 1.443,
        (Hash::Sha512, 8, 8192) => 1.161,
        (Hash::Sha512, 4, 8192) => 2.978,
        _ => return None,
    })
}

/// The size of messages of all published figures, in bytes.
pub const SIZE: u64 = 8 << 10;

/// What was published of an algorithm, if anything was.
pub fn reference(algorithm: Algorithm, kind: Published) -> Option<Reference> {
    let (xeon_v4, xeon_scalable) = match (algorithm, kind) {
        (Algorithm::Cbc(Aes::Aes128, Direction::Encrypt), Published::OneStream) => (4.44, 2.64),
        (Algorithm::Gcm(Aes::Aes128), Published::OneStream) => (0.77, 0.65),
        (Algorithm::Hash(Hash::Sha1), Published::ManyBuffers) => (1.13, 0.44),
        (Algorithm::Hash(Hash::Sha256), Published::ManyBuffers) => (2.60, 0.87),
        (Algorithm::Hash(Hash::Sha512), Published::ManyBuffers) => (3.24, 1.07),
        _ => return None,
    };
    Some(Reference { xeon_v4, xeon_scalable })
}
