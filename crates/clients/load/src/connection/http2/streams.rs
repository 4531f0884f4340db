//! The operations of one HTTP/2 connection, each a stream: what the session reports of them.

use std::sync::Arc;

use http2::{
    COMPRESSION_ERROR, Client, Frame, FrameKind, Handler, REFUSED_STREAM, Stream, error_name,
    is_no_error,
};
use units::Nanos;
use wire::reception::{
    Answers, Completed, Expectation, HEAD_TOO_LONG, LONGEST_HEAD, MOST_FIELDS, TOO_MANY_FIELDS,
    digits, grpc_failure,
};
use wire::{ErrorKind, Failure};

use crate::connection::{Ended, is_close};
use crate::context::Context;
use crate::http2_counts::Http2Counts;
use crate::recorder::Begun;
use crate::retry::Unanswered;

/// The longest body of a response with another status that is received to its end.
const LONGEST_REFUSAL: u64 = 1 << 20;

/// An operation under way.
pub(crate) struct Exchange {
    pub(crate) begun: Begun,
    /// The stream's number.
    pub(crate) id: i32,
    /// When it was given to the session, and when its request was sent, if it was.
    given: u64,
    opened: Option<u64>,
    /// When something of it was last sent or received.
    progress: u64,
    /// Body bytes that arrived within the window.
    window_body: u64,
    expectation: Expectation,
    answers: Answers,
    /// Whether its body is compared with the object.
    is_compared: bool,
    /// How much of the request's body is still to be given to the session.
    body_left: usize,
    /// Whether its body has waited for a window, and since when it does.
    was_held_up: bool,
    held_up_since: Option<u64>,
    has_begun: bool,
    status: Option<u16>,
    promised: Option<u64>,
    /// The bytes of all heads, and the fields of this one.
    head: u64,
    fields: usize,
    body: u64,
    is_whole: bool,
    wrong: Option<Failure>,
    /// What the server says of a call of gRPC that failed.
    grpc: Option<Failure>,
}

impl Exchange {
    pub(crate) fn new(
        begun: Begun,
        id: i32,
        expectation: Expectation,
        answers: Answers,
        is_compared: bool,
    ) -> Self {
        Self {
            begun,
            id,
            given: 0,
            opened: None,
            progress: 0,
            window_body: 0,
            expectation,
            answers,
            is_compared,
            body_left: 0,
            was_held_up: false,
            held_up_since: None,
            has_begun: false,
            status: None,
            promised: None,
            head: 0,
            fields: 0,
            body: 0,
            is_whole: false,
            wrong: None,
            grpc: None,
        }
    }

    /// It has ended at this place.
    pub(crate) fn ended(
        self,
        place: usize,
        at: u64,
        result: Result<Option<Completed>, Failure>,
        unanswered: Option<Unanswered>,
    ) -> Ended {
        let (bytes, is_early) = ((self.window_body, self.window_body), self.body_left > 0);
        Ended { place, begun: self.begun, at, bytes, result, is_early, unanswered }
    }

    /// When its operation began.
    pub(crate) fn began(&self) -> u64 {
        self.begun.times.start
    }

    fn take(&mut self, bytes: &[u8]) {
        let length = bytes.len() as u64;
        let size = self.expectation.size();
        let is_ok = self.is_right();
        if self.wrong.is_none() && is_ok {
            if size.is_some_and(|size| self.body + length > size) {
                self.wrong = Some(Failure::new(
                    ErrorKind::LongBody,
                    format!("a body of more than {} bytes", size.unwrap_or(0)),
                ));
            } else if self.is_compared
                && let Some(start) = self.expectation.starts()
                && !objects::matches(start + self.body, bytes)
            {
                let seen = format!("a body that differs from the object after byte {}", self.body);
                let mut failure = Failure::new(ErrorKind::Content, seen);
                failure.is_in_whole = true;
                self.wrong = Some(failure);
            }
        }
        self.body += length;
        if self.wrong.is_none() && !is_ok && self.body > LONGEST_REFUSAL {
            self.wrong = Some(self.other_status());
        }
    }

    /// Whether its status is one that is right.
    fn is_right(&self) -> bool {
        self.status.is_some_and(|status| self.answers.admit(status))
    }

    /// A window is open again.
    fn goes_on(&mut self, now: u64, counts: &mut Http2Counts) {
        counts.held_up_for.0 += self.held_up_for(now);
        self.held_up_since = None;
    }

    /// When it is to end that has made no progress for so long, or takes so long in all.
    fn due(&self, (timeout, whole): (u64, u64)) -> u64 {
        self.progress.saturating_add(timeout).min(self.began().saturating_add(whole))
    }

    /// How long its body has waited for a window that is not open yet.
    fn held_up_for(&self, now: u64) -> u64 {
        self.held_up_since.map_or(0, |since| now.saturating_sub(since))
    }

