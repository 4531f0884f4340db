//! One connection of the load: from connect to close, and again.
//!
//! The phases are in `opening`, `exchange` and `closing`. This module has what the worker sees: a
//! slot that begins operations, handles events and says what follows.

mod closing;
mod counted;
mod exchange;
mod opening;

use rustix::event::epoll::EventFlags;

use self::counted::Counted;
pub(crate) use self::exchange::unsealed;
pub(crate) use self::opening::{Dialled, dial};
use crate::Operation;
use crate::context::{Context, INCOMING, Ready};
use crate::recorder::Times;
use crate::requests_per_connection::Planned;
use crate::session::User;
use crate::socket::Socket;
use crate::window::Edge;
use wire::handshake::Handshake;
use wire::reception::{Completed, Reception};
use wire::record::Sealer;
use wire::{ErrorKind, Failure};

/// A server that closes does so with its last response. Where the window ends before it is due to be
/// given up, this long after the response it has not meant to.
const KEPT_LIMIT: u64 = 50_000_000;

/// The largest mark that the default receive buffer has room for.
const LEAST_ROOM: u32 = 32 << 10;

/// A slot of the load: it runs one operation after another.
#[derive(Default)]
pub(crate) struct Connection {
    open: Option<Open>,
    spare: Option<Spare>,
    /// When its last operation ended.
    ended: Option<u64>,
}

/// A socket whose connection is over, still watched, for the slot's next connection.
struct Spare {
    socket: Socket,
    interest: EventFlags,
    room: u32,
}

/// A connection that is open or being opened.
struct Open {
    /// The slot, which is also the number of its user in a session.
    slot: usize,
    /// The number of its name; 0 where all have one.
    name: usize,
    socket: Socket,
    interest: EventFlags,
    phase: Phase,
    /// The operation under way; `None` while the connection is opened ahead or kept for the next.
    operation: Option<Times>,
    /// Received and not yet used.
    received: Vec<u8>,
    /// To be sent as soon as the socket has room.
    unsent: Vec<u8>,
    /// How much of the request's body is not sealed yet.
    body_left: usize,
    /// When it began to connect.
    started: u64,
    /// When bytes were last sent or received.
    progress: u64,
    /// The socket's low-water mark.
    mark: u32,
    /// The largest mark so far, which the buffer has room for.
    room: u32,
    /// Whether the wait for the response under way ends with its first byte.
    is_first_byte_timed: bool,
    /// When its last operation succeeded.
    succeeded: Option<u64>,
    /// After how many requests it ends, where that is planned.
    planned: Option<Planned>,
    /// How many requests it has sent.
    sent: u32,
    /// Whether the server has said that it closes the connection, or has closed it.
    is_closed_by_server: bool,
    /// Body bytes of the response under way that were counted.
    counted: Counted,
    readable: Readable,
}

/// What is known about bytes that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Readable {
    /// There may be something.
    Unknown,
    /// The server's end of stream, after whatever there is.
    ToTheEnd,
    /// Nothing, until the socket becomes ready again.
    Nothing,
    /// Nothing but the server's end of stream.
    End,
}

enum Phase {
    Connecting,
    Handshaking(Box<dyn Handshake>),
    /// The connection can carry requests: it awaits or receives a response, or is idle.
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

/// What of an operation is recorded only when its connection closes.
enum Ending {
    /// A handshake: the close is its end.
    Handshake,
    /// A request that ended at this time with this response.
    Response { at: u64, completed: Completed },
}

/// What the worker does with the slot after an event.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Wait for the next event.
    Wait,
    /// Its connection, opened ahead, is established or has failed. An operation can begin either
    /// way.
    Opened,
    /// Its operation has ended; the next can begin.
    Free,
    /// Its operation failed. The next one waits a little, so that a dead server is not flooded.
    BackOff,
    /// Its operation has ended, and its user has made all walks.
    Done,
}

