//! What connections of HTTP/2 and 3 carried at once, in one form for both versions.

use load::{Http, Outcome, Plan};
use units::Nanos;

/// The connections of a load whose version of HTTP has streams.
pub(crate) struct Multiplexed {
    pub(crate) version: Http,
    /// Those that spoke it.
    pub(crate) connections: u64,
    /// Those that agreed on it in their handshake.
    pub(crate) by_alpn: u64,
    /// The most streams that were open at once on one connection.
    pub(crate) most: u64,
    /// The fewest that a server allowed.
    pub(crate) allowed: Option<u64>,
    /// How long streams were open, and operations waited for one, all together; over HTTP/3 not known.
    pub(crate) open_for: Nanos,
    pub(crate) no_stream_for: Nanos,
}

impl Multiplexed {
    pub(crate) fn of(plan: &Plan, outcome: &Outcome) -> Option<Self> {
        let (http2, quic) = (&outcome.http2, &outcome.quic);
        match plan.http? {
            Http::V1 => None,
            Http::V2 => Some(Self {
                version: Http::V2,
                connections: http2.connections,
                by_alpn: http2.by_alpn,
                most: http2.most_streams,
                allowed: http2.allowed_streams.map(u64::from),
                open_for: http2.open_for,
                no_stream_for: http2.no_stream_for,
            }),
            Http::V3 => Some(Self {
                version: Http::V3,
                connections: quic.connections,
                by_alpn: quic.connections,
                most: quic.most_streams,
                allowed: quic.allowed_streams,
                open_for: Nanos(0),
                no_stream_for: Nanos(0),
            }),
        }
    }
}
