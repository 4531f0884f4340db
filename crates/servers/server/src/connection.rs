//! The life of a connection: handshake, requests and responses in turn, an orderly end.

mod ending;

use std::io::{self, Read};
use std::time::{Duration, Instant};

use counters::CounterRow;
use tls::SendMode;

use crate::content::Contents;
use crate::input::Input;
use crate::library::{Handshake, Pause, Session, TlsContext};
use crate::multiplexed::Multiplexed;
use crate::request::{self, Parsed, Request};
use crate::response::{Persistence, Status};
use crate::transfer::{Transfer, Writing, encrypt_all};
use crate::wire::Wire;

/// What all connections of a thread use.
pub(crate) struct Shared<'a, L> {
    pub(crate) library: &'a L,
    pub(crate) contents: &'a Contents,
    /// Where its thread counts, if anywhere.
    pub(crate) row: Option<CounterRow>,
    pub(crate) writing: Writing,
    /// The time of this round.
    pub(crate) now: Instant,
    pub(crate) timeout: Duration,
    /// The server stops: no connection is kept for another request.
    pub(crate) draining: bool,
}

/// What a connection is to do after a turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Wait for its socket.
    Wait,
    /// Take another turn when the others have had theirs.
    Continue,
    /// Be resumed after this.
    Park(Pause),
    /// Be dropped, which closes the socket.
    Drop,
}

/// A connection, encrypted or not.
pub(crate) struct Connection<L: TlsContext> {
    channel: Channel<L::Session>,
    state: State,
    input: Input,
    deadline: Instant,
    /// Whether it is in the queue of those that can continue.
    pub(crate) queued: bool,
}

enum Channel<S> {
    Plain(Wire),
    Tls(S),
}

enum State {
    /// For TLS, and nothing was received yet. The channel is a plain one until then, for OpenSSL
    /// would hold 40 KiB for it.
    AwaitingClientHello,
    Handshake,
    /// The accelerator works on the handshake. OpenSSL frees no paused job, so that the connection may
    /// not be dropped, whatever becomes of its socket.
    Paused,
    /// Waiting for a request, or receiving its head.
    Request,
    Response(Transfer, Afterwards),
    /// HTTP/2, from its preface on.
    Multiplexed(Box<Multiplexed>),
    /// All is written; the connection ends when it is sent.
    Ending(Afterwards),
    /// All is sent; what arrives is dropped until the client closes.
    Linger,
}

/// How a connection ends after a response, if it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Afterwards {
    /// The client sends no more.
    Ended,
    /// The request was read to its end.
    Close,
    /// The client may still be sending.
    Linger,
}

impl<L: TlsContext> Connection<L> {
    pub(crate) fn plain(wire: Wire, deadline: Instant) -> Self {
        Self::new(Channel::Plain(wire), State::Request, deadline)
    }

    pub(crate) fn tls(wire: Wire, deadline: Instant) -> Self {
        Self::new(Channel::Plain(wire), State::AwaitingClientHello, deadline)
    }

    fn new(channel: Channel<L::Session>, state: State, deadline: Instant) -> Self {
        Self { channel, state, input: Input::default(), deadline, queued: false }
    }

    pub(crate) fn wire(&mut self) -> &mut Wire {
        self.channel.wire()
    }

    /// Whether the accelerator works on its handshake.
    pub(crate) fn is_paused(&self) -> bool {
        matches!(self.state, State::Paused)
    }

