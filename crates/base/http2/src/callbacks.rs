//! What the library calls, and how that reaches the handler that is lent for the call.

use std::ffi::{c_char, c_int, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use libnghttp2_sys as sys;

use crate::made::made;
use crate::{Frame, FrameKind, Handler, Stream};

/// What a session may use during one call of the library: its user data.
pub(crate) struct Lent<'a, H> {
    handler: &'a mut H,
    /// Where DATA frames go, and how many bytes there are enough.
    out: Option<(&'a mut Vec<u8>, usize)>,
}

impl<'a, H: Handler> Lent<'a, H> {
    pub(crate) fn new(handler: &'a mut H, out: Option<(&'a mut Vec<u8>, usize)>) -> Self {
        Self { handler, out }
    }

    /// Makes a call of the library with this as its user data.
    pub(crate) fn during(
        mut self,
        raw: *mut sys::nghttp2_session,
        call: impl FnOnce(*mut sys::nghttp2_session) -> isize,
    ) -> isize {
        // SAFETY: the session is valid; it has this pointer only during the call.
        unsafe { sys::nghttp2_session_set_user_data(raw, (&raw mut self).cast()) };
        let result = call(raw);
        // SAFETY: the session is valid still, and keeps no pointer to what ends here.
        unsafe { sys::nghttp2_session_set_user_data(raw, ptr::null_mut()) };
        result
    }

    /// What is lent; `None` outside of [`Self::during`].
    ///
    /// # Safety
    /// `user_data` is what the library gave to a callback of a session with this handler.
    unsafe fn of(user_data: *mut c_void) -> Option<&'a mut Self> {
        // SAFETY: it is null, or what `during` has set, which nothing else uses meanwhile.
        unsafe { user_data.cast::<Self>().as_mut() }
    }
}

/// The library's table of callbacks.
pub(crate) struct Callbacks(NonNull<sys::nghttp2_session_callbacks>);

impl Callbacks {
    pub(crate) fn new<H: Handler>() -> Self {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is written where the call succeeds.
        let code = unsafe { sys::nghttp2_session_callbacks_new(&raw mut raw) };
        let table = made(raw, code);
        let raw = table.as_ptr();
        // SAFETY: the table is valid, and each function has the type that its place asks for.
        unsafe {
            sys::nghttp2_session_callbacks_set_on_header_callback(raw, Some(on_header::<H>));
            sys::nghttp2_session_callbacks_set_on_begin_frame_callback(raw, Some(on_begin::<H>));
            sys::nghttp2_session_callbacks_set_on_frame_recv_callback(raw, Some(on_frame::<H>));
            sys::nghttp2_session_callbacks_set_on_data_chunk_recv_callback(raw, Some(on_data::<H>));
            sys::nghttp2_session_callbacks_set_on_stream_close_callback(raw, Some(on_close::<H>));
            sys::nghttp2_session_callbacks_set_on_frame_send_callback(raw, Some(on_sent::<H>));
            sys::nghttp2_session_callbacks_set_on_frame_not_send_callback(
                raw,
                Some(on_not_sent::<H>),
            );
            sys::nghttp2_session_callbacks_set_error_callback2(raw, Some(on_error::<H>));
            sys::nghttp2_session_callbacks_set_send_data_callback(raw, Some(put_data::<H>));
        }
        Self(table)
    }

    pub(crate) fn as_ptr(&self) -> *const sys::nghttp2_session_callbacks {
        self.0.as_ptr()
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        // SAFETY: it was made by `new`; sessions keep copies.
        unsafe { sys::nghttp2_session_callbacks_del(self.0.as_ptr()) }
    }
}

/// # Safety
/// Called from a callback of this session.
unsafe fn stream(session: *mut sys::nghttp2_session, id: i32) -> Stream {
    // SAFETY: the session is valid; for a stream that is not there the result is null.
    let tag = unsafe { sys::nghttp2_session_get_stream_user_data(session, id) };
    Stream { id, tag: tag as usize }
}

/// The source of a body that is sent with a stream of this tag; the library keeps a copy of it.
pub(crate) fn body_source<H: Handler>(tag: usize) -> sys::nghttp2_data_provider2 {
    let source = sys::nghttp2_data_source { ptr: std::ptr::without_provenance_mut(tag) };
    sys::nghttp2_data_provider2 { source, read_callback: Some(read_body::<H>) }
}

/// # Safety
/// `source` is what the library gave to a callback, made by [`body_source`].
unsafe fn stream_with_body(id: i32, source: *mut sys::nghttp2_data_source) -> Stream {
    // SAFETY: the pointer is its only member that is set.
    Stream { id, tag: unsafe { (*source).ptr }.addr() }
}

/// # Safety
/// `frame` is what the library gave to a callback.
unsafe fn frame_of(frame: *const sys::nghttp2_frame) -> (i32, Frame) {
    // SAFETY: every frame begins with its header.
    let head = unsafe { (*frame).hd };
    let mut of = frame_of_head(&head);
    if u32::from(head.type_) == sys::NGHTTP2_GOAWAY {
        // SAFETY: its type says that it is one.
        let goaway = unsafe { (*frame).goaway };
        let (last_stream, error) = (goaway.last_stream_id, goaway.error_code);
        of.kind = FrameKind::Goaway { last_stream, error };
    }
    (head.stream_id, of)
}

