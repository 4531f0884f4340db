//! HTTP/3: several requests at once, each a stream of a QUIC connection. Here the transport is no socket's but
//! quinn-proto's, which is given datagrams and times, and says what is to be sent and when it wants to be woken.

mod failure;
#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod reading;
mod requests;

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};
use http3::{ErrorCode, PeerStreams, Side};
use quinn_proto::{
    Connection, ConnectionHandle, DatagramEvent, Dir, Event, StreamId, Transmit, VarInt, WriteError,
};
use units::Nanos;
use wire::Failure;
use wire::handshake::QuicHandshake;

use self::requests::{ByStream, Exchange, Request};
use super::streams::Streams;
use crate::context::Context;
use crate::ended::Ended;
use crate::quic::Quic;
use crate::recorder::Begun;
use crate::socket::Socket;
use crate::udp::{Sent, Udp};
use crate::{Operation, Plan, QuicCounts};

/// The most receives of a connection in one turn, so that the others get theirs.
const RECEIVES: usize = 8;

/// See the module.
pub(super) struct Http3 {
    quic: Connection,
    handle: ConnectionHandle,
    udp: Udp,
    /// The server's unidirectional streams.
    peer: PeerStreams,
    /// The number of its name.
    name: usize,
    pub(super) streams: Streams<Request>,
    by_stream: ByStream,
    /// The places of requests that have no stream yet, in their order; some have ended since.
    waiting: VecDeque<usize>,
    counts: QuicCounts,
    /// Where the operation is the handshake.
    handshake: Option<(usize, Begun)>,
    is_established: bool,
    /// Whether the server takes no more requests.
    has_gone_away: bool,
    /// Why it is over, once it is: the server has closed it in order, or not.
    end: Option<Result<(), Failure>>,
    /// What the socket had no room for.
    unsent: Option<Unsent>,
    /// Whether there may be something to send.
    pub(super) is_due: bool,
    /// Datagrams that were none of this connection.
    strays: u64,
    is_retry_seen: bool,
}

/// Datagrams that wait for the socket.
struct Unsent {
    transmit: Transmit,
    bytes: Vec<u8>,
}

impl Http3 {
    /// Begins a connection over this socket, with the name of this number.
    pub(super) fn new(
        context: &mut Context<'_>,
        socket: &Socket,
        name: usize,
    ) -> Result<Box<Self>, Failure> {
        let now = context.now();
        let job = context.job;
        let udp = Udp::new(socket, context.plan.max_udp_payload)?;
        let (handle, quic) = context.quic()?.connect(job, name, now)?;
        Ok(Box::new(Self {
            quic,
            handle,
            udp,
            peer: PeerStreams::new(Side::Server),
            name,
            streams: Streams::of(context),
            by_stream: ByStream::new(context.plan.streams()),
            waiting: VecDeque::new(),
            counts: QuicCounts::default(),
            handshake: None,
            is_established: false,
            has_gone_away: false,
            end: None,
            unsent: None,
            is_due: true,
            strays: 0,
            is_retry_seen: false,
        }))
    }

    pub(super) fn is_established(&self) -> bool {
        self.is_established
    }

    pub(super) fn is_idle(&self) -> bool {
        self.streams.is_idle() && self.handshake.is_none()
    }

    pub(super) fn takes_requests(&self) -> bool {
        !self.has_gone_away && self.end.is_none() && !self.streams.is_used_up()
    }

    /// Whether datagrams wait for the socket.
    pub(super) fn is_blocked(&self) -> bool {
        self.unsent.is_some()
    }

    /// What is known of the handshake.
    pub(super) fn known(&self) -> Option<QuicHandshake> {
        self.quic.crypto_session().handshake_data()?.downcast().ok().map(|known| *known)
    }

    /// Why nothing came of the first packets within the time limit.
    pub(super) fn why_unopened(&self, limit: Nanos) -> Failure {
        failure::why_unopened(limit, self.counts.datagrams_received, self.strays)
    }

    /// When QUIC wants to be woken, or an operation is to end. Inlined, it would keep the same of HTTP/1.1 from being so.
    #[inline(never)]
    pub(super) fn looks_at(&mut self, quic: &Quic) -> u64 {
        self.quic.poll_timeout().map_or(u64::MAX, |at| quic.time(at)).min(self.streams.due)
    }

