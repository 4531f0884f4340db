//! The error codes of RST_STREAM and GOAWAY (RFC 9113, section 7).

use std::ffi::CStr;

use libnghttp2_sys as sys;

pub(crate) const PROTOCOL_ERROR: u32 = 1;
pub(crate) const FLOW_CONTROL_ERROR: u32 = 3;
pub(crate) const STREAM_CLOSED: u32 = 5;
pub(crate) const FRAME_SIZE_ERROR: u32 = 6;

/// The server has not processed the request.
pub const REFUSED_STREAM: u32 = 7;

pub(crate) const CANCEL: u32 = 8;
pub(crate) const COMPRESSION_ERROR: u32 = 9;
pub(crate) const ENHANCE_YOUR_CALM: u32 = 11;

/// Whether a code means that nothing went wrong.
pub fn is_no_error(code: u32) -> bool {
    code == 0
}

/// A code's name.
pub fn error_name(code: u32) -> &'static str {
    // SAFETY: the library returns a static text for any code.
    let name = unsafe { CStr::from_ptr(sys::nghttp2_http2_strerror(code)) };
    match name.to_str() {
        Ok("unknown") | Err(_) => "an unknown error",
        Ok(name) => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_the_names_of_the_rfc() {
        let names = [0, REFUSED_STREAM, COMPRESSION_ERROR, 13].map(error_name);
        assert_eq!(names, ["NO_ERROR", "REFUSED_STREAM", "COMPRESSION_ERROR", "HTTP_1_1_REQUIRED"]);
        assert_eq!(error_name(14), "an unknown error");
    }
}
