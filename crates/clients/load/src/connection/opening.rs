//! From connect to the first request: TCP, then the handshake.

use rustix::event::epoll::EventFlags;

use super::http1::{Ending, Http1};
use super::http2::Http2;
use super::http3::Http3;
use super::sealing::{LEAST_ROOM, seal_close_notify};
use super::{Codec, Connection, Next, Phase, Readable, Spare};
use crate::context::{Context, INCOMING};
use crate::descriptors;
use crate::recorder::Begun;
use crate::requests_per_connection::CountDraws;
use crate::socket::{Moved, Socket};
use crate::{Close, Operation, Receive};
use wire::handshake::{Established, Negotiated, Remarks};
use wire::reception::Reception;
use wire::{ErrorKind, Failure};

/// Begins to connect a new socket, which is watched; the flag says whether it has connected.
fn dial(context: &mut Context<'_>, key: usize) -> Result<(Spare, bool), Failure> {
    let (source, usage) = (context.sources.next(), context.usage());
    let (address, close) = (context.job.address, context.plan.close);
    let congestion = context.congestion.as_ref();
    let (socket, is_connected) =
        Socket::connect(address, source.as_deref(), usage, close, congestion)?;
    let interest = if is_connected { INCOMING } else { EventFlags::OUT };
    context.watch(&socket, key, interest).map_err(|error| descriptors::lacking(&error))?;
    Ok((Spare { socket, interest, room: LEAST_ROOM }, is_connected))
}

/// The same for QUIC, whose datagrams find their server at once or not at all.
fn dial_udp(context: &mut Context<'_>, key: usize) -> Result<Spare, Failure> {
    let source = context.sources.next();
    let socket = Socket::connect_udp(context.job.address, source.as_deref())?;
    context.watch(&socket, key, INCOMING).map_err(|error| descriptors::lacking(&error))?;
    Ok(Spare { socket, interest: INCOMING, room: LEAST_ROOM })
}

/// The least time after which the kernel sends a packet again (`TCP_RTO_MIN`).
const LEAST_RETRANSMISSION: u64 = 200_000_000;

impl Connection {
    /// Begins to connect, on a spare socket if there is one; the flag says whether it has connected.
    pub(crate) fn dial(
        context: &mut Context<'_>,
        key: usize,
        spare: Option<Spare>,
    ) -> Result<(Self, bool), Failure> {
        let (Spare { socket, interest, room }, is_connected) = match spare {
            Some(spare) => spare.dial(context)?,
            None if context.plan.is_http3() => (dial_udp(context, key)?, false),
            None => dial(context, key)?,
        };
        let name = context.names.next();
        let phase = match context.plan.is_http3() {
            true => Phase::Open(Codec::Http3(Http3::new(context, &socket, name)?)),
            false => Phase::Connecting,
        };
        let now = context.recently();
        context.recorder.opens();
        let connection = Self {
            key,
            slot: 0,
            joining: Vec::new(),
            is_opening: false,
            waiting: Vec::new(),
            name,
            socket,
            interest,
            phase,
            received: Vec::new(),
            unsent: Vec::new(),
            started: now,
            progress: now,
            mark: 1,
            room,
            planned: context.planned.as_mut().map(CountDraws::next),
            given: 0,
            is_up: false,
            is_closed_by_server: false,
            readable: Readable::Unknown,
        };
        Ok((connection, is_connected))
    }

    /// Notes where it was opened late because a packet was lost. Only those that took so long are asked.
    pub(super) fn note_repeated(&self, context: &mut Context<'_>, now: u64) {
        if now.saturating_sub(self.started) >= LEAST_RETRANSMISSION && self.socket.has_sent_again()
        {
            context.recorder.repeated(context.window, now, self.started);
        }
    }

    /// The TCP connection is established: begins the handshake, or sends the request.
    pub(crate) fn connected(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        self.progress = context.now();
        match context.clients.get(self.name) {
            None => self.opened(context, None),
            Some(client) => {
                self.phase = Phase::Handshaking(client.start()?);
                self.advance(context)
            }
        }
    }

    pub(super) fn handshake(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        match self.socket.receive(&mut context.scratch)? {
            Moved::Blocked => Ok(Next::Wait),
            Moved::End => Err(Failure::new(ErrorKind::EarlyClose, "closed within the handshake")),
            Moved::Bytes(count) => {
                if count < context.scratch.len() {
                    self.readable = self.readable.drained();
                }
                context.received.lend(&mut self.received);
                self.received.extend_from_slice(&context.scratch[..count]);
                self.progress = context.recently();
                self.advance(context)
            }
        }
    }

