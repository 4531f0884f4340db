//! The peer's unidirectional streams (RFC 9114, section 6.2): the control stream, QPACK's two, and those of kinds that
//! are not known here.

use crate::varint::{self, Partial};
use crate::{Breach, ErrorCode, FrameKind, FrameReader, Part, Settings, Side, put_varint};

const CONTROL: u64 = 0;
const PUSH: u64 = 1;
const QPACK_ENCODER: u64 = 2;
const QPACK_DECODER: u64 = 3;

/// Appends what this side's control stream begins with. It needs no other unidirectional stream: without a dynamic
/// table, QPACK's have nothing to carry (RFC 9204, section 4.2).
pub fn put_control_stream(out: &mut Vec<u8>) {
    put_varint(out, CONTROL);
    Settings::OWN.put(out);
}

/// What a peer's unidirectional stream said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlEvent {
    /// They come first, once.
    Settings(Settings),
    /// Streams with this number or a greater one are not served.
    Goaway(u64),
    /// The stream is of a kind that is not known: the caller stops reading it, with H3_STREAM_CREATION_ERROR.
    UnknownStream,
}

/// All unidirectional streams of a peer.
#[derive(Debug)]
pub struct PeerStreams {
    peer: Side,
    /// By their number. QUIC limits how many there are.
    open: Vec<(u64, Stream)>,
    /// Of the control stream and of QPACK's two, which have come.
    have_come: [bool; 4],
    has_settings: bool,
    goaway: Option<u64>,
    max_push: Option<u64>,
}

#[derive(Debug)]
enum Stream {
    Begun(Partial),
    Control(FrameReader),
    Encoder,
    /// Whether a number is under way whose next bytes follow.
    Decoder {
        in_number: bool,
    },
}

impl PeerStreams {
    pub fn new(peer: Side) -> Self {
        Self {
            peer,
            open: Vec::new(),
            have_come: [false; 4],
            has_settings: false,
            goaway: None,
            max_push: None,
        }
    }

    /// Takes bytes of a stream; `None` where all of the input is taken. A stream that is not known here is a new one.
    ///
    /// # Errors
    /// What may not come there. The connection is lost.
    pub fn next(&mut self, id: u64, input: &mut &[u8]) -> Result<Option<ControlEvent>, Breach> {
        let place = self.open.iter().position(|(open, _)| *open == id).unwrap_or_else(|| {
            self.open.push((id, Stream::Begun(Partial::default())));
            self.open.len() - 1
        });
        // It is taken out, so that what it says can change the rest.
        let (_, mut stream) = self.open.swap_remove(place);
        let event = self.read(&mut stream, input)?;
        if event != Some(ControlEvent::UnknownStream) {
            self.open.push((id, stream));
        }
        Ok(event)
    }

    /// The peer has ended a stream, or has reset it.
    ///
    /// # Errors
    /// It is one that must stay.
    pub fn end(&mut self, id: u64) -> Result<(), Breach> {
        let Some(place) = self.open.iter().position(|(open, _)| *open == id) else { return Ok(()) };
        match self.open.swap_remove(place).1 {
            Stream::Begun(_) => Ok(()),
            _ => {
                let what = "the end of the control stream, or of one of QPACK's";
                Err(Breach::new(ErrorCode::ClosedCriticalStream, what))
            }
        }
    }

    fn read(
        &mut self,
        stream: &mut Stream,
        input: &mut &[u8],
    ) -> Result<Option<ControlEvent>, Breach> {
        loop {
            match stream {
                Stream::Begun(number) => {
                    let Some(kind) = number.take(input) else { return Ok(None) };
                    match self.begin(kind)? {
                        Some(begun) => *stream = begun,
                        None => return Ok(Some(ControlEvent::UnknownStream)),
                    }
                }
                Stream::Control(frames) => {
                    let event = match frames.next(input)? {
                        None => return Ok(None),
                        Some(Part::Head(head)) => self.may_come(head.kind).map(|()| None)?,
                        Some(Part::Payload(kind, payload)) => self.frame(kind, payload)?,
                        Some(Part::Data(_)) => None,
                    };
                    if event.is_some() {
                        return Ok(event);
                    }
                }
                Stream::Encoder => {
                    // Set Dynamic Table Capacity to 0 is all that may be said of a table that is not allowed.
                    if std::mem::take(input).iter().any(|byte| *byte != 0x20) {
                        let what = "a change of QPACK's dynamic table, which was not allowed";
                        return Err(Breach::new(ErrorCode::QpackEncoderStreamError, what));
                    }
                    return Ok(None);
                }
                Stream::Decoder { in_number } => {
                    for byte in std::mem::take(input) {
                        *in_number = match (*in_number, *byte) {
                            (true, byte) => byte & 0x80 != 0,
                            // Stream Cancellation.
                            (false, byte @ 0x40..0x80) => byte == 0x7f,
                            (false, _) => {
                                let what = "an acknowledgement of what was not in QPACK's table";
                                let code = ErrorCode::QpackDecoderStreamError;
                                return Err(Breach::new(code, what));
                            }
                        };
                    }
                    return Ok(None);
                }
            }
        }
    }

