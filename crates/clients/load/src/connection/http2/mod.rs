//! HTTP/2: several requests at once, each a stream. The session opens the records and reports what became of
//! its streams (`handler`); what has ended is for its connection to take.

#[cfg(any(test, fuzzing))]
pub mod fuzzing;
mod handler;
pub(crate) mod walk;

use http2::{Breach, Client, ClientHandler, ClientSettings, Position, Stream, StreamEnd};
use wire::handshake::Established;
use wire::reception::{Content, Given, HEAD_TOO_LONG, LONGEST_HEAD, Records, Want};
use wire::record::{MOST_PLAINTEXT, Sealer, content_type};
use wire::{ErrorKind, Failure};

use super::sealing::{PART, unsealed};
use super::streams::Streams;
use crate::context::Context;
use crate::recorder::Begun;
use crate::{Plan, Receive};
use handler::{Exchange, Handler};
pub use walk::HTTP2_WINDOW;
use walk::{Beginning, Brought, Course, Middle, Step, Walk};

/// The largest frame that the server may send: what all servers can.
pub const HTTP2_MAX_FRAME: u32 = http2::DEFAULT_MAX_FRAME;

const SETTINGS: ClientSettings =
    ClientSettings { window: HTTP2_WINDOW, max_frame: HTTP2_MAX_FRAME, longest_head: LONGEST_HEAD };

/// See the module.
pub(super) struct Http2 {
    client: Client<Handler>,
    /// Over TLS.
    tls: Option<(Records, Sealer)>,
    /// Whether anything has come.
    has_begun: bool,
    /// How much is in hand of a record that has not come whole.
    partial: usize,
    /// Where bodies may be dropped unread.
    walk: Option<Walk>,
    pub(super) handler: Handler,
    /// Whether the session has something to send.
    pub(super) is_due: bool,
}

