//! The operations of one HTTP/3 connection, each a stream of requests.

use std::collections::VecDeque;

use bytes::Bytes;
use http3::{ErrorCode, Message, Side};
use quinn_proto::StreamId;
use units::Nanos;
use wire::{ErrorKind, Failure};

use crate::connection::exchange;
use crate::context::Context;
use crate::ended::Ended;
use crate::quic_counts::QuicCounts;
use crate::recorder::Begun;
use crate::retry::Unanswered;

/// An operation under way, with its stream once it has one.
pub(super) type Exchange = exchange::Exchange<Option<StreamId>>;

/// A request and its response.
pub(super) struct Request {
    pub(super) exchange: Exchange,
    pub(super) response: Message,
    /// What is still to be sent of its head.
    pub(super) head: Bytes,
}

/// See the module. An operation's place is its slot's among those of the connection.
#[derive(Default)]
pub(in crate::connection) struct Streams {
    places: Vec<Option<Request>>,
    by_stream: ByStream,
    /// The places of requests that have no stream yet, in their order.
    pub(super) waiting: VecDeque<usize>,
    ended: Vec<Ended>,
    pub(in crate::connection) counts: QuicCounts,
    /// How long an operation may make no progress, and take in all.
    limits: (u64, u64),
    /// No operation has been stalled for too long before this. One that makes progress does not change it.
    pub(in crate::connection) due: u64,
    under_way: usize,
}

impl Streams {
    pub(super) fn new(places: usize, limits: (u64, u64)) -> Self {
        let places = std::iter::repeat_with(|| None).take(places).collect();
        Self { places, limits, due: u64::MAX, ..Self::default() }
    }

    pub(in crate::connection) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    /// How many have a stream.
    fn open(&self) -> u64 {
        self.by_stream.open as u64
    }

    pub(super) fn begin(&mut self, place: usize, mut exchange: Exchange, body: usize, now: u64) {
        exchange.given(body, now);
        self.under_way += 1;
        self.due = self.due.min(exchange.due(self.limits));
        let response = Message::new(Side::Server);
        self.places[place] = Some(Request { exchange, response, head: Bytes::new() });
        self.waiting.push_back(place);
    }

    /// The request of a place has got a stream.
    pub(super) fn opens(&mut self, place: usize, id: StreamId, head: Bytes, now: u64) {
        let Some(request) = &mut self.places[place] else { return };
        let exchange = &mut request.exchange;
        (exchange.id, exchange.opened, exchange.progress) = (Some(id), Some(now), now);
        request.head = head;
        self.by_stream.insert(id, place);
        self.counts.most_streams = self.counts.most_streams.max(self.open());
        self.counts.requests += 1;
    }

    /// The server, which has not allowed more since the connection began, allows no more streams than there were.
    pub(super) fn note_allowed(&mut self) {
        self.counts.allowed_streams.get_or_insert(self.counts.requests);
    }

    pub(super) fn at(&mut self, place: usize) -> Option<&mut Request> {
        self.places.get_mut(place)?.as_mut()
    }

    pub(super) fn place(&self, id: StreamId) -> Option<usize> {
        self.by_stream.get(id)
    }

    /// Takes an operation out, with its place free for the next.
    pub(super) fn take(&mut self, place: usize) -> Option<Exchange> {
        let Request { exchange, .. } = self.places[place].take()?;
        match exchange.id {
            Some(id) => self.by_stream.remove(id),
            None => self.waiting.retain(|waiting| *waiting != place),
        }
        self.under_way -= 1;
        Some(exchange)
    }

    /// The operation of a place has ended, as it should or not.
    pub(super) fn ends_with(&mut self, place: usize, end: Result<(), Failure>, now: u64) {
        let Some(mut exchange) = self.take(place) else { return };
        let result = exchange.judge(end).map(Some);
        self.ended.push(exchange.ended(place, now, result, None));
    }

    /// The server has not begun with the request of this place, by what it has sent.
    pub(super) fn not_taken(&mut self, place: usize, kind: ErrorKind, seen: String, now: u64) {
        let Some(exchange) = self.take(place) else { return };
        let result = Err(Failure::new(kind, seen));
        self.ended.push(exchange.ended(place, now, result, Some(Unanswered::NotTaken)));
    }

    /// Requests on streams from this number on are not answered.
    pub(super) fn goes_away(&mut self, from: u64, now: u64) {
        self.counts.goaways += 1;
        let is_left_out = |exchange: &Exchange| match exchange.id {
            Some(id) => quinn_proto::VarInt::from(id).into_inner() >= from,
            None => true,
        };
        for place in self.places(is_left_out) {
            let seen = format!("GOAWAY that left the request out, from stream {from} on");
            self.not_taken(place, ErrorKind::Goaway, seen, now);
        }
    }

