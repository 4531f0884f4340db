//! Signatures with ECDSA (FIPS 186-5, section 6) on P-256 and P-384, each with a fresh nonce of the system's
//! generator.

use std::ffi::{CStr, c_void};
use std::sync::{Arc, OnceLock};

use openssl::bn::BigNum;
use openssl::ecdsa::EcdsaSig;
use openssl::hash::{MessageDigest, hash};
use openssl_sys::OSSL_PARAM;

use super::batch::in_batch;
use super::curve_key::{CurveKey, Secret};
use super::curve_keymgmt;
use super::sign::SigningKey;
use super::software::{self, Table};
use crate::multi_buffer::Work;

impl SigningKey for CurveKey {
    const ALGORITHM: &CStr = c"ECDSA";
    /// Whether something is set, which OpenSSL is to mind.
    type Settings = bool;

    unsafe fn at(place: *const c_void) -> Option<Arc<Self>> {
        // SAFETY: the caller's.
        unsafe { curve_keymgmt::at(place) }
    }

    fn software(&self) -> Option<&software::Key> {
        self.software()
    }

    unsafe fn set(is_set: &mut bool, params: *const OSSL_PARAM) {
        // SAFETY: the caller's.
        *is_set |= !params.is_null() && unsafe { !(*params).key.is_null() };
    }

    fn size(&self) -> Option<usize> {
        let [_, size, _] = self.secret.as_ref().and_then(|_| self.sizes())?;
        usize::try_from(size).ok()
    }

    fn sign_in_batch(
        &self,
        function: MessageDigest,
        is_set: &bool,
        message: &[u8],
    ) -> Option<Vec<u8>> {
        let Some(Secret::Nist(key)) = self.secret.as_ref().filter(|_| !is_set) else { return None };
        let bytes = key.curve().bytes();
        let digest = hash(function, message).ok()?;
        // The leftmost bits of a longer digest; a shorter one is the same number with zeros before it.
        let kept = &digest[..digest.len().min(bytes)];
        let mut padded = vec![0; bytes];
        padded[bytes - kept.len()..].copy_from_slice(kept);
        let signature = in_batch(Work::Ecdsa { key: Arc::clone(key), digest: padded })?;
        let (r, s) = signature.split_at(bytes);
        let number = |bytes: &[u8]| BigNum::from_slice(bytes).ok();
        EcdsaSig::from_private_components(number(r)?, number(s)?).ok()?.to_der().ok()
    }

    fn settable() -> &'static OnceLock<[Table; 1]> {
        static TABLE: OnceLock<[Table; 1]> = OnceLock::new();
        &TABLE
    }
}
