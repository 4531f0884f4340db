//! Requests and their responses on an established connection.

use super::counted::Counted;
use super::{Ending, LEAST_ROOM, Next, Open, Phase, Readable};
use crate::context::Context;
use crate::recorder::Times;
use crate::session::Then;
use crate::socket::{Moved, Socket, Use};
use crate::{Close, Operation, Receive};
use wire::reception::{Completed, Expectation, Given, Want};
use wire::record::{MOST_PLAINTEXT, Sealer, content_type};
use wire::{ErrorKind, Failure};

/// The most bytes that one connection receives in one turn, so that the others get theirs.
const LONGEST_TURN: u64 = 8 << 20;

/// How much of a request's body waits encrypted, until the socket has room for it.
const BODY_PART: usize = 16 * MOST_PLAINTEXT;

/// The smallest mark: to wait for fewer bytes is not worth two system calls.
const LEAST_MARK: u64 = 32 << 10;

impl Open {
    /// Begins an operation on a kept connection. [`Next::Close`] where the server has closed it;
    /// then nothing was sent.
    pub(super) fn begin(
        &mut self,
        context: &mut Context<'_>,
        times: Times,
    ) -> Result<Next, Failure> {
        let next = self.take_before_request(context)?;
        if next == Next::Wait {
            self.operation = Some(times);
            self.counted = Counted::default();
            self.request(context, times.start)?;
        }
        Ok(next)
    }

    /// Takes what has come before a request: a ticket, a close, or bytes that should not be there.
    /// The check costs a system call, so without bytes in hand only sampled responses do it.
    pub(super) fn take_before_request(
        &mut self,
        context: &mut Context<'_>,
    ) -> Result<Next, Failure> {
        if !context.is_next_sampled() && self.received.is_empty() {
            return Ok(Next::Wait);
        }
        self.readable = Readable::Unknown;
        self.receive(context)
    }

    /// Sends a request and expects its response, which is opened whole if it is sampled. In a session
    /// it is for the page under way, or for where its last redirect leads.
    pub(super) fn request(&mut self, context: &mut Context<'_>, now: u64) -> Result<(), Failure> {
        let Phase::Receiving { reception, sealer } = &mut self.phase else { return Ok(()) };
        let is_whole = context.draw_sampled() || context.plan.receive() == Receive::Decrypt;
        context.unsent.lend(&mut self.unsent);
        let (request, expectation) = match context.users.get_mut(self.slot) {
            Some(user) => (user.request().as_bytes(), Expectation::Page),
            None => {
                let object = context.requests.next();
                if let Some(times) = &mut self.operation {
                    times.object = object;
                }
                context.requests.text(object, self.name)
            }
        };
        if let Some(sealer) = sealer {
            reception.answer_key_update(sealer, &mut self.unsent).ok_or_else(unsealed)?;
        }
        seal(sealer, request, &mut self.unsent)?;
        reception.expect(expectation, is_whole);
        if !self.received.is_empty() {
            reception.has_early_bytes();
        }
        self.progress = now;
        let mark = match context.mark_of_whole(expectation, reception) {
            Some(mark) if !is_whole && reception.is_steady() && !context.draw_timed() => mark,
            _ => 1,
        };
        self.is_first_byte_timed = mark == 1;
        let mark = match context.usage() {
            Use::Once if mark == 1 => {
                let before = reception.before_response().saturating_sub(self.received.len() as u64);
                1 + before.min(LEAST_ROOM.into()) as u32
            }
            _ => mark,
        };
        self.set_mark(mark);
        self.sent += 1;
        self.body_left = context.requests.body().len();
        if self.body_left > 0 {
            // Its beginning is sent with the head.
            self.seal_body(context)?;
        }
        self.flush(context)
    }

    /// Appends the next part of the request's body to what is to be sent.
    fn seal_body(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        let Phase::Receiving { sealer, .. } = &mut self.phase else { return Ok(()) };
        let body = context.requests.body();
        let rest = &body[body.len() - self.body_left..];
        let part = &rest[..rest.len().min(BODY_PART)];
        self.body_left -= part.len();
        seal(sealer, part, &mut self.unsent)
    }