fn frame_of_head(head: &sys::nghttp2_frame_hd) -> Frame {
    let kind = match u32::from(head.type_) {
        sys::NGHTTP2_DATA => FrameKind::Data,
        sys::NGHTTP2_HEADERS => FrameKind::Headers,
        sys::NGHTTP2_SETTINGS => FrameKind::Settings,
        _ => FrameKind::Other,
    };
    let can_end = matches!(kind, FrameKind::Data | FrameKind::Headers);
    let has = |flag: u32| u32::from(head.flags) & flag != 0;
    let is_head = matches!(u32::from(head.type_), sys::NGHTTP2_HEADERS | sys::NGHTTP2_CONTINUATION);
    let ends_stream = can_end && has(sys::NGHTTP2_FLAG_END_STREAM);
    let continues = is_head && !has(sys::NGHTTP2_FLAG_END_HEADERS);
    Frame { kind, length: head.length, ends_stream, continues }
}

/// Calls the handler that is lent; a callback's result is then that nothing is wrong.
///
/// # Safety
/// `user_data` is what the library gave to a callback of a session with this handler.
unsafe fn with_handler<H: Handler>(user_data: *mut c_void, call: impl FnOnce(&mut H)) -> c_int {
    // SAFETY: that is what `of` asks for.
    if let Some(lent) = unsafe { Lent::<H>::of(user_data) } {
        call(lent.handler);
    }
    0
}

unsafe extern "C" fn on_begin<H: Handler>(
    _session: *mut sys::nghttp2_session,
    head: *const sys::nghttp2_frame_hd,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            handler.begins((*head).stream_id, frame_of_head(&*head));
        })
    }
}

unsafe extern "C" fn on_header<H: Handler>(
    session: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    name: *const u8,
    name_length: usize,
    value: *const u8,
    value_length: usize,
    _flags: u8,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: the library calls this with valid pointers and the user data that it was given.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            let name = slice::from_raw_parts(name, name_length);
            let value = slice::from_raw_parts(value, value_length);
            handler.field(stream(session, (*frame).hd.stream_id), name, value);
        })
    }
}

unsafe extern "C" fn on_frame<H: Handler>(
    session: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            let (id, frame) = frame_of(frame);
            handler.received(stream(session, id), frame);
        })
    }
}

unsafe extern "C" fn on_data<H: Handler>(
    session: *mut sys::nghttp2_session,
    _flags: u8,
    id: i32,
    data: *const u8,
    length: usize,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            handler.data(stream(session, id), slice::from_raw_parts(data, length));
        })
    }
}

unsafe extern "C" fn on_close<H: Handler>(
    session: *mut sys::nghttp2_session,
    id: i32,
    error: u32,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`.
    unsafe { with_handler(user_data, |handler: &mut H| handler.closed(stream(session, id), error)) }
}

unsafe extern "C" fn on_sent<H: Handler>(
    session: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            let (id, frame) = frame_of(frame);
            handler.sent(stream(session, id), frame);
        })
    }
}

unsafe extern "C" fn on_not_sent<H: Handler>(
    session: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    _error: c_int,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            if let (id, Frame { kind: FrameKind::Headers, .. }) = frame_of(frame) {
                handler.not_sent(stream(session, id));
            }
        })
    }
}

unsafe extern "C" fn on_error<H: Handler>(
    _session: *mut sys::nghttp2_session,
    _code: c_int,
    message: *const c_char,
    length: usize,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            let message = slice::from_raw_parts(message.cast(), length);
            handler.wrong(String::from_utf8_lossy(message).trim_end_matches('\0'));
        })
    }
}

/// How much of a body goes into the next DATA frame.
unsafe extern "C" fn read_body<H: Handler>(
    _session: *mut sys::nghttp2_session,
    id: i32,
    _buffer: *mut u8,
    most: usize,
    flags: *mut u32,
    source: *mut sys::nghttp2_data_source,
    user_data: *mut c_void,
) -> isize {
    // SAFETY: as in `on_header`; the flags are there to be written.
    unsafe {
        let stream = stream_with_body(id, source);
        let Some((length, is_last)) =
            Lent::<H>::of(user_data).and_then(|lent| lent.handler.body(stream, most))
        else {
            return sys::NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE as isize;
        };
        *flags |= sys::NGHTTP2_DATA_FLAG_NO_COPY;
        if is_last {
            *flags |= sys::NGHTTP2_DATA_FLAG_EOF;
        }
        length as isize
    }
}

/// Writes a DATA frame. It has no padding, since nothing asks for any.
unsafe extern "C" fn put_data<H: Handler>(
    _session: *mut sys::nghttp2_session,
    frame: *mut sys::nghttp2_frame,
    head: *const u8,
    length: usize,
    source: *mut sys::nghttp2_data_source,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: as in `on_header`; a frame's header has nine bytes.
    unsafe {
        let Some(Lent { handler, out: Some((out, enough)) }) = Lent::<H>::of(user_data) else {
            return sys::NGHTTP2_ERR_WOULDBLOCK;
        };
        if out.len() >= *enough {
            return sys::NGHTTP2_ERR_WOULDBLOCK;
        }
        let begun = out.len();
        out.extend_from_slice(slice::from_raw_parts(head, crate::FRAME_HEADER));
        let stream = stream_with_body((*frame).hd.stream_id, source);
        if !handler.put_body(stream, length, out) {
            out.truncate(begun);
            return sys::NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
        debug_assert_eq!(out.len(), begun + crate::FRAME_HEADER + length);
    }
    0
}