    /// What a stream is; `None` where that is not known.
    fn begin(&mut self, kind: u64) -> Result<Option<Stream>, Breach> {
        let stream = match kind {
            CONTROL => Stream::Control(FrameReader::default()),
            QPACK_ENCODER => Stream::Encoder,
            QPACK_DECODER => Stream::Decoder { in_number: false },
            PUSH if self.peer == Side::Server => {
                return Err(Breach::new(ErrorCode::IdError, "a push, which was not allowed"));
            }
            PUSH => {
                let what = "a push stream of a client";
                return Err(Breach::new(ErrorCode::StreamCreationError, what));
            }
            _ => return Ok(None),
        };
        if std::mem::replace(&mut self.have_come[kind as usize], true) {
            let what = "a second control stream, or a second one of QPACK's";
            return Err(Breach::new(ErrorCode::StreamCreationError, what));
        }
        Ok(Some(stream))
    }

    /// Whether a frame may come now on the control stream.
    fn may_come(&self, kind: FrameKind) -> Result<(), Breach> {
        let unexpected = |what| Err(Breach::new(ErrorCode::FrameUnexpected, what));
        match kind {
            FrameKind::Settings if self.has_settings => unexpected("SETTINGS twice"),
            FrameKind::Settings => Ok(()),
            _ if !self.has_settings => {
                let what = "a control stream that does not begin with SETTINGS";
                Err(Breach::new(ErrorCode::MissingSettings, what))
            }
            FrameKind::Data | FrameKind::Headers | FrameKind::PushPromise => {
                unexpected("a frame of a message on the control stream")
            }
            FrameKind::MaxPushId if self.peer == Side::Server => {
                unexpected("MAX_PUSH_ID of a server")
            }
            _ => Ok(()),
        }
    }

