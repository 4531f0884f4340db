//! One load thread: it begins operations when the schedule says so, and takes what sockets tell.

use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use crate::connection::{After, Connection};
use crate::context::Context;
use crate::handshake::Client;
use crate::receive::READ_AHEAD;
use crate::recorder::{Recorder, Times};
use crate::schedule::{Part, Schedule};
use crate::window::Window;
use crate::{Arrival, Job, Operation};

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
    pub(crate) job: &'a Job,
    pub(crate) window: &'a Window,
    pub(crate) base: Instant,
    /// Which part of the load is this thread's.
    pub(crate) part: Part,
    pub(crate) counters: &'a Counters,
}

/// Runs a thread's share of the load until the window is over, and records it.
pub(crate) fn run(
    share: &Share<'_>,
    client: Option<&dyn Client>,
    recorder: Recorder,
) -> io::Result<Recorder> {
    let Share { job, window, base, part, counters } = *share;
    let mut scratch = vec![0; 2 * READ_AHEAD];
    let context = Context::new(job, window, client, recorder, part.thread, base, &mut scratch)?;
    // Starts are late, and pauses longer, by up to 50 µs otherwise. A kernel that refuses makes them so.
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
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
    part: Part,
    joining: Joining,
    /// The first slot that has not left the load as it shrinks.
    leaving: usize,
    /// Slots that are free at this time or later; back-offs are equal, so the queue is in order.
    resting: VecDeque<(u64, usize)>,
    next_tick: u64,
    /// The slot that is checked next for what has taken too long.
    next_check: usize,
}

/// The slots that have not come into the load yet. Where their connections are opened ahead of their
/// first operations, that is done for some at a time: as fast as the server can, and no faster.
struct Joining {
    next: usize,
    slots: usize,
    is_ahead: bool,
    /// Connections that are being opened ahead.
    under_way: usize,
}

impl<'a> Worker<'a> {
    fn new(context: Context<'a>, part: Part) -> Self {
        // Where operations have connections of their own there is nothing to open ahead, and in a
        // closed loop that never rests the first operation opens its connection.
        let plan = context.plan;
        let is_ahead = plan.operation == Operation::Requests && plan.arrival != Arrival::CLOSED;
        Self {
            slots: std::iter::repeat_with(Connection::default).take(part.slots).collect(),
            schedule: Schedule::new(plan.arrival, part),
            context,
            part,
            joining: Joining { next: 0, slots: part.slots, is_ahead, under_way: 0 },
            leaving: 0,
            resting: VecDeque::new(),
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
            self.join_due();
            self.begin_due();
            self.leave_due();
            let wake_at = self.wake_at();
            if self.context.plan.arrival == Arrival::CLOSED {
                self.context.pause(self.under_way(), wake_at);
            }
            self.context.wait(&mut events, wake_at)?;
            // Nothing else is begun before all are told: an event is of the connection that the
            // slot had when it came.
            for ready in events.drain(..) {
                let slot = ready.slot;
                let after = self.slots[slot].ready(&mut self.context, ready);
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

    /// Lets those slots into the load whose time has come.
    fn join_due(&mut self) {
        for _ in 0..BEGUN_AT_ONCE {
            let now = self.context.now();
            if self.context.window.is_over(now) || self.joins_at().is_none_or(|at| at > now) {
                return;
            }
            let slot = self.joining.take();
            let after = match self.joining.is_ahead {
                true => self.slots[slot].open_ahead(&mut self.context, slot),
                false => After::Free,
            };
            self.follow(slot, after);
        }
    }

    /// When the next slot comes into the load, if one can.
    fn joins_at(&self) -> Option<u64> {
        self.joining.next().map(|slot| self.part.joins(slot))
    }

    /// Lets those slots go whose time has come as the load shrinks.
    fn leave_due(&mut self) {
        let now = self.context.now();
        while self.leaves_at().is_some_and(|at| at <= now) {
            self.slots[self.leaving].close_kept(&mut self.context);
            self.leaving += 1;
        }
    }

    /// When the next slot goes out of the load, if one does.
    fn leaves_at(&self) -> Option<u64> {
        let is_left = self.schedule.shrinks_by_slot() && self.leaving < self.part.slots;
        is_left.then(|| self.part.leaves(self.leaving))?
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
                if due.slot < self.leaving {
                    // Its time had come before the window's end, and this thread was too late.
                    if self.context.window.has_seen(due.intended) {
                        self.context.recorder.waits(self.context.window, due.intended);
                    }
                    continue;
                }
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
                    self.joining.under_way -= 1;
                    self.context.now()
                }
                After::Free => self.context.now(),
            };
            if self.context.window.is_over(now) {
                return;
            }
            if slot < self.leaving {
                return self.slots[slot].close_kept(&mut self.context);
            }
            let Some(intended) = self.schedule.freed(slot, now) else { return };
            after = self.begin(slot, Times::new(intended, now));
        }
    }

    /// The operations that a closed loop without think time has under way, at least: of the slots that
    /// rest, some may have left.
    fn under_way(&self) -> usize {
        self.joining.next.saturating_sub(self.leaving + self.resting.len())
    }

    /// When there may be something to do, if no socket says so before.
    fn wake_at(&self) -> u64 {
        let resting = self.resting.front().map(|(at, _)| *at);
        let ends = self.next_tick.min(self.context.window.over());
        [resting, self.schedule.wake_at(), self.joins_at(), self.leaves_at()]
            .into_iter()
            .flatten()
            .fold(ends, u64::min)
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
            for ready in events.drain(..) {
                if slots[ready.slot].ready(context, ready) != After::Wait {
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

impl Joining {
    /// The slot that comes into the load next, unless too many are on their way.
    fn next(&self) -> Option<usize> {
        (self.next < self.slots && self.under_way < OPENING_AT_ONCE).then_some(self.next)
    }

    /// Takes that slot out; where it is opened ahead, [`After::Opened`] is its end.
    fn take(&mut self) -> usize {
        self.under_way += usize::from(self.is_ahead);
        self.next += 1;
        self.next - 1
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
    fn each_connection_is_opened_once_and_few_at_a_time() {
        let mut joining = Joining { next: 0, slots: 200, is_ahead: true, under_way: 0 };
        let mut opened = Vec::new();
        while joining.next().is_some() {
            while let Some(next) = joining.next() {
                assert_eq!(joining.take(), next);
                opened.push(next);
            }
            assert!(joining.under_way <= OPENING_AT_ONCE);
            // All but one are still on their way.
            joining.under_way -= 1;
        }
        assert_eq!(opened, (0..200).collect::<Vec<_>>());
        assert_eq!(joining.next(), None);
    }

    #[test]
    fn what_is_not_opened_ahead_comes_at_once() {
        let mut joining = Joining { next: 0, slots: 200, is_ahead: false, under_way: 0 };
        let joined: Vec<_> =
            std::iter::from_fn(|| joining.next().map(|_| joining.take())).collect();
        assert_eq!(joined, (0..200).collect::<Vec<_>>());
    }
}
