//! SETTINGS (RFC 9113, section 6.5): what the client announces, and what the server does.

use super::breach::Breach;
use crate::{DEFAULT_MAX_FRAME, LARGEST_WINDOW};

const HEADER_TABLE_SIZE: u16 = 1;
const ENABLE_PUSH: u16 = 2;
const MAX_CONCURRENT_STREAMS: u16 = 3;
const INITIAL_WINDOW_SIZE: u16 = 4;
const MAX_FRAME_SIZE: u16 = 5;

/// The window of a connection, and of a stream where nothing else was agreed (RFC 9113, section 6.9.2).
pub(super) const DEFAULT_WINDOW: u32 = (1 << 16) - 1;

/// What a client announces in its SETTINGS. It never accepts pushed responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSettings {
    /// The window of each stream and of the whole connection: at least 65,535 bytes, the connection's own.
    pub window: u32,
    /// The largest frame that the server may send.
    pub max_frame: u32,
    /// The most bytes of names and values in a head. This is not announced: no server goes beyond.
    pub longest_head: usize,
}

impl ClientSettings {
    /// The payload of the frame that announces them.
    pub(super) fn payload(self) -> Vec<u8> {
        let max_frame =
            (self.max_frame != DEFAULT_MAX_FRAME).then_some((MAX_FRAME_SIZE, self.max_frame));
        let all = [(ENABLE_PUSH, 0), (INITIAL_WINDOW_SIZE, self.window)];
        let entry =
            |(id, value): (u16, u32)| [&id.to_be_bytes()[..], &value.to_be_bytes()].concat();
        all.into_iter().chain(max_frame).flat_map(entry).collect()
    }
}

/// What the server has announced so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct ServerLimits {
    /// Whether it has announced anything.
    pub(super) have_come: bool,
    /// `None` where there is no limit.
    pub(super) max_streams: Option<u32>,
    /// Of what the client sends on a new stream.
    pub(super) window: u32,
    /// What it decodes heads with; where it changes twice in one frame, the smallest counts too.
    pub(super) table: [u32; 2],
}

impl ServerLimits {
    pub(super) fn new() -> Self {
        Self { have_come: false, max_streams: None, window: DEFAULT_WINDOW, table: [4096; 2] }
    }

    /// How many streams may be open. The server would refuse those beyond a limit that has not come yet.
    pub(super) fn streams(self) -> usize {
        let limit = if self.have_come { self.max_streams } else { Some(1) };
        limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
    }

    /// Takes the payload of a frame.
    pub(super) fn take(&mut self, payload: &[u8]) -> Result<(), Breach> {
        let (entries, rest) = payload.as_chunks::<6>();
        if !rest.is_empty() {
            return Err(Breach::size("SETTINGS of a wrong length"));
        }
        self.have_come = true;
        self.table[0] = self.table[1];
        for [a, b, value @ ..] in entries {
            let (id, value) = (u16::from_be_bytes([*a, *b]), u32::from_be_bytes(*value));
            match id {
                HEADER_TABLE_SIZE => self.table = [self.table[0].min(value), value],
                ENABLE_PUSH if value != 0 => {
                    return Err(Breach::protocol("SETTINGS_ENABLE_PUSH from a server"));
                }
                MAX_CONCURRENT_STREAMS => self.max_streams = Some(value),
                INITIAL_WINDOW_SIZE if value > LARGEST_WINDOW => {
                    return Err(Breach::flow("SETTINGS_INITIAL_WINDOW_SIZE beyond 2^31 - 1"));
                }
                INITIAL_WINDOW_SIZE => self.window = value,
                MAX_FRAME_SIZE if !(DEFAULT_MAX_FRAME..1 << 24).contains(&value) => {
                    return Err(Breach::protocol("SETTINGS_MAX_FRAME_SIZE out of its range"));
                }
                // The client sends no frame that is larger than all servers take.
                _ => {}
            }
        }
        Ok(())
    }
}
