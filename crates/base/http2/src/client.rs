//! The client's side of a connection.

use std::ptr;

use libnghttp2_sys as sys;

use crate::callbacks::body_source;
use crate::session::{Options, Session};
use crate::{DEFAULT_MAX_FRAME, Handler, SessionError};

/// A client's session: it sends requests, and each is a stream.
pub struct Client<H> {
    session: Session<H>,
    /// The fields of the request under way; kept for its memory.
    fields: Vec<sys::nghttp2_nv>,
}

/// The most frames in which a head goes on. A server that fills its frames has sent 1 MiB then.
pub const MOST_CONTINUATIONS: usize = 64;

/// What a client announces in its SETTINGS. It never accepts pushed responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSettings {
    /// The window of each stream and of the whole connection.
    pub window: u32,
    /// The largest frame that the server may send.
    pub max_frame: u32,
}

impl<H: Handler> Client<H> {
    /// A session whose preface and SETTINGS are due.
    pub fn new(settings: ClientSettings) -> Self {
        let options = Options::new();
        // Closed streams are of use only for RFC 7540's priorities. Until the server has said how many
        // streams it takes, one is open: it would refuse those beyond its limit. Without an option the
        // library takes a head in 9 frames, 144 KiB.
        // SAFETY: the options are valid.
        unsafe {
            sys::nghttp2_option_set_no_closed_streams(options.as_ptr(), 1);
            sys::nghttp2_option_set_peer_max_concurrent_streams(options.as_ptr(), 1);
            sys::nghttp2_option_set_max_continuations(options.as_ptr(), MOST_CONTINUATIONS);
        }
        let mut session = Session::new(sys::nghttp2_session_client_new2, &options);
        let ClientSettings { window, max_frame } = settings;
        let mut announced = vec![
            (sys::NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            (sys::NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, window),
        ];
        if max_frame != DEFAULT_MAX_FRAME {
            announced.push((sys::NGHTTP2_SETTINGS_MAX_FRAME_SIZE, max_frame));
        }
        session.submit_settings(&announced);
        session.set_window(window);
        Self { session, fields: Vec::new() }
    }

    /// Asks for something: the fields with the pseudo-header fields first, names in lower case, and where
    /// it `has_body`, what [`Handler::body`] gives. The request is sent when the server takes another
    /// stream. Returns the stream's number.
    ///
    /// # Errors
    /// No request can be sent any more.
    pub fn request<'f>(
        &mut self,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
        tag: usize,
        has_body: bool,
    ) -> Result<i32, SessionError> {
        self.fields.clear();
        self.fields.extend(fields.map(field));
        let body = body_source::<H>(tag);
        let body = if has_body { &raw const body } else { ptr::null() };
        // SAFETY: the fields and the body's source are valid during the call, which copies them.
        let id = unsafe {
            sys::nghttp2_submit_request2(
                self.session.raw(),
                ptr::null(),
                self.fields.as_ptr(),
                self.fields.len(),
                body,
                tag as *mut _,
            )
        };
        self.fields.clear();
        if id < 0 { Err(SessionError(id)) } else { Ok(id) }
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

    /// Whether something can be sent.
    pub fn has_to_send(&self) -> bool {
        self.session.wants_write()
    }

    /// How much of a stream's body the server's windows let through now: the smaller one of the stream's
    /// and the connection's.
    pub fn window(&self, stream: i32) -> i32 {
        // SAFETY: the session is valid; a stream that is not there has no window.
        let of_stream = unsafe {
            sys::nghttp2_session_get_stream_remote_window_size(self.session.raw(), stream)
        };
        of_stream.min(self.connection_window())
    }

    /// How much of any body the server's window for the whole connection lets through now.
    pub fn connection_window(&self) -> i32 {
        // SAFETY: the session is valid.
        unsafe { sys::nghttp2_session_get_remote_window_size(self.session.raw()) }
    }

    /// How much of this side's window for the whole connection is left to the server.
    pub fn window_left(&self) -> u32 {
        // SAFETY: the session is valid.
        let left = unsafe {
            let raw = self.session.raw();
            sys::nghttp2_session_get_effective_local_window_size(raw)
                - sys::nghttp2_session_get_effective_recv_data_length(raw)
        };
        left.try_into().unwrap_or(0)
    }

    /// Whether the session goes on: not after an error, or after both sides have ended it.
    pub fn is_alive(&self) -> bool {
        self.session.wants_read() || self.session.wants_write()
    }

    /// Whether the server takes more requests: not after a GOAWAY, and not after 2^30 of them.
    pub fn takes_requests(&self) -> bool {
        // SAFETY: the session is valid.
        unsafe { sys::nghttp2_session_check_request_allowed(self.session.raw()) != 0 }
    }

    /// Gives a request up.
    pub fn cancel(&mut self, stream: i32) {
        self.session.reset(stream, sys::NGHTTP2_CANCEL);
    }

    /// How many streams the server takes at once, as far as it has announced that.
    pub fn most_streams(&self) -> u32 {
        self.session.remote_setting(sys::NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }
}

/// A field as the library takes it, which copies it.
pub(crate) fn field((name, value): (&[u8], &[u8])) -> sys::nghttp2_nv {
    sys::nghttp2_nv {
        name: name.as_ptr().cast_mut(),
        value: value.as_ptr().cast_mut(),
        namelen: name.len(),
        valuelen: value.len(),
        flags: sys::NGHTTP2_NV_FLAG_NONE as u8,
    }
}
