//! The OpenSSL provider `toll`: RSA keys, and decryption with them.
//!
//! Only decryption with the padding of TLS goes to the accelerator; everything else is passed on to
//! OpenSSL's own provider, in a library context that nothing else uses. An engine or a method of an RSA key
//! would not do: static RSA fails with them in OpenSSL 3, because they lack the padding of TLS.

mod decrypt;
mod job;
mod key;
mod software;
mod sys;

use std::ffi::{CStr, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use openssl::error::ErrorStack;
use openssl::ssl::SslContextBuilder;
use openssl_sys as ffi;

use crate::{Accelerator, Description};
pub use job::paused;
use sys::{Algorithm, Dispatch};

/// The properties of what is to go to the accelerator where that has it.
const PROPERTIES: &CStr = c"?provider=toll";

const NAME: &CStr = c"toll";

pub(crate) static ACCELERATOR: OnceLock<Accelerator> = OnceLock::new();

/// Makes the accelerator of this process, and adds the provider to OpenSSL's default library context.
///
/// # Errors
/// OpenSSL refuses the provider.
pub fn install(description: &Description) -> Result<&'static Accelerator, ErrorStack> {
    let accelerator = ACCELERATOR.get_or_init(|| Accelerator::new(description));
    let default = std::ptr::null_mut();
    // SAFETY: the names end with zero and the function stays where it is. A provider that is loaded keeps
    // the default one from being loaded by itself.
    let is_loaded = unsafe {
        sys::OSSL_PROVIDER_add_builtin(default, NAME.as_ptr(), initialize) == 1
            && !ffi::OSSL_PROVIDER_load(default, c"default".as_ptr()).is_null()
            && !ffi::OSSL_PROVIDER_load(default, NAME.as_ptr()).is_null()
    };
    if is_loaded { Ok(accelerator) } else { Err(ErrorStack::get()) }
}

/// A context of a TLS server whose private keys go to the accelerator, once that is [`install`]ed.
///
/// # Errors
/// OpenSSL's, where it has no memory.
pub fn tls_server() -> Result<SslContextBuilder, ErrorStack> {
    let any = std::ptr::null_mut();
    // SAFETY: the properties end with zero; the context is new, not null, and nobody else's.
    unsafe {
        let context = sys::SSL_CTX_new_ex(any, PROPERTIES.as_ptr(), ffi::TLS_server_method());
        if context.is_null() {
            return Err(ErrorStack::get());
        }
        Ok(SslContextBuilder::from_ptr(context))
    }
}

/// What OpenSSL calls first (`OSSL_provider_init`, provider-base(7)).
unsafe extern "C" fn initialize(
    handle: *const c_void,
    _core: *const Dispatch,
    out: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    const FUNCTIONS: &[Dispatch] =
        &[Dispatch::new(sys::PROVIDER_QUERY_OPERATION, query as *const ()), Dispatch::END];
    // SAFETY: OpenSSL gives two places for what it is to keep. The context is not used, but may not be
    // null.
    unsafe {
        *out = FUNCTIONS.as_ptr();
        *context = handle.cast_mut();
    }
    1
}

unsafe extern "C" fn query(
    _context: *mut c_void,
    operation: c_int,
    no_cache: *mut c_int,
) -> *const Algorithm {
    const KEYS: &[Algorithm] = &[Algorithm::new(key::FUNCTIONS), Algorithm::END];
    const CIPHERS: &[Algorithm] = &[Algorithm::new(decrypt::FUNCTIONS), Algorithm::END];
    // SAFETY: OpenSSL gives a place for this.
    unsafe { *no_cache = 0 };
    match operation {
        sys::OP_KEYMGMT => KEYS.as_ptr(),
        sys::OP_ASYM_CIPHER => CIPHERS.as_ptr(),
        _ => std::ptr::null(),
    }
}

/// What a function that OpenSSL calls does: a panic may not leave it, and is a failure.
fn guarded(act: impl FnOnce() -> Option<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Some(())) => 1,
        Ok(None) | Err(_) => 0,
    }
}

#[cfg(test)]
mod tests;