/// What becomes of the connection after an event.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    /// Wait for the next event.
    Wait,
    /// It is kept for the next operation.
    Keep,
    /// It is done, or the server has closed it.
    Close,
    /// It is done, and its operation continues on a new one.
    Reconnect,
    /// Its operation has failed, and it can be kept for the next one.
    Fail(Failure),
}

/// What a connection is for at the moment.
#[derive(Debug, Clone, Copy)]
enum Role {
    /// It is opened ahead of its first operation.
    Ahead,
    /// It is kept for the next operation.
    Kept,
    /// This operation.
    Operating(Times),
}

impl Connection {
    /// Begins an operation, on the connection that is kept or on a new one.
    pub(crate) fn begin(&mut self, context: &mut Context<'_>, slot: usize, times: Times) -> After {
        let page = context.users.get(slot).map(User::page);
        let times = page.map_or(times, |object| Times { object, ..times });
        if let Some(open) = &mut self.open {
            match open.begin(context, times) {
                // The server has closed it meanwhile, as it may.
                Ok(Next::Close) => self.close(context),
                result => return self.finish(Role::Operating(times), result, context, slot),
            }
        }
        self.connect(context, slot, times.start, Some(times))
    }

    /// When the slot's last operation ended.
    pub(crate) fn ended(&self) -> Option<u64> {
        self.ended
    }

    /// Opens a connection ahead of its first operation.
    pub(crate) fn open_ahead(&mut self, context: &mut Context<'_>, slot: usize) -> After {
        let now = context.now();
        self.connect(context, slot, now, None)
    }

    /// Closes the connection if it is kept for the next operation.
    pub(crate) fn close_kept(&mut self, context: &mut Context<'_>) {
        if self.open.as_ref().is_some_and(|open| matches!(open.role(), Role::Kept)) {
            self.close(context);
        }
    }

    /// Continues after the socket became ready.
    pub(crate) fn ready(&mut self, context: &mut Context<'_>, ready: Ready) -> After {
        let Some(open) = &mut self.open else {
            // The slot backs off. A socket without a connection would cause events all the time.
            self.spare = None;
            return After::Wait;
        };
        let role = open.role();
        let result = open.ready(context, ready.has_ended);
        self.finish(role, result, context, ready.slot)
    }

    /// Checks the time limits.
    pub(crate) fn check_time(&mut self, context: &mut Context<'_>, slot: usize) -> After {
        let Some(open) = &mut self.open else { return After::Wait };
        let role = open.role();
        let result = open.check_time(context);
        self.finish(role, result, context, slot)
    }

    /// The window begins or ends, and the bytes of a response may lie unread in the socket, which
    /// is to wake the thread only when all have come. To look costs a system call.
    pub(crate) fn crosses(&mut self, edge: Edge) {
        let Some(open) = &mut self.open else { return };
        if open.mark > 1
            && open.operation.is_some()
            && matches!(open.phase, Phase::Receiving { .. })
        {
            open.counted.crosses(edge, open.received.len() as u64 + open.socket.readable());
        }
    }

    /// The window is over: `true` while the connection still has bytes to prove.
    pub(crate) fn wind_up(&mut self, context: &mut Context<'_>, slot: usize) -> bool {
        let Some(open) = &mut self.open else { return false };
        let role = open.role();
        let is_connecting = matches!(open.phase, Phase::Connecting | Phase::Handshaking(_));
        if is_connecting {
            context.recorder.connecting(context.window, open.started);
        }
        let is_receiving = matches!(open.phase, Phase::Receiving { .. });
        if is_connecting || is_receiving && context.opens_with_response() {
            open.note_repeated(context, context.window.end());
        }
        if let Role::Operating(times) = role
            && !matches!(open.phase, Phase::Closing { ending: Ending::Response { .. }, .. })
        {
            context.recorder.in_flight(context.window, times);
        }
        if is_receiving && open.counted.has_window_body() {
            open.set_mark(1);
            open.readable = Readable::Unknown;
            let result = open.receive(context);
            self.finish(role, result, context, slot);
            return self.open.is_some();
        }
        if let Phase::Closing { ending: Ending::Response { at, .. }, .. } = open.phase {
            // The response is complete; only the server's close is missing.
            let window = context.window;
            if window.end().saturating_sub(at) > KEPT_LIMIT {
                context.recorder.not_closed_by_server(window, at.max(window.start()));
            }
            open.closed(context);
        }
        self.close(context);
        false
    }

