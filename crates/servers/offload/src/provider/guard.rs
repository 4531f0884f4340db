//! What the functions that OpenSSL calls have in common: objects that it holds, memory that it gives, and that no panic
//! leaves them.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What OpenSSL gives as input, for as long as the caller has its pointer: nothing may come as null.
///
/// # Safety
/// `start` is null or has `length` bytes.
pub(super) unsafe fn input(start: &*const u8, length: usize) -> Option<&[u8]> {
    match (start.is_null(), length) {
        (true, 0) => Some(&[]),
        (true, _) => None,
        // SAFETY: the caller's.
        (false, _) => Some(unsafe { std::slice::from_raw_parts(*start, length) }),
    }
}

/// What a function that OpenSSL calls does: a panic may not leave it, and is a failure.
pub(super) fn guarded(act: impl FnOnce() -> Option<()>) -> c_int {
    match catch_unwind(AssertUnwindSafe(act)) {
        Ok(Some(())) => 1,
        Ok(None) | Err(_) => 0,
    }
}

/// An object that OpenSSL is to hold; null where none can be made.
pub(super) fn made<T>(make: impl FnOnce() -> Option<T>) -> *mut c_void {
    let mut object = std::ptr::null_mut();
    guarded(|| {
        object = Box::into_raw(Box::new(make()?)).cast();
        Some(())
    });
    object
}

/// An object as it is at first.
pub(super) unsafe extern "C" fn new<T: Default>(_context: *mut c_void) -> *mut c_void {
    made(|| Some(T::default()))
}

/// The end of an object that was [`made`].
pub(super) unsafe extern "C" fn free<T>(object: *mut c_void) {
    if !object.is_null() {
        // SAFETY: OpenSSL gives back what was made, of this type, once.
        drop(unsafe { Box::from_raw(object.cast::<T>()) });
    }
}

/// Gives a result, where there is room for it.
///
/// # Safety
/// `out` has room for `size` bytes, and there is a place for its length.
pub(super) unsafe fn give(
    result: &[u8],
    out: *mut u8,
    length: *mut usize,
    size: usize,
) -> Option<()> {
    if result.len() > size {
        return None;
    }
    // SAFETY: the caller's.
    unsafe {
        out.copy_from_nonoverlapping(result.as_ptr(), result.len());
        *length = result.len();
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_given_whole_or_not_at_all() {
        let (mut room, mut length) = ([0; 4], 9);
        let (out, size) = (room.as_mut_ptr(), room.len());
        // SAFETY: the room is as long as it is said to be.
        let given = unsafe {
            [give(&[7; 5], out, &raw mut length, size), give(&[1, 2], out, &raw mut length, size)]
        };
        assert_eq!(given, [None, Some(())]);
        assert_eq!((room, length), ([1, 2, 0, 0], 2));
    }

    #[test]
    fn what_cannot_be_made_is_null_and_what_was_made_can_be_freed() {
        assert!(made(|| None::<String>).is_null());
        assert!(made::<String>(|| panic!("no key")).is_null());
        // SAFETY: what was made, of this type, once; and nothing.
        unsafe {
            free::<String>(new::<String>(std::ptr::null_mut()));
            free::<String>(std::ptr::null_mut());
        }
    }
}
