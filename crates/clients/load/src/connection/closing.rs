//! The end of a connection: its close is sent, awaited, or forced after a time limit.

use rustix::event::epoll::EventFlags;

use super::http1::Ending;
use super::sealing::{LEAST_ROOM, seal_close_notify, seal_unexpected_message};
use super::{Codec, Connection, Next, Phase, Readable};
use crate::context::Context;
use crate::ended::Ended;
use crate::socket::Socket;
use crate::{Close, Operation};
use wire::reception::Given;
use wire::{ErrorKind, Failure};

/// With no progress for this long, or longer where responses take long, the low-water mark is
/// lowered. Otherwise a server that pauses, or sends less than it promised, would never wake the
/// client.
const MARK_LIMIT: u64 = 200_000_000;

/// How long to wait for a mark, in ns, where the last response took `took`. On a busy server all
/// connections wait long for their turn, and to check each of them would cost more the slower the
/// server is. An operation without progress still has half of its own limit left.
fn time_for_mark(took: u64, timeout: u64) -> u64 {
    took.saturating_mul(2).min(timeout / 2).max(MARK_LIMIT)
}

/// How long a server may take to close once it has sent its last response, in ns.
const CLOSE_LIMIT: u64 = 1_000_000_000;

/// A server that closes does so with its last response. Where the window ends before it is due to be
/// given up, this long after the response it has not meant to.
const KEPT_LIMIT: u64 = 50_000_000;

/// A socket whose connection is over, still watched, for another one of the same number.
pub(crate) struct Spare {
    pub(super) socket: Socket,
    pub(super) interest: EventFlags,
    pub(super) room: u32,
}

impl Spare {
    pub(super) fn dial(self, context: &Context<'_>) -> Result<(Self, bool), Failure> {
        let (address, usage) = (context.job.address, context.usage());
        let (socket, is_connected) = self.socket.connect_again(address, usage)?;
        Ok((Self { socket, ..self }, is_connected))
    }
}

impl Connection {
    /// The server's end of stream has come. If this side has nothing more to request, it ends its
    /// side too. The FIN is sent before the received bytes are read, so that it acknowledges them;
    /// otherwise that would take a separate segment later.
    pub(super) fn end_too(&self, context: &Context<'_>) {
        let is_last = context.plan.operation == Operation::OneRequestPerConnection;
        if is_last && context.plan.close == Close::Fin && self.unsent.is_empty() {
            self.socket.shutdown_send();
        }
    }

    /// All that counts has come. From now on only the server's end of stream is awaited.
    pub(super) fn await_end(&mut self) {
        self.set_mark(LEAST_ROOM);
    }

    /// The operation under way is over, but for the server's close. This side, where it has nothing more to
    /// ask, ends too: over TLS with a close_notify (RFC 8446, section 6.1).
    pub(super) fn end_with(
        &mut self,
        context: &mut Context<'_>,
        ending: Ending,
    ) -> Result<(), Failure> {
        let ends_own_side =
            self.has_given_all() && !self.is_closed_by_server && context.plan.close == Close::Fin;
        let Phase::Open(Codec::Http1(http1)) = &mut self.phase else { return Ok(()) };
        http1.ending = Some(ending);
        if ends_own_side {
            if let Some(sealer) = &mut http1.sealer {
                seal_close_notify(sealer, &mut self.unsent)?;
            }
            // Where the server has closed the connection meanwhile, that is found when it is read.
            let _ = self.flush_and_end(context);
        }
        Ok(())
    }