    /// Begins an operation, whose request is sent as soon as it has a stream.
    pub(super) fn ask(&mut self, context: &mut Context<'_>, place: usize, begun: Begun) {
        self.is_due = true;
        if context.plan.operation == Operation::Handshakes {
            self.handshake = Some((place, begun));
            return;
        }
        self.streams.begin(context, place, begun, Request::default());
        self.waiting.push_back(place);
        if self.is_established && !self.open_waiting(context) {
            self.streams.waits(place);
        }
    }

    /// Gives streams to the requests that wait for one, as many as the server allows; false where those are too few.
    fn open_waiting(&mut self, context: &mut Context<'_>) -> bool {
        while let Some(&place) = self.waiting.front() {
            let waits = |exchange: &&mut Exchange| exchange.own.id.is_none();
            let Some(exchange) = self.streams.at(place).filter(waits) else {
                self.waiting.pop_front();
                continue;
            };
            let Some(id) = self.quic.streams().open(Dir::Bi) else {
                // It has not allowed more since the connection began.
                if self.quic.stats().frame_rx.max_streams_bidi == 0 {
                    self.streams.allows(self.streams.counts.requests);
                }
                return false;
            };
            self.waiting.pop_front();
            let Some(quic) = &mut context.quic else { return true };
            let head = quic.head(&context.requests, exchange.begun.times.object, self.name);
            (exchange.own.id, exchange.own.head) = (Some(id), head.bytes);
            let counts = &mut self.streams.counts;
            counts.fields_sent += head.fields;
            counts.header_bytes_sent += head.frame;
            self.streams.opens(place);
            self.by_stream.insert(id, place);
            self.write(context, id, place);
        }
        true
    }

    /// Sends more of a request.
    fn write(&mut self, context: &Context<'_>, id: StreamId, place: usize) {
        let Self { quic, streams, .. } = self;
        let Some(Quic { body: all, .. }) = &context.quic else { return };
        let has_bodies = streams.has_bodies();
        if has_bodies {
            // More than is sent until it is acknowledged would only wait here, and not for the server's windows.
            quic.set_send_window(2 * quic.congestion_state().window());
        }
        let is_open = loop {
            let Some(exchange) = streams.at(place) else { return };
            let own = &mut exchange.own;
            let mut body = all.slice(all.len() - exchange.body_left..);
            let part = if own.head.is_empty() { &mut body } else { &mut own.head };
            if part.is_empty() {
                // It may have been stopped.
                let _ = quic.send_stream(id).finish();
                break true;
            }
            match quic.send_stream(id).write_chunks(std::slice::from_mut(part)) {
                Ok(_) => {
                    exchange.progress = context.recently();
                    if own.head.is_empty() {
                        exchange.body_left = body.len();
                    }
                }
                Err(WriteError::Blocked) => break is_window_open(quic, id),
                // What it does not read is of no use to it. Whether there is an answer is seen elsewhere.
                Err(WriteError::Stopped(_) | WriteError::ClosedStream) => break true,
            }
        };
        if has_bodies {
            streams.note_window(place, is_open);
        }
    }

    /// The server reads no more of a request.
    fn stopped(&mut self, id: StreamId, code: VarInt) {
        // The stream is the server's to forget only then (RFC 9000, section 3.5).
        let _ = self.quic.send_stream(id).reset(code);
        self.is_due = true;
        if self.streams.has_bodies()
            && let Some(place) = self.place(id)
            && let Some(exchange) = self.streams.at(place)
        {
            // Some of it was not taken, whether or not it is on its way.
            exchange.body_left = exchange.body_left.max(1);
            self.streams.note_window(place, true);
        }
    }

    fn place(&self, id: StreamId) -> Option<usize> {
        self.by_stream.find(id, &self.streams)
    }

