//! Alerts of a peer.

use crate::{ErrorKind, Failure};

const CLOSE_NOTIFY: u8 = 0;
const USER_CANCELED: u8 = 90;

/// What an alert means (RFC 8446, section 6.1; RFC 5246, section 7.2.1).
pub(crate) enum Alert {
    /// The peer sends no more.
    CloseNotify,
    /// Nothing: the peer is about to close (user_canceled). OpenSSL, NSS, BoringSSL and s2n ignore it too.
    UserCanceled,
    /// The description of any other; whether it is a warning, which TLS 1.2 has.
    Other(u8, bool),
}

impl Alert {
    /// `None` where it is malformed.
    pub(crate) fn read(content: &[u8]) -> Option<Self> {
        match *content {
            [_, CLOSE_NOTIFY] => Some(Self::CloseNotify),
            [_, USER_CANCELED] => Some(Self::UserCanceled),
            [level, description] => Some(Self::Other(description, level == 1)),
            _ => None,
        }
    }
}

/// The peer ended the connection by this alert (RFC 8446, section 6).
pub fn alert(description: u8) -> Failure {
    let name = match description {
        0 => "close_notify",
        10 => "unexpected_message",
        20 => "bad_record_mac",
        22 => "record_overflow",
        40 => "handshake_failure",
        42 => "bad_certificate",
        43 => "unsupported_certificate",
        44 => "certificate_revoked",
        45 => "certificate_expired",
        46 => "certificate_unknown",
        47 => "illegal_parameter",
        48 => "unknown_ca",
        49 => "access_denied",
        50 => "decode_error",
        51 => "decrypt_error",
        70 => "protocol_version",
        71 => "insufficient_security",
        80 => "internal_error",
        86 => "inappropriate_fallback",
        90 => "user_canceled",
        100 => "no_renegotiation",
        109 => "missing_extension",
        110 => "unsupported_extension",
        112 => "unrecognized_name",
        116 => "certificate_required",
        120 => "no_application_protocol",
        _ => "of an unknown kind",
    };
    Failure::new(ErrorKind::Alert, format!("{name} ({description})"))
}
