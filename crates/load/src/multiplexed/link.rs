//! One HTTP/2 connection: from connect to close. It opens the records and gives what they hold to the
//! session; what became of its streams is for its owner to take.

use http2::{Client, ClientSettings, SessionError};
use rustix::event::epoll::EventFlags;
use wire::handshake::{Established, Handshake};
use wire::reception::{Content, Records};
use wire::record::{MOST_PLAINTEXT, Sealer, content_type};
use wire::{ErrorKind, Failure};

use super::streams::{Exchange, Streams};
use crate::connection::{Dialled, dial, unsealed};
use crate::context::{Context, INCOMING};
use crate::requests::Fields;
use crate::requests_per_connection::{CountDraws, Planned};
use crate::socket::{Moved, Socket};

/// The most bytes that one connection receives in one turn, so that the others get theirs.
const LONGEST_TURN: usize = 8 << 20;

/// A window that no response fills, so that the client never holds the server up. It is not the largest
/// one, which a server that adds to it would overflow.
pub const HTTP2_WINDOW: u32 = 1 << 30;

/// The largest frame that the server may send: what all servers can.
pub const HTTP2_MAX_FRAME: u32 = http2::DEFAULT_MAX_FRAME;

/// How much waits encrypted until the socket has room for it; about that of a body over HTTP/1.1.
const PART: usize = 16 * MOST_PLAINTEXT;

/// See the module.
pub(super) struct Link {
    /// The number of its name.
    name: usize,
    socket: Socket,
    interest: EventFlags,
    phase: Phase,
    /// Received and not yet used.
    received: Vec<u8>,
    /// To be sent as soon as the socket has room.
    unsent: Vec<u8>,
    /// When it began to connect.
    pub(super) started: u64,
    /// When bytes were last sent or received.
    progress: u64,
    pub(super) streams: Streams,
    /// After how many requests it ends, where that is planned, and how many it was given.
    planned: Option<Planned>,
    given: u32,
    /// Whether the session has something to send.
    pub(super) is_due: bool,
}

enum Phase {
    Connecting,
    Handshaking(Box<dyn Handshake>),
    Open(Box<Session>),
}

/// The protocol, once it can begin.
struct Session {
    client: Client<Streams>,
    /// Over TLS.
    tls: Option<(Records, Sealer)>,
    /// Whether anything has come.
    has_begun: bool,
}

impl Link {
    /// Begins to connect; events of the socket have the number `key`.
    pub(super) fn connect(
        context: &mut Context<'_>,
        key: usize,
        places: usize,
        now: u64,
    ) -> Result<Self, Failure> {
        let Dialled { socket, interest, is_connected, .. } = dial(context, key)?;
        context.recorder.opens();
        let mut link = Self {
            name: context.names.next(),
            socket,
            interest,
            phase: Phase::Connecting,
            received: Vec::new(),
            unsent: Vec::new(),
            started: now,
            progress: now,
            streams: Streams::new(places, context.requests.shared_body()),
            planned: context.planned.as_mut().map(CountDraws::next),
            given: 0,
            is_due: false,
        };
        if is_connected && let Err(failure) = link.connected(context) {
            link.close(context);
            return Err(failure);
        }
        link.update_interest(context, key);
        Ok(link)
    }

    /// The number of its name.
    pub(super) fn name(&self) -> usize {
        self.name
    }

    /// Whether requests can be sent.
    pub(super) fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    /// Continues after the socket became ready.
    pub(super) fn ready(&mut self, context: &mut Context<'_>, key: usize) -> Result<(), Failure> {
        if matches!(self.phase, Phase::Connecting) {
            self.socket.connected()?;
            self.connected(context)?;
        } else {
            if !self.unsent.is_empty() {
                self.flush(context)?;
                self.is_due |= self.unsent.is_empty();
            }
            match self.phase {
                Phase::Handshaking(_) => self.handshake(context)?,
                _ => self.receive(context)?,
            }
        }
        self.update_interest(context, key);
        Ok(())
    }

    fn connected(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        self.progress = context.now();
        match context.clients.get(self.name) {
            None => {
                context.recorder.connected(context.window, self.progress, self.started, None);
                if context.requests.names() > 0 {
                    context.recorder.named(self.name, None);
                }
                self.open(context, None);
                Ok(())
            }
            Some(client) => {
                self.phase = Phase::Handshaking(client.start()?);
                self.advance(context)
            }
        }
    }

