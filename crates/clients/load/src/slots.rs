//! The slots of one load thread, and their connections. Each slot runs one operation after another; as many in
//! a row share a connection as it has streams, one over HTTP/1.1.
//!
//! What becomes of connections and of operations is decided and counted here, whatever the protocol. A
//! connection that takes no more requests goes on with those that it has, and its slots with a new one.

#[cfg(test)]
mod tests;

use slab::Slab;
use timers::Timers;
use wire::Failure;

use crate::connection::{Connection, Next, Spare};
use crate::context::{Context, Ready};
use crate::ended::{Ended, Failed, Over};
use crate::openings::Openings;
use crate::recorder::Begun;
use crate::session::User;
use crate::window::Edge;
use crate::{Operation, Plan};

/// See the module.
pub(crate) struct Slots {
    /// How many slots share a connection.
    streams: usize,
    /// The connections that take requests, by their numbers.
    groups: Vec<Group>,
    /// Those that take no more. Their numbers begin after those of the groups.
    leaving: Slab<Connection>,
    /// Connections that have something to send; some more than once.
    due: Vec<usize>,
    /// When each slot's last operation ended.
    pub(crate) ended: Vec<Option<u64>>,
    /// How many slots have left the load in its ramp down.
    left: usize,
    /// The time limits of connections, and the timers of those over QUIC.
    limits: Timers<u64>,
    pub(crate) openings: Openings,
    /// What follows for slots, in order; the worker takes it.
    pub(crate) follow: Vec<(usize, After)>,
}

/// Slots in a row.
#[derive(Default)]
struct Group {
    connection: Option<Connection>,
    spare: Option<Spare>,
}

/// What the worker does with a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    /// It can begin an operation: its last one has ended, or its connection, opened ahead, is open or has
    /// failed.
    Free,
    /// Its operation failed. The next one waits a little, so that a dead server is not flooded.
    BackOff,
    /// Its operation has ended, and its user has made all walks.
    Done,
}

impl Slots {
    pub(crate) fn new(plan: &Plan, slots: usize) -> Self {
        let streams = plan.streams();
        let groups = std::iter::repeat_with(Group::default).take(slots.div_ceil(streams)).collect();
        Self {
            streams,
            groups,
            leaving: Slab::new(),
            due: Vec::new(),
            ended: vec![None; slots],
            left: 0,
            limits: Timers::default(),
            openings: Openings::default(),
            follow: Vec::new(),
        }
    }

    /// Begins an operation, on the connection that is kept or on a new one. Over HTTP/2 it is sent with the
    /// next [`Self::send`].
    pub(crate) fn begin(&mut self, context: &mut Context<'_>, slot: usize, mut begun: Begun) {
        begun.times.object = match context.users.get(slot).map(User::page) {
            Some(page) => page,
            None => context.requests.next(),
        };
        self.ask(context, slot, begun);
    }

    #[inline]
    fn ask(&mut self, context: &mut Context<'_>, slot: usize, begun: Begun) {
        let (group, place) = (slot / self.streams, slot % self.streams);
        if let Some(connection) = &mut self.groups[group].connection {
            if connection.takes_requests() {
                let result = connection.begin(context, place, begun);
                return self.conclude(context, group, result);
            }
            self.leave(context, group);
        }
        self.connect(context, group, Vec::from([(place, begun)]));
    }

    /// Opens a connection for these operations, each with its place.
    fn connect(
        &mut self,
        context: &mut Context<'_>,
        group: usize,
        operations: Vec<(usize, Begun)>,
    ) {
        let spare = self.groups[group].spare.take();
        let (mut connection, is_connected) = match Connection::dial(context, group, spare) {
            Ok(dialled) => dialled,
            Err(failure) => {
                if operations.is_empty() {
                    let now = context.now();
                    context.recorder.connection_failed(context.window, now, failure);
                    return;
                }
                let at = context.now();
                for (place, begun) in operations {
                    context.ends(Ended::lost(place, begun, at, failure.clone()), 0);
                }
                return self.account(context, group * self.streams);
            }
        };
        connection.slot = group * self.streams;
        let mut result = Ok(Next::Wait);
        for (place, begun) in operations {
            result = result.and_then(|_| connection.begin(context, place, begun));
        }
        if is_connected {
            result = result.and_then(|_| connection.connected(context));
        }
        self.groups[group].connection = Some(connection);
        self.conclude(context, group, result);
    }

