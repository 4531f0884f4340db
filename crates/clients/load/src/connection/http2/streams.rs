//! The operations of one HTTP/2 connection, each a stream: what the session reports of them.

use std::sync::Arc;

use http2::{
    Client, ClientHandler, Frame, FrameKind, Head, REFUSED_STREAM, ResponseHead, Stream, StreamEnd,
    error_name, is_no_error,
};
use units::Nanos;
use wire::{ErrorKind, Failure};

use crate::connection::exchange;
use crate::context::Context;
use crate::ended::Ended;
use crate::http2_counts::Http2Counts;
use crate::recorder::Begun;
use crate::retry::Unanswered;

/// An operation under way, by its stream's number.
pub(crate) type Exchange = exchange::Exchange<i32>;

/// See the module. An operation's place is its slot's among those of the connection.
#[derive(Default)]
pub(crate) struct Streams {
    places: Vec<Option<Exchange>>,
    /// Those that have ended, in their order; the owner takes them after each call of the session.
    pub(crate) ended: Vec<Ended>,
    /// The error of the GOAWAY that was received.
    pub(crate) goaway: Option<u32>,
    /// Streams whose responses are known to be wrong, to be reset.
    pub(crate) rejected: Vec<i32>,
    pub(crate) counts: Http2Counts,
    /// The time of what is being received, and whether the window is open then.
    pub(crate) now: u64,
    pub(crate) is_within: bool,
    /// When the window begins and ends.
    pub(crate) window: (u64, u64),
    /// How long an operation may make no progress, and take in all.
    pub(crate) limits: (u64, u64),
    /// No operation has been stalled for too long before this. One that makes progress does not change it.
    pub(crate) due: u64,
    /// Operations that have a place.
    under_way: usize,
    /// Those whose request was sent.
    open: usize,
    /// Whether the server's SETTINGS have come.
    pub(crate) has_settings: bool,
    /// Whether a response was wrong of which a part was dropped: the rest may be as wrong.
    pub(crate) is_lost: bool,
    /// The body of each request.
    body: Arc<Vec<u8>>,
}

impl Streams {
    /// With room for as many operations, whose requests have this body.
    pub(crate) fn new(places: usize, body: Arc<Vec<u8>>) -> Self {
        let places = std::iter::repeat_with(|| None).take(places).collect();
        Self { places, body, due: u64::MAX, ..Self::default() }
    }

    pub(crate) fn begin(&mut self, place: usize, exchange: Exchange, now: u64) {
        self.under_way += 1;
        let exchange = self.places[place].insert(exchange);
        exchange.given(self.body.len(), now);
        self.due = self.due.min(exchange.due(self.limits));
    }

    pub(crate) fn has_bodies(&self) -> bool {
        !self.body.is_empty()
    }

    /// After something was sent: notes which bodies wait until the server opens a window. Those that wait for
    /// the socket do not.
    pub(crate) fn note_windows(&mut self, client: &mut Client<Self>, is_flushed: bool) {
        if !self.has_bodies() {
            return;
        }
        let sends = |exchange: &&mut Exchange| exchange.opened.is_some() && exchange.body_left > 0;
        for exchange in self.places.iter_mut().flatten().filter(sends) {
            if client.window(exchange.id) > 0 {
                self.counts.held_up_for.0 += exchange.goes_on(self.now);
            } else if is_flushed {
                exchange.was_held_up = true;
                exchange.held_up_since.get_or_insert(self.now);
            }
        }
    }

    /// Takes an operation out, with its place free for the next.
    pub(crate) fn take(&mut self, place: usize) -> Option<Exchange> {
        let exchange = self.places[place].take()?;
        if self.has_bodies() {
            self.counts.held_up_for.0 += exchange.held_up_for(self.now);
            let time = self.now.saturating_sub(exchange.begun.times.start);
            self.counts.with_body_for.0 += time;
            self.counts.held_up += u64::from(exchange.was_held_up);
        }
        let within =
            |from: u64, to: u64| to.min(self.window.1).saturating_sub(from.max(self.window.0));
        let opened = exchange.opened.unwrap_or(self.now);
        self.counts.open_for.0 += within(opened, self.now);
        self.counts.no_stream_for.0 += within(exchange.given, opened);
        self.under_way -= 1;
        self.open -= usize::from(exchange.opened.is_some());
        Some(exchange)
    }