    /// Whether a part of the request's body still waits to be sent.
    #[inline]
    fn has_unsent_body(&self, context: &Context<'_>) -> bool {
        self.body_left > 0 || !self.unsent.is_empty() && !context.requests.body().is_empty()
    }

    pub(super) fn flush(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.flush_by(context, Socket::send)
    }

    /// Sends the last bytes of this side, and its end.
    pub(super) fn flush_and_end(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        self.flush_by(context, Socket::send_last)?;
        self.socket.shutdown_send();
        Ok(())
    }

    fn flush_by(
        &mut self,
        context: &Context<'_>,
        send: fn(&Socket, &[u8]) -> Result<Moved, Failure>,
    ) -> Result<(), Failure> {
        while !self.unsent.is_empty() || self.body_left > 0 {
            if self.unsent.is_empty() {
                self.seal_body(context)?;
            }
            match send(&self.socket, &self.unsent)? {
                Moved::Bytes(count) => {
                    self.unsent.drain(..count);
                    self.progress = context.recently();
                }
                Moved::Blocked | Moved::End => break,
            }
        }
        Ok(())
    }

    /// Receives until there is nothing more to read.
    pub(super) fn receive(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        // Bytes in hand are `scratch[start..end]`.
        let scratch = &mut *context.scratch;
        let (mut start, mut end) = (0, self.received.len());
        scratch[..end].copy_from_slice(&self.received);
        self.received.clear();
        let mut turn = 0;
        loop {
            let (Phase::Receiving { reception, .. } | Phase::Closing { reception, .. }) =
                &mut self.phase
            else {
                return Ok(Next::Wait);
            };
            let given = match reception.want() {
                Want::Skip(left) if start < end => {
                    let here = left.min((end - start) as u64);
                    start += here as usize;
                    reception.skipped(here)?
                }
                Want::Read { min, .. } if end - start >= min => {
                    let (used, given) = reception.give(&mut scratch[start..end])?;
                    start += used;
                    given
                }
                want => {
                    if turn >= LONGEST_TURN || self.readable == Readable::Nothing {
                        self.received.extend_from_slice(&scratch[start..end]);
                        break;
                    }
                    if self.readable == Readable::End {
                        return self.ended(context);
                    }
                    let (asked, moved) = match want {
                        Want::Skip(left) => (left, self.socket.skip(left)?),
                        Want::Read { max, .. } => {
                            scratch.copy_within(start..end, 0);
                            (start, end) = (0, end - start);
                            let room = scratch.len().min(max.max(end + 1));
                            let room = &mut scratch[end..room];
                            (room.len() as u64, self.socket.receive(room)?)
                        }
                    };
                    if matches!(moved, Moved::Bytes(count) if (count as u64) < asked) {
                        self.readable = self.readable.drained();
                    }
                    match (moved, want) {
                        (Moved::Blocked, _) => {
                            self.received.extend_from_slice(&scratch[start..end]);
                            break;
                        }
                        (Moved::End, _) => return self.ended(context),
                        (Moved::Bytes(count), Want::Skip(_)) => {
                            turn += count as u64;
                            reception.skipped(count as u64)?
                        }
                        (Moved::Bytes(count), Want::Read { .. }) => {
                            turn += count as u64;
                            end += count;
                            continue;
                        }
                    }
                }
            };
            match given {
                Given::More => {}
                Given::Closed => return self.ended(context),
                Given::Refused => {
                    let refusal = reception.refusal();
                    self.received.extend_from_slice(&scratch[start..end]);
                    return self.refused(context, refusal);
                }
                Given::Complete(completed) => {
                    self.received.extend_from_slice(&scratch[start..end]);
                    return self.completed(context, completed);
                }
            }
        }
        self.account(context);
        if let Phase::Receiving { reception, .. } = &mut self.phase {
            if context.is_winding_up {
                if !self.counted.has_unread() {
                    reception.ask_proof();
                }
                if reception.is_proven() {
                    return Ok(Next::Close);
                }
            }
            // Part of a record is progress too: a slow server may need a long time for a whole one.
            if turn > 0 {
                self.progress = context.recently();
            }
            // A mark larger than what is still to come would never be reached. Before the first
            // byte the mark stays as it is.
            let mark = match reception.least_to_come(self.received.len()) {
                _ if context.is_winding_up => 1,
                0 if turn == 0 && !reception.has_begun() && self.received.is_empty() => self.mark,
                ..LEAST_MARK => 1,
                left => left.min(context.mark.into()) as u32,
            };
            self.set_mark(mark);
        }
        Ok(Next::Wait)
    }