impl Http2 {
    /// Over TLS with what the handshake has established.
    pub(super) fn new(context: &Context<'_>, established: Option<Established>) -> Self {
        let tls = established.map(|Established { opener, sealer, post_handshake, .. }| {
            (Records::new(opener, post_handshake), sealer)
        });
        let mut streams = Streams::of(context);
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
            handler: Handler::new(streams, context.requests.shared_body()),
            is_due: true,
        }
    }

    /// Whether the server has shown that it is there: by its handshake, or by its first frame.
    pub(super) fn has_begun(&self) -> bool {
        self.tls.is_some() || self.has_begun
    }

    /// Whether another request can be given to it.
    pub(super) fn takes_requests(&self) -> bool {
        self.handler.goaway.is_none()
            && !self.handler.streams.is_used_up()
            && self.client.takes_requests()
    }

    /// Gives the session an operation's request.
    pub(super) fn ask(
        &mut self,
        context: &mut Context<'_>,
        place: usize,
        begun: Begun,
        name: usize,
    ) {
        let fields = context.requests.fields(begun.times.object, name);
        let streams = &mut self.handler.streams;
        streams.counts.fields_sent += fields.length();
        self.is_due = true;
        let (tag, has_body) = (place + 1, streams.has_bodies());
        let asked = self.client.request(fields.iter(), tag, has_body);
        // No stream has the number 0.
        let id = asked.unwrap_or(0);
        if let Some(walk) = &mut self.walk {
            walk.stream = id;
        }
        streams.begin(context, place, begun, id);
        if asked.is_err() {
            self.handler.closed(Stream { id, tag }, StreamEnd::NotSent);
        } else if self.client.has_waiting() && self.client.most_streams().is_some() {
            // Until the server has said how many it takes, one has to do.
            self.handler.streams.waits(place);
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
        self.handler.streams.now = context.now();
        let Self { client, tls, handler, .. } = self;
        let Some((records, sealer)) = tls else {
            client.send(handler, out, PART);
            self.is_due = out.len() >= PART;
            return Ok(!out.is_empty());
        };
        let plaintext = &mut context.plaintext;
        plaintext.clear();
        client.send(handler, plaintext, PART);
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
        let streams = &mut self.handler.streams;
        if !streams.has_bodies() {
            return;
        }
        let sends = |of: &Exchange| of.opened.is_some() && of.body_left > 0;
        for place in streams.places(sends) {
            let id = streams.get(place).map_or(0, |exchange| exchange.own);
            let is_open = self.client.window(id) > 0;
            if is_open || is_flushed {
                streams.note_window(place, is_open);
            }
        }
    }

    pub(super) fn want(&self) -> Want {
        let min = self.partial + 1;
        match &self.walk {
            Some(walk) => walk.want(min, self.handler.awaits_walk()),
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
        self.handler.progresses(now);
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
        self.handler.counts.data_frames += ended;
        self.handler.counts.frames_received += ended;
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
        self.handler.counts.data_frames + u64::from(matches!(position, Some(Position::Data { .. })))
    }

    /// A record opened in its place, so that those before it were as many as was expected.
    fn proves(&mut self) {
        if let Some(walk) = &mut self.walk
            && let Step::Prove { body, within } = walk.step
        {
            walk.step = Step::Open(None);
            if !self.handler.walked(body, within) {
                walk.late += within;
            }
        }
    }

    /// Takes what a record held, and notes what it says of how responses come.
    fn take_record(&mut self, wire: usize, bytes: &[u8]) -> Result<(), Failure> {
        if self.walk.is_none() {
            return self.take(bytes);
        }
        let awaited = !self.handler.has_begun();
        let (frames, data) = (self.begun_frames(), self.handler.counts.data_frames);
        let others = self.handler.counts.frames_received - data;
        self.take(bytes)?;
        if self.handler.has_walked() && self.client.is_elsewhere(self.stream()) {
            return Err(lost(
                "after dropped records: another frame where the body's last one was expected",
            ));
        }
        let end = self.client.position(self.stream());
        let brought = Brought {
            wire,
            length: bytes.len(),
            frames: self.begun_frames() - frames,
            has_others: self.handler.counts.frames_received - self.handler.counts.data_frames
                != others,
            end,
        };
        let Self { walk: Some(Walk { shapes, step, .. }), handler, .. } = self else {
            return Ok(());
        };
        let Step::Open(course) = step else { return Ok(()) };
        match course {
            None if awaited => {
                if let (Some(promised), Some(position)) = (handler.promises(), end) {
                    let beginning = Beginning { promised, record: wire, position };
                    *step = match shapes.middle(beginning).filter(|_| handler.may_walk()) {
                        Some(middle) => Step::Drop { left: middle.wire, middle, within: 0 },
                        None => Step::Open(Some(Course::new(beginning))),
                    };
                }
            }
            None => {}
            Some(known) => {
                known.take(brought);
                if handler.streams.is_idle() {
                    let course = course.take().filter(|_| handler.has_just_completed());
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
        self.handler.is_lost || self.walk.as_ref().is_some_and(|walk| walk.is_lost)
    }

    /// The connection has failed. What was expected of the response under way may have been wrong.
    pub(super) fn has_failed(&self) {
        if let Some(walk) = &self.walk
            && (self.is_lost() || walk.awaits_proof() || self.handler.has_walked())
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
        self.handler.streams.at_time(now, context);
        self.is_due = true;
        let (mut used, mut given) = (0, Given::More);
        if self.tls.is_none() {
            self.take(bytes)?;
            used = bytes.len();
        } else {
            while self.to_drop() == 0
                && let Some((records, _)) = &mut self.tls
                && let Some((length, content)) = records.open(
                    &mut bytes[used..],
                    self.handler.streams.is_idle() && self.handler.streams.counts.answers > 0,
                )?
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
        let least = &mut self.handler.counts.least_window;
        let left = self.client.window_left();
        *least = Some(least.map_or(left, |least| least.min(left)));
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
        self.client.receive(&mut self.handler, bytes);
        Ok(())
    }

    /// Reads the server's limits, and resets streams whose responses are wrong. Returns why the session
    /// cannot go on, if it cannot.
    pub(super) fn settle(&mut self) -> Result<(), Failure> {
        let Self { client, handler, .. } = self;
        while let Some(stream) = handler.rejected.pop() {
            client.cancel(handler, stream);
            self.is_due = true;
        }
        if std::mem::take(&mut handler.has_settings)
            && let Some(most) = client.most_streams()
        {
            handler.streams.allows(most.into());
            if client.has_waiting() {
                handler.streams.wait_for_streams();
            }
        }
        if self.is_lost() {
            return Err(lost(
                "a response whose records were dropped, and that did not end as expected",
            ));
        }
        let Self { client, handler, .. } = self;
        match client.breach() {
            Some(breach) if !client.has_to_send() && !handler.streams.is_idle() => {
                let failure = broken(breach);
                Err(match handler.has_walked() {
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
        let (mut stalled, has_walked) = (Vec::new(), self.handler.has_walked());
        self.handler.streams.end_stalled(now, plan, |id| stalled.push(*id));
        for id in stalled {
            self.client.cancel(&mut self.handler, id);
            self.is_due = true;
            if let Some(walk) = &mut self.walk {
                walk.is_lost |= walk.awaits_proof() || has_walked;
            }
        }
    }

    /// The failure of the operations under way where the server has closed.
    pub(super) fn closed_early(&self) -> Failure {
        match self.handler.has_walked() {
            true => lost("after dropped records: closed before the body's end"),
            false => Failure::new(ErrorKind::EarlyClose, "closed before a response"),
        }
    }

    /// What protects its records, over TLS.
    pub(super) fn sealer(&mut self) -> Option<&mut Sealer> {
        self.tls.as_mut().map(|(_, sealer)| sealer)
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
