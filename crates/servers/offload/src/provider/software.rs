//! OpenSSL's own provider in a library context that nothing else uses: asked for an algorithm, it gives its own
//! implementation and never this one.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use ffi::{EVP_PKEY, EVP_PKEY_CTX, OSSL_LIB_CTX, OSSL_PARAM};
use foreign_types::ForeignTypeRef;
use openssl::pkey::{PKeyRef, Private};
use openssl::rsa::Rsa;
use openssl_sys as ffi;

use super::sys;

/// What lives as long as the process: OpenSSL frees its own at an end that comes in no known order.
struct Lasting<T>(*mut T);

// SAFETY: OpenSSL locks it where that is needed.
unsafe impl<T> Send for Lasting<T> {}
// SAFETY: OpenSSL locks it where that is needed.
unsafe impl<T> Sync for Lasting<T> {}

pub(super) fn library() -> *mut OSSL_LIB_CTX {
    static LIBRARY: OnceLock<Lasting<OSSL_LIB_CTX>> = OnceLock::new();
    // SAFETY: it takes nothing, and returns null where there is no memory. That would be the default
    // context, whose RSA may be this provider's.
    let library = LIBRARY.get_or_init(|| Lasting(unsafe { sys::OSSL_LIB_CTX_new() }));
    assert!(!library.0.is_null(), "no memory for a library context of OpenSSL");
    library.0
}

/// OpenSSL's own provider there, which is loaded as long as that.
pub(super) fn provider() -> *mut ffi::OSSL_PROVIDER {
    static PROVIDER: OnceLock<Lasting<ffi::OSSL_PROVIDER>> = OnceLock::new();
    // SAFETY: the library context is valid, and the name ends with zero.
    let load = || unsafe { ffi::OSSL_PROVIDER_load(library(), c"default".as_ptr()) };
    PROVIDER.get_or_init(|| Lasting(load())).0
}

/// Parameters as they were given, for whoever needs them later.
#[derive(Default)]
pub(super) struct Params(Vec<*mut OSSL_PARAM>);

// SAFETY: they are copies that nobody changes.
unsafe impl Send for Params {}
// SAFETY: they are copies that nobody changes.
unsafe impl Sync for Params {}

impl Params {
    /// Keeps a copy.
    ///
    /// # Safety
    /// `params` is null, or ends as OpenSSL has it.
    pub(super) unsafe fn keep(&mut self, params: *const OSSL_PARAM) -> Option<()> {
        // SAFETY: the caller's.
        unsafe {
            if params.is_null() || (*params).key.is_null() {
                return Some(());
            }
            let copy = ffi::OSSL_PARAM_dup(params);
            (!copy.is_null()).then(|| self.0.push(copy))
        }
    }

    /// All of them, in the order in which they came.
    pub(super) fn all(&self) -> impl Iterator<Item = *const OSSL_PARAM> {
        self.0.iter().map(|params| params.cast_const())
    }
}

impl Drop for Params {
    fn drop(&mut self) {
        for params in &self.0 {
            // SAFETY: a copy that is not used afterwards.
            unsafe { ffi::OSSL_PARAM_free(*params) };
        }
    }
}

/// A key of OpenSSL's own provider.
pub(super) struct Key(*mut EVP_PKEY);

// SAFETY: a key counts its references atomically and is not changed here.
unsafe impl Send for Key {}
// SAFETY: a key counts its references atomically and is not changed here.
unsafe impl Sync for Key {}