    /// Opens a slot's connection ahead of its first operation, unless another slot has.
    pub(crate) fn open_ahead(&mut self, context: &mut Context<'_>, slot: usize) {
        let group = slot / self.streams;
        if self.groups[group].connection.is_none() {
            self.connect(context, group, Vec::new());
            // Over plain HTTP/1.1 nothing shows that it was accepted, until it is asked for something.
            let is_shown = !context.clients.is_empty() || context.plan.has_streams();
            if let Some(connection) = &mut self.groups[group].connection
                && !(is_shown && connection.is_accepted())
            {
                connection.is_opening = is_shown;
                self.openings.begins(context.recently(), is_shown);
            }
        }
        match &mut self.groups[group].connection {
            Some(connection) if !connection.is_open() => connection.joining.push(slot),
            _ => self.follow.push((slot, After::Free)),
        }
    }

    /// Continues after a socket became ready.
    pub(crate) fn ready(&mut self, context: &mut Context<'_>, ready: Ready) {
        match self.connection(ready.connection) {
            // The event is of one that had its number when the events came.
            Some(connection) if connection.started >= context.woken => {}
            Some(connection) => {
                let result = connection.ready(context, ready.has_ended);
                self.conclude(context, ready.connection, result);
            }
            // The slot backs off. A socket without a connection would cause events all the time.
            None => {
                if let Some(group) = self.groups.get_mut(ready.connection) {
                    group.spare = None;
                }
            }
        }
    }

    /// Sends what was left until all events were handled.
    #[inline(always)]
    pub(crate) fn send(&mut self, context: &mut Context<'_>) {
        while let Some(key) = self.due.pop() {
            if let Some(connection) = self.connection(key).filter(|connection| connection.is_due())
            {
                let result = connection.send(context);
                self.conclude(context, key, result);
            }
        }
    }

    /// When the next time limits are due, or are to be looked at again.
    pub(crate) fn next_check(&self) -> Option<u64> {
        self.limits.next()
    }

    /// Checks the time limits that are due.
    pub(crate) fn check_times(&mut self, context: &mut Context<'_>) {
        let now = context.recently();
        while let Some(key) = self.limits.pop(now) {
            let Some(connection) = self.connection(key) else { continue };
            let result = connection.check_time(context);
            self.conclude(context, key, result);
        }
    }

    /// A slot has left the load, as all before it have. Closes its connection if none of its slots is left
    /// or busy.
    pub(crate) fn close_kept(&mut self, context: &mut Context<'_>, slot: usize) {
        self.left = self.left.max(slot + 1);
        let group = slot / self.streams;
        let has_left = self.left >= self.ended.len().min((group + 1) * self.streams);
        if has_left && self.groups[group].connection.as_ref().is_some_and(Connection::is_idle) {
            self.close(context, group, false);
        }
    }

    /// The window begins or ends.
    pub(crate) fn cross(&mut self, edge: Edge) {
        let current = self.groups.iter_mut().filter_map(|group| group.connection.as_mut());
        current.for_each(|connection| connection.crosses(edge));
    }

    /// The window is over: records what is under way, and closes what has no bytes to prove.
    pub(crate) fn wind_up(&mut self, context: &mut Context<'_>) {
        for key in self.keys() {
            if let Some(connection) = self.connection(key) {
                let result = connection.wind_up(context);
                self.conclude(context, key, result);
            }
        }
    }

    /// Whether connections are left.
    pub(crate) fn are_any_open(&self) -> bool {
        !self.leaving.is_empty() || self.groups.iter().any(|group| group.connection.is_some())
    }

    /// Closes all at once. Bytes that have not been proven by now stay unproven.
    pub(crate) fn close_all(&mut self, context: &mut Context<'_>) {
        for key in self.keys() {
            self.close(context, key, false);
        }
    }

    fn keys(&self) -> Vec<usize> {
        let leaving = self.leaving.iter().map(|(key, _)| self.groups.len() + key);
        (0..self.groups.len()).chain(leaving).collect()
    }

    #[inline]
    fn connection(&mut self, key: usize) -> Option<&mut Connection> {
        match key.checked_sub(self.groups.len()) {
            None => self.groups[key].connection.as_mut(),
            Some(key) => self.leaving.get_mut(key),
        }
    }

    /// After a connection was used: decides what becomes of it, and of the operations that have ended.
    #[inline(always)]
    fn conclude(&mut self, context: &mut Context<'_>, key: usize, result: Result<Next, Failure>) {
        let Some(connection) = self.connection(key) else { return };
        let first = connection.slot;
        match connection.rest(context, result) {
            Ok(Next::Wait) => self.keep(context, key),
            result => self.move_on(context, key, result),
        }
        if !context.ended.is_empty() {
            self.account(context, first);
        }
    }

