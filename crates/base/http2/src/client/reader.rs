//! Cuts what comes into frames. DATA is handed on as it comes, other frames when they are whole.

use super::breach::Breach;
use super::frame::{DATA, FrameHeader, PADDED, PADDING};
use super::position::Position;
use crate::FRAME_HEADER;

/// See the module.
#[derive(Default)]
pub(super) struct FrameReader {
    max_frame: u32,
    state: State,
    /// The beginning of a header, or of a payload that is handed on whole.
    begun: Vec<u8>,
    /// Whether that payload was handed on.
    is_spent: bool,
}

/// Where in a frame the next byte is.
#[derive(Clone, Copy, Default)]
enum State {
    #[default]
    Header,
    Payload(FrameHeader),
    /// Where the length of DATA's padding is.
    Padding(FrameHeader),
    /// In DATA: what is left before its padding and of it, and whether nothing was handed on.
    Data {
        header: FrameHeader,
        left: usize,
        padding: usize,
        is_first: bool,
    },
}

/// What has come.
pub(super) enum Part<'a> {
    /// A frame with its payload.
    Frame(FrameHeader, &'a [u8]),
    /// Bytes of DATA without its padding; none where the frame is empty or ends with padding.
    Data { header: FrameHeader, bytes: &'a [u8], is_first: bool, is_last: bool },
}

impl FrameReader {
    /// For frames of at most this length.
    pub(super) fn new(max_frame: u32) -> Self {
        Self { max_frame, state: State::Header, begun: Vec::new(), is_spent: false }
    }

    /// Takes the next part from what has come; `None` where more has to come first.
    #[inline]
    pub(super) fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<Part<'a>>, Breach> {
        if std::mem::take(&mut self.is_spent) {
            self.begun.clear();
        }
        loop {
            match self.state {
                State::Header => {
                    let Some(header) = self.header(input) else { return Ok(None) };
                    self.state = self.begin(header)?;
                }
                State::Payload(header) => {
                    let length = header.length as usize;
                    let missing = length - self.begun.len();
                    if self.begun.is_empty() && input.len() >= length {
                        self.state = State::Header;
                        return Ok(input.split_off(..length).map(|all| Part::Frame(header, all)));
                    }
                    let more = input.split_off(..missing.min(input.len())).unwrap_or_default();
                    self.begun.extend_from_slice(more);
                    if self.begun.len() < length {
                        return Ok(None);
                    }
                    (self.state, self.is_spent) = (State::Header, true);
                    return Ok(Some(Part::Frame(header, &self.begun)));
                }
                State::Padding(header) => {
                    let Some(padding) = input.split_off_first() else { return Ok(None) };
                    let padding = usize::from(*padding);
                    let left = (header.length as usize - 1).checked_sub(padding).ok_or(PADDING)?;
                    self.state = State::Data { header, left, padding, is_first: true };
                }
                State::Data { header, left, padding, is_first } => {
                    let bytes = input.split_off(..left.min(input.len())).unwrap_or_default();
                    let left = left - bytes.len();
                    let dropped = if left == 0 { padding.min(input.len()) } else { 0 };
                    let _ = input.split_off(..dropped);
                    let padding = padding - dropped;
                    let is_last = left + padding == 0;
                    if bytes.is_empty() && !is_last {
                        self.state = State::Data { header, left, padding, is_first };
                        return Ok(None);
                    }
                    self.state = match is_last {
                        true => State::Header,
                        false => State::Data { header, left, padding, is_first: false },
                    };
                    return Ok(Some(Part::Data { header, bytes, is_first, is_last }));
                }
            }
        }
    }

    /// See [`super::Client::position`].
    pub(super) fn position(&self, stream: i32) -> Option<Position> {
        match self.state {
            State::Header if self.begun.is_empty() || self.is_spent => Some(Position::Boundary),
            State::Data { header, left, padding: 0, is_first: false }
                if header.stream == stream && !header.ends_stream() =>
            {
                u32::try_from(left).ok().map(|left| Position::Data { left })
            }
            _ => None,
        }
    }

    /// See [`super::Client::is_elsewhere`].
    pub(super) fn is_elsewhere(&self, stream: i32) -> bool {
        match self.state {
            State::Header => false,
            State::Payload(_) | State::Padding(_) => true,
            State::Data { header, padding, .. } => header.stream != stream || padding > 0,
        }
    }

    /// Goes on at this position.
    pub(super) fn pass(&mut self, stream: i32, position: Position) {
        self.state = match position {
            Position::Boundary => State::Header,
            Position::Data { left: length } => State::Data {
                header: FrameHeader { length, kind: DATA, flags: 0, stream },
                left: length as usize,
                padding: 0,
                is_first: false,
            },
        };
    }

    fn header(&mut self, input: &mut &[u8]) -> Option<FrameHeader> {
        if self.begun.is_empty()
            && let Some((bytes, rest)) = input.split_first_chunk()
        {
            *input = rest;
            return Some(FrameHeader::read(*bytes));
        }
        let missing = FRAME_HEADER - self.begun.len();
        self.begun.extend_from_slice(input.split_off(..missing.min(input.len()))?);
        let header = FrameHeader::read(*self.begun.first_chunk()?);
        self.begun.clear();
        Some(header)
    }

    /// What follows a header.
    fn begin(&self, header: FrameHeader) -> Result<State, Breach> {
        if header.length > self.max_frame {
            return Err(Breach::size("a frame that is larger than the client's SETTINGS allow"));
        }
        Ok(match (header.kind, header.has(PADDED)) {
            (DATA, true) if header.length == 0 => {
                return Err(Breach::size("DATA without the length of its padding"));
            }
            (DATA, true) => State::Padding(header),
            (DATA, false) => {
                let left = header.length as usize;
                State::Data { header, left, padding: 0, is_first: true }
            }
            _ => State::Payload(header),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::frame::{END_STREAM, HEADERS, put_header};
    use super::*;

    type Frames = Vec<(u8, Vec<u8>)>;

    /// What comes of these bytes in pieces: the frames, and the bytes of DATA with how often it began and ended.
    fn read(bytes: &[u8], piece: usize) -> (Frames, Vec<u8>, (usize, usize)) {
        let mut reader = FrameReader::new(1 << 14);
        let (mut frames, mut data, mut counts) = (Vec::new(), Vec::new(), (0, 0));
        for mut piece in bytes.chunks(piece) {
            while let Some(part) = reader.next(&mut piece).unwrap() {
                match part {
                    Part::Frame(header, payload) => frames.push((header.kind, payload.to_vec())),
                    Part::Data { bytes, is_first, is_last, .. } => {
                        data.extend_from_slice(bytes);
                        counts =
                            (counts.0 + usize::from(is_first), counts.1 + usize::from(is_last));
                    }
                }
            }
        }
        (frames, data, counts)
    }

    #[test]
    fn frames_are_the_same_in_pieces_of_any_size() {
        let mut bytes = Vec::new();
        let data: [(u8, &[u8]); 5] = [
            (0, b"body"),
            (PADDED, b"\x03more...\0"),
            (END_STREAM, b""),
            (PADDED, b"\0"),
            (PADDED, b"\x02.."),
        ];
        for (flags, payload) in data {
            put_header(&mut bytes, payload.len(), DATA, flags, 1);
            bytes.extend_from_slice(payload);
            for payload in [&b"fields"[..], b""] {
                put_header(&mut bytes, payload.len(), HEADERS, 0, 1);
                bytes.extend_from_slice(payload);
            }
        }
        let frames = vec![[(HEADERS, b"fields".to_vec()), (HEADERS, Vec::new())]; 5].concat();
        for piece in 1..=bytes.len() {
            assert_eq!(
                read(&bytes, piece),
                (frames.clone(), b"bodymore.".to_vec(), (5, 5)),
                "{piece}"
            );
        }
    }
}