    /// All that are under way, with their body bytes of the window.
    pub(crate) fn take_all(&mut self) -> Vec<(Begun, (u64, u64))> {
        let places = self.places(|_| true);
        places.into_iter().filter_map(|place| Some(self.take(place)?.under_way())).collect()
    }

    /// The places of operations that have made no progress for too long, or take too long. From now on the
    /// others are due.
    pub(crate) fn stalled(&mut self, now: u64) -> Vec<usize> {
        let all = self.places.iter().flatten().map(|exchange| exchange.due(self.limits));
        self.due = all.filter(|due| *due > now).min().unwrap_or(u64::MAX);
        self.places(|exchange| exchange.due(self.limits) <= now)
    }

    /// Why an operation made no progress.
    pub(crate) fn why_stalled(&self, exchange: &Exchange, limit: Nanos) -> Failure {
        if exchange.held_up_since.is_some() {
            let seen = format!("the request's body waited for a window for {limit}");
            return Failure::new(ErrorKind::FlowControl, seen);
        }
        if exchange.opened.is_some() {
            let seen = format!("the response made no progress for {limit}");
            return Failure::new(ErrorKind::Stall, seen);
        }
        let most = self.counts.allowed_streams.unwrap_or(u32::MAX);
        let seen = format!(
            "no stream for {limit}: {} were open, and the server's SETTINGS allow {most}",
            self.open
        );
        Failure::new(ErrorKind::NoStream, seen)
    }

    /// The operation of a connection with one stream.
    fn alone(&self) -> Option<&Exchange> {
        self.places.first()?.as_ref()
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
        self.ended.last().is_some_and(|ended| ended.result.is_ok())
    }

    /// Bytes of its response have come, at this time.
    pub(crate) fn progresses(&mut self, now: u64) {
        self.now = now;
        if let Some(Some(exchange)) = self.places.first_mut() {
            exchange.progress = now;
        }
    }

