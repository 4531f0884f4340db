//! A TLS context in a library context of its own (OSSL_LIB_CTX(3)), which is there as long as the process.

use std::ffi::{c_char, c_int, c_long, c_uchar, c_void};
use std::ptr::null_mut;

use foreign_types::ForeignType;
use openssl::error::ErrorStack;
use openssl::pkey::{PKey, Private};
use openssl::ssl::SslContextBuilder;
use openssl_sys::{EVP_PKEY, SSL_CTX, SSL_CTX_ctrl, SSL_METHOD, TLS_server_method};

unsafe extern "C" {
    fn OSSL_LIB_CTX_new() -> *mut c_void;
    fn SSL_CTX_new_ex(
        library: *mut c_void,
        properties: *const c_char,
        method: *const SSL_METHOD,
    ) -> *mut SSL_CTX;
    fn d2i_AutoPrivateKey_ex(
        into: *mut *mut EVP_PKEY,
        der: *mut *const c_uchar,
        length: c_long,
        library: *mut c_void,
        properties: *const c_char,
    ) -> *mut EVP_PKEY;
}

/// `SSL_CTRL_SET_TLSEXT_TICKET_KEYS`, and what the keys take: a name, and keys for HMAC and AES-256.
const SET_TICKET_KEYS: c_int = 59;
pub(super) const TICKET_KEYS: usize = 80;

/// One of them.
pub(super) struct OwnContext(*mut c_void);

impl OwnContext {
    pub(super) fn new() -> Result<Self, ErrorStack> {
        // SAFETY: takes nothing, and gives one that nobody else has, or null.
        let library = unsafe { OSSL_LIB_CTX_new() };
        if library.is_null() { Err(ErrorStack::get()) } else { Ok(Self(library)) }
    }

    /// The context of a server.
    pub(super) fn server(&self) -> Result<SslContextBuilder, ErrorStack> {
        // SAFETY: the library context is never freed; without properties all of its algorithms are for use. The
        // result is new, and nobody else's where it is not null.
        unsafe {
            let context = SSL_CTX_new_ex(self.0, null_mut(), TLS_server_method());
            if context.is_null() {
                return Err(ErrorStack::get());
            }
            Ok(SslContextBuilder::from_ptr(context))
        }
    }

    /// The same key, for algorithms of this library context.
    pub(super) fn own(&self, key: &PKey<Private>) -> Result<PKey<Private>, ErrorStack> {
        let der = key.private_key_to_pkcs8()?;
        let length = c_long::try_from(der.len()).unwrap_or(c_long::MAX);
        let mut begin = der.as_ptr();
        // SAFETY: `begin` is readable for `length`; the result is new, and nobody else's where it is not null.
        unsafe {
            let own = d2i_AutoPrivateKey_ex(null_mut(), &raw mut begin, length, self.0, null_mut());
            if own.is_null() { Err(ErrorStack::get()) } else { Ok(PKey::from_ptr(own)) }
        }
    }
}

/// Has a context encrypt tickets with these keys, so that each of several can resume what another began.
pub(super) fn set_ticket_keys(
    context: &mut SslContextBuilder,
    mut keys: [u8; TICKET_KEYS],
) -> Result<(), ErrorStack> {
    let length = TICKET_KEYS as c_long;
    // SAFETY: the context is valid while borrowed; the command reads `length` bytes.
    let set =
        unsafe { SSL_CTX_ctrl(context.as_ptr(), SET_TICKET_KEYS, length, (&raw mut keys).cast()) };
    if set == 1 { Ok(()) } else { Err(ErrorStack::get()) }
}
