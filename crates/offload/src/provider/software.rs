//! OpenSSL's own provider in a library context that nothing else uses: asked for RSA, it gives its own
//! implementation and never this one.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use ffi::{EVP_PKEY, EVP_PKEY_CTX, OSSL_LIB_CTX, OSSL_PARAM};
use foreign_types::ForeignTypeRef;
use openssl::pkey::{PKeyRef, Private};
use openssl::rsa::Rsa;
use openssl_sys as ffi;

use super::sys;

pub(super) const RSA: &CStr = c"RSA";

/// It lives as long as the process: OpenSSL frees its own at an end that comes in no known order.
pub(super) fn library() -> *mut OSSL_LIB_CTX {
    struct Library(*mut OSSL_LIB_CTX);
    // SAFETY: OpenSSL locks it where that is needed.
    unsafe impl Send for Library {}
    // SAFETY: OpenSSL locks it where that is needed.
    unsafe impl Sync for Library {}

    static LIBRARY: OnceLock<Library> = OnceLock::new();
    // SAFETY: it takes nothing, and returns null where there is no memory. That would be the default
    // context, whose RSA may be this provider's.
    let library = LIBRARY.get_or_init(|| Library(unsafe { sys::OSSL_LIB_CTX_new() }));
    assert!(!library.0.is_null(), "no memory for a library context of OpenSSL");
    library.0
}

/// An RSA key of OpenSSL's own provider.
pub(super) struct Key(*mut EVP_PKEY);

// SAFETY: a key counts its references atomically and is not changed here.
unsafe impl Send for Key {}
// SAFETY: a key counts its references atomically and is not changed here.
unsafe impl Sync for Key {}

impl Key {
    /// # Safety
    /// `params` ends as OpenSSL has it.
    pub(super) unsafe fn import(selection: c_int, params: *const OSSL_PARAM) -> Option<Self> {
        let mut key = std::ptr::null_mut();
        let context = Context::new_keys()?;
        // SAFETY: the context is valid, and the parameters are only read.
        let is_made = unsafe {
            ffi::EVP_PKEY_fromdata_init(context.0) == 1
                && ffi::EVP_PKEY_fromdata(context.0, &mut key, selection, params.cast_mut()) == 1
        };
        is_made.then_some(Self(key))
    }

    /// Passes what makes it up to a function of OpenSSL.
    ///
    /// # Safety
    /// `argument` is what `callback` takes.
    pub(super) unsafe fn export(
        &self,
        selection: c_int,
        callback: sys::Callback,
        argument: *mut c_void,
    ) -> Option<()> {
        // SAFETY: the key is valid; the rest is the caller's.
        let done = unsafe { sys::EVP_PKEY_export(self.0, selection, callback, argument) };
        (done == 1).then_some(())
    }

    /// # Safety
    /// `params` ends as OpenSSL has it, and has room for what it names.
    pub(super) unsafe fn get_params(&self, params: *mut OSSL_PARAM) -> Option<()> {
        // SAFETY: the key is valid; the rest is the caller's.
        (unsafe { ffi::EVP_PKEY_get_params(self.0, params) } == 1).then_some(())
    }

    pub(super) fn bits(&self) -> u32 {
        // SAFETY: the key is valid.
        unsafe { ffi::EVP_PKEY_get_bits(self.0) }.unsigned_abs()
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        // SAFETY: both keys are valid.
        unsafe { ffi::EVP_PKEY_eq(self.0, other.0) == 1 }
    }
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { ffi::EVP_PKEY_free(self.0) };
    }
}

impl Key {
    /// The numbers of a private key.
    pub(super) fn rsa(&self) -> Option<Rsa<Private>> {
        // SAFETY: the key is valid while it is borrowed.
        unsafe { PKeyRef::<Private>::from_ptr(self.0) }.rsa().ok()
    }
}

/// What makes a signature of a message.
pub(super) struct Signing {
    context: *mut ffi::EVP_MD_CTX,
    /// Its part that has the settings, which goes with it.
    settings: *mut EVP_PKEY_CTX,
}

impl Signing {
    /// # Safety
    /// `function` is null, or the name of a hash function with an end.
    pub(super) unsafe fn new(key: &Key, function: *const c_char) -> Option<Self> {
        let (none, mut settings) = (std::ptr::null(), std::ptr::null_mut());
        // SAFETY: the context is new, and the key valid; the rest is the caller's.
        unsafe {
            let context = ffi::EVP_MD_CTX_new();
            let context = (!context.is_null()).then_some(context)?;
            let is_begun = sys::EVP_DigestSignInit_ex(
                context,
                &mut settings,
                function,
                library(),
                none,
                key.0,
                std::ptr::null(),
            );
            let signing = Self { context, settings };
            (is_begun == 1).then_some(signing)
        }
    }

    /// # Safety
    /// `params` ends as OpenSSL has it.
    pub(super) unsafe fn set_params(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        // SAFETY: the context is valid; the rest is the caller's.
        (unsafe { ffi::EVP_PKEY_CTX_set_params(self.settings, params) } == 1).then_some(())
    }

    /// Signs, once. Without a place for the signature it says how much room that needs.
    ///
    /// # Safety
    /// `out` is null, or has room for `out_length` bytes.
    pub(super) unsafe fn sign(
        &mut self,
        out: *mut u8,
        out_length: &mut usize,
        message: &[u8],
    ) -> Option<()> {
        // SAFETY: the context is valid; the rest is the caller's.
        let done = unsafe {
            ffi::EVP_DigestSign(self.context, out, out_length, message.as_ptr(), message.len())
        };
        (done == 1).then_some(())
    }
}

