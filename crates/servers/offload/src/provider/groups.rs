//! The groups of TLS whose keys are this provider's (provider-base(7), "CAPABILITIES"): OpenSSL offers a group
//! only by the provider that has its algorithm.

use std::ffi::{CStr, c_char, c_int, c_void};

use ffi::OSSL_PARAM;
use openssl_sys as ffi;

use super::curve_key::{EC, X25519};
use super::guard::guarded;
use super::{software, sys};
use crate::Accelerator;

/// Whoever asks for groups.
struct Asker {
    callback: sys::Callback,
    argument: *mut c_void,
}

/// Tells of those that OpenSSL's own provider has with these algorithms.
pub(super) unsafe extern "C" fn capabilities(
    _context: *mut c_void,
    capability: *const c_char,
    callback: sys::Callback,
    argument: *mut c_void,
) -> c_int {
    guarded(|| {
        // SAFETY: OpenSSL gives a name with an end.
        let name = unsafe { CStr::from_ptr(capability) };
        if !Accelerator::is_multi_buffer()
            || !name.to_bytes().eq_ignore_ascii_case(sys::CAPABILITY_GROUPS.to_bytes())
        {
            return Some(());
        }
        let mut asker = Asker { callback, argument };
        let asker = (&raw mut asker).cast();
        // SAFETY: the provider stays loaded, the name has an end, and the asker is there until this returns.
        let done = unsafe {
            let name = sys::CAPABILITY_GROUPS.as_ptr();
            sys::OSSL_PROVIDER_get_capabilities(software::provider(), name, tell, asker)
        };
        (done == 1).then_some(())
    })
}

unsafe extern "C" fn tell(group: *const OSSL_PARAM, asker: *mut c_void) -> c_int {
    guarded(|| {
        // SAFETY: OpenSSL gives parameters with an end, whose texts have one, and back what it was given.
        unsafe {
            let asker = asker.cast::<Asker>().as_ref()?;
            let name = sys::PARAM_GROUP_ALGORITHM.as_ptr();
            let algorithm = ffi::OSSL_PARAM_locate_const(group, name);
            let mut text = std::ptr::null();
            let is_text = !algorithm.is_null()
                && ffi::OSSL_PARAM_get_utf8_string_ptr(algorithm, &mut text) == 1;
            let is_own = is_text && [EC, X25519].contains(&CStr::from_ptr(text));
            (!is_own || (asker.callback)(group, asker.argument) == 1).then_some(())
        }
    })
}