    /// Takes what has come.
    pub(super) fn receive(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let now = context.now();
        let (address, most) = (context.job.address, context.plan.max_udp_payload());
        let Some(quic) = &mut context.quic else { return Ok(()) };
        let at = quic.instant(now);
        let Quic { endpoint, inbox, outbox, .. } = quic;
        let counts = &mut self.counts;
        for _ in 0..RECEIVES {
            let may_have_more = self.udp.receive(socket, inbox, |received| {
                counts.receives += 1;
                counts.bytes_received += received.bytes.len() as u64;
                // One piece of memory for all of them: what is read of streams stays in it.
                let mut bytes = BytesMut::from(received.bytes);
                while !bytes.is_empty() {
                    let datagram = bytes.split_to(received.length.min(bytes.len()));
                    counts.datagrams_received += 1;
                    counts.longest_received = counts.longest_received.max(datagram.len() as u64);
                    counts.too_long_received += u64::from(datagram.len() > most.into());
                    self.is_retry_seen |= is_retry(&datagram);
                    match endpoint.handle(at, address, None, received.ecn, datagram, outbox) {
                        Some(DatagramEvent::ConnectionEvent(handle, event))
                            if handle == self.handle =>
                        {
                            self.quic.handle_event(event);
                        }
                        _ => self.strays += 1,
                    }
                    outbox.clear();
                }
            })?;
            if !may_have_more {
                break;
            }
        }
        self.is_due = true;
        Ok(())
    }

    /// The time has come at which QUIC wanted to be woken.
    pub(super) fn wake(&mut self, context: &Context<'_>, now: u64) {
        if let Some(quic) = &context.quic {
            self.quic.handle_timeout(quic.instant(now));
            self.is_due = true;
        }
    }

    /// Does what follows from what has come.
    pub(super) fn turn(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        self.streams.at_time(context.recently(), context);
        while let Some(event) = self.quic.poll() {
            let result = match event {
                Event::Connected => {
                    self.is_established = true;
                    self.udp.is_established = true;
                    self.open_control();
                    if !self.open_waiting(context) {
                        self.streams.wait_for_streams();
                    }
                    Ok(())
                }
                Event::Stream(event) => self.stream(context, event),
                Event::ConnectionLost { reason } => {
                    self.end = Some(failure::why_lost(reason, self.known()));
                    Ok(())
                }
                Event::HandshakeDataReady | Event::DatagramReceived | Event::DatagramsUnblocked => {
                    Ok(())
                }
            };
            if let Err(breach) = result {
                self.close(context, breach.code, breach.what);
                return Err(failure::of(breach));
            }
        }
        let Some(quic) = &mut context.quic else { return Ok(()) };
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = quic.endpoint.handle_event(self.handle, event) {
                self.quic.handle_event(event);
            }
        }
        // The server has taken the client's Finished (RFC 9001, section 4.1.2).
        if self.handshake.is_some()
            && self.quic.stats().frame_rx.handshake_done > 0
            && let Some((place, begun)) = self.handshake.take()
        {
            let at = context.now();
            let (bytes, result) = ((0, 0), Ok(None));
            let ended =
                Ended { place, begun, at, bytes, result, is_early: false, unanswered: None };
            context.ends(ended, 0);
            self.has_gone_away = true;
        }
        Ok(())
    }

    /// How the connection has ended, if it has.
    pub(super) fn end(&self) -> Option<Result<(), Failure>> {
        self.end.clone()
    }

    fn open_control(&mut self) {
        // A server that leaves no room for it gets no SETTINGS, and is free to mind that.
        let Some(control) = self.quic.streams().open(Dir::Uni) else { return };
        let mut begin = Vec::new();
        http3::put_control_stream(&mut begin);
        let _ = self.quic.send_stream(control).write(&begin);
    }

    /// Ends a stream in both directions.
    fn cancel(&mut self, id: StreamId) {
        // Either may have ended already.
        let _ = self.quic.recv_stream(id).stop(code(ErrorCode::RequestCancelled));
        let _ = self.quic.send_stream(id).reset(code(ErrorCode::RequestCancelled));
        self.is_due = true;
    }

    /// Ends operations without progress for too long, or that take too long in all: their streams are reset, and
    /// they have failed.
    pub(super) fn end_stalled(&mut self, now: u64, plan: &Plan) {
        let mut stalled = Vec::new();
        self.streams.end_stalled(now, plan, |request| stalled.extend(request.id));
        stalled.into_iter().for_each(|id| self.cancel(id));
    }

    /// Sends what is due.
    pub(super) fn send(
        &mut self,
        socket: &Socket,
        context: &mut Context<'_>,
    ) -> Result<(), Failure> {
        let now = context.recently();
        let Some(quic) = &mut context.quic else { return Ok(()) };
        let at = quic.instant(now);
        let Self { udp, counts, quic: connection, unsent, .. } = self;
        if let Some(Unsent { transmit, bytes }) = unsent.take() {
            match udp.send(socket, &transmit, &bytes)? {
                Sent::Blocked => {
                    *unsent = Some(Unsent { transmit, bytes });
                    return Ok(());
                }
                sent => note(counts, &transmit, sent),
            }
        }
        let most = udp.most_segments(connection.current_mtu().into());
        let out = &mut quic.outbox;
        loop {
            out.clear();
            let Some(transmit) = connection.poll_transmit(at, most, out) else { break };
            match udp.send(socket, &transmit, out)? {
                Sent::Blocked => {
                    *unsent = Some(Unsent { transmit, bytes: std::mem::take(out) });
                    break;
                }
                sent => note(counts, &transmit, sent),
            }
        }
        self.is_due = false;
        Ok(())
    }

    /// Ends the connection; what is to be said about it is for [`Self::send`].
    fn close(&mut self, context: &Context<'_>, why: ErrorCode, what: &'static str) {
        if let Some(quic) = &context.quic
            && !self.quic.is_closed()
        {
            let now = quic.instant(context.recently());
            self.quic.close(now, code(why), Bytes::from_static(what.as_bytes()));
        }
    }

    /// The connection is over: says so to the server where `says_so`, and counts what it did.
    pub(super) fn leave(&mut self, socket: &Socket, context: &mut Context<'_>, says_so: bool) {
        if says_so {
            self.close(context, ErrorCode::NoError, "");
            // What is lost of it the server learns by its idle timeout.
            let _ = self.send(socket, context);
        }
        let Some(quic) = &mut context.quic else { return };
        let _ = quic.endpoint.handle_event(self.handle, quinn_proto::EndpointEvent::drained());
        let stats = self.quic.stats();
        let Self { counts, streams, .. } = self;
        streams.counts.connections = u64::from(self.is_established);
        streams.counts.by_alpn = streams.counts.connections;
        counts.retries = u64::from(self.is_established && self.is_retry_seen);
        // It gives up longer datagrams where the path does not carry them (RFC 8899, section 4.3).
        if stats.path.black_holes_detected > 0 {
            counts.path_payload = Some(stats.path.current_mtu.into());
        }
        if counts.path_payload.is_some() || self.udp.was_too_long.get() {
            quic.has_shorter_path();
        }
        counts.packets_lost = stats.path.lost_packets;
        counts.bytes_lost = stats.path.lost_bytes;
        counts.acks_sent = stats.frame_tx.acks;
        counts.acks_received = stats.frame_rx.acks;
        counts.drops = socket.drops();
        context.recorder.outcome.quic.add(*counts);
        context.recorder.outcome.streams.add(streams.counts);
    }

    /// It fails, and with it what it carries.
    pub(super) fn fail(&mut self, context: &mut Context<'_>, failure: &Failure, at: u64) {
        if let Some((place, begun)) = self.handshake.take() {
            context.ends(Ended::lost(place, begun, at, failure.clone()), 0);
        }
        self.streams.fail_all(failure, at);
        self.streams.hand_on(context);
    }

    /// The handshake that is the operation under way, if it is.
    pub(super) fn take_handshake(&mut self) -> Option<Begun> {
        self.handshake.take().map(|(_, begun)| begun)
    }
}

