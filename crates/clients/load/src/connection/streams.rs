//! The operations of one connection that carries several at once, whatever its protocol: their places, when each
//! began, what they wait for, how they end. What is sent and received is their codec's.

use units::Nanos;
use wire::{ErrorKind, Failure};

use super::exchange::Exchange;
use crate::Plan;
use crate::context::Context;
use crate::ended::Ended;
use crate::recorder::Begun;
use crate::retry::Unanswered;
use crate::stream_counts::StreamCounts;

/// See the module. An operation's place is its slot's among those of the connection; `S` is what the codec keeps of
/// each.
pub(crate) struct Streams<S> {
    places: Vec<Option<Exchange<S>>>,
    /// Those that have ended, in their order; the owner takes them.
    pub(super) ended: Vec<Ended>,
    pub(crate) counts: StreamCounts,
    /// The time of what is being done, and whether the window is open then.
    pub(super) now: u64,
    pub(super) is_within: bool,
    /// When the window begins and ends.
    window: (u64, u64),
    /// How long an operation may make no progress, and take in all.
    limits: (u64, u64),
    /// No operation has been stalled for too long before this. One that makes progress does not change it.
    pub(super) due: u64,
    /// Operations that have a place.
    under_way: usize,
    /// Those whose request was sent.
    open: usize,
    /// The length of each request's body.
    body: usize,
    /// Whether an operation has waited in vain for a stream or a window: another connection is needed.
    is_used_up: bool,
}

impl<S> Streams<S> {
    /// With room for as many operations, whose requests have bodies of this length.
    pub(super) fn new(places: usize, body: usize, window: (u64, u64), limits: (u64, u64)) -> Self {
        Self {
            places: std::iter::repeat_with(|| None).take(places).collect(),
            ended: Vec::new(),
            counts: StreamCounts::default(),
            now: 0,
            is_within: false,
            window,
            limits,
            due: u64::MAX,
            under_way: 0,
            open: 0,
            body,
            is_used_up: false,
        }
    }

    /// As a load's plan wants them.
    pub(super) fn of(context: &Context<'_>) -> Self {
        let window = window_of(context);
        let limits = (context.plan.timeout.0, context.plan.operation_timeout().0);
        Self::new(context.plan.streams(), context.requests.body().len(), window, limits)
    }

    /// What follows happens at this time.
    pub(super) fn at_time(&mut self, now: u64, context: &Context<'_>) {
        (self.now, self.is_within) = (now, context.window.contains(now));
        // It may have waited.
        self.window = window_of(context);
    }

    /// Begins an operation, whose request is to be sent.
    pub(super) fn begin(&mut self, context: &mut Context<'_>, place: usize, begun: Begun, own: S) {
        let is_compared = context.bodies.draw();
        let expectation = context.requests.expectation(begun.times.object);
        self.now = context.recently();
        self.put(place, Exchange::new(begun, own, expectation, context.answers, is_compared));
    }

    pub(super) fn put(&mut self, place: usize, exchange: Exchange<S>) {
        self.under_way += 1;
        let exchange = self.places[place].insert(exchange);
        exchange.given(self.body, self.now);
        self.due = self.due.min(exchange.due(self.limits));
    }

    pub(super) fn has_bodies(&self) -> bool {
        self.body > 0
    }

    pub(super) fn is_idle(&self) -> bool {
        self.under_way == 0
    }

    pub(super) fn is_used_up(&self) -> bool {
        self.is_used_up
    }

    #[inline]
    pub(super) fn at(&mut self, place: usize) -> Option<&mut Exchange<S>> {
        self.places.get_mut(place)?.as_mut()
    }

    pub(super) fn get(&self, place: usize) -> Option<&Exchange<S>> {
        self.places.get(place)?.as_ref()
    }

    /// The places of operations under way that are such.
    pub(super) fn places(&self, are_such: impl Fn(&Exchange<S>) -> bool) -> Vec<usize> {
        let is_such = |place: &usize| self.get(*place).is_some_and(&are_such);
        (0..self.places.len()).filter(is_such).collect()
    }

    /// The server has said how many streams it allows at once.
    pub(super) fn allows(&mut self, most: u64) {
        let least = self.counts.allowed.map_or(most, |allowed| allowed.min(most));
        self.counts.allowed = Some(least);
    }

    /// The server allows no stream for the request of a place.
    pub(super) fn waits(&mut self, place: usize) {
        let now = self.now;
        if let Some(exchange) = self.at(place).filter(|exchange| exchange.opened.is_none()) {
            exchange.no_stream_since.get_or_insert(now);
        }
    }

    /// Nor for any other request that has none.
    pub(super) fn wait_for_streams(&mut self) {
        (0..self.places.len()).for_each(|place| self.waits(place));
    }

    /// The request of a place is sent on a stream.
    pub(super) fn opens(&mut self, place: usize) {
        let now = self.now;
        let Some(exchange) = self.at(place) else { return };
        (exchange.opened, exchange.progress) = (Some(now), now);
        let waited = exchange.no_stream_since.take();
        self.counts.no_stream_for.0 += self.within_window(waited);
        self.open += 1;
        self.counts.requests += 1;
        self.counts.most = self.counts.most.max(self.open as u64);
    }

    /// A part of the response in a place has come.
    pub(super) fn answers(&mut self, place: usize) {
        let now = self.now;
        let Some(exchange) = self.at(place) else { return };
        exchange.progress = now;
        if !std::mem::replace(&mut exchange.has_begun, true) {
            exchange.begun.times.first_byte.get_or_insert(now);
            self.counts.answers += 1;
        }
    }

