//! Frames (RFC 9114, section 7): reading them from a stream's bytes as these come, and writing them.

use crate::varint::Partial;
use crate::{Breach, ErrorCode, LONGEST_HEAD, put_varint};

/// The most bytes of the head of a frame that is written here: its kind is one byte.
pub const LONGEST_FRAME_HEAD: usize = 1 + crate::varint::LONGEST;

const DATA: u64 = 0;
const HEADERS: u64 = 1;
const CANCEL_PUSH: u64 = 3;
const SETTINGS: u64 = 4;
const PUSH_PROMISE: u64 = 5;
const GOAWAY: u64 = 7;
const MAX_PUSH_ID: u64 = 13;

/// What a frame is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameKind {
    Data,
    Headers,
    CancelPush,
    Settings,
    PushPromise,
    Goaway,
    MaxPushId,
    /// One that is not known here, and is skipped (RFC 9114, section 9).
    Unknown(u64),
}

/// What a frame begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHead {
    pub kind: FrameKind,
    /// Of its payload.
    pub length: u64,
}

/// A part of a stream.
#[derive(Debug, PartialEq, Eq)]
pub enum Part<'p> {
    /// A frame begins. Its payload follows, except where its kind is unknown.
    Head(FrameHead),
    /// Some bytes of a DATA frame's payload, never none.
    Data(&'p [u8]),
    /// The whole payload of any other frame, which may be empty.
    Payload(FrameKind, &'p [u8]),
}

/// Reads the frames of one stream. DATA and unknown frames are not kept in memory.
#[derive(Debug, Default)]
pub struct FrameReader {
    state: State,
    number: Partial,
    /// What has come of a payload that is needed whole.
    payload: Vec<u8>,
    /// Whether the payload was handed out, and its memory can be used again.
    is_spent: bool,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Kind,
    Length(FrameKind),
    Data {
        left: u64,
    },
    Skipped {
        left: u64,
    },
    Payload {
        kind: FrameKind,
        length: usize,
    },
}

impl FrameReader {
    /// The next part; `None` where all of the input is taken.
    ///
    /// # Errors
    /// A frame of HTTP/2 that HTTP/3 forbids, or one that is longer than [`LONGEST_HEAD`] and needed whole.
    #[inline]
    pub fn next<'p, 'i: 'p>(
        &'p mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Part<'p>>, Breach> {
        loop {
            match &mut self.state {
                State::Kind => {
                    let Some(kind) = self.number.take(input) else { return Ok(None) };
                    self.state = State::Length(FrameKind::of(kind)?);
                }
                State::Length(kind) => {
                    let kind = *kind;
                    let Some(length) = self.number.take(input) else { return Ok(None) };
                    self.state = State::after(kind, length)?;
                    return Ok(Some(Part::Head(FrameHead { kind, length })));
                }
                State::Data { left: 0 } | State::Skipped { left: 0 } => self.state = State::Kind,
                State::Data { left } => {
                    let bytes = take_some(input, left);
                    return Ok((!bytes.is_empty()).then_some(Part::Data(bytes)));
                }
                State::Skipped { left } => {
                    take_some(input, left);
                    if *left > 0 {
                        return Ok(None);
                    }
                }
                State::Payload { kind, length } => {
                    let (kind, length) = (*kind, *length);
                    if std::mem::take(&mut self.is_spent) {
                        self.payload.clear();
                    }
                    let missing = length - self.payload.len();
                    if self.payload.is_empty()
                        && let Some(whole) = input.split_off(..length)
                    {
                        self.state = State::Kind;
                        return Ok(Some(Part::Payload(kind, whole)));
                    }
                    let taken = input.split_off(..missing.min(input.len())).unwrap_or_default();
                    self.payload.extend_from_slice(taken);
                    if taken.len() < missing {
                        return Ok(None);
                    }
                    (self.state, self.is_spent) = (State::Kind, true);
                    return Ok(Some(Part::Payload(kind, &self.payload)));
                }
            }
        }
    }

    /// Whether no frame is under way, so that a stream may end here.
    pub fn is_at_boundary(&self) -> bool {
        match self.state {
            State::Kind => !self.number.is_begun(),
            State::Data { left } | State::Skipped { left } => left == 0,
            State::Length(_) | State::Payload { .. } => false,
        }
    }
}

fn take_some<'p>(input: &mut &'p [u8], left: &mut u64) -> &'p [u8] {
    let count = usize::try_from(*left).map_or(input.len(), |left| left.min(input.len()));
    *left -= count as u64;
    input.split_off(..count).unwrap_or_default()
}

impl State {
    fn after(kind: FrameKind, length: u64) -> Result<Self, Breach> {
        Ok(match kind {
            FrameKind::Data => Self::Data { left: length },
            FrameKind::Unknown(_) => Self::Skipped { left: length },
            _ => match usize::try_from(length).ok().filter(|length| *length <= LONGEST_HEAD) {
                Some(length) => Self::Payload { kind, length },
                None => {
                    let what = "a head, SETTINGS or GOAWAY of more than 64 KiB";
                    return Err(Breach::new(ErrorCode::ExcessiveLoad, what));
                }
            },
        })
    }
}

