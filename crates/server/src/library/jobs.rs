//! Jobs of OpenSSL: a handshake that waits for an accelerator is one that is paused.

use foreign_types::ForeignTypeRef;
use openssl::ssl::SslRef;

/// `SSL_MODE_ASYNC`, which openssl-sys does not name.
pub(super) const MODE_ASYNC: u32 = 0x100;

unsafe extern "C" {
    fn SSL_waiting_for_async(ssl: *mut openssl_sys::SSL) -> libc::c_int;
}

/// The operation for which the session's job is paused, where it is. To be asked right after its call.
pub(super) fn paused(ssl: &SslRef) -> Option<offload::Ticket> {
    // SAFETY: the session is valid while borrowed.
    let is_paused = unsafe { SSL_waiting_for_async(ssl.as_ptr()) } == 1;
    is_paused.then(offload::paused).flatten()
}

/// Reads and writes without jobs of OpenSSL: the private key is not used any more.
pub(super) fn leave_jobs(ssl: &SslRef) {
    const CLEAR_MODE: libc::c_int = 78;
    // SAFETY: the session is valid while borrowed; this command takes a number and no pointer.
    unsafe {
        openssl_sys::SSL_ctrl(ssl.as_ptr(), CLEAR_MODE, MODE_ASYNC.into(), std::ptr::null_mut());
    }
}