    fn other_status(&self) -> Failure {
        let status = self.status.unwrap_or(0);
        Failure::new(ErrorKind::Status, format!("{status} over HTTP/2"))
    }

    /// Whether this frame of its body is where it ends too early, or goes on too long.
    fn breaks_promise(&self, frame: Frame) -> Option<Failure> {
        let is_empty = self.status.is_some_and(|status| self.answers.is_empty(status));
        let promised = if is_empty { Some(0) } else { self.promised };
        let promised = promised.filter(|_| frame.kind == FrameKind::Data)?;
        let comes = self.body + frame.length as u64;
        let (kind, body) = match comes > promised {
            true => (ErrorKind::LongBody, comes),
            false if frame.ends_stream && self.body < promised => (ErrorKind::ShortBody, self.body),
            false => return None,
        };
        Some(Failure::new(kind, format!("{body} bytes of a body of {promised}")))
    }

    /// What became of it, its stream having ended with this code.
    fn judge(&mut self, error: u32, breach: Option<&Failure>) -> Result<Completed, Failure> {
        let fail = |kind, seen: String| Err(Failure::new(kind, seen));
        if let Some(failure) = self.wrong.take() {
            return Err(failure);
        }
        if self.is_whole && self.status.is_some() && !self.is_right() {
            return Err(self.other_status());
        }
        match (error, breach) {
            // A server may end the stream of a request of whose body it reads no more.
            _ if self.is_whole && self.status.is_some() => {}
            (code, Some(breach)) if !is_no_error(code) => return Err(breach.clone()),
            (code, _) if !is_no_error(code) || !self.is_whole => {
                let seen = format!("RST_STREAM with {}", error_name(code));
                return fail(ErrorKind::StreamReset, seen);
            }
            _ => {}
        }
        if let Some(failure) = self.grpc.take() {
            return Err(failure);
        }
        if self.status.is_none() {
            return fail(ErrorKind::Http2, "a response without a status".to_owned());
        }
        if let Some(size) = self.expectation.size().filter(|size| *size != self.body) {
            let seen = format!("a body of {} bytes in place of {size}", self.body);
            return fail(ErrorKind::ShortBody, seen);
        }
        Ok(Completed {
            body: self.body,
            opened: self.body,
            compared: self.is_compared && self.expectation.size().is_some(),
            peeked: false,
            closes: false,
            status: self.status.unwrap_or_default(),
        })
    }
}

