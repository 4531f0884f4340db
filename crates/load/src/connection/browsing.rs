//! Pages of a session on an established connection.

use super::exchange::{LONGEST_TURN, unsealed};
use super::{Counted, Next, Open, Phase, Readable};
use crate::context::Context;
use crate::failure::Failure;
use crate::receive::Completed;
use crate::recorder::Times;
use crate::session::{Given, Then};
use crate::socket::Moved;

impl Open {
    /// Begins a page on a kept connection. [`Next::Close`] where the server has closed it; then
    /// nothing was sent.
    pub(super) fn begin_page(
        &mut self,
        context: &mut Context<'_>,
        times: Times,
    ) -> Result<Next, Failure> {
        if !self.received.is_empty() {
            self.readable = Readable::Unknown;
            let next = self.browse(context)?;
            if next != Next::Wait {
                return Ok(next);
            }
        }
        self.operation = Some(times);
        self.counted = Counted::default();
        self.ask(context, times.start)?;
        Ok(Next::Wait)
    }

    /// Sends the request for the page under way, or for where its last redirect leads.
    pub(super) fn ask(&mut self, context: &mut Context<'_>, now: u64) -> Result<(), Failure> {
        let Phase::Browsing { reception, sealer } = &mut self.phase else { return Ok(()) };
        let request = context.users[self.slot].request();
        let has_early_bytes = !self.received.is_empty();
        context.unsent.lend(&mut self.unsent);
        reception
            .ask(request.as_bytes(), sealer.as_mut(), has_early_bytes, &mut self.unsent)
            .ok_or_else(unsealed)?;
        self.progress = now;
        self.flush(context)
    }

    /// Receives until there is nothing more to read.
    pub(super) fn browse(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        // Bytes in hand are `scratch[..end]`. They are less than a record.
        let scratch = &mut *context.scratch;
        let mut end = self.received.len();
        scratch[..end].copy_from_slice(&self.received);
        self.received.clear();
        let mut turn = 0;
        loop {
            let Phase::Browsing { reception, .. } = &mut self.phase else { return Ok(Next::Wait) };
            let (used, given) = reception.give(&mut scratch[..end])?;
            match given {
                Given::Closed => return self.page_ended(context),
                Given::Complete => {
                    self.received.extend_from_slice(&scratch[used..end]);
                    return self.answered(context);
                }
                Given::More => {}
            }
            scratch.copy_within(used..end, 0);
            end -= used;
            if turn >= LONGEST_TURN || self.readable == Readable::Nothing {
                break;
            }
            if self.readable == Readable::End {
                return self.page_ended(context);
            }
            let room = &mut scratch[end..];
            match self.socket.receive(room)? {
                Moved::Blocked => break,
                Moved::End => return self.page_ended(context),
                Moved::Bytes(count) => {
                    if count < room.len() {
                        self.readable = self.readable.drained();
                    }
                    end += count;
                    turn += count as u64;
                }
            }
        }
        self.received.extend_from_slice(&scratch[..end]);
        if turn > 0 {
            self.progress = context.now();
            self.count(context, self.progress);
        }
        Ok(Next::Wait)
    }

    /// The server sends no more.
    fn page_ended(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let Phase::Browsing { reception, .. } = &mut self.phase else { return Ok(Next::Close) };
        match reception.end()? {
            Given::Complete => self.answered(context),
            Given::More | Given::Closed => Ok(Next::Close),
        }
    }

    /// A response is complete.
    fn answered(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let now = context.now();
        self.progress = now;
        self.count(context, now);
        let Phase::Browsing { reception, .. } = &self.phase else { return Ok(Next::Close) };
        let answer = reception.answer();
        let (body, closes) = (reception.body_length() as u64, answer.closes);
        let user = &mut context.users[self.slot];
        match user.answered(answer, reception.body(&context.scratch)) {
            Ok(Then::Follow) => {
                self.counted.begin_response();
                if closes {
                    return Ok(Next::Reconnect);
                }
                self.ask(context, now)?;
                Ok(Next::Wait)
            }
            Ok(Then::Complete { walk }) => {
                let is_last = closes || (walk && user.reconnects());
                self.prove(context);
                let completed =
                    Completed { body, opened: body, compared: false, peeked: false, closes };
                self.record(context, now, Some(completed));
                if walk {
                    context.recorder.walked(context.window, now, true);
                }
                Ok(if is_last { Next::Close } else { Next::Keep })
            }
            Err(failure) if closes || user.reconnects() => Err(failure),
            Err(failure) => Ok(Next::Fail(failure)),
        }
    }

    /// Counts the body bytes of the page under way that arrived since the last call.
    fn count(&mut self, context: &Context<'_>, now: u64) {
        let (Phase::Browsing { reception, .. }, Some(times)) = (&self.phase, &mut self.operation)
        else {
            return;
        };
        if reception.has_begun() {
            times.first_byte.get_or_insert(now);
        }
        let body = reception.body_length() as u64;
        self.counted.advance(body, body, context.window.contains(now));
    }

    /// Its page has failed, and the connection is kept.
    pub(super) fn let_go(&mut self, context: &mut Context<'_>) {
        self.give_up(context);
        self.counted = Counted::default();
        self.operation = None;
    }
}