    /// A connection takes no more requests, or is over.
    fn move_on(&mut self, context: &mut Context<'_>, key: usize, result: Result<Next, Failure>) {
        let Some(connection) = self.connection(key) else { return };
        match result {
            Ok(Next::Wait | Next::Leave) => self.leave(context, key),
            Ok(Next::Close) => {
                self.close(context, key, true);
                // The next operation begins after that.
                context.now();
            }
            Ok(Next::Reconnect) => {
                let operations = connection.take_operations();
                self.close(context, key, false);
                context.now();
                self.connect(context, key, operations);
            }
            Err(failure) => {
                let at = context.now();
                connection.fail(context, &failure, at);
                let is_close = connection.may_end_by(&failure) || context.is_winding_up;
                if context.ended.is_empty() && !is_close {
                    context.recorder.connection_failed(context.window, at, failure);
                }
                self.close(context, key, false);
            }
        }
    }

    /// A connection gets no more requests. It is closed when it has answered those that it has.
    fn leave(&mut self, context: &mut Context<'_>, key: usize) {
        let groups = self.groups.len();
        let Some(connection) = self.connection(key) else { return };
        if connection.is_idle() {
            return self.close(context, key, true);
        }
        connection.down(context);
        let key = match self.groups.get_mut(key).and_then(|group| group.connection.take()) {
            Some(mut connection) => {
                let entry = self.leaving.vacant_entry();
                let key = groups + entry.key();
                connection.renumber(context, key);
                entry.insert(connection);
                key
            }
            None => key,
        };
        self.keep(context, key);
    }

    /// Waits for what comes next on a connection.
    #[inline(always)]
    fn keep(&mut self, context: &mut Context<'_>, key: usize) {
        let Some(connection) = self.connection(key) else { return };
        connection.update_interest(context);
        let (is_due, at) = (connection.is_due(), connection.next_check(context));
        let is_awaited = connection.is_opening || !connection.joining.is_empty();
        if is_due {
            self.due.push(key);
        }
        if at < u64::MAX {
            self.limits.set(key, at);
        }
        if is_awaited {
            self.note_opened(key);
        }
    }

    /// Where a connection that was opened ahead is open, its slots begin; where the server has proven it,
    /// another may be opened.
    fn note_opened(&mut self, key: usize) {
        let Some(connection) = self.connection(key) else { return };
        let joining = match connection.is_open() {
            true => std::mem::take(&mut connection.joining),
            false => Vec::new(),
        };
        let is_proven = connection.is_opening && connection.is_accepted();
        connection.is_opening &= !is_proven;
        self.follow.extend(joining.into_iter().map(|slot| (slot, After::Free)));
        if is_proven {
            self.openings.ends();
        }
    }

    fn close(&mut self, context: &mut Context<'_>, key: usize, is_in_order: bool) {
        let groups = self.groups.len();
        let connection = match key.checked_sub(groups) {
            None => self.groups[key].connection.take(),
            Some(key) => self.leaving.try_remove(key),
        };
        let Some(mut connection) = connection else { return };
        if connection.is_opening {
            self.openings.ends();
        }
        let joining = std::mem::take(&mut connection.joining);
        self.follow.extend(joining.into_iter().map(|slot| (slot, After::Free)));
        connection.close(context, is_in_order);
        if is_in_order && key < groups {
            self.groups[key].spare = connection.spare(context);
        }
    }

    /// Frees the slots whose operations have ended on a connection, whose first slot is `first`, or sends their
    /// requests again.
    #[inline(always)]
    fn account(&mut self, context: &mut Context<'_>, first: usize) {
        let mut again = Vec::new();
        while let Some(Over { place, at, failed }) = context.ended.pop() {
            let slot = first + place;
            let Some(failed) = failed else {
                self.ended[slot] = Some(at);
                self.follows(context, slot, After::Free);
                continue;
            };
            let Failed { mut begun, failure, unanswered, answers } = *failed;
            match unanswered {
                Some(why) if begun.tries.permit(why, context.plan, answers, context.succeeded) => {
                    context.recorder.sends_again(context.window, at, why);
                    again.push((slot, begun));
                }
                _ => self.fail(context, slot, begun, failure),
            }
        }
        // Each has its turn, where a connection ends with the first few.
        again.sort_by_key(|(slot, begun)| (begun.times.start, *slot));
        for (slot, begun) in again {
            self.ask(context, slot, begun);
        }
    }

    fn fail(&mut self, context: &mut Context<'_>, slot: usize, begun: Begun, failure: Failure) {
        let now = context.now();
        self.ended[slot] = Some(now);
        context.recorder.failed(context.window, now, begun, failure);
        if let Some(user) = context.users.get_mut(slot) {
            user.end_walk();
            context.recorder.walked(context.window, now, false);
        }
        self.follows(context, slot, After::BackOff);
    }

    /// An operation of this slot has ended.
    fn follows(&mut self, context: &mut Context<'_>, slot: usize, after: After) {
        let is_done = context.plan.operation == Operation::Session
            && context.users.get(slot).is_some_and(User::is_done);
        if is_done {
            self.close(context, slot, false);
        }
        self.follow.push((slot, if is_done { After::Done } else { after }));
    }
}
