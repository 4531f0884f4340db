//! Objects that the library makes.

use std::ffi::c_int;
use std::ptr::NonNull;

/// What a call made, with its result: it fails for nothing but memory.
pub(super) fn made<T>(object: *mut T, code: c_int) -> NonNull<T> {
    NonNull::new(object)
        .filter(|_| code == 0)
        .unwrap_or_else(|| std::alloc::handle_alloc_error(std::alloc::Layout::new::<usize>()))
}
