//! How a connection ends: when its time is up, when the server stops, after its last response.

use std::io::{self, Read};
use std::time::{Duration, Instant};

use super::{Afterwards, Channel, Connection, Next, Shared, State};
use crate::library::{Session, TlsContext};
use crate::response::Status;

/// How long a connection may linger after an answer that the client may not have expected, so
/// that what it still sends does not reset the connection before it has read the answer (RFC 9112,
/// section 9.6).
const LINGER: Duration = Duration::from_secs(2);

impl<L: TlsContext> Connection<L> {
    /// Ends the connection in the way that its state asks for, its time being up.
    pub(crate) fn expire(&mut self, shared: &mut Shared<'_, L>) -> Next {
        if matches!(self.state, State::Request) && !self.input.is_empty() {
            self.refuse(Status::RequestTimeout);
            // It has had its time; this is for the answer to arrive.
            self.deadline = shared.now + LINGER.min(shared.timeout / 4);
            return self.advance(shared).unwrap_or(Next::Drop);
        }
        if self.is_paused() { Next::Wait } else { Next::Drop }
    }

    /// The server stops: an idle connection ends in order, others after their response.
    pub(crate) fn drain(&mut self, shared: &mut Shared<'_, L>) -> Next {
        match &mut self.state {
            State::Request if self.input.is_empty() => self.turn(shared),
            State::Response(transfer, _) => {
                transfer.close_afterwards();
                Next::Wait
            }
            State::Multiplexed(multiplexed) => {
                multiplexed.go_away();
                self.turn(shared)
            }
            _ => Next::Wait,
        }
    }

    /// The client sends no more. Where it still listens, it gets an orderly end.
    pub(super) fn end_of_input(&mut self) -> io::Result<Next> {
        if let Channel::Tls(session) = &mut self.channel
            && session.wire().hung_up()
        {
            session.abandon();
            self.wire().send_gathered()?;
            return Ok(Next::Drop);
        }
        self.end(Afterwards::Ended)
    }

    /// Says goodbye and sends what is left.
    pub(super) fn end(&mut self, afterwards: Afterwards) -> io::Result<Next> {
        if let Channel::Tls(session) = &mut self.channel {
            session.close();
        }
        self.state = State::Ending(afterwards);
        self.finish(afterwards)
    }

    pub(super) fn finish(&mut self, afterwards: Afterwards) -> io::Result<Next> {
        if !self.wire().send_gathered()? {
            return Ok(Next::Wait);
        }
        if let Channel::Tls(session) = &mut self.channel {
            session.close_when_sent();
        }
        let is_read = match afterwards {
            Afterwards::Ended => self.input.is_empty(),
            Afterwards::Close => self.input.is_empty() && !self.has_more_input(),
            Afterwards::Linger => false,
        };
        if is_read {
            return Ok(Next::Drop);
        }
        self.wire().shut_down();
        self.state = State::Linger;
        self.deadline = self.deadline.min(Instant::now() + LINGER);
        Ok(Next::Continue)
    }

    /// Whether the socket holds more than was read, such as a pipelined request. To close it then would reset
    /// the connection, and take an answer that is still under way with it.
    fn has_more_input(&mut self) -> bool {
        matches!(self.wire().read(&mut [0]), Ok(1))
    }

    /// Drops what arrives after the last answer, undecrypted.
    pub(super) fn drop_input(&mut self, shared: &mut Shared<'_, L>) -> io::Result<Next> {
        match self.wire().read(shared.writing.space()) {
            Ok(0) => Ok(Next::Drop),
            Ok(_) => Ok(Next::Continue),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Next::Wait),
            Err(error) => Err(error),
        }
    }
}