    /// The same where the server's end may come. A reset takes nothing from a response that was complete when
    /// this side ended the connection.
    pub(super) fn receive_end(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let received = self.receive(context);
        let is_over = matches!(self.phase, Phase::Closing { ending: Ending::Response { .. }, .. })
            && self.has_sent_all();
        match received {
            Err(failure) if is_over && failure.kind == ErrorKind::Reset => Ok(self.closed(context)),
            received => received,
        }
    }

    /// Counts the body bytes that arrived since the last call, if the window is open.
    pub(super) fn account(&mut self, context: &mut Context<'_>) {
        let Phase::Receiving { reception, .. } = &self.phase else { return };
        let now = context.now();
        if reception.has_begun()
            && self.is_first_byte_timed
            && let Some(times) = &mut self.operation
        {
            times.first_byte.get_or_insert(now);
        }
        let (body, opened) = (reception.body(), reception.opened());
        self.counted.advance(body, opened, context.window.contains(now));
    }

    /// A response is complete that is not what was asked for. The connection is kept where it would be
    /// after a right one.
    fn refused(&mut self, context: &Context<'_>, refusal: Failure) -> Result<Next, Failure> {
        self.progress = context.now();
        let is_kept = context.plan.operation == Operation::Requests
            && !self.has_sent_all()
            && !self.has_unsent_body(context);
        if is_kept && !context.is_winding_up { Ok(Next::Fail(refusal)) } else { Err(refusal) }
    }

