//! The end of a connection: its close is sent, awaited, or forced after a time limit.

use super::{Ending, LEAST_ROOM, Next, Open, Phase, Readable, Role, Spare};
use crate::context::Context;
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

impl Open {
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

    /// The server sends no more.
    pub(super) fn ended(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        self.account(context);
        self.is_closed_by_server = true;
        match &mut self.phase {
            Phase::Closing { .. } => Ok(self.closed(context)),
            Phase::Receiving { reception, .. } => match reception.end()? {
                Given::Complete(completed) if context.plan.operation == Operation::Session => {
                    self.completed(context, completed)
                }
                Given::Complete(completed) => {
                    let now = context.now();
                    self.prove(context);
                    self.record(context, now, Some(completed));
                    Ok(Next::Close)
                }
                Given::Refused => Err(reception.refusal()),
                Given::More | Given::Closed => Ok(Next::Close),
            },
            Phase::Connecting | Phase::Handshaking(_) => Ok(Next::Close),
        }
    }

    /// The server has closed the connection, or took too long to do so.
    pub(super) fn closed(&mut self, context: &mut Context<'_>) -> Next {
        let Phase::Closing { ending, .. } = &self.phase else { return Next::Close };
        match *ending {
            Ending::Handshake => {
                let now = context.now();
                if context.draw_traffic()
                    && let Some(traffic) = self.socket.traffic()
                {
                    context.recorder.moved(traffic);
                }
                self.record(context, now, None);
            }
            Ending::Response { at, completed } => {
                self.prove(context);
                self.record(context, at, Some(completed));
            }
        }
        Next::Close
    }

    /// Checks the time limits.
    pub(super) fn check_time(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        if matches!(self.role(), Role::Kept) {
            return Ok(Next::Wait);
        }
        let idle = context.now().saturating_sub(self.progress);
        if matches!(self.phase, Phase::Closing { ending: Ending::Response { .. }, .. })
            && idle > CLOSE_LIMIT
        {
            // Bytes that came in place of the end of stream caused no event.
            self.readable = Readable::Unknown;
            return Ok(match self.receive(context)? {
                Next::Wait => {
                    let now = context.now();
                    context.recorder.not_closed_by_server(context.window, now);
                    self.closed(context)
                }
                next => next,
            });
        }
        if idle > context.plan.timeout.0 {
            let (kind, what) = match self.phase {
                Phase::Connecting => (ErrorKind::ConnectTimeout, "the connection"),
                Phase::Handshaking(_) => (ErrorKind::Stall, "the handshake"),
                Phase::Receiving { .. } => (ErrorKind::Stall, "the response"),
                Phase::Closing { .. } => (ErrorKind::Stall, "the close"),
            };
            let seen = format!("{what} made no progress for {}", context.plan.timeout);
            return Err(Failure::new(kind, seen));
        }
        if self.mark > 1 && idle > time_for_mark(context.took, context.plan.timeout.0) {
            self.set_mark(1);
        }
        Ok(Next::Wait)
    }

    /// Before the connection is dropped: records its bytes as proven or unproven.
    pub(super) fn settle(&mut self, context: &mut Context<'_>) {
        let is_proven = match &self.phase {
            Phase::Receiving { reception, .. } => reception.is_proven(),
            _ => false,
        };
        if is_proven {
            self.prove(context);
        } else {
            self.give_up(context);
        }
    }

    /// Closes the connection; returns its socket if that can be reused.
    pub(super) fn spare(mut self, context: &Context<'_>) -> Option<Spare> {
        if context.plan.keeps_connections() || context.plan.close == Close::Rst {
            return None;
        }
        self.set_mark(1);
        let Self { interest, room, .. } = self;
        self.socket.end().map(|socket| Spare { socket, interest, room })
    }

    /// Before a failed connection is dropped.
    pub(super) fn fail(&self, context: &mut Context<'_>) {
        if let Phase::Receiving { reception, .. } = &self.phase {
            reception.has_failed();
        }
        self.give_up(context);
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
