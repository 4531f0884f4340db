//! What HTTP/2 connections did, as a receipt has it.

use load::{HTTP2_MAX_FRAME, HTTP2_WINDOW, Http2Counts, Plan, StreamCounts};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// What was announced to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2Settings {
    /// The window of each stream and connection, in bytes.
    pub initial_window: u32,
    /// The largest frame that the server may send, in bytes.
    pub max_frame: u32,
}

impl Http2Settings {
    /// Those of toll's own client.
    pub(crate) fn of(plan: &Plan) -> Option<Self> {
        plan.is_http2().then_some(Self { initial_window: HTTP2_WINDOW, max_frame: HTTP2_MAX_FRAME })
    }
}

/// What the connections did, warm-up included.
#[skip_serializing_none]
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Http2Use {
    /// How many streams at once the server's SETTINGS allowed at least.
    pub streams_allowed: Option<u64>,
    /// GOAWAYs that the server sent.
    pub goaways: u64,
    /// Bytes of a request's fields, names and values, and of the frames that carried them.
    pub request_fields: Option<f64>,
    pub request_frames: Option<f64>,
    /// The same of a response.
    pub response_fields: Option<f64>,
    pub response_frames: Option<f64>,
    /// DATA frames of a response.
    pub data_frames: Option<f64>,
    /// All frames.
    pub frames_sent: u64,
    pub frames_received: u64,
    /// The least that was left of a connection's window, in bytes: the client never held the server up.
    pub window_left: Option<u32>,
    /// Requests whose body waited until the server opened a window.
    #[serde(skip_serializing_if = "crate::evidence::is_zero")]
    pub held_up: u64,
}

impl Http2Use {
    pub(crate) fn of(streams: &StreamCounts, counts: &Http2Counts) -> Option<Self> {
        let sent = |count| mean(count, streams.requests);
        let received = |count| mean(count, streams.answers);
        (counts.frames_sent > 0).then(|| Self {
            streams_allowed: streams.allowed,
            goaways: streams.goaways,
            request_fields: sent(streams.fields_sent),
            request_frames: sent(streams.header_bytes_sent),
            response_fields: received(streams.fields_received),
            response_frames: received(streams.header_bytes_received),
            data_frames: received(counts.data_frames),
            frames_sent: counts.frames_sent,
            frames_received: counts.frames_received,
            window_left: counts.least_window,
            held_up: streams.held_up,
        })
    }
}

/// A mean with two places, of what was counted at all.
pub(crate) fn mean(count: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| (count as f64 / of as f64 * 100.0).round() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_responses_took_is_of_those_that_came() {
        // Half of the requests were refused and sent again.
        let streams = StreamCounts {
            requests: 20,
            answers: 10,
            fields_sent: 2000,
            fields_received: 1930,
            header_bytes_received: 300,
            ..StreamCounts::default()
        };
        let counts = Http2Counts { frames_sent: 20, data_frames: 40, ..Http2Counts::default() };
        let used = Http2Use::of(&streams, &counts).unwrap();
        assert_eq!((used.request_fields, used.response_fields), (Some(100.0), Some(193.0)));
        assert_eq!((used.response_frames, used.data_frames), (Some(30.0), Some(4.0)));
    }
}