    /// A response is complete.
    pub(super) fn completed(
        &mut self,
        context: &mut Context<'_>,
        completed: Completed,
    ) -> Result<Next, Failure> {
        let now = context.now();
        self.progress = now;
        if let Some(times) = &self.operation {
            context.took = now.saturating_sub(times.start);
        }
        if self.is_first_byte_timed
            && let Some(times) = &mut self.operation
        {
            times.first_byte.get_or_insert(now);
        }
        self.counted.advance(completed.body, completed.opened, context.window.contains(now));
        if context.is_winding_up {
            self.prove(context);
            return Ok(Next::Close);
        }
        if context.plan.operation == Operation::Session {
            return self.answered(context, now, completed);
        }
        if self.has_unsent_body(context) {
            let seen = format!("{}, before all of the request's body was sent", completed.status);
            return Err(Failure::new(ErrorKind::Status, seen));
        }
        self.is_closed_by_server = completed.closes;
        let is_last = completed.closes
            || self.has_sent_all()
            || context.plan.operation != Operation::Requests;
        if is_last {
            let ending = Ending::Response { at: now, completed };
            let phase = std::mem::replace(&mut self.phase, Phase::Connecting);
            if let Phase::Receiving { reception, sealer } = phase {
                self.phase = Phase::Closing { reception, ending };
                if self.has_sent_all() && !completed.closes && context.plan.close == Close::Fin {
                    self.close_own_side(context, sealer)?;
                }
            }
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
        self.prove(context);
        self.record(context, now, Some(completed));
        Ok(Next::Keep)
    }

    /// Ends this side, which has nothing more to ask, over TLS with a close_notify (RFC 8446, section 6.1).
    /// Where the server has closed the connection meanwhile, that is found when it is read.
    fn close_own_side(
        &mut self,
        context: &mut Context<'_>,
        sealer: Option<Sealer>,
    ) -> Result<(), Failure> {
        if let Some(mut sealer) = sealer {
            seal_close_notify(&mut sealer, &mut self.unsent)?;
        }
        let _ = self.flush_and_end(context);
        Ok(())
    }

    /// A response of a session is complete: its user judges it.
    fn answered(
        &mut self,
        context: &mut Context<'_>,
        now: u64,
        completed: Completed,
    ) -> Result<Next, Failure> {
        let Phase::Receiving { reception, .. } = &mut self.phase else { return Ok(Next::Close) };
        let user = &mut context.users[self.slot];
        match user.answered(&reception.take_kept()) {
            Ok(Then::Follow) if completed.closes => {
                self.prove(context);
                Ok(Next::Reconnect)
            }
            Ok(Then::Follow) => {
                self.counted.begin_response();
                self.request(context, now)?;
                Ok(Next::Wait)
            }
            Ok(Then::Complete { walk }) => {
                let is_last = completed.closes || (walk && user.reconnects());
                self.prove(context);
                self.record(context, now, Some(completed));
                if walk {
                    context.recorder.walked(context.window, now, true);
                }
                Ok(if is_last { Next::Close } else { Next::Keep })
            }
            Err(failure) if completed.closes || user.reconnects() => Err(failure),
            Err(failure) => Ok(Next::Fail(failure)),
        }
    }

    /// Its operation has failed, and the connection is kept.
    pub(super) fn let_go(&mut self, context: &mut Context<'_>) {
        self.give_up(context);
        self.counted = Counted::default();
        self.operation = None;
    }

    /// Records that the operation under way succeeded.
    pub(super) fn record(
        &mut self,
        context: &mut Context<'_>,
        at: u64,
        received: Option<Completed>,
    ) {
        if let Some(times) = self.operation.take() {
            self.succeeded = Some(at);
            if context.opens_with_response() {
                self.note_repeated(context, at);
            }
            let body = received.map_or(0, |received| received.body);
            context.coalescing.ended(at.saturating_sub(times.start), body);
            context.recorder.completed(context.window, at, times, received);
        }
    }

    /// Records the bytes counted so far as proven.
    pub(super) fn prove(&mut self, context: &mut Context<'_>) {
        let counted = std::mem::take(&mut self.counted);
        context.recorder.proven(counted.window_body, counted.window_opened);
    }

    /// Records the bytes counted so far as unproven.
    pub(super) fn give_up(&self, context: &mut Context<'_>) {
        context.recorder.unproven(self.counted.window_body);
    }

    pub(super) fn set_mark(&mut self, mark: u32) {
        if self.mark != mark {
            if mark > self.room {
                // The buffer grows to twice the mark and stays so. With a TCP window of just the
                // mark, the server would fill it before it sent the last byte.
                self.socket.set_low_water(2 * mark);
                self.room = mark;
            }
            self.socket.set_low_water(mark);
            self.mark = mark;
        }
    }
}

/// Appends content to what is to be sent, over TLS in records.
#[inline]
fn seal(sealer: &mut Option<Sealer>, content: &[u8], out: &mut Vec<u8>) -> Result<(), Failure> {
    let Some(sealer) = sealer else {
        out.extend_from_slice(content);
        return Ok(());
    };
    for content in content.chunks(MOST_PLAINTEXT) {
        sealer.seal(content_type::APPLICATION_DATA, content, out).ok_or_else(unsealed)?;
    }
    Ok(())
}

pub(super) fn seal_close_notify(sealer: &mut Sealer, out: &mut Vec<u8>) -> Result<(), Failure> {
    const CLOSE_NOTIFY: [u8; 2] = [1, 0];
    sealer.seal(content_type::ALERT, &CLOSE_NOTIFY, out).ok_or_else(unsealed)
}

pub(crate) fn unsealed() -> Failure {
    Failure::new(ErrorKind::Handshake, "the request could not be sealed")
}
