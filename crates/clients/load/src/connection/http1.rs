//! HTTP/1.1: requests and their responses, one after another.

use super::counted::Counted;
use super::sealing::{LEAST_ROOM, PART, seal, unsealed};
use crate::Receive;
use crate::context::Context;
use crate::ended::{Ended, is_close};
use crate::recorder::Begun;
use crate::requests::Requests;
use crate::retry::Unanswered;
use crate::socket::Use;
use wire::Failure;
use wire::reception::{Completed, Expectation, Reception};
use wire::record::Sealer;

/// The smallest mark: to wait for fewer bytes is not worth two system calls.
pub(super) const LEAST_MARK: u64 = 32 << 10;

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
    /// How long it had been idle when the request under way was sent, in ns.
    pub(super) idled: u64,
    /// How much of the request's body is not sealed yet.
    pub(super) body_left: usize,
    /// Whether the wait for the response under way ends with its first byte.
    pub(super) is_first_byte_timed: bool,
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
            idled: 0,
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
    pub(super) fn ask(
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
    pub(super) fn end(
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

    /// The connection has failed, and with it the operation under way, after `waited` ns without progress. Where
    /// 408 comes sooner than the connection had been idle before, it was on its way when the request was sent.
    pub(super) fn fail(
        &mut self,
        context: &mut Context<'_>,
        failure: &Failure,
        at: u64,
        waited: u64,
    ) {
        let has_crossed = self.reception.is_timeout() && waited < self.idled;
        let is_unanswered = self.ending.is_none()
            && (has_crossed || is_close(failure) && !self.reception.has_begun());
        if self.ending.is_none() {
            self.reception.has_failed();
        }
        let unanswered = is_unanswered.then_some(Unanswered::Closed);
        self.end(context, at, false, Err(failure.clone()), unanswered);
    }
}
