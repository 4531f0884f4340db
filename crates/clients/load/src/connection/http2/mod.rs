//! HTTP/2: several requests at once, each a stream. The session opens the records and reports what became of
//! its streams (`streams`); what has ended is for its connection to take.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod streams;

use http2::{Breach, Client, ClientHandler, ClientSettings, Stream, StreamEnd};
use wire::handshake::Established;
use wire::reception::{Content, Given, HEAD_TOO_LONG, LONGEST_HEAD, Records, Want};
use wire::record::{MOST_PLAINTEXT, Sealer, content_type};
use wire::{ErrorKind, Failure};

use super::{PART, unsealed};
use crate::Plan;
use crate::context::Context;
use crate::recorder::Begun;
use streams::{Exchange, Streams};

/// A window that no response fills, so that the client never holds the server up. It is not the largest
/// one, which a server that adds to it would overflow.
pub const HTTP2_WINDOW: u32 = 1 << 30;

/// The largest frame that the server may send: what all servers can.
pub const HTTP2_MAX_FRAME: u32 = http2::DEFAULT_MAX_FRAME;

const SETTINGS: ClientSettings =
    ClientSettings { window: HTTP2_WINDOW, max_frame: HTTP2_MAX_FRAME, longest_head: LONGEST_HEAD };

/// See the module.
pub(super) struct Http2 {
    client: Client<Streams>,
    /// Over TLS.
    tls: Option<(Records, Sealer)>,
    /// Whether anything has come.
    has_begun: bool,
    /// How much is in hand of a record that has not come whole.
    partial: usize,
    /// Whether the server's window for the whole connection was used up, so that another one is needed.
    is_used_up: bool,
    pub(super) streams: Streams,
    /// Whether the session has something to send.
    pub(super) is_due: bool,
}

impl Http2 {
    /// Over TLS with what the handshake has established.
    pub(super) fn new(context: &Context<'_>, established: Option<Established>) -> Self {
        let tls = established.map(|Established { opener, sealer, post_handshake, .. }| {
            (Records::new(opener, post_handshake), sealer)
        });
        let mut streams = Streams::new(context.plan.streams(), context.requests.shared_body());
        streams.window = (context.window.start(), context.window.planned_end().unwrap_or(u64::MAX));
        streams.limits = (context.plan.timeout.0, context.plan.operation_timeout().0);
        streams.counts.connections = 1;
        streams.counts.by_alpn = u64::from(tls.is_some());
        Self {
            client: Client::new(SETTINGS),
            tls,
            has_begun: false,
            partial: 0,
            is_used_up: false,
            streams,
            is_due: true,
        }
    }

    /// Whether the server has shown that it is there: by its handshake, or by its first frame.
    pub(super) fn has_begun(&self) -> bool {
        self.tls.is_some() || self.has_begun
    }

    /// Whether another request can be given to it.
    pub(super) fn takes_requests(&self) -> bool {
        self.streams.goaway.is_none() && !self.is_used_up && self.client.takes_requests()
    }

    /// Gives the session an operation's request.
    pub(super) fn ask(
        &mut self,
        context: &mut Context<'_>,
        place: usize,
        begun: Begun,
        name: usize,
    ) {
        let is_compared = context.bodies.draw();
        let expectation = context.requests.expectation(begun.times.object);
        let fields = context.requests.fields(begun.times.object, name);
        self.streams.counts.fields_sent += fields.length();
        self.is_due = true;
        let now = context.recently();
        let (tag, has_body) = (place + 1, self.streams.has_bodies());
        let asked = self.client.request(fields.iter(), tag, has_body);
        // No stream has the number 0.
        let id = asked.unwrap_or(0);
        let exchange = Exchange::new(begun, id, expectation, context.answers, is_compared);
        self.streams.begin(place, exchange, now);
        if asked.is_err() {
            self.streams.closed(Stream { id, tag }, StreamEnd::NotSent);
        }
    }

