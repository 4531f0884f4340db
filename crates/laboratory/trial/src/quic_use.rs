//! What QUIC connections did, as a receipt has it.

use load::{QuicCounts, StreamCounts};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::http2_use::mean;

/// What the connections did, warm-up included. Of what the server sends only what came is known.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuicUse {
    /// The version of QUIC.
    pub version: u32,
    /// Connections whose address the server had proven first (Retry).
    pub retries: u64,
    /// How many streams at once the server allowed at least as a connection began.
    pub streams_allowed: Option<u64>,
    /// GOAWAYs that the server sent.
    pub goaways: u64,
    /// Requests that waited until the server opened a window.
    #[serde(skip_serializing_if = "crate::evidence::is_zero")]
    pub held_up: u64,
    /// Bytes of a request's fields, names and values, and what they took compressed.
    pub request_fields: Option<f64>,
    pub request_compressed: Option<f64>,
    /// The same of a response.
    pub response_fields: Option<f64>,
    pub response_compressed: Option<f64>,
    /// UDP payload of the longest datagram that came and of the mean one, in bytes.
    pub longest_received: u64,
    pub mean_received: Option<f64>,
    /// The same of what was sent.
    pub longest_sent: u64,
    pub mean_sent: Option<f64>,
    /// Datagrams that came and were longer than the client takes.
    pub too_long_received: u64,
    /// The longest UDP payload that the path carried from the client, in bytes, where it did not carry the first ones.
    pub path_payload: Option<u64>,
    /// Datagrams that a call of the kernel took; more than 1 shows that the kernel cut them (GSO).
    pub datagrams_per_send: Option<f64>,
    pub sends: u64,
    /// Datagrams that a call of the kernel gave.
    pub datagrams_per_receive: Option<f64>,
    /// Whether the server gave the kernel several datagrams at once (GSO): over loopback, where nothing else joins
    /// them, whether some came together.
    pub server_gso: Option<bool>,
    pub datagrams_sent: u64,
    pub datagrams_received: u64,
    /// Packets that the client sent and took for lost, and their bytes.
    pub packets_lost: u64,
    pub bytes_lost: u64,
    /// Datagrams that came and that the kernel dropped for want of room in the client's sockets.
    pub drops: u64,
    /// Sends that the kernel refused for want of room.
    pub sends_refused: u64,
    /// ACK frames that the client sent for each datagram that came, and that came for each that it sent.
    pub acks_per_datagram_received: Option<f64>,
    pub acks_per_datagram_sent: Option<f64>,
}

/// The mean datagram is this part of the longest at least where bodies fill most of them.
const FILLED: f64 = 0.9;

/// Version 1 (RFC 9000); toll's client offers no other.
pub(crate) const VERSION: u32 = 1;

impl QuicUse {
    /// What is known of connections that reported datagrams, as toll's own do.
    pub(crate) fn of(
        streams: &StreamCounts,
        counts: &QuicCounts,
        is_loopback: bool,
    ) -> Option<Self> {
        let sent = |count| mean(count, counts.datagrams_sent);
        let received = |count| mean(count, counts.datagrams_received);
        (counts.datagrams_sent > 0).then(|| Self {
            version: VERSION,
            retries: counts.retries,
            streams_allowed: streams.allowed,
            goaways: streams.goaways,
            held_up: streams.held_up,
            request_fields: mean(streams.fields_sent, streams.requests),
            request_compressed: mean(streams.header_bytes_sent, streams.requests),
            response_fields: mean(streams.fields_received, streams.answers),
            response_compressed: mean(streams.header_bytes_received, streams.answers),
            longest_received: counts.longest_received,
            mean_received: received(counts.bytes_received),
            longest_sent: counts.longest_sent,
            mean_sent: sent(counts.bytes_sent),
            too_long_received: counts.too_long_received,
            path_payload: counts.path_payload,
            datagrams_per_send: mean(counts.datagrams_sent, counts.sends),
            sends: counts.sends,
            datagrams_per_receive: mean(counts.datagrams_received, counts.receives),
            server_gso: is_loopback.then_some(counts.datagrams_received > counts.receives),
            datagrams_sent: counts.datagrams_sent,
            datagrams_received: counts.datagrams_received,
            packets_lost: counts.packets_lost,
            bytes_lost: counts.bytes_lost,
            drops: counts.drops,
            sends_refused: counts.sends_refused,
            acks_per_datagram_received: received(counts.acks_sent),
            acks_per_datagram_sent: sent(counts.acks_received),
        })
    }

