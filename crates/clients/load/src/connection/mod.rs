//! One connection of the load, from connect to close, with a codec that knows its protocol.
//!
//! A connection opens (`opening`), carries operations, and closes (`closing`). It moves bytes between its
//! socket and its codec (`http1`, `http2`), which has no socket. What has ended is put on a list of the thread
//! ([`Context::ended`]), from which its owner counts it, whatever the protocol.

mod closing;
mod counted;
mod datagrams;
mod exchange;
mod exchanging;
mod http1;
pub(crate) mod http2;
pub(crate) mod http3;
mod opening;
mod receiving;
mod sealing;
mod streams;
#[cfg(test)]
pub(crate) mod tests;

use rustix::event::epoll::EventFlags;

pub(crate) use self::closing::Spare;
use self::http1::Http1;
use self::http2::Http2;
use self::http3::Http3;
use self::receiving::{Readable, receive_into};
use crate::context::{Context, INCOMING};
use crate::ended::is_close;
use crate::recorder::Begun;
use crate::requests_per_connection::Planned;
use crate::socket::{Moved, Socket};
use crate::window::Edge;
use wire::Failure;
use wire::handshake::Handshake;
use wire::reception::Given;

/// A connection that is open or being opened.
pub(crate) struct Connection {
    /// The number by which its socket's events are known.
    pub(crate) key: usize,
    /// The first of the slots whose operations it carries.
    pub(crate) slot: usize,
    /// The slots that join the load when it is open, or has failed.
    pub(crate) joining: Vec<usize>,
    /// Whether it is among the [`Openings`](crate::openings::Openings) that the server is to prove.
    pub(crate) is_opening: bool,
    /// Operations that it carries once it is open, with their places.
    waiting: Vec<(usize, Begun)>,
    /// The number of its name; 0 where all have one.
    name: usize,
    socket: Socket,
    interest: EventFlags,
    phase: Phase,
    /// Received and not yet used.
    received: Vec<u8>,
    /// To be sent as soon as the socket has room.
    unsent: Vec<u8>,
    /// When it began to connect.
    pub(crate) started: u64,
    /// When bytes were last sent or received.
    progress: u64,
    /// The socket's low-water mark.
    mark: u32,
    /// The largest mark so far, which the buffer has room for.
    room: u32,
    /// After how many requests it ends, where that is planned.
    planned: Option<Planned>,
    /// How many requests it was given.
    given: u32,
    /// Whether it counts as up.
    is_up: bool,
    /// Whether the server has said that it closes the connection, or has closed it.
    is_closed_by_server: bool,
    readable: Readable,
}

enum Phase {
    Connecting,
    Handshaking(Box<dyn Handshake>),
    /// It can carry requests, or awaits the server's close.
    Open(Codec),
}

/// What is known of a protocol: it turns operations into bytes, and bytes into answers.
enum Codec {
    Http1(Box<Http1>),
    Http2(Box<Http2>),
    /// It opens by itself, and carries requests once it is established.
    Http3(Box<Http3>),
}

/// What becomes of a connection after an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// It waits for the next event.
    Wait,
    /// It waits too, but takes no more requests.
    Leave,
    /// It is done, or the server has closed it.
    Close,
    /// It is done, and its operation continues on a new one.
    Reconnect,
}

impl Connection {
    /// Whether requests can be sent.
    pub(crate) fn is_open(&self) -> bool {
        match &self.phase {
            Phase::Open(Codec::Http3(http3)) => http3.is_established(),
            phase => matches!(phase, Phase::Open(_)),
        }
    }

    /// Whether the server has shown that it has accepted the connection.
    pub(crate) fn is_accepted(&self) -> bool {
        match &self.phase {
            Phase::Open(Codec::Http2(http2)) => http2.has_begun(),
            Phase::Open(Codec::Http1(_)) => true,
            Phase::Open(Codec::Http3(http3)) => http3.is_established(),
            _ => false,
        }
    }

    /// Whether it is open and carries no operation.
    pub(crate) fn is_idle(&self) -> bool {
        match &self.phase {
            Phase::Open(Codec::Http1(http1)) => http1.asked.is_none(),
            Phase::Open(Codec::Http2(http2)) => http2.handler.streams.is_idle(),
            Phase::Open(Codec::Http3(http3)) => http3.is_idle(),
            _ => false,
        }
    }

    /// Whether the server ends it by this so as it may end one that it keeps no longer, where no operation fails
    /// with it.
    pub(crate) fn may_end_by(&self, failure: &Failure) -> bool {
        self.answers() > 0 && is_close(failure)
    }

