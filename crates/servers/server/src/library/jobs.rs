//! Jobs of OpenSSL: a handshake that waits for an accelerator is one that is paused.

use std::os::fd::RawFd;

use foreign_types::ForeignTypeRef;
use openssl::ssl::SslRef;

use super::session::Pause;

/// `SSL_MODE_ASYNC`, which openssl-sys does not name.
pub(super) const MODE_ASYNC: u32 = 0x100;

unsafe extern "C" {
    fn SSL_waiting_for_async(ssl: *mut openssl_sys::SSL) -> libc::c_int;
    fn SSL_get_changed_async_fds(
        ssl: *mut openssl_sys::SSL,
        added: *mut RawFd,
        added_count: *mut usize,
        removed: *mut RawFd,
        removed_count: *mut usize,
    ) -> libc::c_int;
}

/// What the session's job is paused for, where it is. To be asked right after its call.
pub(super) fn paused(ssl: &SslRef) -> Option<Pause> {
    // SAFETY: the session is valid while borrowed.
    let is_paused = unsafe { SSL_waiting_for_async(ssl.as_ptr()) } == 1;
    is_paused.then(|| offload::paused().map_or_else(|| Pause::Event(added(ssl)), Pause::Answer))
}

/// The descriptors that its job waits for since it was paused last.
fn added(ssl: &SslRef) -> Vec<RawFd> {
    let (mut count, mut removed) = (0, 0);
    let nowhere = std::ptr::null_mut();
    // SAFETY: the session is valid while borrowed. Without places, only the counts are given; then there
    // are places for all that were added.
    unsafe {
        let ssl = ssl.as_ptr();
        SSL_get_changed_async_fds(ssl, nowhere, &mut count, nowhere, &mut removed);
        let mut descriptors = vec![0; count];
        SSL_get_changed_async_fds(ssl, descriptors.as_mut_ptr(), &mut count, nowhere, &mut removed);
        descriptors
    }
}

/// Reads and writes without jobs of OpenSSL: the private key is not used any more.
pub(super) fn leave_jobs(ssl: &SslRef) {
    const CLEAR_MODE: libc::c_int = 78;
    // SAFETY: the session is valid while borrowed; this command takes a number and no pointer.
    unsafe {
        openssl_sys::SSL_ctrl(ssl.as_ptr(), CLEAR_MODE, MODE_ASYNC.into(), std::ptr::null_mut());
    }
}