    /// Closes at once. Bytes that have not been proven by now stay unproven.
    pub(crate) fn close(&mut self, context: &mut Context<'_>) {
        if let Some(mut open) = self.take(context) {
            open.settle(context);
        }
    }

    /// Takes the connection out of the slot, to be closed.
    fn take(&mut self, context: &mut Context<'_>) -> Option<Open> {
        let open = self.open.take()?;
        context.recorder.closes(open.tickets());
        if let Some(planned) = open.planned {
            match open.has_sent_all() {
                true if open.operation.is_none() => context.recorder.carried(planned),
                false if open.is_closed_by_server => context.recorder.cut(),
                _ => {}
            }
        }
        if !matches!(open.phase, Phase::Connecting | Phase::Handshaking(_)) {
            context.window.note_up(false, || context.now());
        }
        Some(open)
    }

    /// Whether the server closed a connection that it had kept, as it may at any time, when the next request
    /// was on its way: that is sent again on a new connection, as browsers do (RFC 9112, section 9.3.1). A
    /// new connection has had no response, so a request is sent again once at most.
    fn is_closed_between(&self, role: Role, failure: &Failure, context: &Context<'_>) -> bool {
        let is_close = matches!(failure.kind, ErrorKind::EarlyClose | ErrorKind::Reset);
        let is_before_answer = |open: &Open| {
            open.succeeded.is_some()
                && matches!(&open.phase, Phase::Receiving { reception, .. } if !reception.has_begun())
        };
        is_close
            && matches!(role, Role::Operating(_))
            && context.plan.operation == Operation::Requests
            && context.plan.method().is_idempotent()
            && !context.is_winding_up
            && self.open.as_ref().is_some_and(is_before_answer)
    }

    fn finish(
        &mut self,
        role: Role,
        result: Result<Next, Failure>,
        context: &mut Context<'_>,
        slot: usize,
    ) -> After {
        if let Some(open) = &mut self.open {
            context.received.take_back(&mut open.received);
            context.unsent.take_back(&mut open.unsent);
        }
        let after = match (&result, role) {
            (Ok(Next::Wait), _) => After::Wait,
            (Ok(Next::Fail(_)) | Err(_), Role::Operating(_)) => After::BackOff,
            (Ok(_), Role::Operating(_)) => After::Free,
            (_, Role::Ahead) => After::Opened,
            // The next operation opens a new one.
            (_, Role::Kept) => After::Wait,
        };
        if after == After::Free {
            self.ended = self.open.as_ref().and_then(|open| open.succeeded);
        }
        match result {
            Ok(Next::Wait | Next::Keep) => {
                if let Some(open) = &mut self.open {
                    open.update_interest(context, slot);
                }
            }
            Ok(Next::Close) => {
                if let Some(mut open) = self.take(context) {
                    open.settle(context);
                    self.spare = open.spare(context);
                    // The next operation begins after that.
                    context.now();
                }
            }
            Ok(Next::Reconnect) => {
                if let Some(mut open) = self.take(context) {
                    open.settle(context);
                }
                let now = context.now();
                return self.connect(context, slot, now, role.times());
            }
            Ok(Next::Fail(failure)) => {
                let now = fail(context, slot, role, failure);
                self.ended = if after == After::BackOff { Some(now) } else { self.ended };
                if let Some(open) = &mut self.open {
                    open.let_go(context);
                    open.update_interest(context, slot);
                }
            }
            Err(failure) if self.is_closed_between(role, &failure, context) => {
                let now = context.now();
                context.recorder.sends_again(context.window, now);
                if let Some(open) = self.take(context) {
                    open.fail(context);
                }
                return self.connect(context, slot, now, role.times());
            }
            Err(failure) => {
                // After the window's end the operation has been recorded as under way.
                if !context.is_winding_up {
                    let now = fail(context, slot, role, failure);
                    self.ended = if after == After::BackOff { Some(now) } else { self.ended };
                }
                if let Some(open) = self.take(context) {
                    open.fail(context);
                }
            }
        }
        let is_done = || context.users.get(slot).is_some_and(User::is_done);
        if matches!(after, After::Free | After::BackOff) && is_done() {
            self.close(context);
            return After::Done;
        }
        after
    }
}

