//! From connect to the first request: TCP, then the handshake.

use rustix::event::epoll::EventFlags;

use super::exchange::seal_close_notify;
use super::{
    After, Connection, Counted, Ending, LEAST_ROOM, Next, Open, Phase, Readable, Role, Spare,
};
use crate::context::{Context, INCOMING};
use crate::descriptors;
use crate::recorder::Times;
use crate::requests_per_connection::CountDraws;
use crate::socket::{Moved, Socket};
use crate::{Close, Operation, Receive};
use wire::handshake::Established;
use wire::reception::Reception;
use wire::{ErrorKind, Failure};

impl Connection {
    /// Opens a connection, for an operation or ahead of one.
    pub(super) fn connect(
        &mut self,
        context: &mut Context<'_>,
        slot: usize,
        now: u64,
        operation: Option<Times>,
    ) -> After {
        let role = operation.map_or(Role::Ahead, Role::Operating);
        let dialled = match self.spare.take() {
            Some(spare) => spare.dial(context),
            None => dial(context, slot),
        };
        let Dialled { socket, interest, room, is_connected } = match dialled {
            Ok(dialled) => dialled,
            Err(failure) => return self.finish(role, Err(failure), context, slot),
        };
        context.recorder.opens();
        let open = self.open.insert(Open {
            slot,
            name: context.names.next(),
            socket,
            interest,
            phase: Phase::Connecting,
            operation,
            received: Vec::new(),
            unsent: Vec::new(),
            body_left: 0,
            started: now,
            progress: now,
            mark: 1,
            room,
            is_first_byte_timed: true,
            succeeded: None,
            planned: context.planned.as_mut().map(CountDraws::next),
            sent: 0,
            is_closed_by_server: false,
            counted: Counted::default(),
            readable: Readable::Unknown,
        });
        let result = if is_connected {
            let now = context.now();
            open.connected(context, now)
        } else {
            Ok(Next::Wait)
        };
        self.finish(role, result, context, slot)
    }
}

/// A watched socket that connects or has connected.
pub(crate) struct Dialled {
    pub(crate) socket: Socket,
    pub(crate) interest: EventFlags,
    room: u32,
    pub(crate) is_connected: bool,
}

pub(crate) fn dial(context: &mut Context<'_>, slot: usize) -> Result<Dialled, Failure> {
    let (source, usage) = (context.source(), context.usage());
    let (address, close) = (context.job.address, context.plan.close);
    let congestion = context.congestion.as_ref();
    let (socket, is_connected) =
        Socket::connect(address, source.as_deref(), usage, close, congestion)?;
    let interest = if is_connected { INCOMING } else { EventFlags::OUT };
    context.watch(&socket, slot, interest).map_err(|error| descriptors::lacking(&error))?;
    Ok(Dialled { socket, interest, room: LEAST_ROOM, is_connected })
}

impl Spare {
    fn dial(self, context: &Context<'_>) -> Result<Dialled, Failure> {
        let Self { socket, interest, room } = self;
        let (socket, is_connected) = socket.connect_again(context.job.address, context.usage())?;
        Ok(Dialled { socket, interest, room, is_connected })
    }
}

/// The least time after which the kernel sends a packet again (`TCP_RTO_MIN`).
const LEAST_RETRANSMISSION: u64 = 200_000_000;

impl Open {
    /// Notes where it was opened late because a packet was lost. Only those that took so long are asked.
    pub(super) fn note_repeated(&self, context: &mut Context<'_>, now: u64) {
        if now.saturating_sub(self.started) >= LEAST_RETRANSMISSION && self.socket.has_sent_again()
        {
            context.recorder.repeated(context.window, now, self.started);
        }
    }

    /// The TCP connection is established: begins the handshake, or sends the request.
    pub(super) fn connected(
        &mut self,
        context: &mut Context<'_>,
        now: u64,
    ) -> Result<Next, Failure> {
        self.progress = now;
        match context.clients.get(self.name) {
            None => {
                context.recorder.connected(context.window, now, self.started, None);
                if context.names.has_list() {
                    context.recorder.named(self.name, None);
                }
                context.window.note_up(true, || now);
                if !context.opens_with_response() {
                    self.note_repeated(context, now);
                }
                let mut reception = Reception::plain(context.learned.clone());
                reception.set_answers(context.answers);
                self.phase = Phase::Receiving { reception, sealer: None };
                self.proceed(context, now)
            }
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
            Ok(Some(established)) => self.established(context, established),
            Err(failure) => {
                // This may be an alert with the reason; whether it arrives does not matter here.
                let _ = self.flush(context);
                Err(failure)
            }
        }
    }

    fn established(
        &mut self,
        context: &mut Context<'_>,
        established: Established,
    ) -> Result<Next, Failure> {
        let now = context.now();
        context.recorder.connected(context.window, now, self.started, Some(&established));
        if context.names.has_list() {
            context.recorder.named(self.name, established.remarks.certificate);
        }
        context.window.note_up(true, || now);
        self.note_repeated(context, now);
        let mut reception = Reception::tls(established.opener, context.learned.clone())
            .with_post_handshake(established.post_handshake);
        reception.set_answers(context.answers);
        if context.plan.receive() == Receive::Walk {
            reception = reception.skipping_mac_if_expected();
        }
        let mut sealer = established.sealer;
        if context.plan.operation == Operation::Handshakes {
            seal_close_notify(&mut sealer, &mut self.unsent)?;
            match context.plan.close {
                Close::Fin => self.flush_and_end(context)?,
                Close::Rst => self.flush(context)?,
            }
            self.phase = Phase::Closing {
                reception: reception.over(self.received.len()),
                ending: Ending::Handshake,
            };
            let next = if self.received.is_empty() { Next::Wait } else { self.receive(context)? };
            if next == Next::Wait {
                self.await_end();
            }
            return Ok(next);
        }
        self.phase = Phase::Receiving { reception, sealer: Some(sealer) };
        self.proceed(context, now)
    }

    /// Requests can be sent: sends the one of the operation under way, if there is one.
    fn proceed(&mut self, context: &mut Context<'_>, now: u64) -> Result<Next, Failure> {
        if self.operation.is_some() {
            if self.take_before_request(context)? != Next::Wait {
                return Err(Failure::new(ErrorKind::EarlyClose, "closed before a request"));
            }
            self.request(context, now)?;
            return Ok(Next::Wait);
        }
        self.flush(context)?;
        if self.received.is_empty() {
            return Ok(Next::Keep);
        }
        match self.receive(context)? {
            Next::Wait => Ok(Next::Keep),
            other => Ok(other),
        }
    }
}