    /// The longest datagrams that the path carried, in bytes of UDP payload: those from the client where it did not
    /// carry the first ones, else those from the server. `None` where all that came fits into a few, so that they may
    /// have been shorter than the path carries.
    pub fn longest_of_path(&self) -> Option<u64> {
        let is_of_bodies = self.longest_received > 0 && self.response_fields.is_some();
        let least = FILLED * self.longest_received as f64;
        let is_filled = is_of_bodies && self.mean_received.is_some_and(|mean| mean > least);
        self.path_payload.or_else(|| is_filled.then_some(self.longest_received))
    }

    /// The part of the datagrams that came which the kernel dropped.
    pub(crate) fn dropped(&self) -> f64 {
        share(self.drops, self.datagrams_received + self.drops)
    }

    /// The part of the sends that the kernel refused.
    pub(crate) fn refused(&self) -> f64 {
        share(self.sends_refused, self.sends + self.sends_refused)
    }

    /// The part of the packets that the client sent which it took for lost. A packet is at most a datagram.
    pub(crate) fn lost(&self) -> f64 {
        share(self.packets_lost, self.datagrams_sent)
    }
}

fn share(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn means_are_of_what_they_count() {
        let streams = StreamCounts {
            requests: 20,
            answers: 10,
            fields_sent: 2_000,
            header_bytes_sent: 400,
            fields_received: 1_930,
            header_bytes_received: 300,
            ..StreamCounts::default()
        };
        let counts = QuicCounts {
            datagrams_sent: 40,
            bytes_sent: 1_200 * 40,
            sends: 10,
            datagrams_received: 100,
            bytes_received: 1_452 * 100,
            receives: 5,
            acks_sent: 50,
            acks_received: 20,
            drops: 25,
            packets_lost: 4,
            sends_refused: 30,
            ..QuicCounts::default()
        };
        let used = QuicUse::of(&streams, &counts, true).unwrap();
        assert_eq!((used.request_fields, used.response_fields), (Some(100.0), Some(193.0)));
        assert_eq!((used.request_compressed, used.response_compressed), (Some(20.0), Some(30.0)));
        assert_eq!((used.mean_sent, used.mean_received), (Some(1_200.0), Some(1_452.0)));
        assert_eq!((used.datagrams_per_send, used.datagrams_per_receive), (Some(4.0), Some(20.0)));
        let acks = (used.acks_per_datagram_received, used.acks_per_datagram_sent);
        assert_eq!(acks, (Some(0.5), Some(0.5)));
        assert_eq!((used.dropped(), used.refused(), used.lost()), (0.2, 0.75, 0.1));
        assert_eq!((used.longest_of_path(), counts.path_payload), (None, None));
        let filled = QuicCounts { longest_received: 1_452, ..counts };
        assert_eq!(QuicUse::of(&streams, &filled, true).unwrap().longest_of_path(), Some(1_452));
        let short = QuicCounts { path_payload: Some(1_200), ..filled };
        assert_eq!(QuicUse::of(&streams, &short, true).unwrap().longest_of_path(), Some(1_200));
        let gso = |receives, is_loopback| {
            let counts = QuicCounts { receives, ..counts };
            QuicUse::of(&streams, &counts, is_loopback).unwrap().server_gso
        };
        let all = counts.datagrams_received;
        assert_eq!(
            [gso(all, true), gso(all - 1, true), gso(1, false)],
            [Some(false), Some(true), None]
        );
        // Another program reports connections, and no datagrams.
        assert_eq!(QuicUse::of(&streams, &QuicCounts::default(), true), None);
    }
}
