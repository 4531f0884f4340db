//! The error codes of RST_STREAM and GOAWAY (RFC 9113, section 7).

/// The server has not processed the request.
pub const REFUSED_STREAM: u32 = 7;

/// A head could not be decompressed.
pub const COMPRESSION_ERROR: u32 = 9;

/// Whether a code means that nothing went wrong.
pub fn is_no_error(code: u32) -> bool {
    code == 0
}

/// A code's name.
pub fn error_name(code: u32) -> &'static str {
    const NAMES: [&str; 14] = [
        "NO_ERROR",
        "PROTOCOL_ERROR",
        "INTERNAL_ERROR",
        "FLOW_CONTROL_ERROR",
        "SETTINGS_TIMEOUT",
        "STREAM_CLOSED",
        "FRAME_SIZE_ERROR",
        "REFUSED_STREAM",
        "CANCEL",
        "COMPRESSION_ERROR",
        "CONNECT_ERROR",
        "ENHANCE_YOUR_CALM",
        "INADEQUATE_SECURITY",
        "HTTP_1_1_REQUIRED",
    ];
    NAMES.get(code as usize).copied().unwrap_or("an unknown error")
}