    /// Whether another request can be given to it.
    pub(crate) fn takes_requests(&self) -> bool {
        match &self.phase {
            _ if self.has_given_all() => false,
            Phase::Open(Codec::Http2(http2)) => http2.takes_requests(),
            Phase::Open(Codec::Http3(http3)) => http3.takes_requests(),
            _ => true,
        }
    }

    /// Whether it has something to send that was left until all events were handled.
    pub(crate) fn is_due(&self) -> bool {
        match &self.phase {
            Phase::Open(Codec::Http2(http2)) => http2.is_due && self.unsent.is_empty(),
            Phase::Open(Codec::Http3(http3)) => http3.is_due && !http3.is_blocked(),
            _ => false,
        }
    }

    /// How many requests it has had answers to.
    fn answers(&self) -> u64 {
        match &self.phase {
            Phase::Open(Codec::Http1(http1)) => http1.answers,
            Phase::Open(Codec::Http2(http2)) => http2.handler.streams.counts.answers,
            Phase::Open(Codec::Http3(http3)) => http3.streams.counts.answers,
            _ => 0,
        }
    }

    /// Whether it was given the last request that is planned.
    #[inline]
    fn has_given_all(&self) -> bool {
        self.planned.is_some_and(|planned| self.given >= planned.count.get())
    }

