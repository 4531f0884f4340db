//! What the library calls, and how that reaches the handler that is lent for the call.

use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};
use std::slice;

use libnghttp2_sys as sys;

use super::handler::ServerHandler;
use super::made::made;

/// What a session may use during one call of the library: its user data.
pub(super) struct Lent<'a, H> {
    handler: &'a mut H,
    /// Where DATA frames go, and how many bytes there are enough.
    out: Option<(&'a mut Vec<u8>, usize)>,
}

impl<'a, H: ServerHandler> Lent<'a, H> {
    pub(super) fn new(handler: &'a mut H, out: Option<(&'a mut Vec<u8>, usize)>) -> Self {
        Self { handler, out }
    }

    /// Makes a call of the library with this as its user data.
    pub(super) fn during(
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
pub(super) struct Callbacks(NonNull<sys::nghttp2_session_callbacks>);

impl Callbacks {
    pub(super) fn new<H: ServerHandler>() -> Self {
        let mut raw = ptr::null_mut();
        // SAFETY: the pointer is written where the call succeeds.
        let code = unsafe { sys::nghttp2_session_callbacks_new(&raw mut raw) };
        let table = made(raw, code);
        let raw = table.as_ptr();
        // SAFETY: the table is valid, and each function has the type that its place asks for.
        unsafe {
            sys::nghttp2_session_callbacks_set_on_header_callback(raw, Some(on_header::<H>));
            sys::nghttp2_session_callbacks_set_on_frame_recv_callback(raw, Some(on_frame::<H>));
            sys::nghttp2_session_callbacks_set_on_stream_close_callback(raw, Some(on_close::<H>));
            sys::nghttp2_session_callbacks_set_send_data_callback(raw, Some(put_data::<H>));
        }
        Self(table)
    }

    pub(super) fn as_ptr(&self) -> *const sys::nghttp2_session_callbacks {
        self.0.as_ptr()
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        // SAFETY: it was made by `new`; sessions keep copies.
        unsafe { sys::nghttp2_session_callbacks_del(self.0.as_ptr()) }
    }
}

/// The source of a response's body, which is the handler; the library keeps a copy of it.
pub(super) fn body_source<H: ServerHandler>() -> sys::nghttp2_data_provider2 {
    let source = sys::nghttp2_data_source { ptr: ptr::null_mut() };
    sys::nghttp2_data_provider2 { source, read_callback: Some(read_body::<H>) }
}

/// Calls the handler that is lent; a callback's result is then that nothing is wrong.
///
/// # Safety
/// `user_data` is what the library gave to a callback of a session with this handler.
unsafe fn with_handler<H: ServerHandler>(
    user_data: *mut c_void,
    call: impl FnOnce(&mut H),
) -> c_int {
    // SAFETY: that is what `of` asks for.
    if let Some(lent) = unsafe { Lent::<H>::of(user_data) } {
        call(lent.handler);
    }
    0
}

unsafe extern "C" fn on_header<H: ServerHandler>(
    _session: *mut sys::nghttp2_session,
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
            handler.field((*frame).hd.stream_id, name, value);
        })
    }
}

unsafe extern "C" fn on_frame<H: ServerHandler>(
    _session: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: the library calls this with a valid frame and the user data that it was given.
    unsafe {
        with_handler(user_data, |handler: &mut H| {
            let head = (*frame).hd;
            let kind = u32::from(head.type_);
            let has_end = u32::from(head.flags) & sys::NGHTTP2_FLAG_END_STREAM != 0;
            let can_end = matches!(kind, sys::NGHTTP2_HEADERS | sys::NGHTTP2_DATA);
            if kind == sys::NGHTTP2_HEADERS {
                handler.head_ends(head.stream_id);
            }
            if can_end && has_end {
                handler.request_ends(head.stream_id);
            }
        })
    }
}

unsafe extern "C" fn on_close<H: ServerHandler>(
    _session: *mut sys::nghttp2_session,
    id: i32,
    _error: u32,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: the library calls this with the user data that it was given.
    unsafe { with_handler(user_data, |handler: &mut H| handler.closed(id)) }
}

/// How much of a body goes into the next DATA frame.
unsafe extern "C" fn read_body<H: ServerHandler>(
    _session: *mut sys::nghttp2_session,
    id: i32,
    _buffer: *mut u8,
    most: usize,
    flags: *mut u32,
    _source: *mut sys::nghttp2_data_source,
    user_data: *mut c_void,
) -> isize {
    // SAFETY: the library calls this with the user data that it was given, and with flags to be written.
    unsafe {
        let Some((length, is_last)) =
            Lent::<H>::of(user_data).and_then(|lent| lent.handler.body(id, most))
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
unsafe extern "C" fn put_data<H: ServerHandler>(
    _session: *mut sys::nghttp2_session,
    frame: *mut sys::nghttp2_frame,
    head: *const u8,
    length: usize,
    _source: *mut sys::nghttp2_data_source,
    user_data: *mut c_void,
) -> c_int {
    // SAFETY: the library calls this with the user data that it was given, a valid frame and its header of nine bytes.
    unsafe {
        let Some(Lent { handler, out: Some((out, enough)) }) = Lent::<H>::of(user_data) else {
            return sys::NGHTTP2_ERR_WOULDBLOCK;
        };
        if out.len() >= *enough {
            return sys::NGHTTP2_ERR_WOULDBLOCK;
        }
        let begun = out.len();
        out.extend_from_slice(slice::from_raw_parts(head, crate::FRAME_HEADER));
        if !handler.put_body((*frame).hd.stream_id, length, out) {
            out.truncate(begun);
            return sys::NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
        }
        debug_assert_eq!(out.len(), begun + crate::FRAME_HEADER + length);
    }
    0
}
