//! HTTP/1.1: requests and their responses, one after another.

use super::counted::Counted;
use super::{
    Codec, Connection, Ended, LEAST_ROOM, Next, PART, Phase, Readable, is_close, seal, unsealed,
};
use crate::context::Context;
use crate::recorder::Begun;
use crate::requests::Requests;
use crate::retry::Unanswered;
use crate::session::Then;
use crate::socket::Use;
use crate::{Close, Operation, Receive};
use wire::reception::{Completed, Expectation, Reception};
use wire::record::Sealer;
use wire::{ErrorKind, Failure};

/// The smallest mark: to wait for fewer bytes is not worth two system calls.
const LEAST_MARK: u64 = 32 << 10;

/// The codec: what is sent is appended to a buffer, and what comes is given to the reception.
pub(super) struct Http1 {
    pub(super) reception: Reception,
    pub(super) sealer: Option<Sealer>,
    /// The operation under way; `None` while the connection is kept for the next.
    pub(super) asked: Option<Begun>,
    /// What of it is over, where the server's close is awaited.
    pub(super) ending: Option<Ending>,
    /// How many answers came.
    pub(super) answers: u64,
    /// How much of the request's body is not sealed yet.
    body_left: usize,
    /// Whether the wait for the response under way ends with its first byte.
    is_first_byte_timed: bool,
    /// Body bytes of the response under way that were counted.
    pub(super) counted: Counted,
}

/// What of an operation is recorded only when its connection closes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ending {
    /// A handshake: the close is its end.
    Handshake,
    /// A request that ended at this time with this response.
    Response { at: u64, completed: Completed },
}

impl Http1 {
    pub(super) fn new(
        reception: Reception,
        sealer: Option<Sealer>,
        asked: Option<Begun>,
        ending: Option<Ending>,
    ) -> Box<Self> {
        Box::new(Self {
            reception,
            sealer,
            asked,
            ending,
            answers: 0,
            body_left: 0,
            is_first_byte_timed: true,
            counted: Counted::default(),
        })
    }

    /// Appends the next part of the request's body to what is to be sent, if there is one.
    pub(super) fn put(
        &mut self,
        context: &Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        if self.body_left == 0 {
            return Ok(false);
        }
        self.put_body(&context.requests, out)?;
        Ok(true)
    }

    fn put_body(&mut self, requests: &Requests, out: &mut Vec<u8>) -> Result<(), Failure> {
        let body = requests.body();
        let rest = &body[body.len() - self.body_left..];
        let part = &rest[..rest.len().min(PART)];
        self.body_left -= part.len();
        seal(&mut self.sealer, part, out)
    }

    /// Appends the request of the operation under way, and expects its response, which is opened whole if it
    /// is sampled. In a session it is for the page under way, or for where its last redirect leads. Returns
    /// the mark to wait for, `in_hand` bytes having come before.
    fn ask(
        &mut self,
        context: &mut Context<'_>,
        (slot, name): (usize, usize),
        in_hand: usize,
        out: &mut Vec<u8>,
    ) -> Result<u32, Failure> {
        let Self { reception, sealer, .. } = self;
        let is_whole = context.bodies.draw() || context.plan.receive() == Receive::Decrypt;
        let (request, expectation) = match context.users.get_mut(slot) {
            Some(user) => (user.request().as_bytes(), Expectation::Page),
            None => {
                let object = self.asked.as_ref().map_or(0, |begun| begun.times.object);
                context.requests.text(object, name)
            }
        };
        if let Some(sealer) = sealer {
            reception.answer_key_update(sealer, out).ok_or_else(unsealed)?;
        }
        seal(sealer, request, out)?;
        reception.expect(expectation, is_whole);
        if in_hand > 0 {
            reception.has_early_bytes();
        }
        let mark = match context.mark_of_whole(expectation, reception) {
            Some(mark) if !is_whole && reception.is_steady() && !context.first_bytes.draw() => mark,
            _ => 1,
        };
        self.is_first_byte_timed = mark == 1;
        let mark = match context.usage() {
            Use::Once if mark == 1 => {
                let before = reception.before_response().saturating_sub(in_hand as u64);
                1 + before.min(LEAST_ROOM.into()) as u32
            }
            _ => mark,
        };
        self.body_left = context.requests.body().len();
        if self.body_left > 0 {
            // Its beginning is sent with the head.
            self.put_body(&context.requests, out)?;
        }
        Ok(mark)
    }

    /// Records the bytes counted so far as proven.
    pub(super) fn prove(&mut self, context: &mut Context<'_>) {
        let counted = std::mem::take(&mut self.counted);
        context.recorder.proven(counted.window_body, counted.window_opened);
    }