    /// Takes a whole frame of the control stream.
    fn frame(
        &mut self,
        kind: FrameKind,
        mut payload: &[u8],
    ) -> Result<Option<ControlEvent>, Breach> {
        if kind == FrameKind::Settings {
            let settings = Settings::read(payload)?;
            self.has_settings = true;
            return Ok(Some(ControlEvent::Settings(settings)));
        }
        let id = varint::take(&mut payload).filter(|_| payload.is_empty());
        let id = id.ok_or(Breach::new(ErrorCode::FrameError, "a frame of a wrong length"))?;
        let wrong = |what| Err(Breach::new(ErrorCode::IdError, what));
        match kind {
            FrameKind::Goaway if self.peer == Side::Server && id % 4 != 0 => {
                wrong("GOAWAY with the number of a stream that is no request's")
            }
            FrameKind::Goaway if self.goaway.is_some_and(|before| id > before) => {
                wrong("GOAWAY with a greater number than before")
            }
            FrameKind::Goaway => {
                self.goaway = Some(id);
                Ok(Some(ControlEvent::Goaway(id)))
            }
            FrameKind::MaxPushId if self.max_push.is_some_and(|before| id < before) => {
                wrong("MAX_PUSH_ID with a smaller number than before")
            }
            FrameKind::MaxPushId => {
                self.max_push = Some(id);
                Ok(None)
            }
            // Nothing was pushed, and nothing was allowed to be.
            _ => wrong("CANCEL_PUSH of a push that there is not"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What streams say that are received one after the other, each whole and then byte by byte.
    fn read(peer: Side, streams: &[&[u8]]) -> Result<Vec<ControlEvent>, ErrorCode> {
        let mut results = Vec::new();
        for piece in [1, 1000] {
            let (mut all, mut events) = (PeerStreams::new(peer), Vec::new());
            let mut take = || {
                'streams: for (id, bytes) in streams.iter().enumerate() {
                    for mut piece in bytes.chunks(piece) {
                        while let Some(event) = all.next(id as u64, &mut piece)? {
                            events.push(event);
                            if event == ControlEvent::UnknownStream {
                                continue 'streams;
                            }
                        }
                    }
                }
                Ok(())
            };
            let taken: Result<(), Breach> = take();
            results.push(taken.map(|()| events).map_err(|breach| breach.code));
        }
        assert_eq!(results[0], results[1], "{streams:?}");
        results.remove(0)
    }

    /// The control stream with no setting.
    const BEGUN: &[u8] = &[0, 4, 0];

    #[test]
    fn settings_goaway_and_unknown_streams_are_told() {
        let settings = ControlEvent::Settings(Settings::default());
        let goaways = [BEGUN, &[7, 1, 8, 0x21, 1, 0, 7, 1, 4, 7, 1, 4]].concat();
        let told = [8, 4, 4].map(ControlEvent::Goaway);
        assert_eq!(read(Side::Server, &[&goaways]), Ok([&[settings][..], &told].concat()));
        let qpack: [&[u8]; 3] = [BEGUN, &[2, 0x20, 0x20], &[3, 0x41, 0x7f, 0x80, 0x01, 0x44]];
        assert_eq!(read(Side::Client, &qpack), Ok(vec![settings]));
        let push = [BEGUN, &[13, 1, 3, 13, 1, 9]].concat();
        assert_eq!(read(Side::Client, &[&push]), Ok(vec![settings]));
        assert_eq!(
            read(Side::Client, &[&[0x40, 0x41, 1, 2, 3], BEGUN]),
            Ok(vec![ControlEvent::UnknownStream, settings])
        );
        let mut own = Vec::new();
        put_control_stream(&mut own);
        assert_eq!(read(Side::Client, &[&own]), Ok(vec![ControlEvent::Settings(Settings::OWN)]));
    }

    #[test]
    fn what_may_not_come_is_named_by_its_code() {
        use ErrorCode::*;
        let after = |frames: &[u8]| [BEGUN, frames].concat();
        for (peer, streams, code) in [
            (Side::Client, vec![after(&[]), after(&[])], StreamCreationError),
            (Side::Client, vec![vec![2], vec![2]], StreamCreationError),
            (Side::Client, vec![vec![3], vec![3]], StreamCreationError),
            (Side::Client, vec![vec![1]], StreamCreationError),
            (Side::Server, vec![vec![1]], IdError),
            (Side::Client, vec![vec![0, 0x21, 0]], MissingSettings),
            (Side::Client, vec![vec![0, 7, 1, 0]], MissingSettings),
            (Side::Client, vec![after(&[4, 0])], FrameUnexpected),
            (Side::Client, vec![after(&[0, 0])], FrameUnexpected),
            (Side::Client, vec![after(&[1, 0])], FrameUnexpected),
            (Side::Client, vec![after(&[5, 0])], FrameUnexpected),
            (Side::Client, vec![after(&[6, 0])], FrameUnexpected),
            (Side::Server, vec![after(&[13, 1, 0])], FrameUnexpected),
            (Side::Client, vec![after(&[13, 1, 3, 13, 1, 2])], IdError),
            (Side::Client, vec![after(&[3, 1, 0])], IdError),
            (Side::Server, vec![after(&[7, 1, 3])], IdError),
            (Side::Server, vec![after(&[7, 1, 4, 7, 1, 8])], IdError),
            (Side::Server, vec![after(&[7, 0])], FrameError),
            (Side::Server, vec![after(&[7, 2, 0, 0])], FrameError),
            (Side::Client, vec![vec![0, 4, 2, 2, 1]], SettingsError),
            (Side::Client, vec![vec![2, 0x21]], QpackEncoderStreamError),
            (Side::Client, vec![vec![2, 0xc0, 0]], QpackEncoderStreamError),
            (Side::Client, vec![vec![3, 0x80]], QpackDecoderStreamError),
            (Side::Client, vec![vec![3, 0x01]], QpackDecoderStreamError),
        ] {
            let streams: Vec<&[u8]> = streams.iter().map(Vec::as_slice).collect();
            assert_eq!(read(peer, &streams), Err(code), "{streams:?}");
        }
    }

    #[test]
    fn streams_that_must_stay_may_not_end() {
        for kind in [CONTROL, QPACK_ENCODER, QPACK_DECODER] {
            let mut all = PeerStreams::new(Side::Client);
            assert_eq!(all.next(2, &mut &[kind as u8][..]), Ok(None));
            let code = all.end(2).map_err(|breach| breach.code);
            assert_eq!(code, Err(ErrorCode::ClosedCriticalStream));
        }
        let mut all = PeerStreams::new(Side::Client);
        assert_eq!(all.next(2, &mut &[0x40][..]), Ok(None));
        assert_eq!(all.end(2), Ok(()));
        assert_eq!(all.end(6), Ok(()));
    }
}
