//! What ends a connection, because the server broke a rule or went beyond a limit.

use std::fmt;

use crate::error_code::{COMPRESSION_ERROR, ENHANCE_YOUR_CALM, FLOW_CONTROL_ERROR};
use crate::error_code::{FRAME_SIZE_ERROR, PROTOCOL_ERROR, STREAM_CLOSED};
use crate::hpack::HpackError;

/// The most frames in which a head goes on. A server that fills its frames has sent 1 MiB then.
pub(super) const MOST_CONTINUATIONS: usize = 64;

/// See the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Breach {
    /// A rule of RFC 9113 or RFC 7541, with the error code for it.
    Rule { code: u32, what: &'static str },
    /// A head in more CONTINUATION frames than the client takes.
    ManyContinuations,
    /// A name or value of more than 64 KiB.
    LongField,
    /// A head that is longer than [`super::ClientSettings::longest_head`].
    LongHead,
}

/// Whether what came may go on.
pub(super) type Taken = Result<(), Breach>;

impl Breach {
    pub(super) fn protocol(what: &'static str) -> Self {
        Self::Rule { code: PROTOCOL_ERROR, what }
    }

    pub(super) fn size(what: &'static str) -> Self {
        Self::Rule { code: FRAME_SIZE_ERROR, what }
    }

    pub(super) fn flow(what: &'static str) -> Self {
        Self::Rule { code: FLOW_CONTROL_ERROR, what }
    }

    pub(super) fn closed(what: &'static str) -> Self {
        Self::Rule { code: STREAM_CLOSED, what }
    }

    pub(super) fn flood(what: &'static str) -> Self {
        Self::Rule { code: ENHANCE_YOUR_CALM, what }
    }

    /// The code of the GOAWAY that says so.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Rule { code, .. } => code,
            Self::ManyContinuations | Self::LongHead => ENHANCE_YOUR_CALM,
            Self::LongField => COMPRESSION_ERROR,
        }
    }
}

impl From<HpackError> for Breach {
    fn from(error: HpackError) -> Self {
        match error {
            HpackError::Wrong(what) => Self::Rule { code: COMPRESSION_ERROR, what },
            HpackError::LongField => Self::LongField,
            HpackError::LongHead => Self::LongHead,
        }
    }
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rule { what, .. } => f.write_str(what),
            Self::ManyContinuations => {
                write!(f, "a head in more than {MOST_CONTINUATIONS} CONTINUATION frames")
            }
            Self::LongField => f.write_str("a field of more than 64 KiB"),
            Self::LongHead => f.write_str("a head of more fields than the client takes"),
        }
    }
}
