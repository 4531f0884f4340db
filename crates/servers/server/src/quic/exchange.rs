//! A request on its stream, then its response.

use std::time::{Duration, Instant};

use bytes::Bytes;
use http3::{Breach, ErrorCode, Fields, Message, MessagePart, RequestHead, Side, frame, qpack};
use quinn_proto::{SendStream, WriteError};

use crate::answer::{Answer, AnswerKind};
use crate::content::{Content, Contents};

/// The most of a file that is read at once, and kept while the connection has no room for it.
const FILE_READ: usize = 64 << 10;

/// See the module.
pub(crate) struct Exchange {
    /// When its first bytes came.
    began: Instant,
    request: Message,
    answer: Option<Answer>,
    /// What the client has announced of its body, less what has come of it.
    body_left: Option<u64>,
    response: Option<Response>,
}

/// What is left of a response.
struct Response {
    /// To be sent first: the head, or what was read of a file.
    pending: Bytes,
    content: Content,
    offset: u64,
    end: u64,
}

/// How far a response has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    /// The client or the connection takes no more for now.
    Blocked,
    Whole,
    /// Nothing more can be sent: the client has stopped it, or the file has gone.
    Broken,
}

impl Exchange {
    pub(crate) fn new(began: Instant) -> Self {
        let request = Message::new(Side::Client);
        Self { began, request, answer: None, body_left: None, response: None }
    }

    /// Whether its head is still on its way after this time.
    pub(super) fn is_late(&self, now: Instant, limit: Duration) -> bool {
        let has_head = self.answer.is_some() || self.response.is_some();
        !has_head && now.saturating_duration_since(self.began) > limit
    }

    /// Takes bytes of the request. Of its body it is only counted.
    pub(crate) fn receive(
        &mut self,
        mut bytes: &[u8],
        fields: &mut Fields,
        contents: &Contents,
    ) -> Result<(), Breach> {
        let malformed = |what| Breach::new(ErrorCode::MessageError, what);
        while let Some(part) = self.request.next(&mut bytes)? {
            match part {
                MessagePart::Frame(_) => {}
                MessagePart::Head(section) => {
                    qpack::decode(section, fields)?;
                    let head = RequestHead::of(fields.iter()).map_err(malformed)?;
                    let method = head.method.ok_or(malformed("a request without :method"))?;
                    let path = head.path.unwrap_or_default();
                    self.answer = Some(Answer::of(method, path, fields.length(), contents));
                    self.body_left = head.content_length;
                }
                MessagePart::Body(body) => {
                    if let Some(left) = &mut self.body_left {
                        *left = left
                            .checked_sub(body.len() as u64)
                            .ok_or(malformed("a body longer than its content-length"))?;
                    }
                }
                MessagePart::Trailers(section) => {
                    qpack::decode(section, fields)?;
                    let trailers = RequestHead::of(fields.iter()).map_err(malformed)?;
                    if trailers.method.is_some() {
                        return Err(malformed("trailers with pseudo-header fields"));
                    }
                }
            }
        }
        Ok(())
    }

    /// The request has ended: its response begins.
    pub(crate) fn respond(&mut self, heads: &mut Heads) -> Result<(), Breach> {
        self.request.end()?;
        if self.body_left.is_some_and(|left| left > 0) {
            let what = "a body shorter than its content-length";
            return Err(Breach::new(ErrorCode::MessageError, what));
        }
        let Some(answer) = self.answer.take() else { return Ok(()) };
        let (pending, end) = (heads.of(&answer), answer.body_size());
        self.response = Some(Response { pending, content: answer.content, offset: 0, end });
        Ok(())
    }

    /// Whether there is something to send.
    pub(crate) fn is_responding(&self) -> bool {
        self.response.is_some()
    }

    /// Sends as much of the response as the stream takes.
    pub(super) fn send(&mut self, stream: &mut SendStream<'_>) -> Sent {
        let Some(response) = &mut self.response else { return Sent::Blocked };
        loop {
            if response.pending.is_empty() {
                if response.offset == response.end {
                    self.response = None;
                    return if stream.finish().is_ok() { Sent::Whole } else { Sent::Broken };
                }
                let Some(next) = response.next() else { return Sent::Broken };
                response.pending = next;
            }
            match stream.write_chunks(std::slice::from_mut(&mut response.pending)) {
                Ok(_) => {}
                Err(WriteError::Blocked) => return Sent::Blocked,
                Err(_) => return Sent::Broken,
            }
        }
    }
}

/// What responses begin with, of which the last one is remembered: a load asks for the same again and again.
#[derive(Default)]
pub(crate) struct Heads(Option<(AnswerKind, Bytes)>);

impl Heads {
    /// The head of a response, and the head of the frame with its body.
    fn of(&mut self, answer: &Answer) -> Bytes {
        let kind = answer.kind();
        if let Some((_, begin)) = self.0.as_ref().filter(|(last, _)| *last == kind) {
            return begin.clone();
        }
        let (mut section, mut begin) = (Vec::new(), Vec::new());
        answer.with_fields(|fields| qpack::encode(fields.iter().copied(), &mut section));
        frame::put_headers(&mut begin, &section);
        if answer.body_size() > 0 {
            // One frame, however long, since its length is known.
            frame::put_data_head(&mut begin, answer.body_size());
        }
        let begin = Bytes::from(begin);
        self.0 = Some((kind, begin.clone()));
        begin
    }
}

impl Response {
    /// The next bytes of the content: all that are in memory, which is not copied, or some of a file.
    fn next(&mut self) -> Option<Bytes> {
        let left = usize::try_from(self.end - self.offset).unwrap_or(usize::MAX);
        let piece = match self.content.in_memory(self.offset) {
            Some(all) => Bytes::from_static(&all[..all.len().min(left)]),
            None => {
                let mut space = vec![0; left.min(FILE_READ)];
                let count = self.content.piece(self.offset, left, &mut space).ok()?.len();
                space.truncate(count);
                space.into()
            }
        };
        self.offset += piece.len() as u64;
        Some(piece).filter(|piece| !piece.is_empty())
    }
}
