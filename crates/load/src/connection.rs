//! One connection of the load: from connect to close, and again.

use rustix::event::epoll::EventFlags;

use crate::failure::{ErrorKind, Failure};
use crate::handshake::{Established, Handshake};
use crate::receive::{Completed, Given, Reception, Want};
use crate::record::{Sealer, content_type};
use crate::recorder::Times;
use crate::socket::{Moved, Socket};
use crate::worker::Context;
use crate::{Operation, Receive};

/// The most that one connection takes in one turn, so that others get theirs.
const LONGEST_TURN: u64 = 8 << 20;

/// Below this, waiting for more is not worth two system calls.
const LEAST_MARK: u64 = 32 << 10;

/// With no progress for this long the low-water mark is lowered: a server that pauses, or sends
/// less than it promised, would not wake the client otherwise.
const MARK_LIMIT: u64 = 200_000_000;

/// How long a server may take to close once it has sent its last response, in ns.
const CLOSE_LIMIT: u64 = 1_000_000_000;

/// A slot of the closed loop: it runs one operation after another.
#[derive(Default)]
pub(crate) struct Connection {
    open: Option<Open>,
}

/// What a connection that is open, or on its way, consists of.
struct Open {
    socket: Socket,
    interest: EventFlags,
    phase: Phase,
    /// Received and not yet used.
    received: Vec<u8>,
    /// To be sent as soon as the socket takes it.
    unsent: Vec<u8>,
    times: Times,
    /// When something last moved.
    progress: u64,
    /// The socket's low-water mark.
    mark: u32,
    /// Body bytes of the response under way that the window has been told of.
    counted: Counted,
}

#[expect(clippy::large_enum_variant, reason = "most connections are in the large one")]
enum Phase {
    Connecting,
    Handshaking(Box<dyn Handshake>),
    /// A response is awaited or arriving.
    Receiving {
        reception: Reception,
        sealer: Option<Sealer>,
    },
    /// All is received; the server's close is awaited.
    Closing {
        reception: Reception,
        ending: Ending,
    },
}

/// What an operation still has to tell when its connection closes.
enum Ending {
    /// It was a handshake: the close is its end.
    Handshake,
    /// It ended at this time with this response.
    Response { at: u64, completed: Completed },
}

/// Body bytes of one response: all so far, and those of them within the window.
#[derive(Default)]
struct Counted {
    body: u64,
    opened: u64,
    window_body: u64,
    window_opened: u64,
}

/// What is to be done with the connection after an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// It goes on by itself.
    Wait,
    /// It is closed; the next operation opens a new one at once.
    Restart,
    /// It failed; the next operation waits a little, lest a dead server be hammered.
    BackOff,
}

impl Connection {
    /// Starts an operation on a new connection.
    pub(crate) fn start(&mut self, context: &mut Context<'_>, slot: usize) -> After {
        let now = context.now();
        let (socket, is_connected) = match Socket::connect(context.plan.address, context.source()) {
            Ok(connected) => connected,
            Err(failure) => {
                context.recorder.failed(context.window, now, failure);
                return After::BackOff;
            }
        };
        let interest = if is_connected { EventFlags::IN } else { EventFlags::OUT };
        if let Err(error) = context.watch(&socket, slot, interest) {
            let failure = Failure::new(ErrorKind::Descriptors, error.to_string());
            context.recorder.failed(context.window, now, failure);
            return After::BackOff;
        }
        let mut open = Open {
            socket,
            interest,
            phase: Phase::Connecting,
            received: Vec::new(),
            unsent: Vec::new(),
            times: Times { start: now, first_byte: None },
            progress: now,
            mark: 1,
            counted: Counted::default(),
        };
        let result = if is_connected { open.connected(context, now) } else { Ok(After::Wait) };
        self.open = Some(open);
        self.finish(result, context, slot)
    }

    /// Goes on after the socket became ready.
    pub(crate) fn ready(&mut self, context: &mut Context<'_>, slot: usize) -> After {
        let Some(open) = &mut self.open else { return After::Wait };
        let result = open.ready(context);
        self.finish(result, context, slot)
    }

    /// Looks for what has taken too long.
    pub(crate) fn check_time(&mut self, context: &mut Context<'_>, slot: usize) -> After {
        let Some(open) = &mut self.open else { return After::Wait };
        let result = open.check_time(context);
        self.finish(result, context, slot)
    }