impl FrameKind {
    fn of(number: u64) -> Result<Self, Breach> {
        Ok(match number {
            DATA => Self::Data,
            HEADERS => Self::Headers,
            CANCEL_PUSH => Self::CancelPush,
            SETTINGS => Self::Settings,
            PUSH_PROMISE => Self::PushPromise,
            GOAWAY => Self::Goaway,
            MAX_PUSH_ID => Self::MaxPushId,
            // PRIORITY, PING, WINDOW_UPDATE and CONTINUATION (RFC 9114, section 7.2.8).
            2 | 6 | 8 | 9 => {
                let what = "a frame that only HTTP/2 has";
                return Err(Breach::new(ErrorCode::FrameUnexpected, what));
            }
            other => Self::Unknown(other),
        })
    }
}

/// Appends the head of a DATA frame, whose payload the caller sends.
pub fn put_data_head(out: &mut Vec<u8>, length: u64) {
    put_varint(out, DATA);
    put_varint(out, length);
}

/// Appends a HEADERS frame with this field section, which [`crate::qpack::encode`] has made.
pub fn put_headers(out: &mut Vec<u8>, section: &[u8]) {
    put(out, HEADERS, section);
}

pub(crate) fn put_settings(out: &mut Vec<u8>, payload: &[u8]) {
    put(out, SETTINGS, payload);
}

/// Appends GOAWAY: requests with this number or a greater one are not answered; from a client, a push.
pub fn put_goaway(out: &mut Vec<u8>, id: u64) {
    let mut payload = Vec::with_capacity(crate::varint::LONGEST);
    put_varint(&mut payload, id);
    put(out, GOAWAY, &payload);
}

fn put(out: &mut Vec<u8>, kind: u64, payload: &[u8]) {
    put_varint(out, kind);
    put_varint(out, payload.len() as u64);
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of these bytes in pieces: the heads, the payloads, and the bytes of DATA.
    type Read = (Vec<FrameKind>, Vec<(FrameKind, Vec<u8>)>, Vec<u8>);

    fn read(bytes: &[u8], piece: usize) -> Result<Read, Breach> {
        let mut reader = FrameReader::default();
        let (mut heads, mut payloads, mut data) = (Vec::new(), Vec::new(), Vec::new());
        for mut piece in bytes.chunks(piece) {
            while let Some(part) = reader.next(&mut piece)? {
                match part {
                    Part::Head(head) => heads.push(head.kind),
                    Part::Data(bytes) => data.extend_from_slice(bytes),
                    Part::Payload(kind, payload) => payloads.push((kind, payload.to_vec())),
                }
            }
            assert!(piece.is_empty());
        }
        assert!(reader.is_at_boundary());
        Ok((heads, payloads, data))
    }

    #[test]
    fn frames_are_the_same_in_pieces_of_any_size() {
        let mut bytes = Vec::new();
        put_headers(&mut bytes, b"fields");
        put_data_head(&mut bytes, 4);
        bytes.extend_from_slice(b"body");
        put(&mut bytes, 0x21, b"unknown");
        put(&mut bytes, 0x1f + 0x21, b"");
        put_headers(&mut bytes, b"");
        put_data_head(&mut bytes, 0);
        put_goaway(&mut bytes, 400);
        put_data_head(&mut bytes, 100);
        bytes.extend_from_slice(&[7; 100]);
        put_headers(&mut bytes, b"more fields");
        let heads = vec![
            FrameKind::Headers,
            FrameKind::Data,
            FrameKind::Unknown(0x21),
            FrameKind::Unknown(0x40),
            FrameKind::Headers,
            FrameKind::Data,
            FrameKind::Goaway,
            FrameKind::Data,
            FrameKind::Headers,
        ];
        let payloads = vec![
            (FrameKind::Headers, b"fields".to_vec()),
            (FrameKind::Headers, Vec::new()),
            (FrameKind::Goaway, vec![0x41, 0x90]),
            (FrameKind::Headers, b"more fields".to_vec()),
        ];
        let data = [&b"body"[..], &[7; 100]].concat();
        for piece in 1..=bytes.len() {
            let read = read(&bytes, piece).unwrap();
            assert_eq!(read, (heads.clone(), payloads.clone(), data.clone()), "{piece}");
        }
    }

    #[test]
    fn frames_of_http2_and_long_heads_are_refused_and_long_data_is_not() {
        for kind in [2, 6, 8, 9] {
            let code = read(&[kind, 0], 1).unwrap_err().code;
            assert_eq!(code, ErrorCode::FrameUnexpected, "{kind}");
        }
        let of_length = |kind, length| {
            let mut bytes = Vec::new();
            put_varint(&mut bytes, kind);
            put_varint(&mut bytes, length);
            let mut reader = FrameReader::default();
            let head = reader.next(&mut &*bytes).map(drop);
            assert!(!reader.is_at_boundary());
            head.map_err(|breach| breach.code)
        };
        for kind in [HEADERS, SETTINGS, GOAWAY, PUSH_PROMISE, MAX_PUSH_ID, CANCEL_PUSH] {
            assert_eq!(of_length(kind, LONGEST_HEAD as u64), Ok(()));
            assert_eq!(of_length(kind, LONGEST_HEAD as u64 + 1), Err(ErrorCode::ExcessiveLoad));
        }
        assert_eq!(of_length(DATA, (1 << 62) - 1), Ok(()));
        assert_eq!(of_length(0x21, (1 << 62) - 1), Ok(()));
    }
}
