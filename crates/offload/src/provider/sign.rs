//! Signatures with RSA (provider-signature(7)) whose private key is used by the multi-buffer library: those
//! of messages, as a server of TLS makes them (RFC 8446, section 4.4.3; RFC 5246, section 7.4.3), with
//! PKCS #1 version 1.5 or with PSS and a salt as long as the digest. Others are OpenSSL's own.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, OnceLock};

use ffi::OSSL_PARAM;
use openssl::hash::{MessageDigest, hash};
use openssl_sys as ffi;

use super::key::{self, Key};
use super::software;
use super::sys::{self, Dispatch};
use super::{guarded, in_batch, padding};
use crate::multi_buffer::Purpose;

pub(super) const FUNCTIONS: &[Dispatch] = &[
    Dispatch::new(sys::SIGNATURE_NEWCTX, new as *const ()),
    Dispatch::new(sys::SIGNATURE_FREECTX, free as *const ()),
    Dispatch::new(sys::SIGNATURE_DIGEST_SIGN_INIT, begin as *const ()),
    Dispatch::new(sys::SIGNATURE_DIGEST_SIGN, sign as *const ()),
    Dispatch::new(sys::SIGNATURE_SET_CTX_PARAMS, set_params as *const ()),
    Dispatch::new(sys::SIGNATURE_SETTABLE_CTX_PARAMS, settable as *const ()),
    Dispatch::END,
];

/// A signature that is to be made.
#[derive(Default)]
struct Signing(Option<Begun>);

struct Begun {
    key: Arc<Key>,
    /// The hash function, where it is named.
    function: Option<MessageDigest>,
    padding: Padding,
    /// OpenSSL's own, with the same settings.
    software: software::Signing,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Padding {
    Pkcs1,
    /// With a salt of a length that is not said, which is not the digest's.
    Pss,
    PssWithSaltOfDigest,
    Other,
}

impl Begun {
    /// # Safety
    /// `params` ends as OpenSSL has it.
    unsafe fn set(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        if params.is_null() {
            return Some(());
        }
        // SAFETY: the caller's; names end with zero, and a text that a parameter has does too.
        unsafe {
            let param = |name: &CStr| ffi::OSSL_PARAM_locate_const(params, name.as_ptr());
            let mode = param(sys::PARAM_PAD_MODE);
            if !mode.is_null() {
                let mut number = 0;
                let is_number = sys::OSSL_PARAM_get_int(mode, &mut number) == 1;
                self.padding = match number {
                    sys::PKCS1_PADDING if is_number => Padding::Pkcs1,
                    sys::PSS_PADDING if is_number => Padding::Pss,
                    _ => Padding::Other,
                };
            }
            let salt = param(sys::PARAM_PSS_SALT_LENGTH);
            if !salt.is_null() && self.padding != Padding::Pkcs1 {
                let mut text = std::ptr::null();
                let is_text = sys::OSSL_PARAM_get_utf8_string_ptr(salt, &mut text) == 1;
                let is_of_digest = is_text && CStr::from_ptr(text) == c"digest";
                self.padding = match (self.padding, is_of_digest) {
                    (Padding::Pss | Padding::PssWithSaltOfDigest, true) => {
                        Padding::PssWithSaltOfDigest
                    }
                    _ => Padding::Other,
                };
            }
            if !param(sys::PARAM_MGF1_DIGEST).is_null() || !param(sys::PARAM_DIGEST).is_null() {
                self.padding = Padding::Other;
            }
            self.software.set_params(params)
        }
    }

    /// The signature by the multi-buffer library; `None` where OpenSSL is to make it.
    fn in_batch(&self, message: &[u8]) -> Option<Vec<u8>> {
        let key = self.key.in_batches()?;
        let function = self.function?;
        let digest = hash(function, message).ok()?;
        let encoded = match self.padding {
            Padding::Pkcs1 => padding::pkcs1(function, &digest, key.bytes()),
            Padding::PssWithSaltOfDigest => padding::pss(function, &digest, key.bytes()).ok()?,
            Padding::Pss | Padding::Other => None,
        };
        in_batch(key, encoded?, Purpose::RsaSign)
    }
}

unsafe extern "C" fn new(_context: *mut c_void, _properties: *const c_char) -> *mut c_void {
    Box::into_raw(Box::<Signing>::default()).cast()
}

unsafe extern "C" fn free(signing: *mut c_void) {
    if !signing.is_null() {
        // SAFETY: OpenSSL gives back what `new` made, once.
        drop(unsafe { Box::from_raw(signing.cast::<Signing>()) });
    }
}

unsafe extern "C" fn begin(
    signing: *mut c_void,
    function: *const c_char,
    key: *mut c_void,
    params: *const OSSL_PARAM,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, here and for keys, and a name and parameters with an end.
    guarded(|| unsafe {
        let signing = signing.cast::<Signing>().as_mut()?;
        let key = key::at(key)?;
        let software = software::Signing::new(&key.software, function)?;
        let name = (!function.is_null()).then(|| CStr::from_ptr(function).to_str().ok()).flatten();
        let function = name.and_then(MessageDigest::from_name);
        let mut begun = Begun { key, function, padding: Padding::Pkcs1, software };
        begun.set(params)?;
        signing.0 = Some(begun);
        Some(())
    })
}

/// Without a place for the signature it says how much room that needs.
unsafe extern "C" fn sign(
    signing: *mut c_void,
    out: *mut u8,
    out_length: *mut usize,
    out_size: usize,
    message: *const u8,
    message_length: usize,
) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and memory of the lengths that it says.
    guarded(|| unsafe {
        let begun = signing.cast::<Signing>().as_mut()?.0.as_mut()?;
        let message = super::input(&message, message_length)?;
        let made = if out.is_null() { None } else { begun.in_batch(message) };
        let Some(made) = made else {
            *out_length = out_size;
            return begun.software.sign(out, &mut *out_length, message);
        };
        if made.len() > out_size {
            return None;
        }
        out.copy_from_nonoverlapping(made.as_ptr(), made.len());
        *out_length = made.len();
        Some(())
    })
}

unsafe extern "C" fn set_params(signing: *mut c_void, params: *const OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives what `new` made, and parameters with an end.
    guarded(|| unsafe { signing.cast::<Signing>().as_mut()?.0.as_mut()?.set(params) })
}

unsafe extern "C" fn settable(_signing: *mut c_void, _context: *mut c_void) -> *const OSSL_PARAM {
    struct Table(*const OSSL_PARAM);
    // SAFETY: OpenSSL keeps the table for good and never changes it.
    unsafe impl Send for Table {}
    // SAFETY: OpenSSL keeps the table for good and never changes it.
    unsafe impl Sync for Table {}

    static TABLE: OnceLock<Table> = OnceLock::new();
    TABLE.get_or_init(|| Table(software::signature_params())).0
}