    /// `body` bytes of its response were dropped and are proven, `within` of them in the window; false where it was
    /// taken out.
    pub(crate) fn walked(&mut self, body: u64, within: u64) -> bool {
        let Some(Some(exchange)) = self.places.first_mut() else { return false };
        exchange.body += body;
        exchange.dropped += body;
        exchange.window_body += within;
        exchange.window_dropped += within;
        true
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// All operations under way fail with the connection in this way, but for those that were wrong before.
    pub(crate) fn fail_all(&mut self, failure: &Failure, at: u64) {
        self.now = at;
        for place in self.places(|_| true) {
            let Some(exchange) = self.take(place) else { continue };
            self.ended.push(exchange.fails(place, at, failure));
        }
    }

    /// Hands on what has ended.
    pub(crate) fn ends(&mut self, context: &mut Context<'_>) {
        for ended in self.ended.drain(..) {
            context.ends(ended, self.counts.answers);
        }
    }

    /// The places of operations under way that are such.
    fn places(&self, are_such: impl Fn(&Exchange) -> bool) -> Vec<usize> {
        let is_such = |place: &usize| self.places[*place].as_ref().is_some_and(&are_such);
        (0..self.places.len()).filter(is_such).collect()
    }

    /// The operation of a stream; tags are places, counted from 1.
    fn of(&mut self, stream: Stream) -> Option<&mut Exchange> {
        let place = stream.tag.checked_sub(1)?;
        self.places.get_mut(place)?.as_mut().filter(|exchange| exchange.id == stream.id)
    }

    /// The server has not begun with this request, by what it has sent.
    fn not_taken(&mut self, place: usize, kind: ErrorKind, seen: &str) {
        if let Some(exchange) = self.take(place) {
            let seen = match (kind, self.goaway) {
                (ErrorKind::Goaway, Some(error)) => {
                    format!("GOAWAY with {} {seen}", error_name(error))
                }
                _ => seen.to_owned(),
            };
            let failure = Failure::new(kind, seen);
            let is_in_order = self.goaway.is_none_or(is_no_error);
            let unanswered = is_in_order.then_some(Unanswered::NotTaken);
            self.ended.push(exchange.ended(place, self.now, Err(failure), unanswered));
        }
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

impl ClientHandler for Streams {
    fn head(&mut self, stream: Stream, head: Head<'_>) {
        self.counts.fields_received += head.length() as u64;
        let Some(exchange) = self.of(stream) else { return };
        let known = ResponseHead { status: head.status(), content_length: head.content_length() };
        exchange.take_head(known, head.length(), head.fields());
        if exchange.wrong.is_some() {
            self.rejected.push(stream.id);
        }
    }

    fn data(&mut self, stream: Stream, bytes: &[u8]) {
        let (now, is_within) = (self.now, self.is_within);
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
        let now = self.now;
        self.counts.frames_received += 1;
        match frame.kind {
            FrameKind::Data => self.counts.data_frames += 1,
            FrameKind::Headers => self.counts.header_bytes_received += frame.length as u64,
            FrameKind::Settings => self.has_settings = true,
            FrameKind::Goaway { error } => {
                self.counts.goaways += 1;
                self.goaway = Some(error);
            }
            FrameKind::Other => {}
        }
        if !matches!(frame.kind, FrameKind::Data | FrameKind::Headers)
            && let Some(Some(walked)) = self.places.first_mut()
            && walked.dropped > 0
        {
            // It may be a part of the body that was taken for a frame.
            let seen = "after dropped records: another frame before the body's last one";
            walked.wrong.get_or_insert_with(|| Failure::new(ErrorKind::UnverifiableRecord, seen));
            self.rejected.push(walked.id);
        }
        let mut is_first = false;
        let Some(exchange) = self.of(stream) else { return };
        exchange.progress = now;
        // A window that is opened is no part of a response.
        if matches!(frame.kind, FrameKind::Headers | FrameKind::Data) {
            exchange.begun.times.first_byte.get_or_insert(now);
            is_first = !std::mem::replace(&mut exchange.has_begun, true);
        }
        exchange.is_whole |= frame.ends_stream;
        // The rest of a request's body is of no use to a server that has answered.
        let is_early = frame.ends_stream && exchange.body_left > 0;
        self.counts.answers += u64::from(is_first);
        if is_early {
            self.rejected.push(stream.id);
        }
    }

    fn sent(&mut self, stream: Stream, frame: Frame) {
        let now = self.now;
        self.counts.frames_sent += 1;
        if frame.kind != FrameKind::Headers {
            return;
        }
        self.counts.header_bytes_sent += frame.length as u64;
        self.counts.requests += 1;
        if let Some(exchange) = self.of(stream) {
            (exchange.opened, exchange.progress) = (Some(now), now);
            self.open += 1;
            self.counts.most_streams = self.counts.most_streams.max(self.open as u64);
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
                let Some(mut exchange) = self.take(place) else { return };
                let end = ending(end, exchange.is_whole);
                let result = exchange.judge(end).map_err(|failure| exchange.lost(failure));
                self.is_lost |= result.is_err() && exchange.dropped > 0;
                return self.ended.push(exchange.ended(place, self.now, result.map(Some), None));
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
        let now = self.now;
        let Some(exchange) = self.of(stream) else { return };
        let left = exchange.body_left;
        exchange.body_left -= length;
        exchange.progress = now;
        let begun = self.body.len() - left;
        out.extend_from_slice(&self.body[begun..begun + length]);
    }
}
