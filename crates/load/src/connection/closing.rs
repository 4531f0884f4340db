//! The end of a connection: announced, awaited, or for want of progress.

use super::opening::LEAST_ROOM;
use super::{Next, Open, Phase, Readable, Role, Spare};
use crate::context::Context;
use crate::failure::{ErrorKind, Failure};
use crate::receive::{Completed, Given};
use crate::socket::Use;
use crate::{Close, Operation};

/// With no progress for this long, or longer where responses take long, the low-water mark is lowered:
/// a server that pauses, or sends less than it promised, would not wake the client otherwise.
const MARK_LIMIT: u64 = 200_000_000;

/// How long a mark is waited for, where the last response took so long, in ns: on a busy server all
/// wait long for their turn, and to look for each of them would cost more the slower the server is. An
/// operation that makes no progress still has half of its own limit left.
fn patience(took: u64, timeout: u64) -> u64 {
    took.saturating_mul(2).min(timeout / 2).max(MARK_LIMIT)
}

/// How long a server may take to close once it has sent its last response, in ns.
const CLOSE_LIMIT: u64 = 1_000_000_000;

/// What an operation still has to tell when its connection closes.
pub(super) enum Ending {
    /// It was a handshake: the close is its end.
    Handshake,
    /// It ended at this time with this response.
    Response { at: u64, completed: Completed },
}

impl Open {
    /// The server's end has come; if this side has asked for all, that is its end too. Sent before
    /// what has come is read, it acknowledges that, which would take a segment of its own later.
    pub(super) fn end_too(&self, context: &Context<'_>) {
        let is_last = context.plan.operation == Operation::OneRequestPerConnection;
        if is_last && context.plan.close == Close::Fin && self.unsent.is_empty() {
            self.socket.shutdown_send();
        }
    }

    /// All that counts has come: only the server's end is waited for, not what comes before it.
    pub(super) fn await_end(&mut self) {
        self.set_mark(LEAST_ROOM);
    }

    /// The server sends no more.
    pub(super) fn ended(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        self.account(context);
        match &mut self.phase {
            Phase::Closing { .. } => Ok(self.closed(context)),
            Phase::Receiving { reception, .. } => match reception.end()? {
                Given::Complete(completed) => {
                    let now = context.now();
                    self.prove(context);
                    self.record(context, now, Some(completed));
                    Ok(Next::Close)
                }
                Given::More | Given::Closed => Ok(Next::Close),
            },
            Phase::Connecting | Phase::Handshaking(_) => Ok(Next::Close),
        }
    }

    /// The server has closed, or taken too long to.
    pub(super) fn closed(&mut self, context: &mut Context<'_>) -> Next {
        let Phase::Closing { ending, .. } = &self.phase else { return Next::Close };
        match *ending {
            Ending::Handshake => {
                let now = context.now();
                self.record(context, now, None);
            }
            Ending::Response { at, completed } => {
                self.prove(context);
                self.record(context, at, Some(completed));
            }
        }
        Next::Close
    }

    /// Looks for what has taken too long.
    pub(super) fn check_time(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        if matches!(self.role(), Role::Kept) {
            return Ok(Next::Wait);
        }
        let idle = context.now().saturating_sub(self.progress);
        if matches!(self.phase, Phase::Closing { ending: Ending::Response { .. }, .. })
            && idle > CLOSE_LIMIT
        {
            // What has come in place of the end has woken nobody.
            self.readable = Readable::Unknown;
            return Ok(match self.receive(context)? {
                Next::Wait => self.closed(context),
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
            let seen = format!("no progress of {what} for {}", context.plan.timeout);
            return Err(Failure::new(kind, seen));
        }
        if self.mark > 1 && idle > patience(context.took, context.plan.timeout.0) {
            self.set_mark(1);
        }
        Ok(Next::Wait)
    }

    /// Before the connection is dropped: proven or not, what it counted is told.
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

    /// Closes the connection; its socket, if it can have another.
    pub(super) fn spare(mut self, context: &Context<'_>) -> Option<Spare> {
        if context.usage() == Use::Kept || context.plan.close == Close::Rst {
            return None;
        }
        self.set_mark(1);
        let Self { interest, room, .. } = self;
        self.socket.end().map(|socket| Spare { socket, interest, room })
    }

    /// Before the connection is dropped because it failed.
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
    fn a_mark_is_waited_for_twice_as_long_as_the_last_response_took_within_limits() {
        const SECOND: u64 = 1_000_000_000;
        for (took, timeout, expected) in [
            (0, 10 * SECOND, MARK_LIMIT),
            (SECOND / 10, 10 * SECOND, MARK_LIMIT),
            (SECOND, 10 * SECOND, 2 * SECOND),
            (8 * SECOND, 10 * SECOND, 5 * SECOND),
            (u64::MAX, SECOND, SECOND / 2),
            (SECOND, SECOND / 10, MARK_LIMIT),
        ] {
            assert_eq!(patience(took, timeout), expected, "{took} of {timeout}");
        }
    }
}