/// See the module. An operation's place is its slot's among those of the connection.
#[derive(Default)]
pub(crate) struct Streams {
    places: Vec<Option<Exchange>>,
    /// Those that have ended, in their order; the owner takes them after each call of the session.
    pub(crate) ended: Vec<Ended>,
    /// The error of the GOAWAY that was received.
    pub(crate) goaway: Option<u32>,
    /// What the server did wrong, in the words of the library, or what the library does not take.
    pub(crate) breach: Option<Failure>,
    /// Streams whose responses are known to be wrong, to be reset.
    pub(crate) rejected: Vec<i32>,
    /// The frame that began last, with its stream. The library ends the connection in it where a body is
    /// not as long as was promised, before it reports it.
    begun: Option<(i32, Frame)>,
    /// Whether a head has begun that goes on in another frame.
    is_within_head: bool,
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
        let exchange =
            Exchange { body_left: self.body.len(), given: now, progress: now, ..exchange };
        self.due = self.due.min(exchange.due(self.limits));
        self.places[place] = Some(exchange);
    }

    pub(crate) fn has_bodies(&self) -> bool {
        !self.body.is_empty()
    }

    /// After something was sent: notes which bodies wait until the server opens a window. Those that wait for
    /// the socket do not.
    pub(crate) fn note_windows(&mut self, client: &Client<Self>, is_flushed: bool) {
        if !self.has_bodies() {
            return;
        }
        let sends = |exchange: &&mut Exchange| exchange.opened.is_some() && exchange.body_left > 0;
        for exchange in self.places.iter_mut().flatten().filter(sends) {
            if client.window(exchange.id) > 0 {
                exchange.goes_on(self.now, &mut self.counts);
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
    pub(crate) fn take_all(&mut self) -> Vec<(Begun, u64)> {
        let places = self.places(|_| true);
        let taken = places.into_iter().filter_map(|place| self.take(place));
        taken.map(|exchange| (exchange.begun, exchange.window_body)).collect()
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

    pub(crate) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// All operations under way fail with the connection: each in this way, but for the one that the frame
    /// belongs to in which the connection ended, where that breaks a promise.
    pub(crate) fn fail_all(&mut self, failure: &Failure, at: u64) {
        self.now = at;
        for place in self.places(|_| true) {
            let Some(mut exchange) = self.take(place) else { continue };
            let own = self.begun.filter(|(id, _)| exchange.id == *id);
            let own = own.and_then(|(_, frame)| exchange.breaks_promise(frame));
            let unanswered = match exchange.opened {
                _ if !is_close(failure) || exchange.has_begun => None,
                None => Some(Unanswered::NotTaken),
                Some(_) => Some(Unanswered::Closed),
            };
            let failure = own.or(exchange.wrong.take()).unwrap_or_else(|| failure.clone());
            self.ended.push(exchange.ended(place, at, Err(failure), unanswered));
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

    /// The server takes no more requests: those that were not sent are to be asked again elsewhere.
    pub(crate) fn leave_unsent(&mut self) {
        for place in self.places(|exchange| exchange.opened.is_none()) {
            self.not_taken(place, ErrorKind::Goaway, "before the request was sent");
        }
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

impl Handler for Streams {
    fn begins(&mut self, stream: i32, frame: Frame) {
        self.begun = Some((stream, frame));
        self.is_within_head |= frame.continues;
    }

    fn field(&mut self, stream: Stream, name: &[u8], value: &[u8]) {
        let length = (name.len() + value.len()) as u64;
        self.counts.fields_received += length;
        let Some(exchange) = self.of(stream) else { return };
        exchange.head += length;
        exchange.fields += usize::from(!name.starts_with(b":"));
        let is_too_long = exchange.head > LONGEST_HEAD as u64;
        if (is_too_long || exchange.fields > MOST_FIELDS) && exchange.wrong.is_none() {
            let seen = if is_too_long { HEAD_TOO_LONG } else { TOO_MANY_FIELDS };
            exchange.wrong = Some(Failure::long_head(seen));
            self.rejected.push(stream.id);
            return;
        }
        match name {
            b":status" => exchange.status = digits(value).and_then(|code| code.try_into().ok()),
            b"content-length" => exchange.promised = digits(value),
            _ => exchange.grpc = exchange.grpc.take().or_else(|| grpc_failure(name, value)),
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
            FrameKind::Headers => {
                self.is_within_head = false;
                self.counts.header_bytes_received += frame.length as u64;
            }
            FrameKind::Settings => self.has_settings = true,
            FrameKind::Goaway { error, .. } => {
                self.counts.goaways += 1;
                self.goaway = Some(error);
            }
            FrameKind::Other => {}
        }
        let mut is_first = false;
        let Some(exchange) = self.of(stream) else { return };
        exchange.progress = now;
        // A window that is opened is no part of a response.
        if matches!(frame.kind, FrameKind::Headers | FrameKind::Data) {
            exchange.begun.times.first_byte.get_or_insert(now);
            exchange.fields = 0;
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
        if let FrameKind::Goaway { error: COMPRESSION_ERROR, .. } = frame.kind
            && self.is_within_head
        {
            // In a frame that holds a whole head there is no room for so long a field.
            let seen = "a field of more than 64 KiB, which libnghttp2 does not take, or one of a wrong length";
            self.breach.get_or_insert_with(|| Failure::long_head(seen));
        }
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

    fn closed(&mut self, stream: Stream, error: u32) {
        let Some(exchange) = self.of(stream) else { return };
        let place = stream.tag - 1;
        if error == REFUSED_STREAM && !exchange.has_begun && exchange.wrong.is_none() {
            // The library closes those that a GOAWAY leaves out in this way.
            return match self.goaway {
                Some(_) => self.not_taken(place, ErrorKind::Goaway, "that left the request out"),
                None => {
                    let seen = "RST_STREAM with REFUSED_STREAM";
                    self.not_taken(place, ErrorKind::RefusedStream, seen);
                }
            };
        }
        let Some(mut exchange) = self.take(place) else { return };
        let result = exchange.judge(error, self.breach.as_ref());
        self.ended.push(exchange.ended(place, self.now, result.map(Some), None));
    }

    fn not_sent(&mut self, stream: Stream) {
        // The library knows no tag of a stream that was never opened.
        let is_it = |place: &Option<Exchange>| {
            place.as_ref().is_some_and(|exchange| exchange.id == stream.id)
        };
        if let Some(place) = self.places.iter().position(is_it) {
            self.not_taken(place, ErrorKind::Goaway, "before the request was sent");
        }
    }

    fn wrong(&mut self, what: &str) {
        self.breach.get_or_insert_with(|| Failure::new(ErrorKind::Http2, what));
    }

    fn body(&mut self, stream: Stream, most: usize) -> Option<(usize, bool)> {
        let left = self.of(stream)?.body_left;
        let length = left.min(most);
        Some((length, length == left))
    }

    fn put_body(&mut self, stream: Stream, length: usize, out: &mut Vec<u8>) -> bool {
        let now = self.now;
        let Some(exchange) = self.of(stream) else { return false };
        let left = exchange.body_left;
        exchange.body_left -= length;
        exchange.progress = now;
        let begun = self.body.len() - left;
        out.extend_from_slice(&self.body[begun..begun + length]);
        true
    }
}
