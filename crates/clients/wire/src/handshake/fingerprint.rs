use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

/// The beginning of a certificate's SHA-256: enough to tell the certificates of one load apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn of(der: &[u8]) -> Self {
        let hash = digest(&SHA256, der);
        Self(hash.as_ref().iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}