    /// Whether the server's windows let more of the request in a place through.
    pub(super) fn note_window(&mut self, place: usize, is_open: bool) {
        let now = self.now;
        let Some(exchange) = self.at(place) else { return };
        if !is_open {
            exchange.was_held_up = true;
            exchange.held_up_since.get_or_insert(now);
        } else if let Some(since) = exchange.held_up_since.take() {
            self.counts.held_up_for.0 += now.saturating_sub(since);
        }
    }

    /// How much of the window has passed since then.
    fn within_window(&self, since: Option<u64>) -> u64 {
        let (start, end) = self.window;
        since.map_or(0, |since| self.now.min(end).saturating_sub(since.max(start)))
    }

    /// Takes an operation out, with its place free for the next.
    pub(super) fn take(&mut self, place: usize) -> Option<Exchange<S>> {
        if self.has_bodies() {
            self.note_window(place, true);
        }
        let exchange = self.places.get_mut(place)?.take()?;
        if self.has_bodies() {
            self.counts.with_body_for.0 += self.now.saturating_sub(exchange.began());
            self.counts.held_up += u64::from(exchange.was_held_up);
        }
        self.counts.open_for.0 += self.within_window(exchange.opened);
        self.counts.no_stream_for.0 += self.within_window(exchange.no_stream_since);
        self.under_way -= 1;
        self.open -= usize::from(exchange.opened.is_some());
        Some(exchange)
    }

    /// The stream of a place has ended, as it should or not. Whether its response is right.
    pub(super) fn ends_with(&mut self, place: usize, end: Result<(), Failure>) -> bool {
        let Some(mut exchange) = self.take(place) else { return false };
        let result = exchange.judge(end);
        let is_right = result.is_ok();
        self.ended.push(exchange.ended(place, self.now, result.map(Some), None));
        is_right
    }

    /// The operation of a place has failed.
    pub(super) fn fails(&mut self, place: usize, failure: Failure, unanswered: Option<Unanswered>) {
        let Some(exchange) = self.take(place) else { return };
        self.ended.push(exchange.ended(place, self.now, Err(failure), unanswered));
    }

    /// All operations under way fail with the connection in this way, but for those that were wrong before.
    pub(super) fn fail_all(&mut self, failure: &Failure, at: u64) {
        self.now = at;
        for place in self.places(|_| true) {
            let Some(exchange) = self.take(place) else { continue };
            self.ended.push(exchange.fails(place, at, failure));
        }
    }

    /// Ends operations without progress for too long, or that take too long in all: they have failed. `cancel` takes
    /// what the codec keeps of them, to reset their streams.
    pub(super) fn end_stalled(&mut self, now: u64, plan: &Plan, mut cancel: impl FnMut(&S)) {
        self.now = now;
        // A transport's own timers come much more often.
        if now < self.due {
            return;
        }
        let limits = self.limits;
        for place in self.places(|exchange| exchange.due(limits) <= now) {
            let Some(exchange) = self.get(place) else { continue };
            cancel(&exchange.own);
            let failure = match now >= exchange.began().saturating_add(limits.1) {
                true => plan.too_long(),
                false => self.why_stalled(exchange, plan.timeout),
            };
            self.is_used_up |= matches!(failure.kind, ErrorKind::NoStream | ErrorKind::FlowControl);
            self.fails(place, failure, None);
        }
        let others = self.places.iter().flatten().map(|exchange| exchange.due(limits));
        self.due = others.min().unwrap_or(u64::MAX);
    }

    /// Why an operation made no progress.
    fn why_stalled(&self, exchange: &Exchange<S>, limit: Nanos) -> Failure {
        let (kind, seen) = match exchange.awaited() {
            Some((kind @ ErrorKind::NoStream, _)) => {
                let allowed = self.counts.allowed.map_or_else(String::new, |most| {
                    format!(", and the fewest that the server has allowed were {most}")
                });
                (kind, format!("no stream for {limit}: {} were open{allowed}", self.open))
            }
            Some((kind, _)) => (kind, format!("the request waited for a window for {limit}")),
            None => (ErrorKind::Stall, format!("the response made no progress for {limit}")),
        };
        Failure::new(kind, seen)
    }

    /// The window is over: records what is under way. What was read of it is authentic. `awaited`: what those wait for
    /// that have a stream and a window.
    pub(super) fn wind_up(
        &mut self,
        context: &mut Context<'_>,
        awaited: (ErrorKind, &'static str),
    ) {
        self.now = context.now();
        for place in self.places(|_| true) {
            let awaited = self.get(place).and_then(Exchange::awaited).unwrap_or(awaited);
            let Some(exchange) = self.take(place) else { continue };
            let (begun, (body, opened)) = exchange.under_way();
            context.recorder.in_flight(context.window, begun, awaited);
            context.recorder.proven(body, opened);
        }
    }

    /// Hands on what has ended.
    pub(super) fn hand_on(&mut self, context: &mut Context<'_>) {
        for ended in self.ended.drain(..) {
            context.ends(ended, self.counts.answers);
        }
    }
}

/// The load's window, as it is planned now.
fn window_of(context: &Context<'_>) -> (u64, u64) {
    (context.window.start(), context.window.planned_end().unwrap_or(u64::MAX))
}