    /// Appends the next part of what is due, sealed over TLS, if there is one.
    pub(super) fn put(
        &mut self,
        context: &mut Context<'_>,
        out: &mut Vec<u8>,
    ) -> Result<bool, Failure> {
        if !self.is_due {
            return Ok(false);
        }
        self.streams.now = context.now();
        let Self { client, tls, streams, .. } = self;
        let Some((records, sealer)) = tls else {
            client.send(streams, out, PART);
            self.is_due = out.len() >= PART;
            return Ok(!out.is_empty());
        };
        let plaintext = &mut context.plaintext;
        plaintext.clear();
        client.send(streams, plaintext, PART);
        records.answer_key_update(sealer, out).ok_or_else(unsealed)?;
        for content in plaintext.chunks(MOST_PLAINTEXT) {
            sealer.seal(content_type::APPLICATION_DATA, content, out).ok_or_else(unsealed)?;
        }
        self.is_due = plaintext.len() >= PART;
        Ok(!out.is_empty())
    }

    /// After something was sent: notes which bodies wait until the server opens a window. Those that wait for
    /// the socket do not.
    pub(super) fn note_windows(&mut self, is_flushed: bool) {
        self.streams.note_windows(&mut self.client, is_flushed);
    }

    pub(super) fn want(&self) -> Want {
        Want::Read { min: self.partial + 1, max: usize::MAX }
    }

    /// Takes what was received, and returns how many bytes of it were used.
    pub(super) fn give(
        &mut self,
        bytes: &mut [u8],
        context: &Context<'_>,
    ) -> Result<(usize, Given), Failure> {
        let now = context.now();
        self.streams.now = now;
        self.streams.is_within = context.window.contains(now);
        self.is_due = true;
        let (mut used, mut given) = (0, Given::More);
        if self.tls.is_none() {
            self.take(bytes)?;
            used = bytes.len();
        } else {
            while let Some((records, _)) = &mut self.tls
                && let Some((length, content)) = records.open(&mut bytes[used..])?
            {
                match content {
                    Content::Data(range) => {
                        self.take(&bytes[used + range.start..used + range.end])?;
                    }
                    Content::Message => {}
                    Content::Closed => given = Given::Closed,
                }
                used += length;
            }
        }
        self.partial = bytes.len() - used;
        self.streams.counts.note_window(self.client.window_left());
        Ok((used, given))
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        // A server's first frame has a length, whose first byte is 0: SETTINGS are short.
        if is_first && bytes.first().is_some_and(u8::is_ascii_graphic) {
            let line =
                bytes.split(|byte| *byte == b'\r' || *byte == b'\n').next().unwrap_or_default();
            let seen = String::from_utf8_lossy(&line[..line.len().min(80)]).into_owned();
            return Err(Failure::new(ErrorKind::AnsweredHttp1, seen));
        }
        self.client.receive(&mut self.streams, bytes);
        Ok(())
    }

    /// Reads the server's limits, and resets streams whose responses are wrong. Returns why the session
    /// cannot go on, if it cannot.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        let Self { client, streams, .. } = self;
        while let Some(stream) = streams.rejected.pop() {
            client.cancel(streams, stream);
            self.is_due = true;
        }
        if std::mem::take(&mut streams.has_settings)
            && let Some(most) = client.most_streams()
        {
            let least = streams.counts.allowed_streams.unwrap_or(most).min(most);
            streams.counts.allowed_streams = Some(least);
        }
        match client.breach() {
            Some(breach) if !client.has_to_send() && !streams.is_idle() => Err(broken(breach)),
            _ => Ok(()),
        }
    }

    /// Ends operations without progress for too long, or that take too long in all: their streams are reset, and
    /// they have failed.
    pub(super) fn end_stalled(&mut self, now: u64, plan: &Plan) {
        self.streams.now = now;
        for place in self.streams.stalled(now) {
            let Some(exchange) = self.streams.take(place) else { continue };
            let failure = match now >= exchange.began().saturating_add(plan.operation_timeout().0) {
                true => plan.too_long(),
                false => self.streams.why_stalled(&exchange, plan.timeout),
            };
            self.is_used_up |=
                failure.kind == ErrorKind::FlowControl && self.client.connection_window() <= 0;
            self.client.cancel(&mut self.streams, exchange.id);
            self.is_due = true;
            self.streams.ended.push(exchange.ended(place, now, Err(failure), None));
        }
    }

    /// Tickets that have come.
    pub(super) fn tickets(&self) -> u64 {
        self.tls.as_ref().map_or(0, |(records, _)| records.tickets())
    }
}

/// The connection cannot go on.
fn broken(breach: Breach) -> Failure {
    match breach {
        Breach::Rule { what, .. } => Failure::new(ErrorKind::Http2, what),
        Breach::LongHead => Failure::long_head(HEAD_TOO_LONG),
        _ => Failure::long_head(&breach.to_string()),
    }
}
