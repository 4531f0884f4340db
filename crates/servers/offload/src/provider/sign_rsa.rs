//! Signatures with RSA: PKCS #1 version 1.5, and PSS with a salt as long as the digest.

use std::ffi::{CStr, c_void};
use std::sync::{Arc, OnceLock};

use counters::KeyUse;
use crypto_mb::RsaOperation;
use ffi::OSSL_PARAM;
use openssl::hash::{MessageDigest, hash};
use openssl_sys as ffi;

use super::batch::in_batch;
use super::key::{self, Key};
use super::sign::SigningKey;
use super::software::{self, Table};
use super::{padding, sys};
use crate::multi_buffer::Work;

#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Padding {
    #[default]
    Pkcs1,
    /// With a salt of a length that is not said, which is not the digest's.
    Pss,
    PssWithSaltOfDigest,
    Other,
}

impl SigningKey for Key {
    const ALGORITHM: &CStr = c"RSA";
    type Settings = Padding;

    unsafe fn at(place: *const c_void) -> Option<Arc<Self>> {
        // SAFETY: the caller's.
        unsafe { key::at(place) }
    }

    fn software(&self) -> Option<&software::Key> {
        Some(&self.software)
    }

    unsafe fn set(padding: &mut Padding, params: *const OSSL_PARAM) {
        if params.is_null() {
            return;
        }
        // SAFETY: the caller's; names end with zero, and a text that a parameter has does too.
        unsafe {
            let param = |name: &CStr| ffi::OSSL_PARAM_locate_const(params, name.as_ptr());
            let mode = param(sys::PARAM_PAD_MODE);
            if !mode.is_null() {
                let mut number = 0;
                let is_number = sys::OSSL_PARAM_get_int(mode, &mut number) == 1;
                *padding = match number {
                    sys::PKCS1_PADDING if is_number => Padding::Pkcs1,
                    sys::PSS_PADDING if is_number => Padding::Pss,
                    _ => Padding::Other,
                };
            }
            let salt = param(sys::PARAM_PSS_SALT_LENGTH);
            if !salt.is_null() && *padding != Padding::Pkcs1 {
                let mut text = std::ptr::null();
                let is_text = ffi::OSSL_PARAM_get_utf8_string_ptr(salt, &mut text) == 1;
                let is_of_digest = is_text && CStr::from_ptr(text) == c"digest";
                *padding = match (*padding, is_of_digest) {
                    (Padding::Pss | Padding::PssWithSaltOfDigest, true) => {
                        Padding::PssWithSaltOfDigest
                    }
                    _ => Padding::Other,
                };
            }
            if !param(sys::PARAM_MGF1_DIGEST).is_null() || !param(sys::PARAM_DIGEST).is_null() {
                *padding = Padding::Other;
            }
        }
    }

    fn size(&self) -> Option<usize> {
        self.in_batches().map(|key| key.bytes())
    }

    fn sign_in_batch(
        &self,
        function: MessageDigest,
        padding: &Padding,
        message: &[u8],
    ) -> Option<Vec<u8>> {
        let key = self.in_batches()?;
        let digest = hash(function, message).ok()?;
        let encoded = match padding {
            Padding::Pkcs1 => padding::pkcs1(function, &digest, key.bytes()),
            Padding::PssWithSaltOfDigest => padding::pss(function, &digest, key.bytes()).ok()?,
            Padding::Pss | Padding::Other => None,
        };
        let operation = RsaOperation::new(Arc::clone(key), encoded?)?;
        in_batch(Work::Rsa { of: KeyUse::RsaSign, operation }).map(|made| made.to_vec())
    }

    fn settable() -> &'static OnceLock<[Table; 1]> {
        static TABLE: OnceLock<[Table; 1]> = OnceLock::new();
        &TABLE
    }
}
