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
mod load;
mod rsa;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

pub use curve::{Curve, Ecdsa, Scalar, Signature, X25519};
pub use load::{OpenError, VARIABLE};
pub use rsa::{RsaKey, RsaOperation, UnfitKey};

use functions::Functions;

/// How many operations one call does.
pub const LANES: usize = 8;

/// The library, which stays loaded as long as this is there.
pub struct CryptoMb {
    functions: Functions,
    title: String,
    path: PathBuf,
    _library: libloading::os::unix::Library,
}

impl CryptoMb {
    /// Loads the library from where it is; see the crate's description.
    ///
    /// # Errors
    /// One line: it is not there, this CPU cannot use it, or it lacks a function.
    pub fn open() -> Result<Self, OpenError> {
        load::open()
    }

    /// Loads it from a file, or from a folder that has it.
    ///
    /// # Errors
    /// As those of [`open`](Self::open).
    pub fn open_at(place: &Path) -> Result<Self, OpenError> {
        load::open_at(place)
    }

    /// Where it was found; a name without a folder is one that the system's loader finds.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name and version, such as `crypto_mb 2.3.0`.
    pub fn title(&self) -> &str {
        &self.title
    }
}

/// The lane of an operation whose result is not there, or is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The library refused the operation, with this status.
    #[error("crypto_mb refused an operation with status {0}")]
    Refused(u8),
    /// The public key does not lead back to what the private one was given, or the result is none that can be.
    #[error("crypto_mb gave a wrong result")]
    Wrong,
}

/// `mbx_status`: four bits for each lane.
#[derive(Debug, Clone, Copy)]
struct Statuses(u32);

impl Statuses {
    fn of_lane(self, lane: usize) -> Result<(), Fault> {
        match (self.0 >> (4 * lane)) & 0xf {
            0 => Ok(()),
            status => Err(Fault::Refused(status as u8)),
        }
    }
}

/// The addresses of up to eight buffers; lanes without one are null, which the library leaves alone.
fn lanes<T, P>(
    of: impl IntoIterator<Item = T>,
    place: impl Fn(T) -> *const P,
) -> [*const P; LANES] {
    let mut lanes = [std::ptr::null(); LANES];
    for (lane, one) in lanes.iter_mut().zip(of) {
        *lane = place(one);
    }
    lanes
}