/// Records a failure, which ends a user's walk, and says when it was.
fn fail(context: &mut Context<'_>, slot: usize, role: Role, failure: Failure) -> u64 {
    let now = context.now();
    context.recorder.failed(context.window, now, role.times(), failure);
    if let (Some(user), Role::Operating(_)) = (context.users.get_mut(slot), role) {
        user.end_walk();
        context.recorder.walked(context.window, now, false);
    }
    now
}

impl Readable {
    /// After a read that returned less than was asked for: there is nothing more to read. Another
    /// read would be a wasted system call, and bytes that come meanwhile cause an event.
    fn drained(self) -> Self {
        match self {
            Self::Unknown | Self::Nothing => Self::Nothing,
            Self::ToTheEnd | Self::End => Self::End,
        }
    }
}

impl Role {
    fn times(self) -> Option<Times> {
        match self {
            Self::Operating(times) => Some(times),
            Self::Ahead | Self::Kept => None,
        }
    }
}

impl Open {
    fn role(&self) -> Role {
        match (self.operation, &self.phase) {
            (Some(times), _) => Role::Operating(times),
            (None, Phase::Connecting | Phase::Handshaking(_)) => Role::Ahead,
            (None, Phase::Receiving { .. } | Phase::Closing { .. }) => Role::Kept,
        }
    }

    /// Whether the request that was sent last is the last that is planned.
    #[inline]
    fn has_sent_all(&self) -> bool {
        self.planned.is_some_and(|planned| self.sent >= planned.count.get())
    }

    fn ready(&mut self, context: &mut Context<'_>, has_ended: bool) -> Result<Next, Failure> {
        self.readable = if has_ended { Readable::ToTheEnd } else { Readable::Unknown };
        if matches!(self.phase, Phase::Connecting) {
            self.socket.connected()?;
            let now = context.now();
            return self.connected(context, now);
        }
        if !self.unsent.is_empty()
            && let Err(failure) = self.flush(context)
        {
            // A server may answer before it has read a body, and close.
            return match self.receive(context) {
                Ok(Next::Wait) => Err(failure),
                answered => answered,
            };
        }
        match self.phase {
            Phase::Handshaking(_) => self.handshake(context),
            _ => {
                if has_ended {
                    self.end_too(context);
                }
                match self.planned {
                    Some(_) => self.receive_end(context),
                    None => self.receive(context),
                }
            }
        }
    }

    /// The tickets that came after the handshake.
    fn tickets(&self) -> u64 {
        match &self.phase {
            Phase::Connecting | Phase::Handshaking(_) => 0,
            Phase::Receiving { reception, .. } | Phase::Closing { reception, .. } => {
                reception.tickets()
            }
        }
    }

    fn update_interest(&mut self, context: &Context<'_>, slot: usize) {
        let interest = match self.phase {
            Phase::Connecting => EventFlags::OUT,
            _ if self.unsent.is_empty() => INCOMING,
            _ => INCOMING | EventFlags::OUT,
        };
        if interest != self.interest {
            context.rewatch(&self.socket, slot, interest);
            self.interest = interest;
        }
    }
}
