//! The operations of one HTTP/2 connection, each a stream: what the session reports of them.

use std::sync::Arc;

use http2::{Client, Frame, FrameKind, Handler, REFUSED_STREAM, Stream, error_name, is_no_error};
use wire::reception::{Answers, Completed, Expectation};
use wire::{ErrorKind, Failure};

use crate::http2_counts::Http2Counts;
use crate::recorder::Times;

/// The longest response head that is accepted, as with HTTP/1.1.
const LONGEST_HEAD: u64 = 64 << 10;

/// The longest body of a response with another status that is received to its end.
const LONGEST_REFUSAL: u64 = 1 << 20;

/// An operation under way.
pub(super) struct Exchange {
    pub(super) times: Times,
    /// The stream's number, once the request was given to the session.
    pub(super) id: Option<i32>,
    /// Whether its request was sent.
    pub(super) is_open: bool,
    /// When something of it was last sent or received.
    pub(super) progress: u64,
    /// How often it was begun on another connection before.
    pub(super) retries: u8,
    /// Body bytes that arrived within the window.
    pub(super) window_body: u64,
    expectation: Expectation,
    answers: Answers,
    /// Whether its body is compared with the object.
    is_compared: bool,
    /// How much of the request's body is still to be given to the session.
    body_left: usize,
    /// In which part of what is sent its last piece is.
    last_part: u64,
    /// Whether its body has waited for a window, and since when it does.
    was_held_up: bool,
    held_up_since: Option<u64>,
    status: Option<u16>,
    promised: Option<u64>,
    head: u64,
    body: u64,
    is_whole: bool,
    wrong: Option<Failure>,
}

