//! What the session reports of one HTTP/2 connection's streams, and what becomes of their operations for that.

use std::sync::Arc;

use http2::{
    ClientHandler, Frame, FrameKind, Head, REFUSED_STREAM, ResponseHead, Stream, StreamEnd,
    error_name, is_no_error,
};
use wire::{ErrorKind, Failure};

use crate::connection::exchange;
use crate::connection::streams::Streams;
use crate::http2_counts::Http2Counts;
use crate::retry::Unanswered;

/// An operation under way, with its stream's number.
pub(crate) type Exchange = exchange::Exchange<i32>;

/// See the module.
pub(crate) struct Handler {
    pub(crate) streams: Streams<i32>,
    /// The error of the GOAWAY that was received.
    pub(crate) goaway: Option<u32>,
    /// Streams whose responses are known to be wrong, to be reset.
    pub(crate) rejected: Vec<i32>,
    pub(crate) counts: Http2Counts,
    /// Whether SETTINGS of the server have come that were not looked at.
    pub(crate) has_settings: bool,
    /// Whether a response was wrong of which a part was dropped: the rest may be as wrong.
    pub(crate) is_lost: bool,
    /// The body of each request.
    body: Arc<Vec<u8>>,
}

impl Handler {
    /// For streams whose requests have this body.
    pub(crate) fn new(streams: Streams<i32>, body: Arc<Vec<u8>>) -> Self {
        Self {
            streams,
            goaway: None,
            rejected: Vec::new(),
            counts: Http2Counts::default(),
            has_settings: false,
            is_lost: false,
            body,
        }
    }

    /// The operation of a connection with one stream.
    fn alone(&self) -> Option<&Exchange> {
        self.streams.get(0)
    }

    /// Whether its response has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.alone().is_some_and(|exchange| exchange.has_begun)
    }

    /// Whether a part of its response was dropped.
    pub(crate) fn has_walked(&self) -> bool {
        self.alone().is_some_and(Exchange::has_walked)
    }

    /// Whether a part of its response may be dropped, if there is one.
    pub(crate) fn may_walk(&self) -> bool {
        self.alone().is_some_and(|exchange| !exchange.is_compared)
    }

    /// The same where that has not begun.
    pub(crate) fn awaits_walk(&self) -> bool {
        self.may_walk() && !self.has_begun()
    }

    /// The length of its response's body, where that has begun and is right so far.
    pub(crate) fn promises(&self) -> Option<u64> {
        let is_right = |exchange: &&Exchange| exchange.wrong.is_none() && exchange.is_right();
        self.alone().filter(is_right)?.promised()
    }

    /// Whether the last operation that ended was completed.
    pub(crate) fn has_just_completed(&self) -> bool {
        self.streams.ended.last().is_some_and(|ended| ended.result.is_ok())
    }

    /// Bytes of its response have come, at this time.
    pub(crate) fn progresses(&mut self, now: u64) {
        self.streams.now = now;
        if let Some(exchange) = self.streams.at(0) {
            exchange.progress = now;
        }
    }

    /// `body` bytes of its response were dropped and are proven, `within` of them in the window; false where it was
    /// taken out.
    pub(crate) fn walked(&mut self, body: u64, within: u64) -> bool {
        let Some(exchange) = self.streams.at(0) else { return false };
        exchange.body += body;
        exchange.dropped += body;
        exchange.window_body += within;
        exchange.window_dropped += within;
        true
    }

    /// The operation of a stream; tags are places, counted from 1.
    fn of(&mut self, stream: Stream) -> Option<&mut Exchange> {
        let place = stream.tag.checked_sub(1)?;
        self.streams.at(place).filter(|exchange| exchange.own == stream.id)
    }

    /// The server has not begun with this request, by what it has sent.
    fn not_taken(&mut self, place: usize, kind: ErrorKind, seen: &str) {
        let seen = match (kind, self.goaway) {
            (ErrorKind::Goaway, Some(error)) => format!("GOAWAY with {} {seen}", error_name(error)),
            _ => seen.to_owned(),
        };
        let is_in_order = self.goaway.is_none_or(is_no_error);
        let unanswered = is_in_order.then_some(Unanswered::NotTaken);
        self.streams.fails(place, Failure::new(kind, seen), unanswered);
    }
}