    fn advance(&mut self, context: &mut Context<'_>) -> Result<Next, Failure> {
        let Phase::Handshaking(handshake) = &mut self.phase else { return Ok(Next::Wait) };
        context.unsent.lend(&mut self.unsent);
        match handshake.advance(&mut self.received, &mut self.unsent) {
            Ok(None) => {
                self.flush(context)?;
                Ok(Next::Wait)
            }
            Ok(Some(established)) => self.opened(context, Some(established)),
            Err(mut failure) => {
                // This may be an alert with the reason; whether it arrives does not matter here.
                let _ = self.flush(context);
                // no_application_protocol (RFC 7301, section 3.2).
                if failure.kind == ErrorKind::Alert
                    && context.plan.is_http2()
                    && failure.seen.contains("(120)")
                {
                    failure.kind = ErrorKind::NoH2;
                }
                Err(failure)
            }
        }
    }

    /// The connection can carry requests; over TLS, with what the handshake has established.
    fn opened(
        &mut self,
        context: &mut Context<'_>,
        established: Option<Established>,
    ) -> Result<Next, Failure> {
        let is_http2 = context.plan.is_http2();
        if is_http2 && established.as_ref().is_some_and(|of| !of.is_protocol_agreed) {
            let seen = "the server did not choose h2 in the handshake (ALPN)";
            return Err(Failure::new(ErrorKind::NoH2, seen));
        }
        let known = established.as_ref().map(|of| (&of.negotiated, &of.remarks));
        let now = self.is_connected(context, known);
        if !context.opens_with_response() {
            self.note_repeated(context, now);
        }
        match is_http2 {
            true => self.open_http2(context, established),
            false => self.open_http1(context, established, now),
        }
    }

    /// Counts the connection as established, and returns the time.
    pub(super) fn is_connected(
        &mut self,
        context: &mut Context<'_>,
        known: Option<(&Negotiated, &Remarks)>,
    ) -> u64 {
        let now = context.now();
        context.recorder.connected(context.window, now, self.started, known);
        if context.names.has_list() {
            let certificate = known.and_then(|(_, remarks)| remarks.certificate);
            context.recorder.named(self.name, certificate);
        }
        context.window.note_up(true, || now);
        self.is_up = true;
        now
    }

    fn open_http2(
        &mut self,
        context: &mut Context<'_>,
        established: Option<Established>,
    ) -> Result<Next, Failure> {
        let mut http2 = Box::new(Http2::new(context, established));
        for (place, begun) in self.waiting.drain(..) {
            http2.ask(context, place, begun, self.name);
        }
        self.phase = Phase::Open(Codec::Http2(http2));
        if self.received.is_empty() { Ok(Next::Wait) } else { self.receive(context) }
    }

    fn open_http1(
        &mut self,
        context: &mut Context<'_>,
        established: Option<Established>,
        now: u64,
    ) -> Result<Next, Failure> {
        let learned = context.learned.clone();
        let (mut reception, mut sealer) = match established {
            None => (Reception::plain(learned), None),
            Some(Established { opener, sealer, post_handshake, .. }) => {
                let reception = Reception::tls(opener, learned).with_post_handshake(post_handshake);
                (reception, Some(sealer))
            }
        };
        reception.set_answers(context.answers);
        if context.plan.receive() == Receive::Walk {
            reception = reception.skipping_mac_if_expected();
        }
        let is_handshake = context.plan.operation == Operation::Handshakes;
        if is_handshake {
            if let Some(sealer) = &mut sealer {
                seal_close_notify(sealer, &mut self.unsent)?;
            }
            reception = reception.over(self.received.len());
        }
        let ending = is_handshake.then_some(Ending::Handshake);
        let asked = self.waiting.pop().map(|(_, begun)| begun);
        let is_asked = asked.is_some();
        self.phase = Phase::Open(Codec::Http1(Http1::new(reception, sealer, asked, ending)));
        if is_handshake {
            match context.plan.close {
                Close::Fin => self.flush_and_end(context)?,
                Close::Rst => self.flush(context)?,
            }
            let next = if self.received.is_empty() { Next::Wait } else { self.receive(context)? };
            if next == Next::Wait {
                self.await_end();
            }
            return Ok(next);
        }
        if is_asked {
            if self.take_before_request(context)? != Next::Wait {
                return Err(Failure::new(ErrorKind::EarlyClose, "closed before a request"));
            }
            return self.request(context, now);
        }
        self.flush(context)?;
        if self.received.is_empty() { Ok(Next::Wait) } else { self.receive(context) }
    }

    /// The operations that it carries or was to carry, for another connection to do so.
    pub(crate) fn take_operations(&mut self) -> Vec<(usize, Begun)> {
        if let Phase::Open(Codec::Http1(http1)) = &mut self.phase {
            self.waiting.extend(http1.asked.take().map(|begun| (0, begun)));
        }
        std::mem::take(&mut self.waiting)
    }
}