    /// Ends the operation under way, if it has not been recorded yet. Otherwise its bytes are.
    #[inline(always)]
    fn end(
        &mut self,
        context: &mut Context<'_>,
        at: u64,
        is_early: bool,
        result: Result<Option<Completed>, Failure>,
        unanswered: Option<Unanswered>,
    ) {
        let counted = std::mem::take(&mut self.counted);
        let bytes = (counted.window_body, counted.window_opened);
        match self.asked.take() {
            Some(begun) => {
                let place = 0;
                let ended = Ended { place, begun, at, bytes, result, is_early, unanswered };
                context.ends(ended, self.answers);
            }
            None if result.is_ok() => context.recorder.proven(bytes.0, bytes.1),
            None => context.recorder.outcome.bytes.unproven += bytes.0,
        }
    }

    /// The connection has failed, and with it the operation under way.
    pub(super) fn fail(&mut self, context: &mut Context<'_>, failure: &Failure, at: u64) {
        let is_unanswered =
            is_close(failure) && self.ending.is_none() && !self.reception.has_begun();
        if self.ending.is_none() {
            self.reception.has_failed();
        }
        let unanswered = is_unanswered.then_some(Unanswered::Closed);
        self.end(context, at, false, Err(failure.clone()), unanswered);
    }
}

