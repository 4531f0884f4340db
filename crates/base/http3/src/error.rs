//! What ends a connection or a stream, because the peer broke a rule (RFC 9114, section 8; RFC 9204, section 6).

use std::fmt;

macro_rules! codes {
    ($($variant:ident = $number:literal $name:literal,)*) => {
        /// A code of CONNECTION_CLOSE, RESET_STREAM and STOP_SENDING.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(u64)]
        pub enum ErrorCode {
            $($variant = $number,)*
        }

        impl ErrorCode {
            /// `None` where the RFCs name no such code.
            pub fn of(number: u64) -> Option<Self> {
                match number {
                    $($number => Some(Self::$variant),)*
                    _ => None,
                }
            }

            /// As the RFCs name it.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

codes! {
    NoError = 0x100 "H3_NO_ERROR",
    GeneralProtocolError = 0x101 "H3_GENERAL_PROTOCOL_ERROR",
    InternalError = 0x102 "H3_INTERNAL_ERROR",
    StreamCreationError = 0x103 "H3_STREAM_CREATION_ERROR",
    ClosedCriticalStream = 0x104 "H3_CLOSED_CRITICAL_STREAM",
    FrameUnexpected = 0x105 "H3_FRAME_UNEXPECTED",
    FrameError = 0x106 "H3_FRAME_ERROR",
    ExcessiveLoad = 0x107 "H3_EXCESSIVE_LOAD",
    IdError = 0x108 "H3_ID_ERROR",
    SettingsError = 0x109 "H3_SETTINGS_ERROR",
    MissingSettings = 0x10a "H3_MISSING_SETTINGS",
    RequestRejected = 0x10b "H3_REQUEST_REJECTED",
    RequestCancelled = 0x10c "H3_REQUEST_CANCELLED",
    RequestIncomplete = 0x10d "H3_REQUEST_INCOMPLETE",
    MessageError = 0x10e "H3_MESSAGE_ERROR",
    ConnectError = 0x10f "H3_CONNECT_ERROR",
    VersionFallback = 0x110 "H3_VERSION_FALLBACK",
    QpackDecompressionFailed = 0x200 "QPACK_DECOMPRESSION_FAILED",
    QpackEncoderStreamError = 0x201 "QPACK_ENCODER_STREAM_ERROR",
    QpackDecoderStreamError = 0x202 "QPACK_DECODER_STREAM_ERROR",
}

impl ErrorCode {
    pub fn number(self) -> u64 {
        self as u64
    }

    /// Whether only a stream ends, and the connection goes on (RFC 9114, sections 4.1 and 4.1.2).
    pub fn ends_only_stream(self) -> bool {
        matches!(
            self,
            Self::MessageError
                | Self::RequestIncomplete
                | Self::RequestRejected
                | Self::RequestCancelled
        )
    }
}

/// What the peer did that it may not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Breach {
    pub code: ErrorCode,
    pub what: &'static str,
}

impl Breach {
    pub const fn new(code: ErrorCode, what: &'static str) -> Self {
        Self { code, what }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.code.name())
    }
}