/// Whether a stream that takes no more for now waits for this side, and not for the server's windows.
fn is_window_open(quic: &mut Connection, id: StreamId) -> bool {
    quic.set_send_window(u64::MAX);
    // Nothing is written.
    let is_open = !matches!(quic.send_stream(id).write(&[]), Err(WriteError::Blocked));
    quic.set_send_window(2 * quic.congestion_state().window());
    is_open
}

/// Notes what was sent.
fn note(counts: &mut QuicCounts, transmit: &Transmit, sent: Sent) {
    match sent {
        Sent::Refused => return counts.sends_refused += 1,
        Sent::TooLong => return,
        Sent::All | Sent::Blocked => {}
    }
    let Transmit { size, segment_size, .. } = *transmit;
    let longest = segment_size.unwrap_or(size);
    counts.sends += 1;
    counts.bytes_sent += size as u64;
    counts.datagrams_sent += size.div_ceil(longest) as u64;
    counts.longest_sent = counts.longest_sent.max(longest as u64);
}

fn code(code: ErrorCode) -> VarInt {
    VarInt::from_u32(code as u32)
}

/// Whether a datagram begins with a Retry packet of version 1 (RFC 9000, section 17.2.5).
fn is_retry(datagram: &[u8]) -> bool {
    matches!(datagram, [0xf0..=0xff, 0, 0, 0, 1, ..])
}