/// Whether a stream that has ended so, with its response whole or not, has ended as it should.
fn ending(end: StreamEnd, is_whole: bool) -> Result<(), Failure> {
    let (kind, seen) = match end {
        StreamEnd::Malformed(what) => (ErrorKind::Http2, what.to_owned()),
        // A server may end the stream of a request of whose body it reads no more.
        _ if is_whole => return Ok(()),
        StreamEnd::Reset(code) => {
            (ErrorKind::StreamReset, format!("RST_STREAM with {}", error_name(code)))
        }
        StreamEnd::LeftOut => {
            let seen = "GOAWAY that left a request out whose response had begun";
            (ErrorKind::Goaway, seen.to_owned())
        }
        StreamEnd::Complete | StreamEnd::Cancelled | StreamEnd::NotSent => {
            (ErrorKind::Http2, "a stream that has ended before its response".to_owned())
        }
    };
    Err(Failure::new(kind, seen))
}

impl ClientHandler for Handler {
    fn head(&mut self, stream: Stream, head: Head<'_>) {
        self.streams.counts.fields_received += head.length() as u64;
        let Some(exchange) = self.of(stream) else { return };
        let known = ResponseHead { status: head.status(), content_length: head.content_length() };
        exchange.take_head(known, head.length(), head.fields());
        if exchange.wrong.is_some() {
            self.rejected.push(stream.id);
        }
    }

    fn data(&mut self, stream: Stream, bytes: &[u8]) {
        let Streams { now, is_within, .. } = self.streams;
        let Some(exchange) = self.of(stream) else { return };
        exchange.progress = now;
        if is_within {
            exchange.window_body += bytes.len() as u64;
        }
        let was_right = exchange.wrong.is_none();
        exchange.take(bytes);
        if was_right && exchange.wrong.is_some() {
            self.rejected.push(stream.id);
        }
    }

    fn received(&mut self, stream: Stream, frame: Frame) {
        self.counts.frames_received += 1;
        match frame.kind {
            FrameKind::Data => self.counts.data_frames += 1,
            FrameKind::Headers => {
                self.streams.counts.header_bytes_received += frame.length as u64;
            }
            FrameKind::Settings => self.has_settings = true,
            FrameKind::Goaway { error } => {
                self.streams.counts.goaways += 1;
                self.goaway = Some(error);
            }
            FrameKind::Other => {}
        }
        let is_of_response = matches!(frame.kind, FrameKind::Data | FrameKind::Headers);
        if !is_of_response
            && let Some(walked) = self.streams.at(0)
            && walked.dropped > 0
        {
            // It may be a part of the body that was taken for a frame.
            let seen = "after dropped records: another frame before the body's last one";
            walked.wrong.get_or_insert_with(|| Failure::new(ErrorKind::UnverifiableRecord, seen));
            self.rejected.push(walked.own);
        }
        let now = self.streams.now;
        let Some(exchange) = self.of(stream) else { return };
        exchange.progress = now;
        exchange.is_whole |= frame.ends_stream;
        // The rest of a request's body is of no use to a server that has answered.
        let is_early = frame.ends_stream && exchange.body_left > 0;
        // A window that is opened is no part of a response.
        if is_of_response {
            self.streams.answers(stream.tag - 1);
        }
        if is_early {
            self.rejected.push(stream.id);
        }
    }

    fn sent(&mut self, stream: Stream, frame: Frame) {
        self.counts.frames_sent += 1;
        if frame.kind != FrameKind::Headers {
            return;
        }
        self.streams.counts.header_bytes_sent += frame.length as u64;
        if self.of(stream).is_some() {
            self.streams.opens(stream.tag - 1);
        }
    }

    fn closed(&mut self, stream: Stream, end: StreamEnd) {
        let Some(exchange) = self.of(stream) else { return };
        let place = stream.tag - 1;
        let is_unanswered = !exchange.has_begun && exchange.wrong.is_none();
        let (kind, seen) = match end {
            StreamEnd::NotSent => (ErrorKind::Goaway, "before the request was sent"),
            StreamEnd::LeftOut if is_unanswered => (ErrorKind::Goaway, "that left the request out"),
            StreamEnd::Reset(REFUSED_STREAM) if is_unanswered => {
                (ErrorKind::RefusedStream, "RST_STREAM with REFUSED_STREAM")
            }
            _ => {
                let (end, has_walked) = (ending(end, exchange.is_whole), exchange.has_walked());
                let is_right = self.streams.ends_with(place, end);
                self.is_lost |= !is_right && has_walked;
                return;
            }
        };
        self.not_taken(place, kind, seen);
    }

    fn body(&mut self, stream: Stream, most: usize) -> Option<(usize, bool)> {
        let left = self.of(stream)?.body_left;
        let length = left.min(most);
        Some((length, length == left))
    }

    fn put_body(&mut self, stream: Stream, length: usize, out: &mut Vec<u8>) {
        let now = self.streams.now;
        let Some(exchange) = self.of(stream) else { return };
        let left = exchange.body_left;
        exchange.body_left -= length;
        exchange.progress = now;
        let begun = self.body.len() - left;
        out.extend_from_slice(&self.body[begun..begun + length]);
    }
}