    /// A stream was reset by the server with this code.
    pub(super) fn reset(&mut self, place: usize, code: u64, now: u64) {
        let name = name_of(code);
        let seen = format!("RESET_STREAM with {name}");
        let has_begun = self.at(place).is_some_and(|request| request.exchange.has_begun);
        match ErrorCode::of(code) {
            Some(ErrorCode::RequestRejected) if !has_begun => {
                self.not_taken(place, ErrorKind::RefusedStream, seen, now);
            }
            _ => self.ends_with(place, Err(Failure::new(ErrorKind::StreamReset, seen)), now),
        }
    }

    /// All that are under way, with their body bytes of the window.
    pub(in crate::connection) fn take_all(&mut self) -> Vec<(Begun, (u64, u64))> {
        let places = self.places(|_| true);
        places.into_iter().filter_map(|place| Some(self.take(place)?.under_way())).collect()
    }

    /// All operations under way fail with the connection in this way.
    pub(in crate::connection) fn fail_all(&mut self, failure: &Failure, at: u64) {
        for place in self.places(|_| true) {
            let Some(exchange) = self.take(place) else { continue };
            self.ended.push(exchange.fails(place, at, failure));
        }
    }

    /// Takes out those that have made no progress for too long, or take too long. From now on the others are due.
    pub(super) fn stalled(&mut self, now: u64) -> Vec<(usize, Exchange)> {
        let limits = self.limits;
        let places = self.places(|exchange| exchange.due(limits) <= now);
        let stalled = |place| Some((place, self.take(place)?));
        let stalled = places.into_iter().filter_map(stalled).collect();
        let others = self.places.iter().flatten().map(|request| request.exchange.due(limits));
        self.due = others.min().unwrap_or(u64::MAX);
        stalled
    }

    pub(super) fn fails(&mut self, place: usize, exchange: Exchange, failure: Failure, now: u64) {
        self.ended.push(exchange.ended(place, now, Err(failure), None));
    }

    /// Why an operation made no progress.
    pub(super) fn why_stalled(&self, exchange: &Exchange, limit: Nanos) -> Failure {
        let (kind, seen) = match exchange.opened {
            Some(_) if exchange.body_left > 0 && !exchange.has_begun => (
                ErrorKind::FlowControl,
                format!("the request's body waited for a window for {limit}"),
            ),
            Some(_) => (ErrorKind::Stall, format!("the response made no progress for {limit}")),
            None => (
                ErrorKind::NoStream,
                format!(
                    "no stream for {limit}: {} are open, and the server allows no more",
                    self.open()
                ),
            ),
        };
        Failure::new(kind, seen)
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Hands on what has ended.
    pub(in crate::connection) fn ends(&mut self, context: &mut Context<'_>) {
        for ended in self.ended.drain(..) {
            context.ends(ended, self.counts.answers);
        }
    }

    /// The places of operations under way that are such.
    fn places(&self, are_such: impl Fn(&Exchange) -> bool) -> Vec<usize> {
        let is_such = |place: &usize| {
            self.places[*place].as_ref().is_some_and(|request| are_such(&request.exchange))
        };
        (0..self.places.len()).filter(is_such).collect()
    }
}

/// The places of streams. A client's have consecutive numbers, so that they need no search.
#[derive(Default)]
struct ByStream {
    /// Of the streams from this number on; those before have ended.
    first: u64,
    places: VecDeque<Option<usize>>,
    open: usize,
}

impl ByStream {
    /// Its number follows that of the last one.
    fn insert(&mut self, id: StreamId, place: usize) {
        if self.places.is_empty() {
            self.first = id.index();
        }
        self.places.push_back(Some(place));
        self.open += 1;
    }

    fn at(&self, id: StreamId) -> Option<usize> {
        usize::try_from(id.index().checked_sub(self.first)?).ok()
    }

    fn get(&self, id: StreamId) -> Option<usize> {
        *self.places.get(self.at(id)?)?
    }

    fn remove(&mut self, id: StreamId) {
        if let Some(place) = self.at(id).and_then(|at| self.places.get_mut(at)) {
            self.open -= usize::from(place.take().is_some());
        }
        while let Some(None) = self.places.front() {
            self.places.pop_front();
            self.first += 1;
        }
    }
}

/// A code of HTTP/3, by its name where it has one.
pub(super) fn name_of(code: u64) -> String {
    ErrorCode::of(code).map_or_else(|| format!("{code:#x}"), |code| code.name().to_owned())
}
