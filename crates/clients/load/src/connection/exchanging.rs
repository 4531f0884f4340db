//! A connection whose codec takes what comes: its requests, their answers, and what follows.

use super::http1::{Ending, Http1, LEAST_MARK};
use super::{Codec, Connection, Next, Phase, Readable};
use crate::context::Context;
use crate::session::Then;
use crate::{Close, Operation};
use wire::reception::Completed;
use wire::{ErrorKind, Failure};

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
        http1.idled = now.saturating_sub(self.progress);
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
