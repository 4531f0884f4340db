//! The peer's side of a request stream (RFC 9114, section 4.1): which frames may come when.

use crate::{Breach, ErrorCode, FrameHead, FrameKind, FrameReader, Part, Side};

/// A request that a server reads, or a response that a client reads.
#[derive(Debug)]
pub struct Message {
    frames: FrameReader,
    sender: Side,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    AwaitingHead,
    Body,
    Trailers,
}

/// A part of a message. Field sections are for [`crate::qpack::decode`].
#[derive(Debug, PartialEq, Eq)]
pub enum MessagePart<'p> {
    /// A frame begins that may come here. What it carries follows, unless its kind is unknown.
    Frame(FrameHead),
    Head(&'p [u8]),
    /// Some bytes of the body, never none.
    Body(&'p [u8]),
    Trailers(&'p [u8]),
}

impl Message {
    /// One that this side sends.
    pub fn new(sender: Side) -> Self {
        Self { frames: FrameReader::default(), sender, state: State::AwaitingHead }
    }

    /// The next part; `None` where all of the input is taken.
    ///
    /// # Errors
    /// A frame that may not come here.
    #[inline]
    pub fn next<'p, 'i: 'p>(
        &'p mut self,
        input: &mut &'i [u8],
    ) -> Result<Option<MessagePart<'p>>, Breach> {
        Ok(match self.frames.next(input)? {
            None => None,
            Some(Part::Head(head)) => {
                may_come(self.state, self.sender, head.kind)?;
                Some(MessagePart::Frame(head))
            }
            Some(Part::Data(bytes)) => Some(MessagePart::Body(bytes)),
            Some(Part::Payload(_, section)) if self.state == State::AwaitingHead => {
                self.state = State::Body;
                Some(MessagePart::Head(section))
            }
            Some(Part::Payload(_, section)) => {
                self.state = State::Trailers;
                Some(MessagePart::Trailers(section))
            }
        })
    }

    /// The head was an interim response's (1xx): another one follows.
    pub fn await_head(&mut self) {
        self.state = State::AwaitingHead;
    }

    /// The sender has ended the stream.
    ///
    /// # Errors
    /// The message is not whole.
    pub fn end(&self) -> Result<(), Breach> {
        if !self.frames.is_at_boundary() {
            return Err(Breach::new(ErrorCode::FrameError, "a stream that ends within a frame"));
        }
        match self.state {
            State::AwaitingHead => {
                let what = "a stream that ends before a head";
                Err(Breach::new(ErrorCode::RequestIncomplete, what))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a frame may come now.
fn may_come(state: State, sender: Side, kind: FrameKind) -> Result<(), Breach> {
    let unexpected = |what| Err(Breach::new(ErrorCode::FrameUnexpected, what));
    match (kind, state) {
        (FrameKind::Unknown(_), _)
        | (FrameKind::Headers, State::AwaitingHead | State::Body)
        | (FrameKind::Data, State::Body) => Ok(()),
        (FrameKind::Headers, State::Trailers) => unexpected("a head after trailers"),
        (FrameKind::Data, State::AwaitingHead) => unexpected("DATA before a head"),
        (FrameKind::Data, State::Trailers) => unexpected("DATA after trailers"),
        (FrameKind::PushPromise, _) if sender == Side::Server => {
            Err(Breach::new(ErrorCode::IdError, "a push, which was not allowed"))
        }
        _ => unexpected("a frame on a request's stream that may not be there"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What comes of these frames: a letter for each part.
    fn read(sender: Side, frames: &[&[u8]]) -> Result<String, ErrorCode> {
        let bytes = frames.concat();
        let mut results = Vec::new();
        for piece in [1, bytes.len().max(1)] {
            let (mut message, mut parts) = (Message::new(sender), String::new());
            let mut taken = || {
                for mut piece in bytes.chunks(piece) {
                    while let Some(part) = message.next(&mut piece)? {
                        match part {
                            MessagePart::Head(_) => parts.push('h'),
                            MessagePart::Frame(head) if head.kind == FrameKind::Data => {
                                parts.push('d');
                            }
                            MessagePart::Frame(_) => {}
                            MessagePart::Body(_) if parts.ends_with('b') => {}
                            MessagePart::Body(_) => parts.push('b'),
                            MessagePart::Trailers(_) => parts.push('t'),
                        }
                    }
                }
                message.end()
            };
            let taken = taken();
            results.push(taken.map(|()| parts).map_err(|breach| breach.code));
        }
        assert_eq!(results[0], results[1]);
        results.remove(0)
    }

    const HEAD: &[u8] = &[1, 2, 0, 0];
    const DATA: &[u8] = b"\0\x04body";
    const EMPTY: &[u8] = &[0, 0];
    const UNKNOWN: &[u8] = b"\x21\x03???";

    #[test]
    fn messages_have_a_head_then_a_body_then_trailers_and_unknown_frames_anywhere() {
        for (frames, parts) in [
            (&[HEAD][..], "h"),
            (&[HEAD, DATA, EMPTY, DATA], "hdbddb"),
            (&[HEAD, HEAD], "ht"),
            (&[UNKNOWN, HEAD, UNKNOWN, DATA, UNKNOWN, HEAD, UNKNOWN], "hdbt"),
        ] {
            assert_eq!(read(Side::Client, frames), Ok(parts.to_string()));
        }
    }

    #[test]
    fn frames_that_come_at_a_wrong_time_are_named_by_their_codes() {
        use ErrorCode::{FrameError, FrameUnexpected, IdError, RequestIncomplete};
        for (sender, frames, code) in [
            (Side::Client, &[][..], RequestIncomplete),
            (Side::Client, &[UNKNOWN], RequestIncomplete),
            (Side::Client, &[DATA], FrameUnexpected),
            (Side::Client, &[HEAD, HEAD, DATA], FrameUnexpected),
            (Side::Client, &[HEAD, HEAD, HEAD], FrameUnexpected),
            (Side::Client, &[HEAD, &DATA[..5]], FrameError),
            (Side::Client, &[HEAD, &UNKNOWN[..4]], FrameError),
            (Side::Client, &[HEAD, &HEAD[..1]], FrameError),
            (Side::Client, &[&HEAD[..3]], FrameError),
            (Side::Client, &[HEAD, &[4, 0]], FrameUnexpected),
            (Side::Client, &[HEAD, &[7, 1, 0]], FrameUnexpected),
            (Side::Client, &[HEAD, &[3, 1, 0]], FrameUnexpected),
            (Side::Client, &[HEAD, &[13, 1, 0]], FrameUnexpected),
            (Side::Client, &[HEAD, &[5, 1, 0]], FrameUnexpected),
            (Side::Server, &[HEAD, &[5, 1, 0]], IdError),
            (Side::Server, &[HEAD, &[4, 0]], FrameUnexpected),
        ] {
            assert_eq!(read(sender, frames), Err(code), "{frames:?}");
        }
    }

    #[test]
    fn an_interim_head_is_followed_by_another_one() {
        let mut message = Message::new(Side::Server);
        let bytes = [HEAD, HEAD].concat();
        let mut input = &bytes[..];
        let mut heads = 0;
        while let Some(part) = message.next(&mut input).unwrap() {
            if matches!(part, MessagePart::Head(_)) {
                heads += 1;
                if heads == 1 {
                    message.await_head();
                    assert!(message.end().is_err());
                }
            }
        }
        assert_eq!((heads, message.end()), (2, Ok(())));
    }
}