    fn handshake(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        match self.socket.receive(&mut context.scratch)? {
            Moved::Blocked => Ok(()),
            Moved::End => Err(Failure::new(ErrorKind::EarlyClose, "closed within the handshake")),
            Moved::Bytes(count) => {
                self.received.extend_from_slice(&context.scratch[..count]);
                self.progress = context.now();
                self.advance(context)
            }
        }
    }

    fn advance(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        let Phase::Handshaking(handshake) = &mut self.phase else { return Ok(()) };
        match handshake.advance(&mut self.received, &mut self.unsent) {
            Ok(None) => self.flush(context),
            Ok(Some(established)) => self.established(context, established),
            Err(failure) => {
                // This may be an alert with the reason; whether it arrives does not matter here.
                let _ = self.flush(context);
                Err(match failure.kind {
                    // no_application_protocol (RFC 7301, section 3.2).
                    ErrorKind::Alert if failure.seen.contains("(120)") => {
                        Failure { kind: ErrorKind::NoH2, ..failure }
                    }
                    _ => failure,
                })
            }
        }
    }

    fn established(
        &mut self,
        context: &mut Context<'_>,
        established: Established,
    ) -> Result<(), Failure> {
        if !established.is_protocol_agreed {
            let seen = "the server did not choose h2 in the handshake (ALPN)";
            return Err(Failure::new(ErrorKind::NoH2, seen));
        }
        let (window, now) = (context.window, context.now());
        context.recorder.connected(window, now, self.started, Some(&established));
        if context.requests.names() > 0 {
            context.recorder.named(self.name, established.remarks.certificate);
        }
        self.streams.counts.by_alpn += 1;
        let Established { opener, sealer, post_handshake, .. } = established;
        self.open(context, Some((Records::new(opener, post_handshake), sealer)));
        if self.received.is_empty() { Ok(()) } else { self.receive(context) }
    }

    fn open(&mut self, context: &Context<'_>, tls: Option<(Records, Sealer)>) {
        context.window.note_up(true, || context.now());
        self.streams.counts.connections += 1;
        let client =
            Client::new(ClientSettings { window: HTTP2_WINDOW, max_frame: HTTP2_MAX_FRAME });
        self.phase = Phase::Open(Box::new(Session { client, tls, has_begun: false }));
        self.is_due = true;
    }

    /// Gives the session a request for the operation at this place.
    pub(super) fn request(
        &mut self,
        place: usize,
        fields: Fields<'_>,
        now: u64,
    ) -> Result<(), SessionError> {
        let Phase::Open(session) = &mut self.phase else { return Ok(()) };
        self.streams.counts.fields_sent += fields.length();
        let has_body = self.streams.has_bodies();
        let id = session.client.request(fields.iter(), place + 1, has_body)?;
        if let Some(exchange) = self.streams.get_mut(place) {
            (exchange.id, exchange.progress) = (Some(id), now);
        }
        self.is_due = true;
        Ok(())
    }

    /// Takes an operation, whose request is given to the session once that can be.
    pub(super) fn begin(&mut self, place: usize, exchange: Exchange) {
        self.given += 1;
        self.streams.begin(place, exchange);
    }

    /// The plan of a connection that was given its last request, and ends after that.
    pub(super) fn has_carried(&self) -> Option<Planned> {
        self.planned.filter(|planned| self.given >= planned.count.get())
    }

    /// Whether another request can be given to it.
    pub(super) fn takes_requests(&self) -> bool {
        if self.has_carried().is_some() {
            return false;
        }
        match &self.phase {
            Phase::Open(session) => {
                self.streams.goaway.is_none() && session.client.takes_requests()
            }
            Phase::Connecting | Phase::Handshaking(_) => true,
        }
    }

