//! The load over HTTP/2: each connection carries several operations at once, each a stream.
//!
//! To the worker, as over HTTP/1.1, a slot runs one operation after another. Here `streams` slots in a row
//! share a connection. What they ask for is sent together, after all events of a wait were handled.
//!
//! A server may take no more requests on a connection (GOAWAY): then its slots go on with a new one, and
//! what the server has not taken is asked for again there. The old one ends with its last response.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod link;
mod streams;

use slab::Slab;
use wire::{ErrorKind, Failure};

pub use link::{HTTP2_MAX_FRAME, HTTP2_WINDOW};

use crate::connection::After;
use crate::context::Context;
use crate::recorder::Times;
use link::Link;
use streams::{Ended, Exchange};

/// How often an operation is begun again, each time on another connection, before it has failed.
const MOST_RETRIES: u8 = 8;

/// What follows for slots, in order.
pub(crate) type Follow = Vec<(usize, After)>;

/// The slots and connections of one load thread.
pub(crate) struct Multiplexed {
    /// How many slots share a connection.
    streams: usize,
    /// The connection that takes the next request, of each `streams` slots.
    current: Vec<Option<usize>>,
    links: Slab<Owned>,
    /// Connections that have something to send; some more than once.
    due: Vec<usize>,
    /// When each slot's last operation ended.
    ended: Vec<Option<u64>>,
    /// How many slots have left the load in its ramp down.
    left: usize,
}

struct Owned {
    link: Link,
    /// Which of [`Multiplexed::current`] it is or was.
    group: usize,
}

impl Multiplexed {
    pub(crate) fn new(slots: usize, streams: usize) -> Self {
        Self {
            streams,
            current: vec![None; slots.div_ceil(streams)],
            links: Slab::new(),
            due: Vec::new(),
            ended: vec![None; slots],
            left: 0,
        }
    }

    /// When the slot's last operation ended.
    pub(crate) fn ended(&self, slot: usize) -> Option<u64> {
        self.ended[slot]
    }

    /// Begins an operation; it is sent with the next [`Self::send`].
    pub(crate) fn begin(&mut self, context: &mut Context<'_>, slot: usize, times: Times) -> After {
        let object = context.requests.next();
        self.begin_again(context, slot, Times { object, ..times }, 0)
    }

    fn begin_again(
        &mut self,
        context: &mut Context<'_>,
        slot: usize,
        times: Times,
        retries: u8,
    ) -> After {
        let (group, place) = (slot / self.streams, slot % self.streams);
        let key = match self.open(context, group) {
            Ok(key) => key,
            Err(failure) => return self.fail(context, slot, times, failure),
        };
        let link = &mut self.links[key].link;
        let is_compared = context.draw_sampled();
        let expectation = context.requests.expectation(times.object);
        let exchange = Exchange::new(times, expectation, context.answers, is_compared, retries);
        link.begin(place, exchange);
        let fields = context.requests.fields(times.object, link.name());
        if link.is_open()
            && let Err(error) = link.request(place, fields, context.now())
        {
            link.streams.take(place);
            let failure = Failure::new(ErrorKind::Http2, error.0);
            return self.fail(context, slot, times, failure);
        }
        self.due.push(key);
        After::Wait
    }

    /// The connection of these slots that takes requests; a new one where there is none.
    fn open(&mut self, context: &mut Context<'_>, group: usize) -> Result<usize, Failure> {
        if let Some(key) = self.current[group] {
            if self.links[key].link.takes_requests() {
                return Ok(key);
            }
            self.leave(context, key);
        }
        let now = context.now();
        let entry = self.links.vacant_entry();
        let key = entry.key();
        let link = Link::connect(context, key, self.streams, now)?;
        entry.insert(Owned { link, group });
        self.current[group] = Some(key);
        Ok(key)
    }

