//! The OpenSSL provider `toll`: RSA keys and decryption and, for the multi-buffer library, signatures with RSA
//! and ECDSA, and key exchange on curves.
//!
//! Only what a server of TLS does with private keys goes to the accelerator; everything else is passed on to
//! OpenSSL's own provider, in a library context that nothing else uses. An engine or a method of an RSA key
//! would not do: static RSA fails with them in OpenSSL 3, because they lack the padding of TLS.

mod about;
mod alarm;
mod batch;
mod break_even;
mod curve_key;
mod curve_keymgmt;
mod decrypt;
mod exchange;
mod groups;
mod guard;
mod job;
mod key;
mod padding;
mod pause_cost;
mod settings;
mod sign;
mod sign_ecdsa;
mod sign_rsa;
mod software;
mod sys;

use std::ffi::{CStr, CString, c_int, c_void};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use crypto_mb::CryptoMb;
use foreign_types::ForeignTypeRef;
use openssl::error::ErrorStack;
use openssl::pkey::{PKeyRef, Private};
use openssl::ssl::SslContextBuilder;
use openssl_sys as ffi;

use crate::{Accelerator, Batching, CompletedBy, Description, InstallError, ProviderPath};
use curve_key::CurveKey;
use curve_keymgmt::{OfNist, OfX25519};
use guard::guarded;
pub use job::paused;
use key::Key;
use sys::{Algorithm, Dispatch};

/// The name of this provider.
pub const NAME: &str = "toll";

/// Makes the accelerator of this process, and adds the provider to OpenSSL's default library context.
///
/// # Errors
/// OpenSSL refuses the provider.
pub fn install(description: &Description) -> Result<&'static Accelerator, ErrorStack> {
    let accelerator = Accelerator::make(description);
    add_provider()?;
    Ok(accelerator)
}

/// Loads Intel's multi-buffer library as the accelerator of this process, and adds the provider.
///
/// # Errors
/// The library cannot be used here, or OpenSSL refuses the provider.
pub fn install_multi_buffer(batching: &Batching) -> Result<&'static Accelerator, InstallError> {
    let library = CryptoMb::open()?;
    let accelerator =
        Accelerator::make_multi_buffer(library, batching, CompletedBy::Poll, Duration::ZERO);
    add_provider()?;
    Ok(accelerator)
}

/// Has the provider of this process know a private key and measure its break-evens, so that the first handshake
/// with it does not.
pub fn prepare(key: &PKeyRef<Private>) {
    let (default, none) = (std::ptr::null_mut(), std::ptr::null());
    // SAFETY: the context is new and freed at the end, the key is valid, and texts end with zero.
    unsafe {
        let context = ffi::EVP_MD_CTX_new();
        let (hash, properties) = (c"SHA256".as_ptr(), c"?provider=toll".as_ptr());
        let settings = std::ptr::null_mut();
        // What this key cannot be asked for is found by the handshake.
        sys::EVP_DigestSignInit_ex(
            context,
            settings,
            hash,
            default,
            properties,
            key.as_ptr(),
            none,
        );
        ffi::EVP_MD_CTX_free(context);
    }
}

/// Where Intel's multi-buffer library is, with its name and version, if it can be used here.
///
/// # Errors
/// Why not, and what to do.
pub fn find_multi_buffer() -> Result<(PathBuf, String), crypto_mb::OpenError> {
    CryptoMb::open().map(|library| (library.path().to_owned(), library.title().to_owned()))
}

fn add_provider() -> Result<(), ErrorStack> {
    let (default, name) = (std::ptr::null_mut(), c"toll".as_ptr());
    // SAFETY: the names end with zero and the function stays where it is. A provider that is loaded keeps
    // the default one from being loaded by itself.
    let is_loaded = unsafe {
        sys::OSSL_PROVIDER_add_builtin(default, name, initialize) == 1
            && !ffi::OSSL_PROVIDER_load(default, c"default".as_ptr()).is_null()
            && !ffi::OSSL_PROVIDER_load(default, name).is_null()
    };
    if is_loaded { Ok(()) } else { Err(ErrorStack::get()) }
}

/// Adds another provider to OpenSSL's default library context.
///
/// # Errors
/// OpenSSL cannot load its file.
pub fn load(provider: &ProviderPath) -> Result<(), ErrorStack> {
    let path = CString::new(provider.path().as_os_str().as_bytes()).unwrap_or_default();
    let default = std::ptr::null_mut();
    // SAFETY: the names end with zero. OpenSSL takes a name with slashes for a path.
    let is_loaded = unsafe {
        !ffi::OSSL_PROVIDER_load(default, c"default".as_ptr()).is_null()
            && !ffi::OSSL_PROVIDER_load(default, path.as_ptr()).is_null()
    };
    if is_loaded { Ok(()) } else { Err(ErrorStack::get()) }
}