    /// Whether its time was up at `now`.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        self.deadline <= now
    }

    /// Goes on as far as the socket and fairness allow. A connection whose time is up gets its
    /// last turn through [`Connection::expire`].
    pub(crate) fn turn(&mut self, shared: &mut Shared<'_, L>) -> Next {
        if self.is_paused() {
            return Next::Wait;
        }
        self.resume(shared)
    }

    /// As [`Connection::turn`], and continues a handshake that is paused.
    pub(crate) fn resume(&mut self, shared: &mut Shared<'_, L>) -> Next {
        let sent = self.wire().sent();
        let next = self.advance(shared).unwrap_or(Next::Drop);
        let sending = match self.state {
            State::Response(..) | State::Multiplexed(_) | State::Ending(_) => true,
            State::Request => self.input.is_empty(),
            State::AwaitingClientHello | State::Handshake | State::Paused | State::Linger => false,
        };
        if sending && self.wire().sent() > sent {
            self.postpone(shared);
        }
        next
    }

    /// Gives it time again, after some progress. A head that is on its way over HTTP/2 has its time from its first
    /// byte on, whatever else goes on beside it.
    fn postpone(&mut self, shared: &Shared<'_, L>) {
        let begun = match &self.state {
            State::Multiplexed(multiplexed) => multiplexed.head_begun(),
            _ => None,
        };
        self.deadline = begun.unwrap_or(shared.now) + shared.timeout;
    }

    fn advance(&mut self, shared: &mut Shared<'_, L>) -> io::Result<Next> {
        let mut written = 0;
        if self.is_paused()
            && let Some(next) = self.handshake(shared)?
        {
            return Ok(next);
        }
        loop {
            let enough = shared.writing.enough();
            let turn_is_over = written >= enough;
            if turn_is_over || self.wire().gathered() >= enough || self.wire().has_tail() {
                if !self.wire().send_gathered()? {
                    return Ok(Next::Wait);
                }
                if turn_is_over {
                    return Ok(Next::Continue);
                }
            }
            match &mut self.state {
                State::AwaitingClientHello => {
                    if !self.begin_tls(shared.library)? {
                        return Ok(Next::Wait);
                    }
                    self.state = State::Handshake;
                }
                State::Handshake | State::Paused => {
                    if let Some(next) = self.handshake(shared)? {
                        return Ok(next);
                    }
                }
                State::Request => {
                    if let Some(next) = self.receive(shared)? {
                        return Ok(next);
                    }
                }
                State::Response(..) => match self.transfer(shared)? {
                    Ok(count) => written += count,
                    Err(next) => return Ok(next),
                },
                State::Multiplexed(_) => match self.multiplex(shared)? {
                    Ok(count) => written += count,
                    Err(next) => return Ok(next),
                },
                State::Ending(afterwards) => {
                    let afterwards = *afterwards;
                    return self.finish(afterwards);
                }
                State::Linger => return self.drop_input(shared),
            }
        }
    }

    /// Writes more of a response; how much, or what is to be done instead.
    fn transfer(&mut self, shared: &mut Shared<'_, L>) -> io::Result<Result<usize, Next>> {
        let State::Response(transfer, afterwards) = &mut self.state else { return Ok(Ok(0)) };
        let mode = self.channel.send_mode();
        let count = match &mut self.channel {
            Channel::Tls(session) if !mode.is_kernels() => {
                let before = session.wire().gathered();
                transfer.encrypt(session, &mut shared.writing)?;
                session.wire().gathered() - before
            }
            channel => {
                let wire = channel.wire();
                let before = wire.sent();
                if !transfer.send_plain(wire, &mut shared.writing, mode)? {
                    return Ok(Err(Next::Wait));
                }
                (wire.sent() - before) as usize + 1
            }
        };
        if transfer.is_written() {
            if transfer.persistence() == Persistence::Close {
                let afterwards = *afterwards;
                return self.end(afterwards).map(Err);
            }
            self.await_request(shared);
        }
        Ok(Ok(count))
    }

    /// Takes what has come over HTTP/2, and writes what is due; how much, or what is to be done instead.
    fn multiplex(&mut self, shared: &mut Shared<'_, L>) -> io::Result<Result<usize, Next>> {
        let State::Multiplexed(multiplexed) = &mut self.state else { return Ok(Ok(0)) };
        let received = match self.input.is_empty() {
            true => self.channel.read(shared.writing.space()),
            false => Ok(self.input.take_into(shared.writing.space())),
        };
        let has_received = match received {
            Ok(0) => return self.end_of_input().map(Err),
            Ok(count) => {
                let received = &shared.writing.space()[..count];
                let requests = multiplexed.receive(received, shared.contents, shared.now)?;
                if let Some(row) = shared.row {
                    row.count_requests(matches!(self.channel, Channel::Tls(_)), requests);
                }
                self.postpone(shared);
                true
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => false,
            Err(error) => return Err(error),
        };
        let State::Multiplexed(multiplexed) = &mut self.state else { return Ok(Ok(0)) };
        let plaintext = multiplexed.next(shared.writing.enough())?;
        let count = plaintext.len();
        match &mut self.channel {
            Channel::Plain(wire) => wire.gather(plaintext),
            Channel::Tls(session) => encrypt_all(session, plaintext)?,
        }
        if !multiplexed.is_alive() || (shared.draining && multiplexed.is_idle()) {
            // The client may still be sending.
            return self.end(Afterwards::Linger).map(Err);
        }
        if count == 0 && !has_received {
            return self.pause().map(Err);
        }
        Ok(Ok(count))
    }

    /// Makes the channel a TLS one, once something has come for it.
    fn begin_tls(&mut self, library: &L) -> io::Result<bool> {
        let wire = self.wire();
        if !wire.is_readable() {
            return Ok(false);
        }
        let wire = wire.clone();
        self.channel = Channel::Tls(library.accept(wire)?);
        Ok(true)
    }

    /// Takes the handshake as far as it goes; `None` when it is complete.
    fn handshake(&mut self, shared: &Shared<'_, L>) -> io::Result<Option<Next>> {
        let Channel::Tls(session) = &mut self.channel else { return Ok(None) };
        let outcome = session.handshake();
        let mode = session.send_mode();
        if let Some(row) = shared.row
            && (matches!(outcome, Ok(Handshake::Complete)) || outcome.is_err() && mode.is_kernels())
        {
            row.count_connection(mode);
        }
        match outcome {
            Ok(Handshake::Complete) => {
                let is_http2 = session.is_http2();
                self.await_request(shared);
                if is_http2 {
                    self.state = State::Multiplexed(Box::new(Multiplexed::new()));
                }
                Ok(None)
            }
            Ok(Handshake::Unready) => {
                self.state = State::Handshake;
                self.pause().map(Some)
            }
            Ok(Handshake::Paused(pause)) => {
                self.state = State::Paused;
                // A broken connection ends when its handshake goes on.
                let _: io::Result<bool> = self.wire().send_gathered();
                Ok(Some(Next::Park(pause)))
            }
            Err(error) => {
                // No job is paused any more. The alert that says why is worth an attempt.
                self.state = State::Handshake;
                self.wire().send_gathered()?;
                Err(error)
            }
        }
    }

    fn await_request(&mut self, shared: &Shared<'_, L>) {
        self.state = State::Request;
        self.deadline = shared.now + shared.timeout;
    }

    /// Sends what has gathered before waiting for the socket.
    fn pause(&mut self) -> io::Result<Next> {
        self.wire().send_gathered()?;
        Ok(Next::Wait)
    }

    /// Begins the response to a request that is there, or receives more of one. `None` where
    /// there is something to go on with.
    fn receive(&mut self, shared: &mut Shared<'_, L>) -> io::Result<Option<Next>> {
        if !self.input.is_empty() {
            let mut input = std::mem::take(&mut self.input);
            let begun = self.begin(input.bytes(), shared);
            input.consume(begun.unwrap_or(0));
            self.input = input;
            if begun.is_some() {
                return Ok(None);
            }
        }
        let is_first = self.input.is_empty();
        let space = shared.writing.space();
        let room = self.input.room().min(space.len());
        let outcome = self.channel.read(&mut space[..room]);
        match outcome {
            Ok(0) => self.end_of_input().map(Some),
            Ok(count) => {
                let mut begun = None;
                if is_first {
                    // The whole head has this long, however it trickles.
                    self.deadline = shared.now + shared.timeout;
                    // Most heads come whole, and are not kept.
                    begun = self.begin(&shared.writing.received()[..count], shared);
                }
                self.input.append(&shared.writing.received()[begun.unwrap_or(0)..count]);
                Ok(None)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                if is_first && shared.draining {
                    return self.end(Afterwards::Close).map(Some);
                }
                self.pause().map(Some)
            }
            Err(error) => Err(error),
        }
    }

    /// Begins what these bytes ask for. How many of them that took; `None` where they are a part of a head.
    fn begin(&mut self, bytes: &[u8], shared: &Shared<'_, L>) -> Option<usize> {
        if matches!(self.channel, Channel::Plain(_)) {
            match http2::begins(bytes) {
                Some(true) => {
                    self.state = State::Multiplexed(Box::new(Multiplexed::new()));
                    return Some(0);
                }
                Some(false) => {}
                None => return None,
            }
        }
        match request::parse(bytes) {
            Parsed::Complete(request, length) => {
                self.respond(request, shared);
                Some(length)
            }
            Parsed::Bad(status) => {
                self.refuse(status);
                Some(0)
            }
            Parsed::Incomplete => None,
        }
    }

    fn respond(&mut self, request: Request, shared: &Shared<'_, L>) {
        if let Some(row) = shared.row {
            row.count_requests(matches!(self.channel, Channel::Tls(_)), 1);
        }
        let Request { wanted, persistence, has_body } = request;
        let head_only = wanted.as_ref().is_ok_and(|wanted| wanted.head_only);
        let persistence = if shared.draining { Persistence::Close } else { persistence };
        let content = wanted.and_then(|wanted| shared.contents.find(&wanted.path));
        let transfer = match content {
            Ok(content) => Transfer::object(content, head_only, persistence),
            Err(status) => Transfer::error(status, head_only, persistence),
        };
        let afterwards = if has_body { Afterwards::Linger } else { Afterwards::Close };
        self.state = State::Response(transfer, afterwards);
    }

    /// Answers what is no request, or came too late, and ends the connection.
    fn refuse(&mut self, status: Status) {
        let transfer = Transfer::error(status, false, Persistence::Close);
        self.state = State::Response(transfer, Afterwards::Linger);
    }
}

impl<S: Session> Channel<S> {
    fn wire(&mut self) -> &mut Wire {
        match self {
            Self::Plain(wire) => wire,
            Self::Tls(session) => session.wire_mut(),
        }
    }

    /// How what it is given is sent; over plain HTTP, as it is.
    fn send_mode(&self) -> SendMode {
        match self {
            Self::Plain(_) => SendMode::User,
            Self::Tls(session) => session.send_mode(),
        }
    }

    /// Reads decrypted bytes; 0 is the end, orderly or not.
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(wire) => wire.read(room),
            Self::Tls(session) => session.read(room),
        }
    }
}