    /// A connection gets no more requests.
    fn leave(&mut self, context: &Context<'_>, key: usize) {
        let Owned { link, group } = &self.links[key];
        if self.current[*group] == Some(key) {
            self.current[*group] = None;
            if link.is_open() {
                context.window.note_up(false, || context.now());
            }
        }
    }

    /// Opens a slot's connection ahead of its first operation, unless another slot has.
    pub(crate) fn open_ahead(&mut self, context: &mut Context<'_>, slot: usize) -> After {
        if let Err(failure) = self.open(context, slot / self.streams) {
            let now = context.now();
            context.recorder.failed(context.window, now, None, failure);
        }
        After::Opened
    }

    /// Continues after a socket became ready.
    pub(crate) fn ready(&mut self, context: &mut Context<'_>, key: usize, follow: &mut Follow) {
        let Some(Owned { link, .. }) = self.links.get_mut(key) else { return };
        let was_open = link.is_open();
        let result = link.ready(context, key);
        if !was_open && result.is_ok() && link.is_open() {
            let now = context.now();
            for place in link.streams.places() {
                let Some(exchange) = link.streams.get_mut(place) else { continue };
                let fields = context.requests.fields(exchange.times.object, link.name());
                // Cannot fail on a session that has just begun.
                let _ = link.request(place, fields, now);
            }
        }
        self.conclude(context, key, result, follow);
    }

    /// Sends what is due.
    pub(crate) fn send(&mut self, context: &mut Context<'_>, follow: &mut Follow) {
        while let Some(key) = self.due.pop() {
            let Some(Owned { link, .. }) = self.links.get_mut(key) else { continue };
            if link.is_due {
                let result = link.send(context, key);
                self.conclude(context, key, result, follow);
            }
        }
    }

    /// After a connection was used: records what has ended, and what follows.
    fn conclude(
        &mut self,
        context: &mut Context<'_>,
        key: usize,
        result: Result<(), Failure>,
        follow: &mut Follow,
    ) {
        let Owned { link, group } = &mut self.links[key];
        let first = *group * self.streams;
        let result = result.and_then(|()| link.settle());
        let mut ended = std::mem::take(&mut link.streams.ended);
        if let Err(failure) = result {
            return self.end(context, key, &failure, ended, follow);
        }
        if link.is_due {
            self.due.push(key);
        }
        if !link.takes_requests() {
            let is_idle = link.streams.is_idle();
            self.leave(context, key);
            if is_idle {
                self.close(context, key);
            }
        }
        self.record(context, first, &mut ended, follow);
        // Its memory serves the next call.
        if let Some(Owned { link, .. }) = self.links.get_mut(key) {
            link.streams.ended = ended;
        }
    }

    /// A connection has ended with operations under way, which have failed with it.
    fn end(
        &mut self,
        context: &mut Context<'_>,
        key: usize,
        failure: &Failure,
        mut ended: Vec<Ended>,
        follow: &mut Follow,
    ) {
        let Owned { link, group } = &mut self.links[key];
        let (first, at) = (*group * self.streams, context.now());
        link.streams.fail_all(failure, at);
        ended.append(&mut link.streams.ended);
        if ended.is_empty() && !link.is_open() && !context.is_winding_up {
            context.recorder.failed(context.window, at, None, failure.clone());
        }
        self.leave(context, key);
        self.close(context, key);
        self.record(context, first, &mut ended, follow);
    }

