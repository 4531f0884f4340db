//! One load thread: it begins operations as scheduled and handles the events of its sockets.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use units::Nanos;

use crate::choice::{Choice, PauseShare};
use crate::clients::Clients;
use crate::coalescing::Coalescing;
use crate::context::Context;
use crate::job::Stop;
use crate::names::NameDraws;
use crate::own_time::{OwnTime, ThreadUse};
use crate::recorder::{Recorder, Times};
use crate::requests::AllRequests;
use crate::requests_per_connection::CountDraws;
use crate::schedule::{Schedule, ThreadPart};
use crate::session::{Site, User};
use crate::slots::{After, Slots};
use crate::window::{Edge, Window};
use crate::{Arrival, Collected, Job, Operation, Outcome};

/// How often time limits are checked, and how late the load's end is noticed at most, in ns.
const TICK: u64 = 20_000_000;

/// How much later a wait may end than it should, where nothing else is due: see [`Context::wait`].
const WAIT_PRECISION: u64 = 1_000_000;

/// How long a connection waits after a failure before its next operation, in ns.
const BACK_OFF: u64 = 20_000_000;

/// How long the thread waits for the proof of bytes under way after the window's end, in ns.
const WIND_UP_LIMIT: u64 = 1_000_000_000;

/// The most operations that are begun, or connections that are opened, between two polls.
const BEGUN_AT_ONCE: usize = 32;

/// What a thread publishes while it runs.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) completed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) body: AtomicU64,
}

/// What a thread is given.
pub(crate) struct Share<'a> {
    pub(crate) job: &'a Job,
    /// What is asked for.
    pub(crate) requests: &'a Arc<AllRequests>,
    /// What users walk, in a session.
    pub(crate) site: Option<&'a Site>,
    pub(crate) window: &'a Window,
    pub(crate) base: Instant,
    /// This thread's part of the load.
    pub(crate) part: ThreadPart,
    pub(crate) counters: &'a Counters,
    /// How all threads pause.
    pub(crate) choice: &'a Arc<Mutex<Choice>>,
}

/// Runs a thread's share of the load until the window is over, and records it.
pub(crate) fn run(share: &Share<'_>, clients: &Clients, recorder: Recorder) -> io::Result<Outcome> {
    let Share { job, requests, site, window, base, part, counters, choice } = *share;
    let mut context = Context::new(job, requests, window, clients, recorder, part.thread, base)?;
    let users = site.into_iter().flat_map(|site| {
        (0..part.slots).map(move |slot| User::new(site, 1 + part.number(slot), job.plan.walks))
    });
    context.users = users.collect();
    context.coalescing = Coalescing::new(choice.clone(), part.thread, part.slots);
    let counts_all = job.ends_by_itself();
    context.planned = job
        .plan
        .requests_per_connection
        .as_ref()
        .map(|asked| CountDraws::new(asked, &part, counts_all));
    // The default timer slack makes starts late and pauses longer by up to 50 µs. If the kernel
    // refuses, it stays so.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut worker = Worker::new(context, part);
    worker.load(counters)?;
    worker.wind_up()?;
    publish(counters, &worker.context.recorder);
    let threads = worker.used.into_iter().collect();
    let pauses = worker.context.coalescing.pauses();
    let outcome = worker.context.recorder.into_outcome();
    // Where there were none, there was nothing to choose.
    let has_paused = outcome.latencies.coalescing > Nanos(0) || pauses.share == PauseShare::None;
    Ok(Outcome { threads, pauses: Some(pauses).filter(|_| has_paused), ..outcome })
}

/// The window in which a thread with so many slots collects its sessions: as many as it has connections, and
/// at least one for each of these names.
pub(crate) fn collecting_window(job: &Job, slots: usize, names: usize) -> Window {
    let count = slots.next_multiple_of(names.max(1)) as u64;
    // Each connection has its own time limit; this one is for all that can happen to them.
    let within = Nanos(job.plan.timeout.0.saturating_mul(2));
    Window::new(Stop::Operations { count, within }, Nanos(0))
}

/// Collects sessions in this window, which began at `base`, for a thread's clients to resume. Of names, the
/// certificates that were shown are kept: a handshake that resumes shows none.
pub(crate) fn collect(
    job: &Job,
    window: &Window,
    base: Instant,
    part: ThreadPart,
    clients: &Clients,
    names: usize,
) -> io::Result<Outcome> {
    let recorder = Recorder::new(Arrival::CLOSED);
    // Handshakes ask for nothing.
    let requests = Arc::default();
    let mut context = Context::new(job, &requests, window, clients, recorder, part.thread, base)?;
    context.names = NameDraws::in_turn(names);
    let mut worker = Worker::new(context, part);
    clients.collect(true);
    let loaded = worker.load(&Counters::default()).and_then(|()| worker.wind_up());
    clients.collect(false);
    loaded?;
    let outcome = worker.context.recorder.into_outcome();
    let connections = outcome.negotiated.iter().map(|(_, count)| count).sum();
    Ok(Outcome {
        collected: Some(Collected { given: outcome.given, connections }),
        certificates: outcome.certificates,
        names_certified: outcome.names_certified,
        ..Outcome::default()
    })
}