    /// Seals and sends what the session has to send. What the socket has no room for waits here, and the
    /// rest in the session.
    pub(super) fn send(&mut self, context: &mut Context<'_>, key: usize) -> Result<(), Failure> {
        self.is_due = false;
        self.streams.now = context.now();
        let mut is_all = false;
        while self.unsent.is_empty() && !is_all {
            let Phase::Open(session) = &mut self.phase else { return Ok(()) };
            self.streams.begins_part();
            is_all = session.put(&mut self.streams, &mut context.plaintext, &mut self.unsent)?;
            self.flush(context)?;
        }
        self.streams.is_flushed = self.unsent.is_empty();
        if let Phase::Open(session) = &self.phase {
            self.streams.note_windows(&session.client);
        }
        self.update_interest(context, key);
        Ok(())
    }

    fn flush(&mut self, context: &Context<'_>) -> Result<(), Failure> {
        while !self.unsent.is_empty() {
            match self.socket.send(&self.unsent)? {
                Moved::Bytes(count) => {
                    self.unsent.drain(..count);
                    self.progress = context.now();
                }
                Moved::Blocked | Moved::End => break,
            }
        }
        Ok(())
    }

    /// Receives until there is nothing more to read.
    fn receive(&mut self, context: &mut Context<'_>) -> Result<(), Failure> {
        let mut scratch = std::mem::take(&mut context.scratch);
        let result = self.receive_into(&mut scratch, context);
        context.scratch = scratch;
        result
    }

    fn receive_into(&mut self, scratch: &mut [u8], context: &Context<'_>) -> Result<(), Failure> {
        let mut end = self.received.len();
        scratch[..end].copy_from_slice(&self.received);
        self.received.clear();
        let (mut turn, mut is_drained) = (0, false);
        loop {
            if end > 0 {
                let Phase::Open(session) = &mut self.phase else { return Ok(()) };
                let now = context.now();
                self.streams.now = now;
                self.streams.is_within = context.window.contains(now);
                self.streams.is_flushed = self.unsent.is_empty();
                self.progress = now;
                self.is_due = true;
                let used = session.take(&mut self.streams, &mut scratch[..end])?;
                self.streams.counts.note_window(session.client.window_left());
                scratch.copy_within(used..end, 0);
                end -= used;
            }
            if is_drained || turn >= LONGEST_TURN {
                break;
            }
            match self.socket.receive(&mut scratch[end..])? {
                Moved::Blocked => break,
                Moved::End => {
                    return Err(Failure::new(ErrorKind::EarlyClose, "closed before a response"));
                }
                Moved::Bytes(count) => {
                    is_drained = count < scratch.len() - end;
                    turn += count;
                    end += count;
                }
            }
        }
        self.received.extend_from_slice(&scratch[..end]);
        Ok(())
    }

