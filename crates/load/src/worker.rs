//! One load thread: it begins operations when the schedule says so, and takes what sockets tell.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::connection::{After, Connection};
use crate::context::{Context, request};
use crate::handshake::Client;
use crate::receive::READ_AHEAD;
use crate::recorder::{Recorder, Times};
use crate::schedule::{Part, Schedule};
use crate::window::Window;
use crate::{Arrival, Operation, Plan};

/// How often is looked for what has taken too long, and how late an end is noticed at most, in ns.
const TICK: u64 = 20_000_000;

/// Slots that are looked at in one tick. Of 50,000 each is looked at twice a second, which costs
/// less than a hundredth of a CPU.
const CHECKED_AT_ONCE: usize = 2048;

/// How long a connection waits after a failure before its next operation, in ns.
const BACK_OFF: u64 = 20_000_000;

/// How long is waited for the proof of bytes under way when the window has ended, in ns.
const WIND_UP_LIMIT: u64 = 1_000_000_000;

/// Operations that are begun, or connections opened, between two looks at those that are open.
const BEGUN_AT_ONCE: usize = 32;

/// Connections that a thread opens ahead at the same time: enough to keep a server busy, few
/// enough for its accept queue.
const OPENING_AT_ONCE: usize = 64;

/// What a thread tells while it runs.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) completed: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) body: AtomicU64,
}

/// What a thread is given.
pub(crate) struct Share<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) window: &'a Window,
    pub(crate) base: Instant,
    /// Which part of the load is this thread's.
    pub(crate) part: Part,
    pub(crate) counters: &'a Counters,
}

/// Runs a thread's share of the load until the window is over.
pub(crate) fn run(share: &Share<'_>, client: Option<&dyn Client>) -> io::Result<Recorder> {
    let Share { plan, window, base, part, counters } = *share;
    let request = request(plan);
    let mut scratch = vec![0; 2 * READ_AHEAD];
    let context = Context::new(plan, window, client, part.thread, base, &request, &mut scratch)?;
    if plan.arrival != Arrival::CLOSED {
        // Starts are late by up to 50 µs otherwise. A kernel that refuses makes them late.
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    }
    let mut worker = Worker::new(context, part);
    worker.load(counters)?;
    worker.wind_up()?;
    publish(counters, &worker.context.recorder);
    Ok(worker.context.recorder)
}

struct Worker<'a> {
    context: Context<'a>,
    slots: Vec<Connection>,
    schedule: Schedule,
    ramp: Ramp,
    /// Slots that are free at this time or later; back-offs are equal, so the queue is in order.
    resting: VecDeque<(u64, usize)>,
    next_tick: u64,
    /// The slot that is checked next for what has taken too long.
    next_check: usize,
}

/// Connections that are opened ahead of their first operation, some at a time: as fast as the
/// server can, and no faster.
struct Ramp {
    left: Range<usize>,
    under_way: usize,
}

impl<'a> Worker<'a> {
    fn new(context: Context<'a>, part: Part) -> Self {
        // Where operations have connections of their own there is nothing to open ahead, and in a
        // closed loop that never rests the first operation opens its connection.
        let plan = context.plan;
        let is_ahead = plan.operation == Operation::Requests && plan.arrival != Arrival::CLOSED;
        let (ahead, at_once) = if is_ahead { (part.slots, 0) } else { (0, part.slots) };
        Self {
            slots: std::iter::repeat_with(Connection::default).take(part.slots).collect(),
            schedule: Schedule::new(plan.arrival, part),
            context,
            ramp: Ramp { left: 0..ahead, under_way: 0 },
            resting: (0..at_once).map(|slot| (0, slot)).collect(),
            next_tick: TICK,
            next_check: 0,
        }
    }

    fn load(&mut self, counters: &Counters) -> io::Result<()> {
        let mut events = Vec::with_capacity(256);
        loop {
            if self.context.window.is_over(self.context.now()) {
                return Ok(());
            }
            self.open_ahead();
            self.begin_due();
            self.context.wait(&mut events, self.wake_at())?;
            // Nothing else is begun before all are told: an event is of the connection that the
            // slot had when it came.
            for slot in events.drain(..) {
                let after = self.slots[slot].ready(&mut self.context, slot);
                self.follow(slot, after);
            }
            let now = self.context.now();
            if now >= self.next_tick {
                self.next_tick = now + TICK;
                self.check_times();
            }
            publish(counters, &self.context.recorder);
        }
    }