impl Exchange {
    pub(super) fn new(
        times: Times,
        expectation: Expectation,
        answers: Answers,
        is_compared: bool,
        retries: u8,
    ) -> Self {
        Self {
            times,
            id: None,
            is_open: false,
            progress: times.start,
            retries,
            window_body: 0,
            expectation,
            answers,
            is_compared,
            body_left: 0,
            last_part: 0,
            was_held_up: false,
            held_up_since: None,
            status: None,
            promised: None,
            head: 0,
            body: 0,
            is_whole: false,
            wrong: None,
        }
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
                self.wrong =
                    Some(Failure { is_in_whole: true, ..Failure::new(ErrorKind::Content, seen) });
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

    /// Whether the request's body waits until the server opens a window.
    pub(super) fn is_held_up(&self) -> bool {
        self.held_up_since.is_some()
    }

    /// A window is open again.
    fn goes_on(&mut self, now: u64, counts: &mut Http2Counts) {
        counts.held_up_for.0 += self.held_up_for(now);
        self.held_up_since = None;
    }

    /// How long its body has waited for a window that is not open yet.
    fn held_up_for(&self, now: u64) -> u64 {
        self.held_up_since.map_or(0, |since| now.saturating_sub(since))
    }

    /// The status of a response that has come before all of the request's body was sent.
    fn too_early(&self) -> Failure {
        let status = self.status.unwrap_or(0);
        let seen = format!("{status}, before all of the request's body was sent");
        Failure::new(ErrorKind::Status, seen)
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
    fn judge(self, error: u32, breach: Option<&str>) -> Result<Completed, Failure> {
        let fail = |kind, seen: String| Err(Failure::new(kind, seen));
        if let Some(failure) = self.wrong {
            return Err(failure);
        }
        if self.is_whole && self.status.is_some() && !self.is_right() {
            return Err(self.other_status());
        }
        match (error, breach) {
            (code, Some(breach)) if !is_no_error(code) => {
                return fail(ErrorKind::Http2, breach.to_owned());
            }
            (REFUSED_STREAM, None) => {
                return fail(ErrorKind::RefusedStream, "RST_STREAM with REFUSED_STREAM".to_owned());
            }
            (code, _) if !is_no_error(code) || !self.is_whole => {
                return fail(
                    ErrorKind::StreamReset,
                    format!("RST_STREAM with {}", error_name(code)),
                );
            }
            _ => {}
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

/// How an operation ended on this connection.
pub(super) enum Ended {
    /// At this time.
    Over {
        place: usize,
        at: u64,
        times: Times,
        window_body: u64,
        result: Result<Completed, Failure>,
    },
    /// The server has not taken it: it is to be asked again on another connection.
    Untaken { place: usize, times: Times, retries: u8 },
}

/// A GOAWAY that was received.
#[derive(Debug, Clone, Copy)]
pub(super) struct Goaway {
    pub(super) error: u32,
}

/// See the module. An operation's place is its slot's among those of the connection.
pub(super) struct Streams {
    places: Vec<Option<Exchange>>,
    /// Those that have ended, in their order; the owner takes them after each call of the session.
    pub(super) ended: Vec<Ended>,
    pub(super) goaway: Option<Goaway>,
    /// What the server did wrong, in the words of the library.
    pub(super) breach: Option<String>,
    /// Streams whose responses are known to be wrong, to be reset.
    pub(super) rejected: Vec<i32>,
    /// The frame that began last, with its stream. The library ends the connection in it where a body is
    /// not as long as was promised, before it reports it.
    begun: Option<(i32, Frame)>,
    pub(super) counts: Http2Counts,
    /// The time of what is being received, and whether the window is open then.
    pub(super) now: u64,
    pub(super) is_within: bool,
    /// Operations that have a place.
    under_way: usize,
    /// Those whose request was sent.
    open: usize,
    /// Whether the server's SETTINGS have come.
    pub(super) has_settings: bool,
    /// The body of each request.
    body: Arc<Vec<u8>>,
    /// What is sent goes in parts: the number of the last one, and whether the socket has taken it.
    part: u64,
    pub(super) is_flushed: bool,
}

impl Streams {
    /// With room for as many operations, whose requests have this body.
    pub(super) fn new(places: usize, body: Arc<Vec<u8>>) -> Self {
        Self {
            places: std::iter::repeat_with(|| None).take(places).collect(),
            ended: Vec::new(),
            goaway: None,
            breach: None,
            rejected: Vec::new(),
            begun: None,
            counts: Http2Counts::default(),
            now: 0,
            is_within: false,
            under_way: 0,
            open: 0,
            has_settings: false,
            body,
            part: 0,
            is_flushed: true,
        }
    }

    pub(super) fn begin(&mut self, place: usize, exchange: Exchange) {
        self.under_way += 1;
        self.places[place] = Some(Exchange { body_left: self.body.len(), ..exchange });
    }

    pub(super) fn has_bodies(&self) -> bool {
        !self.body.is_empty()
    }

    /// What is sent from now on is the next part.
    pub(super) fn begins_part(&mut self) {
        self.part += 1;
    }

    /// After a part was sent: notes which bodies wait until the server opens a window. Those that wait for
    /// the socket do not.
    pub(super) fn note_windows(&mut self, client: &Client<Self>) {
        if !self.has_bodies() {
            return;
        }
        let sends = |exchange: &&mut Exchange| exchange.is_open && exchange.body_left > 0;
        for exchange in self.places.iter_mut().flatten().filter(sends) {
            let Some(id) = exchange.id else { continue };
            if client.window(id) > 0 {
                exchange.goes_on(self.now, &mut self.counts);
            } else if self.is_flushed {
                exchange.was_held_up = true;
                exchange.held_up_since.get_or_insert(self.now);
            }
        }
    }

    pub(super) fn get_mut(&mut self, place: usize) -> Option<&mut Exchange> {
        self.places[place].as_mut()
    }

    /// Takes an operation out, with its place free for the next.
    pub(super) fn take(&mut self, place: usize) -> Option<Exchange> {
        let exchange = self.places[place].take()?;
        if self.has_bodies() {
            self.counts.held_up_for.0 += exchange.held_up_for(self.now);
            let time = self.now.saturating_sub(exchange.times.start);
            self.counts.with_body_for.0 += time;
            self.counts.held_up += u64::from(exchange.was_held_up);
        }
        self.under_way -= 1;
        self.open -= usize::from(exchange.is_open);
        Some(exchange)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// All operations under way fail with the connection: each in this way, but for the one that the frame
    /// belongs to in which the connection ended, where that breaks a promise.
    pub(super) fn fail_all(&mut self, failure: &Failure, at: u64) {
        for place in self.places() {
            let Some(exchange) = self.take(place) else { continue };
            let own = self.begun.filter(|(id, _)| exchange.id == Some(*id));
            let own = own.and_then(|(_, frame)| exchange.breaks_promise(frame));
            let (times, window_body) = (exchange.times, exchange.window_body);
            let result = Err(own.or(exchange.wrong).unwrap_or_else(|| failure.clone()));
            self.ended.push(Ended::Over { place, at, times, window_body, result });
        }
    }

    /// How many requests were sent whose streams have not ended.
    pub(super) fn open(&self) -> usize {
        self.open
    }

    /// The places of operations under way.
    pub(super) fn places(&self) -> impl Iterator<Item = usize> + use<> {
        let busy: Vec<usize> =
            (0..self.places.len()).filter(|place| self.places[*place].is_some()).collect();
        busy.into_iter()
    }

    /// The operation of a stream; tags are places, counted from 1.
    fn of(&mut self, stream: Stream) -> Option<&mut Exchange> {
        let place = stream.tag.checked_sub(1)?;
        self.places.get_mut(place)?.as_mut().filter(|exchange| exchange.id == Some(stream.id))
    }

    /// The server takes no more requests: those that were not sent are to be asked again elsewhere.
    pub(super) fn leave_unsent(&mut self) {
        for place in self.places() {
            if self.places[place].as_ref().is_some_and(|exchange| !exchange.is_open) {
                self.untaken(place);
            }
        }
    }

    fn untaken(&mut self, place: usize) {
        if let Some(Exchange { times, retries, .. }) = self.take(place) {
            self.ended.push(Ended::Untaken { place, times, retries });
        }
    }
}

impl Handler for Streams {
    fn begins(&mut self, stream: i32, frame: Frame) {
        self.begun = Some((stream, frame));
    }

    fn field(&mut self, stream: Stream, name: &[u8], value: &[u8]) {
        let length = (name.len() + value.len()) as u64;
        self.counts.fields_received += length;
        let Some(exchange) = self.of(stream) else { return };
        exchange.head += length;
        if exchange.head > LONGEST_HEAD && exchange.wrong.is_none() {
            let seen = "a head of more than 64 KiB";
            exchange.wrong = Some(Failure::new(ErrorKind::Status, seen));
            self.rejected.push(stream.id);
            return;
        }
        match name {
            b":status" => exchange.status = number(value).and_then(|code| code.try_into().ok()),
            b"content-length" => exchange.promised = number(value),
            _ => {}
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
        let Self { now, part, is_flushed, .. } = *self;
        self.counts.frames_received += 1;
        match frame.kind {
            FrameKind::Data => self.counts.data_frames += 1,
            FrameKind::Headers => self.counts.header_bytes_received += frame.length as u64,
            FrameKind::Settings => self.has_settings = true,
            FrameKind::Goaway { error, .. } => {
                self.counts.goaways += 1;
                self.goaway = Some(Goaway { error });
            }
            FrameKind::Other => {}
        }
        let Some(exchange) = self.of(stream) else { return };
        exchange.progress = now;
        // A window that is opened is no part of a response.
        if matches!(frame.kind, FrameKind::Headers | FrameKind::Data) {
            exchange.times.first_byte.get_or_insert(now);
        }
        exchange.is_whole |= frame.ends_stream;
        let is_sent = exchange.body_left == 0 && (exchange.last_part < part || is_flushed);
        if frame.ends_stream && !is_sent && exchange.wrong.is_none() {
            let is_right = exchange.is_right();
            let failure = if is_right { exchange.too_early() } else { exchange.other_status() };
            exchange.wrong = Some(failure);
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
            (exchange.is_open, exchange.progress) = (true, now);
            self.open += 1;
            self.counts.most_streams = self.counts.most_streams.max(self.open as u64);
        }
    }

    fn closed(&mut self, stream: Stream, error: u32) {
        let Some(exchange) = self.of(stream) else { return };
        let is_new = exchange.status.is_none() && exchange.body == 0;
        let place = stream.tag - 1;
        // The library closes those that a GOAWAY leaves out in this way.
        if error == REFUSED_STREAM && is_new && self.goaway.is_some_and(|g| is_no_error(g.error)) {
            return self.untaken(place);
        }
        let Some(exchange) = self.take(place) else { return };
        let (at, times, window_body) = (self.now, exchange.times, exchange.window_body);
        let result = match (self.goaway, error) {
            (Some(goaway), REFUSED_STREAM) if is_new => {
                let seen = format!("GOAWAY with {}", error_name(goaway.error));
                Err(Failure::new(ErrorKind::Goaway, seen))
            }
            _ => exchange.judge(error, self.breach.as_deref()),
        };
        self.ended.push(Ended::Over { place, at, times, window_body, result });
    }

    fn not_sent(&mut self, stream: Stream) {
        // The library knows no tag of a stream that was never opened.
        let is_it = |place: &Option<Exchange>| {
            place.as_ref().is_some_and(|exchange| exchange.id == Some(stream.id))
        };
        if let Some(place) = self.places.iter().position(is_it) {
            self.untaken(place);
        }
    }

    fn wrong(&mut self, what: &str) {
        self.breach.get_or_insert_with(|| what.to_owned());
    }

    fn body(&mut self, stream: Stream, most: usize) -> Option<(usize, bool)> {
        let left = self.of(stream)?.body_left;
        let length = left.min(most);
        Some((length, length == left))
    }

    fn put_body(&mut self, stream: Stream, length: usize, out: &mut Vec<u8>) -> bool {
        let Self { now, part, .. } = *self;
        let Some(exchange) = self.of(stream) else { return false };
        let left = exchange.body_left;
        exchange.body_left -= length;
        (exchange.progress, exchange.last_part) = (now, part);
        let begun = self.body.len() - left;
        out.extend_from_slice(&self.body[begun..begun + length]);
        true
    }
}

/// A field that is a number and nothing else.
fn number(value: &[u8]) -> Option<u64> {
    let is_number = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(value).ok().filter(|_| is_number)?.parse().ok()
}