    /// After a handshake of TLS, says that a message came that may not. Whether that arrives does not matter.
    fn send_unexpected_message(&mut self) {
        let sealer = match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) => http1.sealer.as_mut(),
            Phase::Open(Codec::Http2(http2)) => http2.sealer(),
            _ => None,
        };
        if let Some(sealer) = sealer {
            seal_unexpected_message(sealer, &mut self.unsent);
            let _ = self.socket.send(&self.unsent, true);
        }
    }

    /// The server sends no more.
    pub(super) fn ended(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        self.account(context);
        self.is_closed_by_server = true;
        match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) if http1.ending.is_some() => Ok(self.closed(context)),
            Phase::Open(Codec::Http1(http1)) => match http1.reception.end()? {
                Given::Complete(completed) if context.plan.operation == Operation::Session => {
                    self.completed(context, completed)
                }
                Given::Complete(completed) => {
                    let now = context.now();
                    http1.answers += 1;
                    self.end(context, now, false, completed);
                    Ok(Next::Close)
                }
                Given::Refused => Err(http1.reception.refusal()),
                Given::More | Given::Closed => Ok(Next::Close),
            },
            Phase::Open(Codec::Http2(http2)) if http2.handler.streams.is_idle() => Ok(Next::Close),
            Phase::Open(Codec::Http2(http2)) => Err(http2.closed_early()),
            _ => Ok(Next::Close),
        }
    }

    /// The server has closed the connection, or took too long to do so.
    pub(super) fn closed(&mut self, context: &mut Context<'_>) -> Next {
        match self.http1().and_then(|http1| http1.ending) {
            Some(Ending::Handshake) => {
                let now = context.now();
                if context.traffic.draw()
                    && let Some(traffic) = self.socket.traffic()
                {
                    context.recorder.outcome.traffic += traffic;
                }
                self.end(context, now, false, None);
            }
            Some(Ending::Response { at, completed }) => self.end(context, at, false, completed),
            None => {}
        }
        Next::Close
    }

    /// When its opening, or its operation, has taken too long in all; when either has made no progress for too
    /// long; and when something else is to be done about it.
    #[inline(always)]
    fn limits(&mut self, context: &Context<'_>) -> [u64; 3] {
        const NEVER: u64 = u64::MAX;
        let (timeout, whole) = (context.plan.timeout.0, context.plan.operation_timeout().0);
        match &mut self.phase {
            Phase::Connecting | Phase::Handshaking(_) => {
                [self.started.saturating_add(whole), self.progress.saturating_add(timeout), NEVER]
            }
            // Over plain HTTP/2 the opening ends with the server's first frame.
            Phase::Open(Codec::Http2(http2)) if !http2.has_begun() => {
                [NEVER, self.started.saturating_add(timeout), http2.handler.streams.due]
            }
            Phase::Open(Codec::Http2(http2)) => [NEVER, NEVER, http2.handler.streams.due],
            Phase::Open(Codec::Http3(http3)) => {
                let looks_at = context.quic.as_ref().map_or(NEVER, |quic| http3.looks_at(quic));
                // What comes may be of anyone, so that it is no progress of the opening.
                match http3.is_established() {
                    true => [NEVER, NEVER, looks_at],
                    false => [NEVER, self.started.saturating_add(timeout), looks_at],
                }
            }
            Phase::Open(Codec::Http1(http1)) => match (&http1.asked, &http1.ending) {
                (None, _) => [NEVER; 3],
                // The answer has come.
                (_, Some(Ending::Response { .. })) => [NEVER, NEVER, self.progress + CLOSE_LIMIT],
                (Some(begun), _) => [
                    begun.times.start.saturating_add(whole),
                    self.progress.saturating_add(timeout),
                    match self.mark {
                        1 => NEVER,
                        _ => self.progress + time_for_mark(context.took, timeout.min(whole)),
                    },
                ],
            },
        }
    }

    /// When its time limits are to be checked, if nothing happens before: after a check, later than that.
    #[inline(always)]
    pub(crate) fn next_check(&mut self, context: &Context<'_>) -> u64 {
        let [whole, progress, other] = self.limits(context);
        whole.min(progress).min(other)
    }

    /// What it waits for, and how that fails where it does not come.
    fn awaited(&self) -> (ErrorKind, &'static str) {
        match &self.phase {
            Phase::Connecting => (ErrorKind::ConnectTimeout, "the connection"),
            Phase::Handshaking(_) => (ErrorKind::Stall, "the handshake"),
            Phase::Open(Codec::Http1(http1)) if http1.ending.is_some() => {
                (ErrorKind::Stall, "the close")
            }
            Phase::Open(Codec::Http2(http2)) if !http2.has_begun() => {
                (ErrorKind::Stall, "the opening")
            }
            Phase::Open(Codec::Http3(http3)) if !http3.is_established() => {
                (ErrorKind::ConnectTimeout, "the connection")
            }
            Phase::Open(_) => (ErrorKind::Stall, "the response"),
        }
    }

    /// Checks the time limits.
    pub(crate) fn check_time(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let now = context.now();
        let [whole, progress, other] = self.limits(context);
        if now >= whole {
            return Err(context.plan.too_long());
        }
        if now >= progress {
            if let Phase::Open(Codec::Http3(http3)) = &self.phase {
                return Err(http3.why_unopened(context.plan.timeout));
            }
            let ((kind, what), timeout) = (self.awaited(), context.plan.timeout);
            return Err(Failure::new(kind, format!("{what} made no progress for {timeout}")));
        }
        if now < other {
            return Ok(Next::Wait);
        }
        if let Phase::Open(Codec::Http2(http2)) = &mut self.phase {
            http2.end_stalled(now, context.plan);
            return Ok(Next::Wait);
        }
        if let Phase::Open(Codec::Http3(http3)) = &mut self.phase {
            http3.wake(context, now);
            http3.end_stalled(now, context.plan);
            return self.follow_datagrams(context);
        }
        let ending = self.http1().and_then(|http1| http1.ending);
        if !matches!(ending, Some(Ending::Response { .. })) {
            self.set_mark(1);
            return Ok(Next::Wait);
        }
        // Bytes that came in place of the end of stream caused no event.
        self.readable = Readable::Unknown;
        Ok(match self.receive(context)? {
            Next::Wait => {
                context.recorder.not_closed_by_server(context.window, now);
                self.closed(context)
            }
            next => next,
        })
    }

    /// All operations under way fail with the connection.
    pub(crate) fn fail(&mut self, context: &mut Context<'_>, failure: &Failure, at: u64) {
        for (place, begun) in self.waiting.drain(..) {
            context.ends(Ended::lost(place, begun, at, failure.clone()), 0);
        }
        if failure.kind == ErrorKind::Handshake {
            self.send_unexpected_message();
        }
        match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) => {
                http1.fail(context, failure, at, at.saturating_sub(self.progress));
            }
            Phase::Open(Codec::Http2(http2)) => {
                http2.has_failed();
                http2.handler.streams.fail_all(failure, at);
                http2.handler.streams.hand_on(context);
            }
            Phase::Open(Codec::Http3(http3)) => http3.fail(context, failure, at),
            _ => {}
        }
    }

    /// The window is over: records what is under way, and awaits what is still to prove its bytes.
    pub(crate) fn wind_up(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let (window, awaited) = (context.window, self.awaited());
        for (_, begun) in self.waiting.drain(..) {
            context.recorder.in_flight(window, begun, awaited);
        }
        match &mut self.phase {
            Phase::Open(Codec::Http2(http2)) => {
                http2.handler.streams.wind_up(context, awaited);
                if http2.awaits_proof() {
                    self.set_mark(1);
                    self.readable = Readable::Unknown;
                    return self.receive(context);
                }
            }
            Phase::Open(Codec::Http1(http1)) => {
                if let Some(Ending::Response { at, .. }) = http1.ending {
                    // The response is complete; only the server's close is missing.
                    if window.end().saturating_sub(at) > KEPT_LIMIT {
                        context.recorder.not_closed_by_server(window, at.max(window.start()));
                    }
                    return Ok(self.closed(context));
                }
                if let Some(begun) = http1.asked.take() {
                    context.recorder.in_flight(window, begun, awaited);
                }
                let is_receiving = http1.ending.is_none();
                let has_body = http1.counted.has_window_body();
                if is_receiving && context.opens_with_response() {
                    self.note_repeated(context, window.end());
                }
                if is_receiving && has_body {
                    self.set_mark(1);
                    self.readable = Readable::Unknown;
                    return self.receive(context);
                }
            }
            Phase::Open(Codec::Http3(http3)) => {
                if !http3.is_established() {
                    context.recorder.connecting(window, self.started);
                }
                if let Some(begun) = http3.take_handshake() {
                    context.recorder.in_flight(window, begun, awaited);
                }
                http3.streams.wind_up(context, awaited);
            }
            Phase::Connecting | Phase::Handshaking(_) => {
                context.recorder.connecting(window, self.started);
                self.note_repeated(context, window.end());
            }
        }
        Ok(Next::Close)
    }

    /// Before it is dropped, all being in order or not: records its bytes as proven or unproven, and counts what
    /// is known of it.
    pub(crate) fn close(&mut self, context: &mut Context<'_>, is_in_order: bool) {
        if let Some(planned) = self.planned {
            let has_all_answers = is_in_order && self.answers() >= self.given.into();
            match self.has_given_all() {
                true if has_all_answers => context.recorder.carried(planned),
                false if self.is_closed_by_server => context.recorder.outcome.ended.by_server += 1,
                _ => {}
            }
        }
        self.down(context);
        let answers = self.answers();
        let tickets = match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) => {
                if http1.reception.is_proven() {
                    http1.prove(context);
                }
                context.recorder.outcome.bytes.unproven += http1.counted.window_body;
                http1.reception.tickets()
            }
            Phase::Open(Codec::Http2(http2)) => {
                let (proven, unproven) = http2.dropped();
                context.recorder.proven(proven, 0);
                context.recorder.outcome.bytes.unproven += unproven;
                context.recorder.outcome.http2.add(http2.handler.counts);
                context.recorder.outcome.streams.add(http2.handler.streams.counts);
                http2.tickets()
            }
            Phase::Open(Codec::Http3(http3)) => {
                http3.leave(&self.socket, context, context.plan.close == Close::Fin);
                http3.known().map_or(0, |known| known.tickets)
            }
            _ => 0,
        };
        context.recorder.closes(answers, tickets);
    }

    /// Closes the connection; returns its socket if that can be reused.
    pub(crate) fn spare(mut self, context: &Context<'_>) -> Option<Spare> {
        if context.plan.keeps_connections()
            || context.plan.close == Close::Rst
            || context.plan.is_http3()
        {
            return None;
        }
        self.set_mark(1);
        let Self { interest, room, .. } = self;
        self.socket.end().map(|socket| Spare { socket, interest, room })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_mark_is_twice_the_last_response_time_within_limits() {
        const SECOND: u64 = 1_000_000_000;
        for (took, timeout, expected) in [
            (0, 10 * SECOND, MARK_LIMIT),
            (SECOND / 10, 10 * SECOND, MARK_LIMIT),
            (SECOND, 10 * SECOND, 2 * SECOND),
            (8 * SECOND, 10 * SECOND, 5 * SECOND),
            (u64::MAX, SECOND, SECOND / 2),
            (SECOND, SECOND / 10, MARK_LIMIT),
        ] {
            assert_eq!(time_for_mark(took, timeout), expected, "{took} of {timeout}");
        }
    }
}
