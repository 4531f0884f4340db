//! The OpenSSL provider `toll` as a shared library, which any program loads that reads openssl.cnf:
//!
//! ```text
//! [toll_provider]
//! module = /usr/lib/toll/libtoll_offload.so
//! activate = 1
//! offload = asynchronous
//! accelerator-rate = rsa:2048 40000/s
//! accelerator-latency = 100us
//! accelerator-queue = 256
//! accelerator-count = 1
//! counters = /run/toll/counts
//! ```
//!
//! With `accelerator = multi-buffer` it is Intel's library, from the file `crypto-mb`, in batches for which an
//! operation waits no longer than `batch-wait`.

use std::ffi::{c_int, c_void};

/// What OpenSSL calls first (provider-base(7)).
///
/// # Safety
/// OpenSSL gives the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn OSSL_provider_init(
    handle: *const c_void,
    core: *const c_void,
    out: *mut *const c_void,
    context: *mut *mut c_void,
) -> c_int {
    // SAFETY: the caller's.
    unsafe { offload::provide(handle, core, out, context) }
}
