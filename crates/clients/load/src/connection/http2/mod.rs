//! HTTP/2: several requests at once, each a stream. The session opens the records and reports what became of
//! its streams (`streams`); what has ended is for its connection to take.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod streams;
pub(crate) mod walk;

use http2::{Breach, Client, ClientHandler, ClientSettings, Position, Stream, StreamEnd};
use wire::handshake::Established;
use wire::reception::{Content, Given, HEAD_TOO_LONG, LONGEST_HEAD, Records, Want};
use wire::record::{MOST_PLAINTEXT, Sealer, content_type};
use wire::{ErrorKind, Failure};

use super::sealing::{PART, unsealed};
use crate::context::Context;
use crate::recorder::Begun;
use crate::{Plan, Receive};
use streams::{Exchange, Streams};
pub use walk::HTTP2_WINDOW;
use walk::{Beginning, Brought, Course, Middle, Step, Walk};

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
    /// Where bodies may be dropped unread.
    walk: Option<Walk>,
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
        let is_alone = context.plan.streams() == 1 && context.plan.receive() == Receive::Walk;
        let walk = (is_alone && tls.is_some()).then(|| Walk::new(context.shapes.clone()));
        Self {
            client: Client::new(SETTINGS),
            tls,
            has_begun: false,
            partial: 0,
            walk,
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
        if let Some(walk) = &mut self.walk {
            walk.stream = id;
        }
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
        let min = self.partial + 1;
        match &self.walk {
            Some(walk) => walk.want(min, self.streams.awaits_walk()),
            None => Want::Read { min, max: usize::MAX },
        }
    }

    /// How many bytes are to come that will be dropped.
    pub(super) fn to_drop(&self) -> u64 {
        self.walk.as_ref().and_then(Walk::to_drop).unwrap_or(0)
    }

    /// Takes bytes that came and were dropped.
    pub(super) fn skipped(&mut self, count: u64, context: &Context<'_>) {
        let now = context.recently();
        self.streams.progresses(now);
        let (Some(walk), Some((records, _))) = (&mut self.walk, &mut self.tls) else { return };
        let Some(Middle { records: count, dropped, .. }) =
            walk.skipped(count, context.window.contains(now))
        else {
            return;
        };
        records.pass(count);
        let before = self.begun_frames();
        self.client.pass(self.stream(), dropped);
        // Those that have ended: one may have been under way before, and one may be now.
        let ended = before + dropped.frames - self.begun_frames();
        self.streams.counts.data_frames += ended;
        self.streams.counts.frames_received += ended;
        self.is_due = true;
    }

    /// The only stream that is open, or was last, where bodies may be dropped.
    fn stream(&self) -> i32 {
        self.walk.as_ref().map_or(0, |walk| walk.stream)
    }

    /// DATA frames that have begun, as far as a walk has to know it: all that have ended, and the one under way unless
    /// it is the last of its stream.
    fn begun_frames(&self) -> u64 {
        let position = self.client.position(self.stream());
        self.streams.counts.data_frames + u64::from(matches!(position, Some(Position::Data { .. })))
    }

    /// A record opened in its place, so that those before it were as many as was expected.
    fn proves(&mut self) {
        if let Some(walk) = &mut self.walk
            && let Step::Prove { body, within } = walk.step
        {
            walk.step = Step::Open(None);
            if !self.streams.walked(body, within) {
                walk.late += within;
            }
        }
    }

    /// Takes what a record held, and notes what it says of how responses come.
    fn take_record(&mut self, wire: usize, bytes: &[u8]) -> Result<(), Failure> {
        if self.walk.is_none() {
            return self.take(bytes);
        }
        let awaited = !self.streams.has_begun();
        let (frames, data) = (self.begun_frames(), self.streams.counts.data_frames);
        let others = self.streams.counts.frames_received - data;
        self.take(bytes)?;
        if self.streams.has_walked() && self.client.is_elsewhere(self.stream()) {
            return Err(lost(
                "after dropped records: another frame where the body's last one was expected",
            ));
        }
        let end = self.client.position(self.stream());
        let brought = Brought {
            wire,
            length: bytes.len(),
            frames: self.begun_frames() - frames,
            has_others: self.streams.counts.frames_received - self.streams.counts.data_frames
                != others,
            end,
        };
        let Self { walk: Some(Walk { shapes, step, .. }), streams, .. } = self else {
            return Ok(());
        };
        let Step::Open(course) = step else { return Ok(()) };
        match course {
            None if awaited => {
                if let (Some(promised), Some(position)) = (streams.promises(), end) {
                    let beginning = Beginning { promised, record: wire, position };
                    *step = match shapes.middle(beginning).filter(|_| streams.may_walk()) {
                        Some(middle) => Step::Drop { left: middle.wire, middle, within: 0 },
                        None => Step::Open(Some(Course::new(beginning))),
                    };
                }
            }
            None => {}
            Some(known) => {
                known.take(brought);
                if streams.is_idle() {
                    let course = course.take().filter(|_| streams.has_just_completed());
                    course.into_iter().for_each(|course| course.end(shapes));
                }
            }
        }
        Ok(())
    }

    /// Whether bytes of the window were dropped that a record has still to prove.
    pub(super) fn awaits_proof(&self) -> bool {
        self.walk.as_ref().is_some_and(Walk::awaits_proof)
    }

    /// Body bytes of the window that were dropped: proven after their operation was taken out, and not proven.
    pub(super) fn dropped(&self) -> (u64, u64) {
        self.walk.as_ref().map_or((0, 0), |walk| (walk.late, walk.unproven()))
    }

    /// Whether a response was wrong, or given up, of which a part was dropped.
    fn is_lost(&self) -> bool {
        self.streams.is_lost || self.walk.as_ref().is_some_and(|walk| walk.is_lost)
    }

    /// The connection has failed. What was expected of the response under way may have been wrong.
    pub(super) fn has_failed(&self) {
        if let Some(walk) = &self.walk
            && (self.is_lost() || walk.awaits_proof() || self.streams.has_walked())
        {
            walk.shapes.failed();
        }
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
            while self.to_drop() == 0
                && let Some((records, _)) = &mut self.tls
                && let Some((length, content)) = records.open(&mut bytes[used..])?
            {
                self.proves();
                match content {
                    Content::Data(range) => {
                        let content = &bytes[used + range.start..used + range.end];
                        self.take_record(length, content)?;
                    }
                    Content::Message => {
                        if let Some(Walk { step: Step::Open(course), .. }) = &mut self.walk {
                            *course = None;
                        }
                    }
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
        if self.is_lost() {
            return Err(lost(
                "a response whose records were dropped, and that did not end as expected",
            ));
        }
        let Self { client, streams, .. } = self;
        match client.breach() {
            Some(breach) if !client.has_to_send() && !streams.is_idle() => {
                let failure = broken(breach);
                Err(match streams.has_walked() {
                    true => lost(&format!("after dropped records: {}", failure.seen)),
                    false => failure,
                })
            }
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
            if let Some(walk) = &mut self.walk {
                walk.is_lost |= walk.awaits_proof() || exchange.has_walked();
            }
            self.streams.ended.push(exchange.ended(place, now, Err(failure), None));
        }
    }

    /// The failure of the operations under way where the server has closed.
    pub(super) fn closed_early(&self) -> Failure {
        match self.streams.has_walked() {
            true => lost("after dropped records: closed before the body's end"),
            false => Failure::new(ErrorKind::EarlyClose, "closed before a response"),
        }
    }

    /// Tickets that have come.
    pub(super) fn tickets(&self) -> u64 {
        self.tls.as_ref().map_or(0, |(records, _)| records.tickets())
    }
}

/// What was dropped is not known to be what was expected.
fn lost(seen: &str) -> Failure {
    Failure::new(ErrorKind::UnverifiableRecord, seen)
}

/// The connection cannot go on.
fn broken(breach: Breach) -> Failure {
    match breach {
        Breach::Rule { what, .. } => Failure::new(ErrorKind::Http2, what),
        Breach::LongHead => Failure::long_head(HEAD_TOO_LONG),
        _ => Failure::long_head(&breach.to_string()),
    }
}