    /// The window is over: `true` while the connection still has bytes to prove.
    pub(crate) fn wind_up(&mut self, context: &mut Context<'_>, slot: usize) -> bool {
        let Some(open) = &mut self.open else { return false };
        if open.is_operating() {
            context.recorder.in_flight();
        }
        if let Phase::Receiving { reception, .. } = &mut open.phase {
            reception.ask_proof();
            if !reception.is_proven() && open.counted.window_body > 0 {
                open.set_mark(1);
                let result = open.receive(context);
                self.finish(result, context, slot);
                return self.open.is_some();
            }
        }
        if matches!(open.phase, Phase::Closing { ending: Ending::Response { .. }, .. }) {
            // All of the response has come; only the server's close is missing.
            open.closed(context);
        }
        self.close(context);
        false
    }

    /// Closes at once. What has not been proven by now is not.
    pub(crate) fn close(&mut self, context: &mut Context<'_>) {
        if let Some(mut open) = self.open.take() {
            open.settle(context);
        }
    }

    fn finish(
        &mut self,
        result: Result<After, Failure>,
        context: &mut Context<'_>,
        slot: usize,
    ) -> After {
        match result {
            Ok(After::Wait) => {
                if let Some(open) = &mut self.open {
                    open.update_interest(context, slot);
                }
                After::Wait
            }
            Ok(after) => {
                self.close(context);
                after
            }
            Err(failure) => {
                let now = context.now();
                context.recorder.failed(context.window, now, failure);
                if let Some(open) = self.open.take() {
                    if let Phase::Receiving { reception, .. } = &open.phase {
                        reception.has_failed();
                    }
                    context.recorder.unproven(open.counted.window_body);
                }
                After::BackOff
            }
        }
    }
}

impl Open {
    fn is_operating(&self) -> bool {
        !matches!(self.phase, Phase::Closing { ending: Ending::Response { .. }, .. })
    }

    fn ready(&mut self, context: &mut Context<'_>) -> Result<After, Failure> {
        if matches!(self.phase, Phase::Connecting) {
            self.socket.connected()?;
            let now = context.now();
            return self.connected(context, now);
        }
        if !self.unsent.is_empty() {
            self.flush(context)?;
        }
        match self.phase {
            Phase::Handshaking(_) => self.handshake(context),
            _ => self.receive(context),
        }
    }

    /// TCP stands: begins the handshake, or sends the request.
    fn connected(&mut self, context: &mut Context<'_>, now: u64) -> Result<After, Failure> {
        self.progress = now;
        match context.client {
            None => {
                context.recorder.connected(context.window, now, self.times.start, None);
                self.phase = Phase::Receiving { reception: Reception::plain(), sealer: None };
                let is_sampled = context.next_is_sampled();
                self.request(context, now, is_sampled)?;
                Ok(After::Wait)
            }
            Some(client) => {
                self.phase = Phase::Handshaking(client.start()?);
                self.advance(context)
            }
        }
    }

    fn handshake(&mut self, context: &mut Context<'_>) -> Result<After, Failure> {
        match self.socket.receive(context.scratch)? {
            Moved::Blocked => Ok(After::Wait),
            Moved::End => Err(Failure::new(ErrorKind::EarlyClose, "closed within the handshake")),
            Moved::Bytes(count) => {
                self.received.extend_from_slice(&context.scratch[..count]);
                self.progress = context.now();
                self.advance(context)
            }
        }
    }

    fn advance(&mut self, context: &mut Context<'_>) -> Result<After, Failure> {
        let Phase::Handshaking(handshake) = &mut self.phase else { return Ok(After::Wait) };
        match handshake.advance(&mut self.received, &mut self.unsent) {
            Ok(None) => {
                self.flush(context)?;
                Ok(After::Wait)
            }
            Ok(Some(established)) => self.established(context, established),
            Err(failure) => {
                // An alert tells the server why; whether it arrives does not matter here.
                let _ = self.flush(context);
                Err(failure)
            }
        }
    }

    fn established(
        &mut self,
        context: &mut Context<'_>,
        established: Established,
    ) -> Result<After, Failure> {
        let now = context.now();
        context.recorder.connected(context.window, now, self.times.start, Some(&established));
        let reception = Reception::tls(established.opener, context.lengths.clone());
        let mut sealer = established.sealer;
        if context.plan.operation == Operation::Handshakes {
            const CLOSE_NOTIFY: [u8; 2] = [1, 0];
            sealer
                .seal(content_type::ALERT, &CLOSE_NOTIFY, &mut self.unsent)
                .ok_or_else(unsealed)?;
            self.flush(context)?;
            self.socket.shutdown_send();
            self.phase = Phase::Closing { reception, ending: Ending::Handshake };
        } else {
            self.phase = Phase::Receiving { reception, sealer: Some(sealer) };
            let is_sampled = context.next_is_sampled();
            self.request(context, now, is_sampled)?;
        }
        if self.received.is_empty() { Ok(After::Wait) } else { self.receive(context) }
    }