struct Worker<'a> {
    context: Context<'a>,
    slots: Slots,
    schedule: Schedule,
    part: ThreadPart,
    /// The first slot that has not joined the load.
    joining: usize,
    /// Whether slots join when their connections were opened ahead of their first operations. Only some are
    /// opened at a time, so that the server sets the pace.
    is_ahead: bool,
    /// The first slot that has not left the load during the ramp down.
    leaving: usize,
    /// Slots that back off, with the time until when; back-offs are equal, so the queue is in
    /// order.
    resting: VecDeque<(u64, usize)>,
    /// How many users have made all their walks.
    done: usize,
    /// The end of the window that comes next.
    edge: Option<Edge>,
    /// What this thread had used of its CPU when the window began.
    begun: Option<OwnTime>,
    /// What it used within the window, once that has ended.
    used: Option<ThreadUse>,
    next_tick: u64,
}

impl<'a> Worker<'a> {
    fn new(context: Context<'a>, part: ThreadPart) -> Self {
        // Where each operation has its own connection there is nothing to open ahead. In a closed
        // loop without think time the first operation opens the connection.
        let plan = context.plan;
        let is_ahead = plan.operation == Operation::Requests && plan.arrival != Arrival::CLOSED;
        Self {
            slots: Slots::new(plan, part.slots),
            schedule: Schedule::new(plan.arrival, part),
            context,
            part,
            joining: 0,
            is_ahead,
            leaving: 0,
            resting: VecDeque::new(),
            done: 0,
            edge: Some(Edge::Start),
            begun: None,
            used: None,
            next_tick: TICK,
        }
    }

