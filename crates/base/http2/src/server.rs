//! The server's side of a connection.

use std::ptr;

use libnghttp2_sys as sys;

use crate::callbacks::body_source;
use crate::client::field;
use crate::session::{Options, Session};
use crate::{Handler, SessionError};

/// A server's session: it takes requests, and answers each on its stream.
pub struct Server<H> {
    session: Session<H>,
}

/// What a server announces in its SETTINGS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerSettings {
    /// How many streams a client may have open at once.
    pub max_streams: u32,
}

impl<H: Handler> Server<H> {
    /// A session that awaits a client's preface, and whose SETTINGS are due.
    pub fn new(settings: ServerSettings) -> Self {
        let options = Options::new();
        let mut session = Session::new(sys::nghttp2_session_server_new2, &options);
        session.submit_settings(&[(
            sys::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
            settings.max_streams,
        )]);
        Self { session }
    }

    /// Takes received bytes, all of them.
    ///
    /// # Errors
    /// The session cannot go on.
    pub fn receive(&mut self, handler: &mut H, bytes: &[u8]) -> Result<(), SessionError> {
        self.session.receive(handler, bytes)
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
        self.session.send(handler, out, enough)
    }

    /// Answers a request with this head and, where `has_body`, with what [`Handler::body`] gives.
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
        let body = body_source::<H>(0);
        let body = if has_body { &raw const body } else { ptr::null() };
        // SAFETY: the fields and the provider are valid during the call, which copies them.
        let code = unsafe {
            sys::nghttp2_submit_response2(
                self.session.raw(),
                stream,
                fields.as_ptr(),
                fields.len(),
                body,
            )
        };
        match code {
            sys::NGHTTP2_ERR_NOMEM => Err(SessionError(code)),
            _ => Ok(()),
        }
    }

    /// Ends a request's stream, which is not answered.
    pub fn refuse(&mut self, stream: i32) {
        self.session.reset(stream, sys::NGHTTP2_REFUSED_STREAM);
    }

    /// The client sends what it sends after its response in vain: the stream ends without an error.
    pub fn end(&mut self, stream: i32) {
        self.session.reset(stream, sys::NGHTTP2_NO_ERROR);
    }

    /// Announces that no more requests are taken; those that are there are answered.
    pub fn go_away(&mut self) {
        // SAFETY: the session is valid. Where memory is short, the client finds out by the close.
        unsafe {
            let last = sys::nghttp2_session_get_last_proc_stream_id(self.session.raw());
            let (code, none) = (sys::NGHTTP2_NO_ERROR, ptr::null());
            let _ = sys::nghttp2_submit_goaway(self.session.raw(), 0, last, code, none, 0);
        }
    }

    /// Whether the session goes on: not after an error, or after both sides have ended it.
    pub fn is_alive(&self) -> bool {
        self.session.wants_read() || self.session.wants_write()
    }

    /// Whether something can be sent.
    pub fn has_to_send(&self) -> bool {
        self.session.wants_write()
    }
}
