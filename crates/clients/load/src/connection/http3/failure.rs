//! Why connections over QUIC end, in the words of toll's failures.

use http3::{Breach, ErrorCode};
use quinn_proto::{ConnectionError, TransportErrorCode};
use units::Nanos;
use wire::handshake::{QuicHandshake, alert};
use wire::reception::HEAD_TOO_LONG;
use wire::{ErrorKind, Failure};

use super::requests::name_of;

/// TLS's alerts are from this code on (RFC 9000, section 20.1).
const CRYPTO: u64 = 0x100;

/// no_application_protocol (RFC 7301, section 3.2).
const NO_PROTOCOL: u8 = 120;

/// The server broke a rule of HTTP/3.
pub(super) fn of(breach: Breach) -> Failure {
    match breach.code {
        ErrorCode::ExcessiveLoad => Failure::long_head(HEAD_TOO_LONG),
        _ => Failure::new(ErrorKind::Http3, breach.to_string()),
    }
}

/// What a connection has ended by; `Ok` where a server may end one so that it keeps no longer. `known`: of its
/// handshake.
pub(super) fn why_lost(
    reason: ConnectionError,
    known: Option<QuicHandshake>,
) -> Result<(), Failure> {
    let (kind, seen) = match reason {
        ConnectionError::VersionMismatch => (
            ErrorKind::QuicVersion,
            "the server has no version of QUIC that toll has (1)".to_owned(),
        ),
        ConnectionError::TransportError(error) => {
            // TLS is where this side finds most.
            match known.and_then(|known| known.failure) {
                Some(failure) => return Err(failure),
                None => (ErrorKind::Quic, error.to_string()),
            }
        }
        ConnectionError::ConnectionClosed(close) => {
            return closed(close.error_code, &close.reason);
        }
        ConnectionError::ApplicationClosed(close) => match close.error_code.into_inner() {
            code if ErrorCode::of(code) == Some(ErrorCode::NoError) => return Ok(()),
            code => {
                let reason = String::from_utf8_lossy(&close.reason);
                let seen = format!("closed by the server with {}: {reason}", name_of(code));
                (ErrorKind::Http3, seen.trim_end_matches(": ").to_owned())
            }
        },
        ConnectionError::Reset => (ErrorKind::Reset, "a stateless reset".to_owned()),
        // The server's idle timeout: this side has none.
        ConnectionError::TimedOut => return Ok(()),
        ConnectionError::LocallyClosed | ConnectionError::CidsExhausted => {
            (ErrorKind::Quic, reason.to_string())
        }
    };
    Err(Failure::new(kind, seen))
}

/// Why nothing came of the first packets within the time limit: how many datagrams came, and how many of these were of
/// something else.
pub(super) fn why_unopened(limit: Nanos, came: u64, strays: u64) -> Failure {
    let seen = match strays {
        0 if came == 0 => format!(
            "no answer over UDP for {limit}: does a firewall drop UDP, or does nothing listen there?"
        ),
        0 => format!("the handshake made no progress for {limit}"),
        strays => {
            format!("{strays} datagrams came in {limit}, none of them QUIC of this connection")
        }
    };
    Failure::new(ErrorKind::ConnectTimeout, seen)
}

/// The server's transport has ended the connection.
fn closed(code: TransportErrorCode, reason: &[u8]) -> Result<(), Failure> {
    let number = u64::from(code);
    if let Some(description) = number.checked_sub(CRYPTO).and_then(|of| u8::try_from(of).ok()) {
        let failure = alert(description);
        return Err(match description {
            NO_PROTOCOL => Failure::new(ErrorKind::NoH3, failure.seen.clone()),
            _ => failure,
        });
    }
    if code == TransportErrorCode::NO_ERROR {
        return Ok(());
    }
    let reason = String::from_utf8_lossy(reason);
    let seen = format!("closed by the server with {code}: {reason}");
    Err(Failure::new(ErrorKind::Quic, seen.trim_end_matches(": ")))
}