    /// Records operations that have ended, and begins again those that a server has not taken.
    fn record(
        &mut self,
        context: &mut Context<'_>,
        first: usize,
        ended: &mut Vec<Ended>,
        follow: &mut Follow,
    ) {
        for ended in ended.drain(..) {
            match ended {
                Ended::Over { place, at, times, window_body, result } => {
                    let slot = first + place;
                    let after = match result {
                        Ok(completed) => {
                            self.ended[slot] = Some(at);
                            context.took = at.saturating_sub(times.start);
                            context.coalescing.ended(context.took, completed.body);
                            context.recorder.proven(window_body, window_body);
                            context.recorder.completed(context.window, at, times, Some(completed));
                            After::Free
                        }
                        Err(failure) => {
                            context.recorder.unproven(window_body);
                            self.fail(context, slot, times, failure)
                        }
                    };
                    follow.push((slot, after));
                }
                Ended::Untaken { place, times, retries } => {
                    let slot = first + place;
                    let after = if retries >= MOST_RETRIES {
                        let seen = format!("GOAWAY before the request, {MOST_RETRIES} times");
                        let failure = Failure::new(ErrorKind::Goaway, seen);
                        self.fail(context, slot, times, failure)
                    } else {
                        context.recorder.retried();
                        self.begin_again(context, slot, times, retries + 1)
                    };
                    follow.push((slot, after));
                }
            }
        }
    }

    fn fail(
        &mut self,
        context: &mut Context<'_>,
        slot: usize,
        times: Times,
        failure: Failure,
    ) -> After {
        let now = context.now();
        self.ended[slot] = Some(now);
        // After the window's end the operation has been recorded as under way.
        if !context.is_winding_up {
            context.recorder.failed(context.window, now, Some(times), failure);
        }
        After::BackOff
    }

    /// Checks the time limits of a slot's connection, where the slot is its first.
    pub(crate) fn check_time(
        &mut self,
        context: &mut Context<'_>,
        slot: usize,
        follow: &mut Follow,
    ) {
        if !slot.is_multiple_of(self.streams) {
            return;
        }
        let group = slot / self.streams;
        let keys: Vec<usize> =
            self.links.iter().filter(|(_, of)| of.group == group).map(|(key, _)| key).collect();
        for key in keys {
            let link = &mut self.links[key].link;
            match link.check_time(context) {
                Err(failure) => self.conclude(context, key, Err(failure), follow),
                Ok(stalled) => {
                    let limit = context.plan.timeout;
                    for place in stalled {
                        let link = &mut self.links[key].link;
                        let Some(exchange) = link.streams.take(place) else { continue };
                        let failure = link.why_stalled(&exchange, limit);
                        context.recorder.unproven(exchange.window_body);
                        let slot = slot + place;
                        let after = self.fail(context, slot, exchange.times, failure);
                        follow.push((slot, after));
                        self.due.push(key);
                    }
                }
            }
        }
    }

    /// A slot has left the load, as all before it have. Closes its connection if none of its slots is left
    /// or busy.
    pub(crate) fn close_kept(&mut self, context: &mut Context<'_>, slot: usize) {
        self.left = self.left.max(slot + 1);
        let group = slot / self.streams;
        if self.left < self.ended.len().min((group + 1) * self.streams) {
            return;
        }
        if let Some(key) = self.current[group].filter(|key| self.links[*key].link.streams.is_idle())
        {
            self.leave(context, key);
            self.close(context, key);
        }
    }

    /// The window is over: records what is under way, and closes all. What came of bodies is authentic,
    /// for all records were opened.
    pub(crate) fn wind_up(&mut self, context: &mut Context<'_>) {
        for (_, Owned { mut link, .. }) in std::mem::take(&mut self.links) {
            if !link.is_open() {
                context.recorder.connecting(context.window, link.started);
            }
            link.streams.now = context.now();
            for place in link.streams.places() {
                let Some(exchange) = link.streams.take(place) else { continue };
                context.recorder.in_flight(context.window, exchange.times);
                context.recorder.proven(exchange.window_body, exchange.window_body);
            }
            if link.is_open() {
                context.window.note_up(false, || context.now());
            }
            link.close(context);
        }
    }

    fn close(&mut self, context: &mut Context<'_>, key: usize) {
        let mut link = self.links.remove(key).link;
        if let Some(planned) = link.has_carried() {
            context.recorder.carried(planned);
        }
        link.close(context);
    }
}