    /// Reads the server's limits, and resets streams whose responses are wrong. Returns why the session
    /// cannot go on, if it cannot.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        let Phase::Open(session) = &mut self.phase else { return Ok(()) };
        for stream in self.streams.rejected.drain(..) {
            session.client.cancel(stream);
            self.is_due = true;
        }
        if self.streams.has_settings {
            self.streams.has_settings = false;
            // Without a setting there is no limit.
            let most = session.client.most_streams();
            if most < u32::MAX {
                let least = self.streams.counts.allowed_streams.unwrap_or(most).min(most);
                self.streams.counts.allowed_streams = Some(least);
            }
        }
        if self.streams.goaway.is_some() {
            self.streams.leave_unsent();
        }
        if !session.client.is_alive() && !self.streams.is_idle() {
            let seen = self.streams.breach.clone();
            let seen = seen.unwrap_or_else(|| "the connection's end by its rules".to_owned());
            return Err(Failure::new(ErrorKind::Http2, seen));
        }
        Ok(())
    }

    /// Checks the time limits. A stream without progress is reset, and its operation has failed.
    pub(super) fn check_time(&mut self, context: &Context<'_>) -> Result<Vec<usize>, Failure> {
        let (now, limit) = (context.now(), context.plan.timeout);
        let idle = now.saturating_sub(self.progress);
        let Phase::Open(session) = &mut self.phase else {
            if idle <= limit.0 {
                return Ok(Vec::new());
            }
            let (kind, what) = match self.phase {
                Phase::Connecting => (ErrorKind::ConnectTimeout, "the connection"),
                _ => (ErrorKind::Stall, "the handshake"),
            };
            return Err(Failure::new(kind, format!("{what} made no progress for {limit}")));
        };
        self.streams.now = now;
        let mut stalled = Vec::new();
        for place in self.streams.places() {
            let Some(exchange) = self.streams.get_mut(place) else { continue };
            if now.saturating_sub(exchange.progress) > limit.0 {
                if let Some(id) = exchange.id {
                    session.client.cancel(id);
                    self.is_due = true;
                }
                stalled.push(place);
            }
        }
        Ok(stalled)
    }

    /// Why an operation made no progress.
    pub(super) fn why_stalled(&self, exchange: &Exchange, limit: units::Nanos) -> Failure {
        if exchange.is_held_up() {
            let seen = format!("the request's body waited for a window for {limit}");
            return Failure::new(ErrorKind::FlowControl, seen);
        }
        if exchange.is_open {
            let seen = format!("the response made no progress for {limit}");
            return Failure::new(ErrorKind::Stall, seen);
        }
        let most = self.streams.counts.allowed_streams.unwrap_or(u32::MAX);
        let open = self.streams.open();
        let seen = format!(
            "no stream for {limit}: {open} were open, and the server's SETTINGS allow {most}"
        );
        Failure::new(ErrorKind::NoStream, seen)
    }

    fn update_interest(&mut self, context: &Context<'_>, key: usize) {
        let interest = match self.phase {
            Phase::Connecting => EventFlags::OUT,
            _ if self.unsent.is_empty() => INCOMING,
            _ => INCOMING | EventFlags::OUT,
        };
        if interest != self.interest {
            context.rewatch(&self.socket, key, interest);
            self.interest = interest;
        }
    }

    /// Counts what is known of the connection, before it is dropped.
    pub(super) fn close(&mut self, context: &mut Context<'_>) {
        let tickets = match &self.phase {
            Phase::Open(session) => {
                session.tls.as_ref().map_or(0, |(records, _)| records.tickets())
            }
            _ => 0,
        };
        context.recorder.closes(tickets);
        context.recorder.multiplexed(std::mem::take(&mut self.streams.counts));
    }
}

impl Session {
    /// Appends what is due to `out`, sealed over TLS, until that is a part; whether it was all.
    fn put(
        &mut self,
        streams: &mut Streams,
        plaintext: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        let Self { client, tls, .. } = self;
        let Some((records, sealer)) = tls else {
            client.send(streams, out, PART).map_err(broken)?;
            return Ok(out.len() < PART);
        };
        plaintext.clear();
        client.send(streams, plaintext, PART).map_err(broken)?;
        records.answer_key_update(sealer, out).ok_or_else(unsealed)?;
        for content in plaintext.chunks(MOST_PLAINTEXT) {
            sealer.seal(content_type::APPLICATION_DATA, content, out).ok_or_else(unsealed)?;
        }
        Ok(plaintext.len() < PART)
    }

    /// Takes what was received, and returns how many bytes of it were used.
    fn take(&mut self, streams: &mut Streams, bytes: &mut [u8]) -> Result<usize, Failure> {
        let Self { client, tls, has_begun } = self;
        let Some((records, _)) = tls else {
            give(client, has_begun, streams, bytes)?;
            return Ok(bytes.len());
        };
        let mut used = 0;
        while let Some((length, content)) = records.open(&mut bytes[used..])? {
            match content {
                Content::Data(range) => {
                    let data = &bytes[used + range.start..used + range.end];
                    give(client, has_begun, streams, data)?;
                }
                Content::Message => {}
                Content::Closed => {
                    let seen = "close_notify before a response";
                    return Err(Failure::new(ErrorKind::EarlyClose, seen));
                }
            }
            used += length;
        }
        Ok(used)
    }
}

fn give(
    client: &mut Client<Streams>,
    has_begun: &mut bool,
    streams: &mut Streams,
    bytes: &[u8],
) -> Result<(), Failure> {
    let is_first = !std::mem::replace(has_begun, true);
    // A server's first frame has a length, whose first byte is 0: SETTINGS are short.
    if is_first && bytes.first().is_some_and(u8::is_ascii_graphic) {
        let line = bytes.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
        let seen = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
        return Err(Failure::new(ErrorKind::AnsweredHttp1, seen));
    }
    client.receive(streams, bytes).map_err(broken)
}

/// The library cannot go on.
fn broken(error: SessionError) -> Failure {
    Failure::new(ErrorKind::Http2, error.0)
}
