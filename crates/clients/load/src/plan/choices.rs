//! What a load can choose from, by the names that flags and study files have for it.

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::choice::PauseShare;

/// What makes a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum Client {
    /// The engine.
    Toll,
    /// wrk: many threads, requests.
    Wrk,
    /// ApacheBench: one thread, requests.
    Ab,
    /// h2load of nghttp2: many threads, requests on kept connections.
    H2load,
    /// `openssl s_time -new`: one handshake after another.
    STime,
    /// shb, on io_uring: many threads, requests.
    Shb,
}

/// A version of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, strum::Display)]
pub enum Http {
    /// One request after another on a connection (RFC 9112).
    #[serde(rename = "1.1")]
    #[strum(serialize = "1.1")]
    #[value(name = "1.1")]
    V1,
    /// Several at once, each a stream (RFC 9113).
    #[serde(rename = "2")]
    #[strum(serialize = "2")]
    #[value(name = "2")]
    V2,
    /// The same over QUIC (RFC 9114).
    #[serde(rename = "3")]
    #[strum(serialize = "3")]
    #[value(name = "3")]
    V3,
}

/// What one operation is, from its start to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Operation {
    /// A connection with a full handshake and no request. It counts when the server has answered
    /// the client's close without an alert or a reset. In TLS 1.3 a server that closes without
    /// having read the client's Finished looks the same.
    Handshakes,
    /// A connection, its handshake, one request with `Connection: close`, the whole response.
    OneRequestPerConnection,
    /// A request and its whole response on a kept connection.
    Requests,
    /// A page of a session, with its redirects. It counts when it is what the session file says.
    Session,
}

/// How bodies are received over TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Receive {
    /// Read the head, drop records in the kernel, open the last.
    Walk,
    /// Open every record.
    Decrypt,
}

/// How the client takes part in the key exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum KeyExchangeMode {
    /// The client's share is the group's base point, so the shared secret is the server's own
    /// share: the server's work is unchanged, the client's is nil. With static RSA, which has no
    /// shares, the premaster secret is encrypted once for each key of a server and sent again.
    Fixed,
    /// A fresh key for each handshake.
    Fresh,
    /// As fixed, but the first ClientHello has no share, so that the server asks for one: a round trip and two
    /// messages more (RFC 8446, sections 4.1.4 and 4.2.8).
    Retried,
}

/// When the threads of a client that waits for its sockets wake up. On loopback the server's CPU pays for each time.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ValueEnum,
    strum::Display,
    Default
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Wakeups {
    /// For several sockets at once, where many operations are under way: see `coalescing.rs`. How long the pauses
    /// are is chosen in the warm-up.
    Coalesced,
    /// The same with pauses of this share of an operation.
    #[value(name = "1/32")]
    #[serde(rename = "1/32")]
    #[strum(to_string = "1/32")]
    ThirtySecond,
    #[value(name = "1/8")]
    #[serde(rename = "1/8")]
    #[strum(to_string = "1/8")]
    Eighth,
    #[value(name = "1/4")]
    #[serde(rename = "1/4")]
    #[strum(to_string = "1/4")]
    Quarter,
    /// For each socket that is ready.
    #[default]
    Each,
    /// Never, because they do not sleep: they ask the kernel again and again (busy polling).
    None,
}

impl Wakeups {
    /// Whether its threads pause.
    pub(crate) fn pauses(self) -> bool {
        !matches!(self, Self::Each | Self::None)
    }

    /// The pauses that are asked for, where they are not chosen.
    pub(crate) fn asked(self) -> Option<PauseShare> {
        match self {
            Self::ThirtySecond => Some(PauseShare::Short),
            Self::Eighth => Some(PauseShare::Long),
            Self::Quarter => Some(PauseShare::Longest),
            Self::Coalesced | Self::Each | Self::None => None,
        }
    }
}

/// How the client ends its connections (RFC 9293, section 3.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ValueEnum, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Close {
    /// By FIN. Where a connection carries one request, the server is asked to close, and waited for.
    Fin,
    /// By RST, which leaves no TIME-WAIT at either side. A request does not ask the server to close:
    /// once its response is complete, the connection is reset. After a handshake the server's close
    /// is awaited even so, for only that proves that it took the client's Finished.
    Rst,
}