    /// Sends a request and expects its response, which is opened whole where it is sampled.
    fn request(
        &mut self,
        context: &mut Context<'_>,
        now: u64,
        is_sampled: bool,
    ) -> Result<(), Failure> {
        let Phase::Receiving { reception, sealer } = &mut self.phase else { return Ok(()) };
        match sealer {
            None => self.unsent.extend_from_slice(context.request),
            Some(sealer) => sealer
                .seal(content_type::APPLICATION_DATA, context.request, &mut self.unsent)
                .ok_or_else(unsealed)?,
        }
        let is_whole = is_sampled || context.plan.receive == Receive::Decrypt;
        reception.expect(context.expectation, is_whole);
        self.counted = Counted::default();
        self.progress = now;
        self.set_mark(1);
        self.flush(context)
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

    /// Takes what has come, until no more is there.
    fn receive(&mut self, context: &mut Context<'_>) -> Result<After, Failure> {
        // Bytes in hand are `scratch[start..end]`.
        let scratch = &mut *context.scratch;
        let (mut start, mut end) = (0, self.received.len());
        scratch[..end].copy_from_slice(&self.received);
        self.received.clear();
        let mut turn = 0;
        loop {
            let (Phase::Receiving { reception, .. } | Phase::Closing { reception, .. }) =
                &mut self.phase
            else {
                return Ok(After::Wait);
            };
            let given = match reception.want() {
                Want::Skip(left) if start < end => {
                    let here = left.min((end - start) as u64);
                    start += here as usize;
                    reception.skipped(here)?
                }
                Want::Read { min, .. } if end - start >= min => {
                    let (used, given) = reception.give(&mut scratch[start..end])?;
                    start += used;
                    given
                }
                want => {
                    if turn >= LONGEST_TURN {
                        self.received.extend_from_slice(&scratch[start..end]);
                        break;
                    }
                    let moved = match want {
                        Want::Skip(left) => self.socket.skip(left)?,
                        Want::Read { max, .. } => {
                            scratch.copy_within(start..end, 0);
                            (start, end) = (0, end - start);
                            let room = scratch.len().min(max.max(end + 1));
                            self.socket.receive(&mut scratch[end..room])?
                        }
                    };
                    match (moved, want) {
                        (Moved::Blocked, _) => {
                            self.received.extend_from_slice(&scratch[start..end]);
                            break;
                        }
                        (Moved::End, _) => return self.ended(context),
                        (Moved::Bytes(count), Want::Skip(_)) => {
                            turn += count as u64;
                            reception.skipped(count as u64)?
                        }
                        (Moved::Bytes(count), Want::Read { .. }) => {
                            turn += count as u64;
                            end += count;
                            continue;
                        }
                    }
                }
            };
            match given {
                Given::More => {}
                Given::Closed => return self.ended(context),
                Given::Complete(completed) => {
                    self.received.extend_from_slice(&scratch[start..end]);
                    return self.completed(context, completed);
                }
            }
        }
        self.account(context);
        if let Phase::Receiving { reception, .. } = &self.phase {
            if reception.is_proven() && context.is_winding_up {
                return Ok(After::Restart);
            }
            // Part of a record is progress too: a slow server may need long for one.
            if turn > 0 {
                self.progress = context.now();
            }
            // A mark beyond what is to come would never be reached.
            let mark = reception.least_to_come(self.received.len()).min(context.mark.into());
            // While a head is awaited the first byte is of interest, so the mark stays at 1.
            self.set_mark(if mark < LEAST_MARK || context.is_winding_up { 1 } else { mark as u32 });
        }
        Ok(After::Wait)
    }

    /// Tells the window what has arrived since the last time.
    fn account(&mut self, context: &mut Context<'_>) {
        let Phase::Receiving { reception, .. } = &self.phase else { return };
        let now = context.now();
        if reception.has_begun() {
            self.times.first_byte.get_or_insert(now);
        }
        let (body, opened) = (reception.body(), reception.opened());
        self.counted.advance(body, opened, context.window.contains(now));
    }

    /// A response is complete.
    fn completed(
        &mut self,
        context: &mut Context<'_>,
        completed: Completed,
    ) -> Result<After, Failure> {
        let now = context.now();
        self.progress = now;
        self.times.first_byte.get_or_insert(now);
        self.counted.advance(completed.body, completed.opened, context.window.contains(now));
        let is_last = completed.closes || context.plan.operation != Operation::Requests;
        if context.is_winding_up {
            self.prove(context);
            return Ok(After::Restart);
        }
        if is_last {
            let ending = Ending::Response { at: now, completed };
            let phase = std::mem::replace(&mut self.phase, Phase::Connecting);
            if let Phase::Receiving { reception, .. } = phase {
                self.phase = Phase::Closing { reception, ending };
            }
            // The server's close is often there already.
            return self.receive(context);
        }
        self.prove(context);
        context.recorder.completed(context.window, now, self.times, Some(completed));
        if context.window.is_over(now) {
            return Ok(After::Restart);
        }
        self.times = Times { start: now, first_byte: None };
        let is_sampled = context.next_is_sampled();
        if is_sampled || !self.received.is_empty() {
            // What has come unasked is a ticket, a close, or too much. To look costs a system call,
            // so without bytes in hand it is done for the sampled responses only.
            let after = self.receive(context)?;
            if after != After::Wait {
                return Ok(after);
            }
        }
        self.request(context, now, is_sampled)?;
        Ok(After::Wait)
    }

    /// The server sends no more.
    fn ended(&mut self, context: &mut Context<'_>) -> Result<After, Failure> {
        self.account(context);
        match &mut self.phase {
            Phase::Closing { .. } => Ok(self.closed(context)),
            Phase::Receiving { reception, .. } => match reception.end()? {
                Given::Complete(completed) => {
                    let now = context.now();
                    self.prove(context);
                    context.recorder.completed(context.window, now, self.times, Some(completed));
                    Ok(After::Restart)
                }
                Given::More | Given::Closed => Ok(After::Restart),
            },
            Phase::Connecting | Phase::Handshaking(_) => Ok(After::Restart),
        }
    }

    /// The server has closed, or taken too long to.
    fn closed(&mut self, context: &mut Context<'_>) -> After {
        let Phase::Closing { ending, .. } = &self.phase else { return After::Restart };
        match *ending {
            Ending::Handshake => {
                let now = context.now();
                context.recorder.completed(context.window, now, self.times, None);
            }
            Ending::Response { at, completed } => {
                self.prove(context);
                context.recorder.completed(context.window, at, self.times, Some(completed));
            }
        }
        After::Restart
    }

    fn check_time(&mut self, context: &mut Context<'_>) -> Result<After, Failure> {
        let idle = context.now().saturating_sub(self.progress);
        if matches!(self.phase, Phase::Closing { ending: Ending::Response { .. }, .. })
            && idle > CLOSE_LIMIT
        {
            return Ok(self.closed(context));
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
        if self.mark > 1 && idle > MARK_LIMIT {
            self.set_mark(1);
        }
        Ok(After::Wait)
    }

    /// The bytes counted so far are proven to be in their place.
    fn prove(&mut self, context: &mut Context<'_>) {
        let counted = std::mem::take(&mut self.counted);
        context.recorder.proven(counted.window_body, counted.window_opened);
    }

    /// Before the connection is dropped: proven or not, what it counted is told.
    fn settle(&mut self, context: &mut Context<'_>) {
        let is_proven = match &self.phase {
            Phase::Receiving { reception, .. } => reception.is_proven(),
            _ => false,
        };
        if is_proven {
            self.prove(context);
        } else {
            context.recorder.unproven(self.counted.window_body);
        }
    }

    fn set_mark(&mut self, mark: u32) {
        if self.mark != mark {
            self.socket.set_low_water(mark);
            self.mark = mark;
        }
    }

    fn update_interest(&mut self, context: &Context<'_>, slot: usize) {
        let interest = match self.phase {
            Phase::Connecting => EventFlags::OUT,
            _ if self.unsent.is_empty() => EventFlags::IN,
            _ => EventFlags::IN | EventFlags::OUT,
        };
        if interest != self.interest {
            context.rewatch(&self.socket, slot, interest);
            self.interest = interest;
        }
    }
}

impl Counted {
    fn advance(&mut self, body: u64, opened: u64, is_within: bool) {
        if is_within {
            self.window_body += body - self.body;
            self.window_opened += opened - self.opened;
        }
        (self.body, self.opened) = (body, opened);
    }
}

fn unsealed() -> Failure {
    Failure::new(ErrorKind::Handshake, "the request could not be sealed")
}