/// A context of a TLS server that prefers what the provider of this name implements, once that is
/// [`install`]ed or [`load`]ed.
///
/// # Errors
/// OpenSSL's, where it has no memory.
pub fn tls_server(provider: &str) -> Result<SslContextBuilder, ErrorStack> {
    let any = std::ptr::null_mut();
    let properties = CString::new(format!("?provider={provider}")).unwrap_or_default();
    // SAFETY: the properties end with zero; the context is new, not null, and nobody else's.
    unsafe {
        let context = sys::SSL_CTX_new_ex(any, properties.as_ptr(), ffi::TLS_server_method());
        if context.is_null() {
            return Err(ErrorStack::get());
        }
        Ok(SslContextBuilder::from_ptr(context))
    }
}

/// What OpenSSL calls first where the provider is a shared library (`OSSL_provider_init`,
/// provider-base(7)). Its settings are the lines of its section in openssl.cnf; where one is wrong, a line
/// on stderr says which, because most programs ignore that a provider cannot be loaded.
///
/// # Safety
/// The arguments are those of `OSSL_provider_init`.
pub unsafe fn provide(
    handle: *const c_void,
    core: *const c_void,
    out: *mut *const c_void,
    context: *mut *mut c_void,
) -> c_int {
    let begin = || {
        // SAFETY: OpenSSL gives its functions, with an end, and a handle for them.
        let settings = unsafe { settings::read(handle, core.cast()) };
        let report = |why| writeln!(std::io::stderr(), "toll's OpenSSL provider: {why}");
        let settings = settings.map_err(report).ok()?;
        settings.accelerator.make();
        if let Some(rows) = settings.counters {
            crate::count_in(rows);
        }
        Some(())
    };
    if guarded(begin) == 0 {
        return 0;
    }
    // SAFETY: the caller's.
    unsafe { initialize(handle, core.cast(), out.cast(), context) }
}

/// What OpenSSL calls first where the provider is built in.
unsafe extern "C" fn initialize(
    handle: *const c_void,
    _core: *const Dispatch,
    out: *mut *const Dispatch,
    context: *mut *mut c_void,
) -> c_int {
    const FUNCTIONS: &[Dispatch] = &[
        Dispatch::new(sys::PROVIDER_TEARDOWN, end as *const ()),
        Dispatch::new(sys::PROVIDER_GET_CAPABILITIES, groups::capabilities as *const ()),
        Dispatch::new(sys::PROVIDER_GETTABLE_PARAMS, about::gettable as *const ()),
        Dispatch::new(sys::PROVIDER_GET_PARAMS, about::get as *const ()),
        Dispatch::new(sys::PROVIDER_QUERY_OPERATION, query as *const ()),
        Dispatch::END,
    ];
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
    const RSA: &CStr = c"RSA:rsaEncryption:1.2.840.113549.1.1.1";
    const EC: &CStr = c"EC:id-ecPublicKey:1.2.840.10045.2.1";
    const X25519: &CStr = c"X25519:1.3.101.110";
    const CIPHERS: &[Algorithm] = &[Algorithm::new(RSA, decrypt::FUNCTIONS), Algorithm::END];
    // A model only decrypts.
    const KEYS_OF_MODEL: &[Algorithm] = &[Algorithm::new(RSA, key::FUNCTIONS), Algorithm::END];
    const KEYS: &[Algorithm] = &[
        Algorithm::new(RSA, key::FUNCTIONS),
        Algorithm::new(EC, curve_keymgmt::Functions::<OfNist>::TABLE),
        Algorithm::new(X25519, curve_keymgmt::Functions::<OfX25519>::TABLE),
        Algorithm::END,
    ];
    const SIGNATURES: &[Algorithm] = &[
        Algorithm::new(RSA, sign::Functions::<Key>::TABLE),
        Algorithm::new(c"ECDSA", sign::Functions::<CurveKey>::TABLE),
        Algorithm::END,
    ];
    const EXCHANGES: &[Algorithm] = &[
        Algorithm::new(c"ECDH", exchange::Functions::<OfNist>::TABLE),
        Algorithm::new(X25519, exchange::Functions::<OfX25519>::TABLE),
        Algorithm::END,
    ];
    // SAFETY: OpenSSL gives a place for this.
    unsafe { *no_cache = 0 };
    match operation {
        sys::OP_ASYM_CIPHER => CIPHERS.as_ptr(),
        sys::OP_KEYMGMT if !Accelerator::is_multi_buffer() => KEYS_OF_MODEL.as_ptr(),
        _ if !Accelerator::is_multi_buffer() => std::ptr::null(),
        sys::OP_KEYMGMT => KEYS.as_ptr(),
        sys::OP_SIGNATURE => SIGNATURES.as_ptr(),
        sys::OP_KEYEXCH => EXCHANGES.as_ptr(),
        _ => std::ptr::null(),
    }
}

/// The process ends: what still waits is done by nobody.
unsafe extern "C" fn end(_context: *mut c_void) {
    guarded(|| Accelerator::get().map(Accelerator::end));
}

#[cfg(test)]
mod tests;
