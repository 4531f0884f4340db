//! What client and server sessions have in common: the library's object, lent a handler for each call.

use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use libnghttp2_sys as sys;

use crate::Handler;
use crate::callbacks::{Callbacks, Lent};
use crate::made::made;

/// A session that cannot go on, by the library's code of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionError(pub(crate) i32);

impl SessionError {
    /// Whether a head came in more frames than this side takes.
    pub fn is_long_head(self) -> bool {
        self.0 == sys::NGHTTP2_ERR_TOO_MANY_CONTINUATIONS
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the library returns a static text for any code.
        let text = unsafe { CStr::from_ptr(sys::nghttp2_strerror(self.0)) };
        f.write_str(&text.to_string_lossy())
    }
}

/// The library's options for a session.
pub(crate) struct Options(NonNull<sys::nghttp2_option>);

impl Options {
    pub(crate) fn new() -> Self {
        let mut options = ptr::null_mut();
        // SAFETY: the pointer is written where the call succeeds.
        let code = unsafe { sys::nghttp2_option_new(&raw mut options) };
        Self(made(options, code))
    }

    pub(crate) fn as_ptr(&self) -> *mut sys::nghttp2_option {
        self.0.as_ptr()
    }
}

impl Drop for Options {
    fn drop(&mut self) {
        // SAFETY: it was made by `new`, and no session keeps it.
        unsafe { sys::nghttp2_option_del(self.0.as_ptr()) }
    }
}

/// One side of one connection.
pub(crate) struct Session<H> {
    raw: NonNull<sys::nghttp2_session>,
    handler: PhantomData<fn(&mut H)>,
}

/// Makes the library's object: `nghttp2_session_client_new2` or its twin.
type New = unsafe extern "C" fn(
    *mut *mut sys::nghttp2_session,
    *const sys::nghttp2_session_callbacks,
    *mut std::ffi::c_void,
    *const sys::nghttp2_option,
) -> std::ffi::c_int;

impl<H: Handler> Session<H> {
    pub(crate) fn new(new: New, options: &Options) -> Self {
        let callbacks = Callbacks::new::<H>();
        let mut raw = ptr::null_mut();
        // SAFETY: all pointers are valid during the call, which copies what they point to.
        let code =
            unsafe { new(&raw mut raw, callbacks.as_ptr(), ptr::null_mut(), options.as_ptr()) };
        Self { raw: made(raw, code), handler: PhantomData }
    }

    pub(crate) fn raw(&self) -> *mut sys::nghttp2_session {
        self.raw.as_ptr()
    }

    /// Announces settings (RFC 9113, section 6.5.2).
    pub(crate) fn submit_settings(&mut self, settings: &[(u32, u32)]) {
        let entries: Vec<_> = settings
            .iter()
            .map(|(id, value)| sys::nghttp2_settings_entry {
                settings_id: *id as i32,
                value: *value,
            })
            .collect();
        // SAFETY: the entries are valid during the call, which copies them.
        let code =
            unsafe { sys::nghttp2_submit_settings(self.raw(), 0, entries.as_ptr(), entries.len()) };
        debug_assert_eq!(code, 0, "settings that RFC 9113 does not allow");
    }

    /// Makes the connection's own window this large.
    pub(crate) fn set_window(&mut self, window: u32) {
        let window = i32::try_from(window).unwrap_or(i32::MAX);
        // SAFETY: the session is valid. Where memory is short, the window stays smaller.
        let _ = unsafe { sys::nghttp2_session_set_local_window_size(self.raw(), 0, 0, window) };
    }

    /// Takes received bytes, all of them.
    pub(crate) fn receive(&mut self, handler: &mut H, bytes: &[u8]) -> Result<(), SessionError> {
        let taken = Lent::new(handler, None).during(self.raw(), |raw| {
            // SAFETY: the bytes are valid during the call, and the handler is lent.
            unsafe { sys::nghttp2_session_mem_recv2(raw, bytes.as_ptr(), bytes.len()) }
        });
        if taken < 0 { Err(SessionError(taken as i32)) } else { Ok(()) }
    }

    /// Appends frames that are due to `out`, until it holds `enough` bytes or nothing is left.
    pub(crate) fn send(
        &mut self,
        handler: &mut H,
        out: &mut Vec<u8>,
        enough: usize,
    ) -> Result<(), SessionError> {
        let mut length = out.len();
        while length < enough {
            let mut chunk = ptr::null();
            let sent = Lent::new(handler, Some((&mut *out, enough))).during(self.raw(), |raw| {
                // SAFETY: the chunk's pointer is written, and the handler and `out` are lent.
                unsafe { sys::nghttp2_session_mem_send2(raw, &raw mut chunk) }
            });
            let sent = usize::try_from(sent).map_err(|_| SessionError(sent as i32))?;
            if sent > 0 {
                // SAFETY: the library's chunk is valid until its next call.
                out.extend_from_slice(unsafe { std::slice::from_raw_parts(chunk, sent) });
            }
            // DATA frames were appended during the call.
            if out.len() == length {
                return Ok(());
            }
            length = out.len();
        }
        Ok(())
    }

    /// Whether the session takes more bytes: not after an error, or after both sides have ended.
    pub(crate) fn wants_read(&self) -> bool {
        // SAFETY: the session is valid.
        unsafe { sys::nghttp2_session_want_read(self.raw()) != 0 }
    }

    /// Whether the session has something to send that no window holds back.
    pub(crate) fn wants_write(&self) -> bool {
        // SAFETY: the session is valid.
        unsafe { sys::nghttp2_session_want_write(self.raw()) != 0 }
    }

    /// Ends a stream with this code.
    pub(crate) fn reset(&mut self, stream: i32, code: u32) {
        // SAFETY: the session is valid; a stream that is not there is ignored.
        let _ = unsafe { sys::nghttp2_submit_rst_stream(self.raw(), 0, stream, code) };
    }

    /// A setting that the peer announced, or its default.
    pub(crate) fn remote_setting(&self, id: u32) -> u32 {
        // SAFETY: the session is valid, and the number is one of the library's.
        unsafe { sys::nghttp2_session_get_remote_settings(self.raw(), id) }
    }
}

impl<H> Drop for Session<H> {
    fn drop(&mut self) {
        // SAFETY: it was made by `new` and is not used after this.
        unsafe { sys::nghttp2_session_del(self.raw.as_ptr()) }
    }
}