    fn load(&mut self, counters: &Counters) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            let now = self.context.now();
            if now >= self.next_tick {
                let due = self.next_tick + WAIT_PRECISION;
                self.context.recorder.timer(self.context.window, due, now);
                self.next_tick = now + TICK;
                self.slots.check_times(&mut self.context);
                self.follow_all();
                publish(counters, &self.context.recorder);
                self.context.now();
            }
            self.cross_edge();
            if self.context.window.is_over(self.context.recently()) {
                return Ok(());
            }
            if self.context.quic.is_some() {
                self.slots.check_times(&mut self.context);
                self.follow_all();
            }
            self.join_due();
            self.begin_due();
            self.leave_due();
            self.send_due();
            let due = self.due_at();
            // QUIC has timers of its own, which may be a millisecond late (RFC 9002, section 6.1.2); other time
            // limits are looked at with the tick.
            let timers = self.context.quic.as_ref().and_then(|_| self.slots.next_check());
            let limit = self.next_tick.min(self.context.window.over()).min(never(timers));
            if self.context.plan.arrival == Arrival::CLOSED {
                self.context.pause(self.under_way(), due.map_or(limit, |due| due.min(limit)));
            }
            self.context.wait(&mut events, due, limit)?;
            // All events are handled before anything else begins: an event belongs to the
            // connection that the slot had at that time.
            for ready in events.drain(..) {
                self.slots.ready(&mut self.context, ready);
                self.follow_all();
            }
        }
    }

    /// Where the window has begun or ended, notes which bytes came before, and the CPU time.
    fn cross_edge(&mut self) {
        while let Some(edge) = self.edge
            && self.edge_at().is_some_and(|at| at <= self.context.recently())
        {
            let own = OwnTime::now(self.context.now(), self.context.polled_in_vain);
            match edge {
                Edge::Start => self.begun = Some(own),
                Edge::End => self.used = self.begun.map(|begun| own.since(begun)),
            }
            self.slots.cross(edge);
            self.edge = (edge == Edge::Start).then_some(Edge::End);
            // To look at all sockets takes a while.
            self.context.now();
        }
    }

    /// When the window begins; then, when it ends.
    fn edge_at(&self) -> Option<u64> {
        self.edge.map(|edge| match edge {
            Edge::Start => self.context.window.start(),
            Edge::End => self.context.window.end(),
        })
    }

    /// Adds the slots to the load that are due to join.
    fn join_due(&mut self) {
        let mut now = self.context.recently();
        for _ in 0..BEGUN_AT_ONCE {
            if self.context.window.is_over(now) || self.joins_at().is_none_or(|at| at > now) {
                return;
            }
            let slot = self.joining;
            self.joining += 1;
            match self.is_ahead {
                true => self.slots.open_ahead(&mut self.context, slot),
                false => self.follow(slot, After::Free),
            }
            self.follow_all();
            now = self.context.now();
        }
    }

    /// When the next slot joins the load, if one can.
    fn joins_at(&mut self) -> Option<u64> {
        let slot = (self.joining < self.part.slots).then_some(self.joining)?;
        let at = self.part.joins(slot);
        if !self.is_ahead {
            return Some(at);
        }
        self.slots.openings.next(self.context.recently()).map(|from| at.max(from))
    }

    /// Removes the slots from the load that are due to leave in the ramp down.
    fn leave_due(&mut self) {
        let now = self.context.recently();
        while self.leaves_at().is_some_and(|at| at <= now) {
            self.slots.close_kept(&mut self.context, self.leaving);
            self.leaving += 1;
        }
    }

    /// When the next slot leaves the load, if one does.
    fn leaves_at(&self) -> Option<u64> {
        let is_left = self.schedule.shrinks_by_slot() && self.leaving < self.part.slots;
        is_left.then(|| self.part.leaves(self.leaving))?
    }

    /// Begins the operations that are due.
    fn begin_due(&mut self) {
        let mut now = self.context.recently();
        for _ in 0..BEGUN_AT_ONCE {
            if self.context.window.is_over(now) {
                return;
            }
            if self.resting.front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, slot)) = self.resting.pop_front() else { return };
                self.follow(slot, After::Free);
            } else if let Some(due) = self.schedule.next(now) {
                self.context.recorder.timer(self.context.window, due.at, now);
                if due.slot < self.leaving {
                    // It was due before the window's end, and this thread was too late.
                    if self.context.window.has_seen(due.intended) {
                        self.context.recorder.waits(self.context.window, due.intended);
                    }
                    continue;
                }
                self.begin(due.slot, Times::new(due.intended, now), now - due.at);
            } else {
                return;
            }
            self.follow_all();
            now = self.context.now();
        }
    }

    /// Leaves the slot idle where no more operations are to begin.
    fn begin(&mut self, slot: usize, times: Times, late: u64) {
        if !self.context.window.begins_operation() {
            return;
        }
        let Context { recorder, window, .. } = &mut self.context;
        let begun = recorder.begins(window, times);
        // In an open loop a slot waits for its next arrival.
        if let Some(ended) = self.slots.ended[slot] {
            recorder.resumes(window, ended, times.start, late);
        }
        self.slots.begin(&mut self.context, slot, begun);
    }

    /// Continues with a slot after an event.
    fn follow(&mut self, slot: usize, after: After) {
        let now = match after {
            After::BackOff => {
                return self.resting.push_back((self.context.now() + BACK_OFF, slot));
            }
            After::Free => self.context.recently(),
            After::Done => {
                self.done += 1;
                return self.context.window.user_is_done(self.context.now());
            }
        };
        if self.context.window.is_over(now) {
            return;
        }
        if slot < self.leaving {
            return self.slots.close_kept(&mut self.context, slot);
        }
        if let Some(intended) = self.schedule.freed(slot, now) {
            self.begin(slot, Times::new(intended, now), 0);
        }
    }

    /// Continues with all slots for which something follows.
    fn follow_all(&mut self) {
        while !self.slots.follow.is_empty() {
            let mut follow = std::mem::take(&mut self.slots.follow);
            for (slot, after) in follow.drain(..) {
                self.follow(slot, after);
            }
            if self.slots.follow.is_empty() {
                // Its memory serves the next call.
                self.slots.follow = follow;
            }
        }
    }

    /// At least how many operations a closed loop without think time has under way; some of the
    /// slots that back off may have left already.
    fn under_way(&self) -> usize {
        self.joining.saturating_sub(self.leaving + self.resting.len() + self.done)
    }

    /// When the next slot begins something by itself, or the window begins or ends.
    fn due_at(&mut self) -> Option<u64> {
        let rested = self.resting.front().map(|(at, _)| *at);
        let others = [self.edge_at(), self.schedule.wake_at(), self.joins_at(), self.leaves_at()];
        // Not flattened: it would cost more than all else that a thread does between two waits.
        let due = others.iter().fold(never(rested), |due, &other| due.min(never(other)));
        (due < u64::MAX).then_some(due)
    }

    /// Sends what the slots' operations ask for, where that is sent together.
    fn send_due(&mut self) {
        self.slots.send(&mut self.context);
        while !self.slots.follow.is_empty() {
            self.follow_all();
            self.slots.send(&mut self.context);
        }
    }

    /// Waits for the proof of the bytes that were under way when the window ended, and records the
    /// operations that had not begun.
    fn wind_up(&mut self) -> io::Result<()> {
        let Self { context, slots, schedule, .. } = self;
        context.is_winding_up = true;
        let window = context.window;
        schedule.leave(window.end(), |intended| context.recorder.waits(window, intended));
        let deadline = context.now() + WIND_UP_LIMIT;
        slots.wind_up(context);
        let mut events = Vec::with_capacity(256);
        while slots.are_any_open() && context.now() < deadline {
            context.wait(&mut events, None, deadline)?;
            for ready in events.drain(..) {
                slots.ready(context, ready);
            }
        }
        slots.close_all(context);
        Ok(())
    }
}

/// `None` as a time that does not come.
fn never(at: Option<u64>) -> u64 {
    at.unwrap_or(u64::MAX)
}

fn publish(counters: &Counters, recorder: &Recorder) {
    let (completed, failed, body) = recorder.totals();
    counters.completed.store(completed, Relaxed);
    counters.failed.store(failed, Relaxed);
    counters.body.store(body, Relaxed);
}
