//! The OpenSSL provider `toll`: RSA keys, decryption and, for the multi-buffer library, signatures with them.
//!
//! Only decryption with the padding of TLS and signatures of messages go to the accelerator; everything else
//! is passed on to OpenSSL's own provider, in a library context that nothing else uses. An engine or a method of an RSA key
//! would not do: static RSA fails with them in OpenSSL 3, because they lack the padding of TLS.

mod about;
mod alarm;
mod decrypt;
mod job;
mod key;
mod padding;
mod settings;
mod sign;
mod software;
mod sys;

use std::ffi::{CString, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use crypto_mb::CryptoMb;
use openssl::error::ErrorStack;
use openssl::ssl::SslContextBuilder;
use openssl_sys as ffi;

use crate::multi_buffer::{PrivateRsa, Purpose};
use crate::{Accelerator, Batching, CompletedBy, Description, InstallError, ProviderPath, counts};
use alarm::Alarm;
pub use job::paused;
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
    let accelerator = Accelerator::make_multi_buffer(library, batching, CompletedBy::Poll);
    add_provider()?;
    Ok(accelerator)
}

/// Where Intel's multi-buffer library is, if it can be used here.
///
/// # Errors
/// Why not, and what to do.
pub fn find_multi_buffer() -> Result<PathBuf, crypto_mb::OpenError> {
    CryptoMb::open().map(|library| library.path().to_owned())
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
        let settings = settings.map_err(|why| eprintln!("toll's OpenSSL provider: {why}")).ok()?;
        settings.accelerator.make();
        if let Some(row) = settings.counters {
            counts::count_in(row);
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
    const KEYS: &[Algorithm] = &[Algorithm::new(key::FUNCTIONS), Algorithm::END];
    const CIPHERS: &[Algorithm] = &[Algorithm::new(decrypt::FUNCTIONS), Algorithm::END];
    const SIGNATURES: &[Algorithm] = &[Algorithm::new(sign::FUNCTIONS), Algorithm::END];
    let signs = || Accelerator::get().is_some_and(|it| it.multi_buffer().is_some());
    // SAFETY: OpenSSL gives a place for this.
    unsafe { *no_cache = 0 };
    match operation {
        sys::OP_KEYMGMT => KEYS.as_ptr(),
        sys::OP_ASYM_CIPHER => CIPHERS.as_ptr(),
        // A model only decrypts.
        sys::OP_SIGNATURE if signs() => SIGNATURES.as_ptr(),
        _ => std::ptr::null(),
    }
}

/// Has the multi-buffer library use a key, in a batch with others where the caller is in a job that can be
/// paused; `None` where OpenSSL is to do it.
fn in_batch(key: &Arc<PrivateRsa>, input: Vec<u8>, purpose: Purpose) -> Option<Vec<u8>> {
    let accelerator = Accelerator::get()?;
    let device = accelerator.multi_buffer()?;
    let pauses = accelerator.pauses().filter(|_| job::is_running());
    let is_polled = pauses == Some(CompletedBy::Poll);
    let ticket = device.submit(key, input, purpose, is_polled)?;
    if pauses == Some(CompletedBy::Event) {
        // Who completes a batch computes it. The timers of the others are over by then.
        device.run_full();
    }
    let end = Instant::now() + device.wait();
    loop {
        if let Some(answer) = device.take(ticket) {
            if pauses == Some(CompletedBy::Event) {
                Alarm::end_of_operation();
            }
            return answer;
        }
        let left = end.saturating_duration_since(Instant::now());
        match pauses {
            Some(CompletedBy::Poll) => job::pause(ticket),
            Some(CompletedBy::Event) if !left.is_zero() && Alarm::pause(ticket, left).is_some() => {
            }
            // The first whose time is over, or that has no descriptor, computes what waits with it.
            Some(CompletedBy::Event) | None => device.finish(ticket),
        }
    }
}

/// What OpenSSL gives as input, for as long as the caller has its pointer: nothing may come as null.
///
/// # Safety
/// `start` is null or has `length` bytes.
unsafe fn input(start: &*const u8, length: usize) -> Option<&[u8]> {
    match (start.is_null(), length) {
        (true, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: the caller's.
        (false, _) => Some(unsafe { std::slice::from_raw_parts(*start, length) }),
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
