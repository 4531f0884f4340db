//! What the provider says of itself (provider-base(7)): its name, and that it works.

use std::ffi::{c_int, c_void};

use openssl_sys as ffi;

use ffi::OSSL_PARAM;

use super::guard::guarded;
use super::sys;

/// What can be asked for.
pub(super) unsafe extern "C" fn gettable(_context: *mut c_void) -> *const OSSL_PARAM {
    struct Table([OSSL_PARAM; 3]);
    // SAFETY: it is never changed.
    unsafe impl Sync for Table {}

    const fn param(name: *const std::ffi::c_char, data_type: u32) -> OSSL_PARAM {
        let data = std::ptr::null_mut();
        OSSL_PARAM { key: name, data_type, data, data_size: 0, return_size: 0 }
    }
    static TABLE: Table = Table([
        param(sys::PARAM_NAME.as_ptr(), sys::PARAM_UTF8_PTR),
        param(sys::PARAM_STATUS.as_ptr(), sys::PARAM_INTEGER),
        param(std::ptr::null(), 0),
    ]);
    TABLE.0.as_ptr()
}

pub(super) unsafe extern "C" fn get(_context: *mut c_void, params: *mut OSSL_PARAM) -> c_int {
    // SAFETY: OpenSSL gives parameters with room and an end; what they are set to stays.
    guarded(|| unsafe {
        let name = sys::OSSL_PARAM_locate(params, sys::PARAM_NAME.as_ptr());
        if !name.is_null() {
            let text = c"toll: private keys on an accelerator";
            (sys::OSSL_PARAM_set_utf8_ptr(name, text.as_ptr()) == 1).then_some(())?;
        }
        let status = sys::OSSL_PARAM_locate(params, sys::PARAM_STATUS.as_ptr());
        if !status.is_null() {
            (sys::OSSL_PARAM_set_int(status, 1) == 1).then_some(())?;
        }
        Some(())
    })
}
