//! What is counted of the frames of HTTP/2 connections, warm-up included.

use serde::{Deserialize, Serialize};

/// The frames of a load over HTTP/2, warm-up included; all 0 over other versions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Http2Counts {
    /// DATA frames that came.
    pub data_frames: u64,
    /// All frames.
    pub frames_sent: u64,
    pub frames_received: u64,
    /// The least that was left of a connection's window for what the server sends, in bytes, after
    /// anything came; `None` where nothing did.
    pub least_window: Option<u32>,
}

impl Http2Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.data_frames += other.data_frames;
        self.frames_sent += other.frames_sent;
        self.frames_received += other.frames_received;
        self.least_window = self.least_window.into_iter().chain(other.least_window).min();
    }
}