impl Key {
    /// One of an algorithm.
    ///
    /// # Safety
    /// `params` ends as OpenSSL has it.
    pub(super) unsafe fn import(
        name: &CStr,
        selection: c_int,
        params: *const OSSL_PARAM,
    ) -> Option<Self> {
        let mut key = std::ptr::null_mut();
        let context = Context::new_keys(name)?;
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

    /// # Safety
    /// `params` ends as OpenSSL has it. The key is nobody else's.
    pub(super) unsafe fn set_params(&self, params: *const OSSL_PARAM) -> Option<()> {
        // SAFETY: the key is valid; the rest is the caller's.
        (unsafe { ffi::EVP_PKEY_set_params(self.0, params.cast_mut()) } == 1).then_some(())
    }

    /// Bytes that are a part of it, as many as `room` has at most.
    pub(super) fn octets(&self, name: &CStr, room: &mut [u8]) -> Option<usize> {
        let mut length = 0;
        let (place, size) = (room.as_mut_ptr(), room.len());
        // SAFETY: the key is valid, the name ends with zero, and the room has its size.
        let done = unsafe {
            ffi::EVP_PKEY_get_octet_string_param(self.0, name.as_ptr(), place, size, &mut length)
        };
        (done == 1).then_some(length)
    }

    /// A copy, of its parameters alone where that is all that is wanted.
    pub(super) fn copy(&self, is_whole: bool) -> Option<Self> {
        // SAFETY: the key is valid, and what is made here is nobody else's.
        unsafe {
            if is_whole {
                let copy = sys::EVP_PKEY_dup(self.0);
                return (!copy.is_null()).then_some(Self(copy));
            }
            let copy = ffi::EVP_PKEY_new();
            let copy = (!copy.is_null()).then_some(Self(copy))?;
            (sys::EVP_PKEY_copy_parameters(copy.0, self.0) == 1).then_some(copy)
        }
    }

    /// Whether its public key is one of its curve.
    pub(super) fn check(&self) -> Option<()> {
        let context = Context::of(self)?;
        // SAFETY: the context is valid.
        (unsafe { ffi::EVP_PKEY_public_check(context.0) } == 1).then_some(())
    }

    pub(super) fn bits(&self) -> u32 {
        // SAFETY: the key is valid.
        unsafe { ffi::EVP_PKEY_get_bits(self.0) }.unsigned_abs()
    }

    /// The numbers of a private key.
    pub(super) fn rsa(&self) -> Option<Rsa<Private>> {
        // SAFETY: the key is valid while it is borrowed.
        unsafe { PKeyRef::<Private>::from_ptr(self.0) }.rsa().ok()
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

/// What makes or verifies a signature of a message.
pub(super) struct Signing {
    context: *mut ffi::EVP_MD_CTX,
    /// Its part that has the settings, which goes with it.
    settings: *mut EVP_PKEY_CTX,
}

impl Signing {
    /// With a hash function, or the key's default.
    pub(super) fn new(key: &Key, function: Option<&CStr>, verifies: bool) -> Option<Self> {
        let (none, mut settings) = (std::ptr::null(), std::ptr::null_mut());
        let function = function.map_or(std::ptr::null(), CStr::as_ptr);
        let begin = match verifies {
            true => sys::EVP_DigestVerifyInit_ex,
            false => sys::EVP_DigestSignInit_ex,
        };
        // SAFETY: the context is new, the key valid, and the name null or with an end.
        unsafe {
            let context = ffi::EVP_MD_CTX_new();
            let context = (!context.is_null()).then_some(context)?;
            let is_begun =
                begin(context, &mut settings, function, library(), none, key.0, std::ptr::null());
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

    /// Whether a signature is one of a message, once.
    pub(super) fn verify(&mut self, signature: &[u8], message: &[u8]) -> bool {
        let (signature, length) = (signature.as_ptr(), signature.len());
        // SAFETY: the context is valid, and memory is as long as it is said to be.
        let done = unsafe {
            ffi::EVP_DigestVerify(self.context, signature, length, message.as_ptr(), message.len())
        };
        done == 1
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
    /// To make keys of an algorithm, or to ask about them.
    fn new_keys(name: &CStr) -> Option<Self> {
        let any = std::ptr::null();
        // SAFETY: the name ends with zero.
        let context = unsafe { ffi::EVP_PKEY_CTX_new_from_name(library(), name.as_ptr(), any) };
        (!context.is_null()).then_some(Self(context))
    }

    /// For operations with a key.
    fn of(key: &Key) -> Option<Self> {
        let any = std::ptr::null();
        // SAFETY: the key is valid, and the context takes a reference of its own.
        let context = unsafe { sys::EVP_PKEY_CTX_new_from_pkey(library(), key.0, any) };
        (!context.is_null()).then_some(Self(context))
    }

    /// To make a key of an algorithm, or one with the parameters of another.
    pub(super) fn generation(name: &CStr, like: Option<&Key>) -> Option<Self> {
        let context = like.map_or_else(|| Self::new_keys(name), Self::of)?;
        // SAFETY: the context is valid.
        (unsafe { ffi::EVP_PKEY_keygen_init(context.0) } == 1).then_some(context)
    }

    /// To make a key that has parameters alone.
    pub(super) fn parameters(name: &CStr) -> Option<Self> {
        let context = Self::new_keys(name)?;
        // SAFETY: the context is valid.
        (unsafe { ffi::EVP_PKEY_paramgen_init(context.0) } == 1).then_some(context)
    }

    /// A new key, or parameters, as the context was made for.
    pub(super) fn generate(&mut self) -> Option<Key> {
        let mut key = std::ptr::null_mut();
        // SAFETY: the context is valid, and there is a place for the key.
        (unsafe { sys::EVP_PKEY_generate(self.0, &mut key) } == 1).then_some(Key(key))
    }

    /// What two keys share.
    pub(super) fn exchange(own: &Key, peer: &Key, params: &Params) -> Option<Self> {
        let mut context = Self::of(own)?;
        // SAFETY: context and keys are valid, and parameters that were kept have an end.
        unsafe {
            (ffi::EVP_PKEY_derive_init(context.0) == 1).then_some(())?;
            params.all().try_for_each(|params| context.set_params(params))?;
            (ffi::EVP_PKEY_derive_set_peer(context.0, peer.0) == 1).then_some(context)
        }
    }

    /// Writes it. Without a place it says how much room it needs.
    ///
    /// # Safety
    /// `out` is null, or has room for `out_length` bytes.
    pub(super) unsafe fn derive(&mut self, out: *mut u8, out_length: &mut usize) -> Option<()> {
        // SAFETY: the context is valid; the rest is the caller's.
        (unsafe { ffi::EVP_PKEY_derive(self.0, out, out_length) } == 1).then_some(())
    }

    pub(super) fn new(key: &Key, direction: Direction) -> Option<Self> {
        let context = Self::of(key)?;
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

/// A table of parameters, which OpenSSL keeps as long as the process lives.
#[derive(Clone, Copy)]
pub(super) struct Table(pub(super) *const OSSL_PARAM);

// SAFETY: a table is never changed.
unsafe impl Send for Table {}
// SAFETY: a table is never changed.
unsafe impl Sync for Table {}

impl Table {
    const EMPTY: Self = Self(std::ptr::null());
}

/// The parameters that make up a key.
pub(super) fn key_types(name: &CStr, selection: c_int) -> Table {
    Context::new_keys(name).map_or(Table::EMPTY, |context| {
        // SAFETY: the context is valid.
        Table(unsafe { sys::EVP_PKEY_fromdata_settable(context.0, selection) })
    })
}

/// The parameters of a key that can be asked for, those of one that is to be made, and those of one that can be
/// set.
pub(super) fn key_params(name: &CStr) -> [Table; 3] {
    let tables = [
        sys::EVP_KEYMGMT_gettable_params,
        sys::EVP_KEYMGMT_gen_settable_params,
        sys::EVP_KEYMGMT_settable_params,
    ];
    fetched(sys::EVP_KEYMGMT_fetch, name, tables)
}

/// The parameters of an RSA operation that can be asked for, and those that can be set.
pub(super) fn cipher_params() -> [Table; 2] {
    let tables =
        [sys::EVP_ASYM_CIPHER_gettable_ctx_params, sys::EVP_ASYM_CIPHER_settable_ctx_params];
    fetched(sys::EVP_ASYM_CIPHER_fetch, c"RSA", tables)
}

/// The parameters of a signature that can be set.
pub(super) fn signature_params(name: &CStr) -> [Table; 1] {
    fetched(sys::EVP_SIGNATURE_fetch, name, [sys::EVP_SIGNATURE_settable_ctx_params])
}

/// The parameters of a key exchange that can be set.
pub(super) fn exchange_params(name: &CStr) -> [Table; 1] {
    fetched(sys::EVP_KEYEXCH_fetch, name, [sys::EVP_KEYEXCH_settable_ctx_params])
}

type Fetch<T> = unsafe extern "C" fn(*mut OSSL_LIB_CTX, *const c_char, *const c_char) -> *mut T;

/// Tables of an algorithm of OpenSSL's own provider, of a type that has functions to fetch it and to ask it for these.
fn fetched<T, const N: usize>(
    fetch: Fetch<T>,
    name: &CStr,
    tables: [unsafe extern "C" fn(*const T) -> *const OSSL_PARAM; N],
) -> [Table; N] {
    // SAFETY: the name ends with zero. What is fetched stays.
    let algorithm = unsafe { fetch(library(), name.as_ptr(), std::ptr::null()) };
    tables.map(|table| match algorithm.is_null() {
        true => Table::EMPTY,
        // SAFETY: the algorithm is valid.
        false => Table(unsafe { table(algorithm) }),
    })
}