impl Connection {
    pub(super) fn http1(&mut self) -> Option<&mut Http1> {
        match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) => Some(http1),
            _ => None,
        }
    }

    /// Takes what has come before a request: a ticket, a close, or bytes that should not be there.
    /// The check costs a system call, so without bytes in hand only sampled responses do it.
    pub(super) fn take_before_request(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        if !context.bodies.is_next() && self.received.is_empty() {
            return Ok(Next::Wait);
        }
        self.readable = Readable::Unknown;
        self.receive(context)
    }

    /// Sends the request of the operation under way.
    pub(super) fn request(&mut self, context: &mut Context<'_>, now: u64) -> Result<Next, Failure> {
        let Phase::Open(Codec::Http1(http1)) = &mut self.phase else { return Ok(Next::Wait) };
        context.unsent.lend(&mut self.unsent);
        let of = (self.slot, self.name);
        let mark = http1.ask(context, of, self.received.len(), &mut self.unsent)?;
        self.progress = now;
        self.given += 1;
        self.set_mark(mark);
        self.send(context)
    }

    /// Whether a part of the request's body still waits to be sent.
    #[inline]
    fn has_unsent_body(&mut self, context: &Context<'_>) -> bool {
        let is_unsent = !self.unsent.is_empty() && !context.requests.body().is_empty();
        is_unsent || self.http1().is_some_and(|http1| http1.body_left > 0)
    }

    /// What there was to read has been given to the codec, `turn` bytes, and more is awaited.
    pub(super) fn received_part(&mut self, context: &mut Context<'_>, turn: u64) -> Next {
        self.account(context);
        // Part of a record is progress too: a slow server may need a long time for a whole one.
        let progress = if turn > 0 { context.recently() } else { self.progress };
        let http1 = match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) => http1,
            Phase::Open(Codec::Http2(http2)) => {
                self.progress = progress;
                if context.is_winding_up && !http2.awaits_proof() {
                    return Next::Close;
                }
                let mark = match http2.to_drop() {
                    _ if context.is_winding_up => 1,
                    ..LEAST_MARK => 1,
                    left => left.min(context.mark.into()) as u32,
                };
                self.set_mark(mark);
                return Next::Wait;
            }
            _ => {
                self.progress = progress;
                return Next::Wait;
            }
        };
        if http1.ending.is_some() {
            return Next::Wait;
        }
        let reception = &mut http1.reception;
        if context.is_winding_up {
            if !http1.counted.has_unread() {
                reception.ask_proof();
            }
            if reception.is_proven() {
                return Next::Close;
            }
        }
        self.progress = progress;
        // A mark larger than what is still to come would never be reached. Before the first
        // byte the mark stays as it is.
        let mark = match reception.least_to_come(self.received.len()) {
            _ if context.is_winding_up => 1,
            0 if turn == 0 && !reception.has_begun() && self.received.is_empty() => self.mark,
            ..LEAST_MARK => 1,
            left => left.min(context.mark.into()) as u32,
        };
        self.set_mark(mark);
        Next::Wait
    }

    /// The same where the server's end may come. A reset takes nothing from a response that was complete when
    /// this side ended the connection.
    pub(super) fn receive_end(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let received = self.receive(context);
        let has_given_all = self.has_given_all();
        let ending = self.http1().and_then(|http1| http1.ending);
        let is_over = matches!(ending, Some(Ending::Response { .. })) && has_given_all;
        match received {
            Err(failure) if is_over && failure.kind == ErrorKind::Reset => Ok(self.closed(context)),
            received => received,
        }
    }

    /// Counts the body bytes that arrived since the last call, if the window is open.
    pub(super) fn account(&mut self, context: &mut Context<'_>) {
        let Some(http1) = self.http1().filter(|http1| http1.ending.is_none()) else { return };
        let now = context.now();
        if http1.reception.has_begun()
            && http1.is_first_byte_timed
            && let Some(begun) = &mut http1.asked
        {
            begun.times.first_byte.get_or_insert(now);
        }
        let (body, opened) = (http1.reception.body(), http1.reception.opened());
        http1.counted.advance(body, opened, context.window.contains(now));
    }

    /// A response is complete that is not what was asked for. The connection is kept where it would be
    /// after a right one.
    pub(super) fn refused(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let now = context.now();
        self.progress = now;
        let is_kept = context.plan.operation == Operation::Requests
            && !self.has_given_all()
            && !self.has_unsent_body(context)
            && !context.is_winding_up;
        let Some(http1) = self.http1() else { return Ok(Next::Wait) };
        http1.answers += 1;
        let refusal = http1.reception.refusal();
        if !is_kept {
            return Err(refusal);
        }
        http1.end(context, now, false, Err(refusal), None);
        Ok(Next::Wait)
    }

    /// A response is complete.
    pub(super) fn completed(
        &mut self,
        context: &mut Context<'_>,
        completed: Completed,
    ) -> Result<Next, Failure> {
        let now = context.now();
        self.progress = now;
        let Some(http1) = self.http1() else { return Ok(Next::Wait) };
        http1.answers += 1;
        if http1.is_first_byte_timed
            && let Some(begun) = &mut http1.asked
        {
            begun.times.first_byte.get_or_insert(now);
        }
        http1.counted.advance(completed.body, completed.opened, context.window.contains(now));
        if context.is_winding_up {
            http1.prove(context);
            return Ok(Next::Close);
        }
        if context.plan.operation == Operation::Session {
            return self.answered(context, now, completed);
        }
        if self.has_unsent_body(context) {
            // The server has its reasons to read no more of the body, and the connection cannot go on.
            self.end(context, now, true, completed);
            return Ok(Next::Close);
        }
        self.is_closed_by_server = completed.closes;
        let is_last = completed.closes
            || self.has_given_all()
            || context.plan.operation != Operation::Requests;
        if is_last {
            self.end_with(context, Ending::Response { at: now, completed })?;
            // The server's close has often arrived already.
            let next = self.receive_end(context)?;
            if next != Next::Wait {
                return Ok(next);
            }
            return Ok(match context.plan.close {
                Close::Rst => self.closed(context),
                Close::Fin => {
                    self.await_end();
                    Next::Wait
                }
            });
        }
        self.end(context, now, false, completed);
        Ok(Next::Wait)
    }

    /// Ends the operation under way with this response.
    #[inline]
    pub(super) fn end(
        &mut self,
        context: &mut Context<'_>,
        at: u64,
        is_early: bool,
        received: impl Into<Option<Completed>>,
    ) {
        if context.opens_with_response() {
            self.note_repeated(context, at);
        }
        if let Some(http1) = self.http1() {
            http1.end(context, at, is_early, Ok(received.into()), None);
        }
    }

    /// A response of a session is complete: its user judges it.
    fn answered(
        &mut self,
        context: &mut Context<'_>,
        now: u64,
        completed: Completed,
    ) -> Result<Next, Failure> {
        let slot = self.slot;
        let Some(http1) = self.http1() else { return Ok(Next::Close) };
        let user = &mut context.users[slot];
        match user.answered(&http1.reception.take_kept()) {
            Ok(Then::Follow) if completed.closes => {
                http1.prove(context);
                Ok(Next::Reconnect)
            }
            Ok(Then::Follow) => {
                http1.counted.begin_response();
                self.request(context, now)
            }
            Ok(Then::Complete { walk }) => {
                let is_last = completed.closes || (walk && user.reconnects());
                http1.end(context, now, false, Ok(Some(completed)), None);
                if walk {
                    context.recorder.walked(context.window, now, true);
                }
                Ok(if is_last { Next::Close } else { Next::Wait })
            }
            Err(failure) if completed.closes || user.reconnects() => Err(failure),
            Err(failure) => {
                http1.end(context, now, false, Err(failure), None);
                Ok(Next::Wait)
            }
        }
    }
}