impl Drop for Signing {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { ffi::EVP_MD_CTX_free(self.context) };
    }
}

/// What to do with a key, for one operation or more.
pub(super) struct Context(*mut EVP_PKEY_CTX);

/// What is done: encryption or decryption.
#[derive(Clone, Copy)]
pub(super) enum Direction {
    Encrypt,
    Decrypt,
}

impl Context {
    /// To make keys, or to ask about them.
    fn new_keys() -> Option<Self> {
        let any = std::ptr::null();
        // SAFETY: the name ends with zero.
        let context = unsafe { ffi::EVP_PKEY_CTX_new_from_name(library(), RSA.as_ptr(), any) };
        (!context.is_null()).then_some(Self(context))
    }

    /// To make a key.
    pub(super) fn generation() -> Option<Self> {
        let context = Self::new_keys()?;
        // SAFETY: the context is valid.
        (unsafe { ffi::EVP_PKEY_keygen_init(context.0) } == 1).then_some(context)
    }

    /// A new key.
    pub(super) fn generate(&mut self) -> Option<Key> {
        let mut key = std::ptr::null_mut();
        // SAFETY: the context is valid, and there is a place for the key.
        (unsafe { ffi::EVP_PKEY_keygen(self.0, &mut key) } == 1).then_some(Key(key))
    }

    pub(super) fn new(key: &Key, direction: Direction) -> Option<Self> {
        // SAFETY: the key is valid, and the context takes a reference of its own.
        let context =
            unsafe { sys::EVP_PKEY_CTX_new_from_pkey(library(), key.0, std::ptr::null()) };
        let context = (!context.is_null()).then_some(Self(context))?;
        // SAFETY: the context is valid.
        let is_ready = unsafe {
            match direction {
                Direction::Encrypt => ffi::EVP_PKEY_encrypt_init(context.0),
                Direction::Decrypt => ffi::EVP_PKEY_decrypt_init(context.0),
            }
        };
        (is_ready == 1).then_some(context)
    }

    /// # Safety
    /// `params` ends as OpenSSL has it.
    pub(super) unsafe fn set_params(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        // SAFETY: the context is valid; the rest is the caller's.
        (unsafe { ffi::EVP_PKEY_CTX_set_params(self.0, params) } == 1).then_some(())
    }

    /// # Safety
    /// `params` ends as OpenSSL has it, and has room for what it names.
    pub(super) unsafe fn get_params(&self, params: *mut OSSL_PARAM) -> Option<()> {
        // SAFETY: the context is valid; the rest is the caller's.
        (unsafe { ffi::EVP_PKEY_CTX_get_params(self.0, params) } == 1).then_some(())
    }

    /// Encrypts or decrypts. Without a place for the result it says how much room that needs.
    ///
    /// # Safety
    /// `out` is null, or has room for `out_length` bytes.
    pub(super) unsafe fn run(
        &mut self,
        direction: Direction,
        out: *mut u8,
        out_length: &mut usize,
        input: &[u8],
    ) -> Option<()> {
        let run = match direction {
            Direction::Encrypt => ffi::EVP_PKEY_encrypt,
            Direction::Decrypt => ffi::EVP_PKEY_decrypt,
        };
        // SAFETY: the context was made for this direction; the rest is the caller's.
        let done = unsafe { run(self.0, out, out_length, input.as_ptr(), input.len()) };
        (done == 1).then_some(())
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: it is not used afterwards.
        unsafe { ffi::EVP_PKEY_CTX_free(self.0) };
    }
}

/// The parameters that make up a key, a table that OpenSSL keeps for good.
pub(super) fn key_types(selection: c_int) -> *const OSSL_PARAM {
    Context::new_keys().map_or(std::ptr::null(), |context| {
        // SAFETY: the context is valid.
        unsafe { sys::EVP_PKEY_fromdata_settable(context.0, selection) }
    })
}

/// The parameters of a key that can be asked for, and those of one that is to be made: tables that
/// OpenSSL keeps for good.
pub(super) fn key_params() -> [*const OSSL_PARAM; 2] {
    // SAFETY: the name ends with zero. What is fetched stays for good.
    unsafe {
        let keys = sys::EVP_KEYMGMT_fetch(library(), RSA.as_ptr(), std::ptr::null());
        if keys.is_null() {
            return [std::ptr::null(); 2];
        }
        [sys::EVP_KEYMGMT_gettable_params(keys), sys::EVP_KEYMGMT_gen_settable_params(keys)]
    }
}

/// The parameters of an operation that can be asked for, and those that can be set: tables that
/// OpenSSL keeps for good.
pub(super) fn cipher_params() -> [*const OSSL_PARAM; 2] {
    // SAFETY: the name ends with zero. What is fetched stays for good.
    unsafe {
        let cipher = sys::EVP_ASYM_CIPHER_fetch(library(), RSA.as_ptr(), std::ptr::null());
        if cipher.is_null() {
            return [std::ptr::null(); 2];
        }
        [
            sys::EVP_ASYM_CIPHER_gettable_ctx_params(cipher),
            sys::EVP_ASYM_CIPHER_settable_ctx_params(cipher),
        ]
    }
}

/// The parameters of a signature that can be set: a table that OpenSSL keeps for good.
pub(super) fn signature_params() -> *const OSSL_PARAM {
    // SAFETY: the name ends with zero. What is fetched stays for good.
    unsafe {
        let signature = sys::EVP_SIGNATURE_fetch(library(), RSA.as_ptr(), std::ptr::null());
        if signature.is_null() {
            return std::ptr::null();
        }
        sys::EVP_SIGNATURE_settable_ctx_params(signature)
    }
}
