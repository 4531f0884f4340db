//! The server's side of a connection, by libnghttp2: the library's object, lent a handler for each call.

mod callbacks;
mod handler;
mod made;

use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use libnghttp2_sys as sys;

pub use self::handler::ServerHandler;

use self::callbacks::{Callbacks, Lent, body_source};
use self::made::made;

/// A session that cannot go on, by the library's code of that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionError(i32);

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // SAFETY: the library returns a static text for any code.
        let text = unsafe { CStr::from_ptr(sys::nghttp2_strerror(self.0)) };
        f.write_str(&text.to_string_lossy())
    }
}

/// A server's session: it takes requests, and answers each on its stream.
pub struct Server<H> {
    raw: NonNull<sys::nghttp2_session>,
    handler: PhantomData<fn(&mut H)>,
}

/// What a server announces in its SETTINGS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// How many streams a client may have open at once.
    pub max_streams: u32,
}

impl<H: ServerHandler> Server<H> {
    /// A session that awaits a client's preface, and whose SETTINGS are due.
    pub fn new(settings: ServerSettings) -> Self {
        let callbacks = Callbacks::new::<H>();
        let mut raw = ptr::null_mut();
        let announced = sys::nghttp2_settings_entry {
            settings_id: sys::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS as i32,
            value: settings.max_streams,
        };
        // SAFETY: all pointers are valid during the calls, which copy what they point to.
        let raw = unsafe {
            let user_data = ptr::null_mut();
            let code = sys::nghttp2_session_server_new(&raw mut raw, callbacks.as_ptr(), user_data);
            let raw = made(raw, code);
            let code = sys::nghttp2_submit_settings(raw.as_ptr(), 0, &raw const announced, 1);
            debug_assert_eq!(code, 0, "settings that RFC 9113 does not allow");
            raw
        };
        Self { raw, handler: PhantomData }
    }

    /// Takes received bytes, all of them.
    ///
    /// # Errors
    /// The session cannot go on.
    pub fn receive(&mut self, handler: &mut H, bytes: &[u8]) -> Result<(), SessionError> {
        let taken = Lent::new(handler, None).during(self.raw(), |raw| {
            // SAFETY: the bytes are valid during the call, and the handler is lent.
            unsafe { sys::nghttp2_session_mem_recv2(raw, bytes.as_ptr(), bytes.len()) }
        });
        if taken < 0 { Err(SessionError(taken as i32)) } else { Ok(()) }
    }

    /// Appends what is due to `out`, until that holds `enough` bytes.
    ///
    /// # Errors
    /// The session cannot go on.
    pub fn send(
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

    /// Answers a request with this head and, where `has_body`, with what [`ServerHandler::body`] gives.
    ///
    /// # Errors
    /// The session cannot go on. A stream that has gone meanwhile is no error.
    pub fn respond(
        &mut self,
        stream: i32,
        fields: &[(&[u8], &[u8])],
        has_body: bool,
    ) -> Result<(), SessionError> {
        let fields: Vec<_> = fields.iter().copied().map(field).collect();
        let body = body_source::<H>();
        let body = if has_body { &raw const body } else { ptr::null() };
        // SAFETY: the fields and the provider are valid during the call, which copies them.
        let code = unsafe {
            sys::nghttp2_submit_response2(self.raw(), stream, fields.as_ptr(), fields.len(), body)
        };
        match code {
            sys::NGHTTP2_ERR_NOMEM => Err(SessionError(code)),
            _ => Ok(()),
        }
    }

    /// Ends a request's stream, which is not answered.
    pub fn refuse(&mut self, stream: i32) {
        // SAFETY: the session is valid; a stream that is not there is ignored.
        unsafe {
            let code = sys::NGHTTP2_REFUSED_STREAM;
            let _ = sys::nghttp2_submit_rst_stream(self.raw(), 0, stream, code);
        }
    }

    /// Announces that no more requests are taken; those that are there are answered.
    pub fn go_away(&mut self) {
        // SAFETY: the session is valid. Where memory is short, the client finds out by the close.
        unsafe {
            let last = sys::nghttp2_session_get_last_proc_stream_id(self.raw());
            let (code, none) = (sys::NGHTTP2_NO_ERROR, ptr::null());
            let _ = sys::nghttp2_submit_goaway(self.raw(), 0, last, code, none, 0);
        }
    }

    /// Whether the session goes on: not after an error, or after both sides have ended it.
    pub fn is_alive(&self) -> bool {
        // SAFETY: the session is valid.
        self.has_to_send() || unsafe { sys::nghttp2_session_want_read(self.raw()) != 0 }
    }

    /// Whether something can be sent.
    pub fn has_to_send(&self) -> bool {
        // SAFETY: the session is valid.
        unsafe { sys::nghttp2_session_want_write(self.raw()) != 0 }
    }

    fn raw(&self) -> *mut sys::nghttp2_session {
        self.raw.as_ptr()
    }
}

impl<H> Drop for Server<H> {
    fn drop(&mut self) {
        // SAFETY: it was made by `new` and is not used after this.
        unsafe { sys::nghttp2_session_del(self.raw.as_ptr()) }
    }
}

/// A field as the library takes it, which copies it.
fn field((name, value): (&[u8], &[u8])) -> sys::nghttp2_nv {
    sys::nghttp2_nv {
        name: name.as_ptr().cast_mut(),
        value: value.as_ptr().cast_mut(),
        namelen: name.len(),
        valuelen: value.len(),
        flags: sys::NGHTTP2_NV_FLAG_NONE as u8,
    }
}