    fn open_ahead(&mut self) {
        for _ in 0..BEGUN_AT_ONCE {
            let Some(slot) = self.ramp.next() else { return };
            let after = self.slots[slot].open_ahead(&mut self.context, slot);
            self.follow(slot, after);
        }
    }

    /// Begins what is due by now.
    fn begin_due(&mut self) {
        for _ in 0..BEGUN_AT_ONCE {
            let now = self.context.now();
            if self.context.window.is_over(now) {
                return;
            }
            if self.resting.front().is_some_and(|(at, _)| *at <= now) {
                let Some((_, slot)) = self.resting.pop_front() else { return };
                self.follow(slot, After::Free);
            } else if let Some(due) = self.schedule.next(now) {
                let after = self.begin(due.slot, Times::new(due.intended, now));
                self.follow(due.slot, after);
            } else {
                return;
            }
        }
    }

    fn begin(&mut self, slot: usize, times: Times) -> After {
        self.context.recorder.begins(self.context.window, times);
        self.slots[slot].begin(&mut self.context, slot, times)
    }

    /// Does what is to be done with a slot after an event.
    fn follow(&mut self, slot: usize, mut after: After) {
        loop {
            let now = match after {
                After::Wait => return,
                After::BackOff => {
                    return self.resting.push_back((self.context.now() + BACK_OFF, slot));
                }
                After::Opened => {
                    self.ramp.under_way -= 1;
                    self.context.now()
                }
                After::Free => self.context.now(),
            };
            if self.context.window.is_over(now) {
                return;
            }
            let Some(intended) = self.schedule.freed(slot, now) else { return };
            after = self.begin(slot, Times::new(intended, now));
        }
    }

    /// When there may be something to do, if no socket says so before.
    fn wake_at(&self) -> u64 {
        if self.ramp.has_next() {
            return 0;
        }
        let resting = self.resting.front().map(|(at, _)| *at);
        [resting, self.schedule.wake_at(), Some(self.next_tick), Some(self.context.window.end())]
            .into_iter()
            .flatten()
            .min()
            .unwrap_or(0)
    }

    /// Looks for what has taken too long.
    fn check_times(&mut self) {
        for _ in 0..self.slots.len().min(CHECKED_AT_ONCE) {
            let slot = self.next_check;
            self.next_check = (slot + 1) % self.slots.len();
            let after = self.slots[slot].check_time(&mut self.context, slot);
            self.follow(slot, after);
        }
    }

    /// Waits for the proof of the bytes that were under way when the window ended, and tells what
    /// was not even begun then.
    fn wind_up(&mut self) -> io::Result<()> {
        let Self { context, slots, schedule, .. } = self;
        context.is_winding_up = true;
        let window = context.window;
        schedule.leave(window.end(), |intended| context.recorder.waits(window, intended));
        let deadline = context.now() + WIND_UP_LIMIT;
        let mut left = 0;
        for (slot, connection) in slots.iter_mut().enumerate() {
            left += usize::from(connection.wind_up(context, slot));
        }
        let mut events = Vec::with_capacity(256);
        while left > 0 && context.now() < deadline {
            context.wait(&mut events, deadline)?;
            for slot in events.drain(..) {
                if slots[slot].ready(context, slot) != After::Wait {
                    left -= 1;
                }
            }
        }
        for connection in slots {
            connection.close(context);
        }
        Ok(())
    }
}

impl Ramp {
    fn has_next(&self) -> bool {
        !self.left.is_empty() && self.under_way < OPENING_AT_ONCE
    }

    /// The slot whose connection is opened next; [`After::Opened`] is its end.
    fn next(&mut self) -> Option<usize> {
        if !self.has_next() {
            return None;
        }
        self.under_way += 1;
        self.left.next()
    }
}

fn publish(counters: &Counters, recorder: &Recorder) {
    let (completed, failed, body) = recorder.totals();
    counters.completed.store(completed, Relaxed);
    counters.failed.store(failed, Relaxed);
    counters.body.store(body, Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ramp_opens_each_connection_once_and_few_at_a_time() {
        let mut ramp = Ramp { left: 0..200, under_way: 0 };
        let mut opened = Vec::new();
        while ramp.has_next() {
            opened.extend(std::iter::from_fn(|| ramp.next()));
            assert!(ramp.under_way <= OPENING_AT_ONCE);
            // All but one are still on their way.
            ramp.under_way -= 1;
        }
        assert_eq!(opened, (0..200).collect::<Vec<_>>());
        assert_eq!(ramp.next(), None);
    }
}