    /// Begins an operation. [`Next::Reconnect`] where the server has closed the connection; then nothing was
    /// sent.
    #[inline(always)]
    pub(crate) fn begin(
        &mut self,
        context: &mut Context<'_>,
        place: usize,
        mut begun: Begun,
    ) -> Result<Next, Failure> {
        begun.tries.given(context.succeeded);
        let start = context.recently();
        match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) => {
                http1.asked = Some(begun);
                match self.take_before_request(context)? {
                    Next::Wait => self.request(context, start),
                    _ => Ok(Next::Reconnect),
                }
            }
            Phase::Open(Codec::Http2(http2)) => {
                self.given += 1;
                http2.ask(context, place, begun, self.name);
                Ok(Next::Wait)
            }
            Phase::Open(Codec::Http3(http3)) => {
                self.given += 1;
                http3.ask(context, place, begun);
                Ok(Next::Wait)
            }
            _ => {
                // A request of HTTP/1.1 counts when it is sent.
                self.given += u32::from(context.plan.is_http2());
                self.waiting.push((place, begun));
                Ok(Next::Wait)
            }
        }
    }

    /// Continues after the socket became ready.
    pub(crate) fn ready(
        &mut self,
        context: &mut Context<'_>,
        has_ended: bool,
    ) -> Result<Next, Failure> {
        self.readable = if has_ended { Readable::ToTheEnd } else { Readable::Unknown };
        if matches!(self.phase, Phase::Connecting) {
            self.socket.connected()?;
            return self.connected(context);
        }
        if !self.unsent.is_empty() {
            match self.send(context) {
                Ok(Next::Wait) => {}
                other => return other,
            }
        }
        match self.phase {
            Phase::Handshaking(_) => return self.handshake(context),
            Phase::Open(Codec::Http3(_)) => return self.receive_datagrams(context),
            _ => {}
        }
        if has_ended {
            self.end_too(context);
        }
        match self.planned {
            Some(_) => self.receive_end(context),
            None => self.receive(context),
        }
    }

    /// Sends what is due.
    #[inline(always)]
    pub(crate) fn send(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        match self.flush_all(context, false) {
            Ok(()) => Ok(Next::Wait),
            Err(failure) => self.receive_last(context, failure),
        }
    }

    /// Nothing can be sent. A server may answer before it has read a body, and close: what it said may have come
    /// without an event.
    #[cold]
    fn receive_last(
        &mut self,
        context: &mut Context<'_>,
        failure: Failure,
    ) -> Result<Next, Failure> {
        if self.readable == Readable::Nothing {
            self.readable = Readable::Unknown;
        }
        match self.receive(context) {
            Ok(Next::Wait) => Err(failure),
            answered => answered,
        }
    }

    pub(super) fn flush(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        self.flush_all(context, false)
    }

    /// Sends the last bytes of this side, and its end.
    fn flush_and_end(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        self.flush_all(context, true)?;
        self.socket.shutdown_send();
        Ok(())
    }

    #[inline(always)]
    fn flush_all(&mut self, context: &mut Context<'_>, are_last: bool) -> Result<(), Failure> {
        loop {
            if self.unsent.is_empty() {
                let more = match &mut self.phase {
                    Phase::Open(Codec::Http1(http1)) => http1.put(context, &mut self.unsent)?,
                    Phase::Open(Codec::Http2(http2)) => {
                        context.unsent.lend(&mut self.unsent);
                        http2.put(context, &mut self.unsent)?
                    }
                    _ => false,
                };
                if !more {
                    break;
                }
            }
            match self.socket.send(&self.unsent, are_last)? {
                Moved::Bytes(count) => {
                    self.unsent.drain(..count);
                    self.progress = context.recently();
                }
                Moved::Blocked | Moved::End => break,
            }
        }
        match &mut self.phase {
            Phase::Open(Codec::Http2(http2)) => http2.note_windows(self.unsent.is_empty()),
            // It has a transport of its own.
            Phase::Open(Codec::Http3(http3)) => http3.send(&self.socket, context)?,
            _ => {}
        }
        Ok(())
    }

    /// Receives until there is nothing more to read.
    fn receive(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let mut scratch = std::mem::take(&mut context.scratch);
        let received = self.receive_into(&mut scratch, context);
        context.scratch = scratch;
        let (given, turn) = received?;
        match given {
            Given::More => Ok(self.received_part(context, turn)),
            Given::Closed => self.ended(context),
            Given::Refused => self.refused(context),
            Given::Complete(completed) => self.completed(context, completed),
        }
    }

    /// Gives the codec what comes, until it reports something or nothing more can be read; returns how much
    /// was read.
    fn receive_into(
        &mut self,
        scratch: &mut [u8],
        context: &Context<'_>,
    ) -> Result<(Given, u64), Failure> {
        let Self { socket, readable, received, .. } = self;
        match &mut self.phase {
            Phase::Open(Codec::Http1(http1)) => {
                receive_into(&mut http1.reception, socket, readable, received, scratch, context)
            }
            Phase::Open(Codec::Http2(http2)) => {
                receive_into(&mut **http2, socket, readable, received, scratch, context)
            }
            _ => Ok((Given::More, 0)),
        }
    }

    /// The window begins or ends, and the bytes of a response may lie unread in the socket, which
    /// is to wake the thread only when all have come. To look costs a system call.
    pub(crate) fn crosses(&mut self, edge: Edge) {
        if self.mark > 1
            && let Phase::Open(Codec::Http1(http1)) = &mut self.phase
            && http1.asked.is_some()
            && http1.ending.is_none()
        {
            http1.counted.crosses(edge, self.received.len() as u64 + self.socket.readable());
        }
    }

    fn set_mark(&mut self, mark: u32) {
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

    /// After an event with this result: gives unused buffers back, and takes from the codec what has ended and
    /// whether it can go on.
    #[inline(always)]
    pub(crate) fn rest(
        &mut self,
        context: &mut Context<'_>,
        result: Result<Next, Failure>,
    ) -> Result<Next, Failure> {
        context.received.take_back(&mut self.received);
        context.unsent.take_back(&mut self.unsent);
        let settled = match &mut self.phase {
            Phase::Open(Codec::Http2(http2)) => {
                let settled = http2.settle();
                self.is_closed_by_server |= http2.handler.goaway.is_some();
                http2.handler.streams.hand_on(context);
                settled
            }
            Phase::Open(Codec::Http3(http3)) => {
                http3.streams.hand_on(context);
                Ok(())
            }
            _ => return result,
        };
        match result.and_then(|next| settled.map(|()| next)) {
            Ok(Next::Wait) if !self.takes_requests() => Ok(Next::Leave),
            result => result,
        }
    }

    pub(crate) fn update_interest(&mut self, context: &Context<'_>) {
        let interest = match &self.phase {
            Phase::Connecting => EventFlags::OUT,
            Phase::Open(Codec::Http3(http3)) if http3.is_blocked() => INCOMING | EventFlags::OUT,
            _ if self.unsent.is_empty() => INCOMING,
            _ => INCOMING | EventFlags::OUT,
        };
        if interest != self.interest {
            context.rewatch(&self.socket, self.key, interest);
            self.interest = interest;
        }
    }

    /// From now on events have this number.
    pub(crate) fn renumber(&mut self, context: &Context<'_>, key: usize) {
        context.rewatch(&self.socket, key, self.interest);
        self.key = key;
    }

    /// What it counted as up, it does no longer.
    pub(crate) fn down(&mut self, context: &Context<'_>) {
        if std::mem::take(&mut self.is_up) {
            context.window.note_up(false, || context.now());
        }
    }
}
