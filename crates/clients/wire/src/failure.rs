//! Why an operation fails.

use derive_more::{Deref, DerefMut};
use strum::VariantArray;

/// Why an operation failed. The names are those of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[derive(VariantArray, strum::Display, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum ErrorKind {
    /// No connection: refused.
    Refused,
    /// No route to the address.
    Unreachable,
    /// No connection: this machine had no port left.
    Ports,
    /// No connection: this process had no file descriptor left.
    Descriptors,
    /// No connection within the time limit.
    ConnectTimeout,
    /// The kernel ended the connection: the peer acknowledged nothing for too long.
    TimedOut,
    /// A TLS alert other than close_notify.
    Alert,
    /// The answer to the ClientHello did not begin with a TLS record.
    NotTls,
    /// The server broke the rules of TLS, or chose what was not offered.
    Handshake,
    /// The certificate or the signature does not authenticate the server.
    Authentication,
    /// The connection was reset.
    Reset,
    /// The kernel refused to connect, send or receive for another reason, which the description names.
    Kernel,
    /// The connection was closed before a response, or during the handshake.
    EarlyClose,
    /// The body ended before the length that the response promised.
    ShortBody,
    /// More bytes came than the response promised, than the object has, or than was requested.
    LongBody,
    /// No HTTP response, or one with a status other than was expected.
    Status,
    /// The heads of a response were longer, or had more fields, than the client takes.
    LongHead,
    /// The body was not the object's, or a page was not what its session says.
    Content,
    /// A page of a session had another number of redirects than it should, or one that leads to
    /// another server.
    Redirect,
    /// No progress within the time limit.
    Stall,
    /// Some progress, but no end within the time limit of a whole operation.
    OperationTimeout,
    /// A record that failed authentication, or whose place in the response was not proven.
    UnverifiableRecord,
    /// The server did not choose HTTP/2 in the handshake (ALPN), although nothing else was offered.
    NoH2,
    /// The server answered HTTP/2 with HTTP/1.
    AnsweredHttp1,
    /// The server reset a stream (RST_STREAM).
    StreamReset,
    /// The server refused a stream without having processed its request.
    RefusedStream,
    /// The server ended the connection (GOAWAY) with an error, or again and again.
    Goaway,
    /// The server broke the rules of HTTP/2.
    Http2,
    /// A request was not sent within the time limit, for the server allowed no further stream.
    NoStream,
    /// No progress within the time limit, for a window was exhausted.
    FlowControl,
    /// The server knows no version of QUIC that toll has.
    QuicVersion,
    /// The server broke the rules of QUIC, or ended the connection for a reason of the transport.
    Quic,
    /// The server did not choose HTTP/3 in the handshake (ALPN), although nothing else was offered.
    NoH3,
    /// The server broke the rules of HTTP/3, or ended the connection for a reason of HTTP/3.
    Http3,
}

impl ErrorKind {
    /// All kinds, in their order.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The name in the journal.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// One failed operation. It is as long as a pointer: what may fail runs for each record, and nearly never does.
#[derive(Debug, Clone, PartialEq, Eq, Deref, DerefMut)]
#[deref(forward)]
#[deref_mut(forward)]
pub struct Failure(Box<Cause>);

/// Its kind and a description of what was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cause {
    pub kind: ErrorKind,
    pub seen: String,
    /// Whether it was found in a response that was decrypted whole. In one that is walked, the same
    /// fault may stay unseen.
    pub is_in_whole: bool,
}

impl Failure {
    pub fn new(kind: ErrorKind, seen: impl Into<String>) -> Self {
        Self(Box::new(Cause { kind, seen: seen.into(), is_in_whole: false }))
    }

    /// A head of which something is more than the client takes.
    pub fn long_head(seen: &str) -> Self {
        Self::new(ErrorKind::LongHead, seen)
    }

    /// Bytes came before any request that they could answer.
    pub fn unrequested() -> Self {
        Self::new(ErrorKind::LongBody, "data that no request asked for")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_index_their_own_counts() {
        for (i, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(*kind as usize, i);
        }
    }

    #[test]
    fn names_are_those_of_earlier_journals() {
        let names: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(
            names.join(" "),
            "refused unreachable ports descriptors connect-timeout timed-out alert not-tls handshake \
             authentication reset kernel early-close short-body long-body status long-head content \
             redirect stall operation-timeout unverifiable-record no-h2 answered-http1 stream-reset refused-stream goaway \
             http2 no-stream flow-control quic-version quic no-h3 http3"
        );
    }
}
