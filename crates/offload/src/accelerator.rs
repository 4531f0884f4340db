//! The accelerator of a process, which its threads share.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use units::Nanos;

use crate::counts;
use crate::device::{Device, Premaster};
use crate::model::Model;
use crate::queue::{Progress, Queue};
use crate::{CompletedBy, Description, Ticket, Way};

/// That of this process.
static ACCELERATOR: OnceLock<Accelerator> = OnceLock::new();

/// A device with the operations on their way through it.
pub struct Accelerator {
    way: Way,
    completed_by: CompletedBy,
    start: Instant,
    queue: Mutex<Queue>,
}

impl Accelerator {
    /// Makes that of this process, where it has none yet.
    pub(crate) fn make(description: &Description) -> &'static Self {
        let Description { way, completed_by, .. } = *description;
        ACCELERATOR.get_or_init(|| Self::new(way, completed_by, Box::new(Model::new(description))))
    }

    /// Makes that of this process with another device, where it has none yet.
    #[cfg(feature = "testing")]
    pub(crate) fn make_with(device: Box<dyn Device>) -> &'static Self {
        ACCELERATOR.get_or_init(|| Self::new(Way::Asynchronous, CompletedBy::Poll, device))
    }

    /// That of this process.
    pub(crate) fn get() -> Option<&'static Self> {
        ACCELERATOR.get()
    }

    fn new(way: Way, completed_by: CompletedBy, device: Box<dyn Device>) -> Self {
        Self { way, completed_by, start: Instant::now(), queue: Mutex::new(Queue::new(device)) }
    }

    /// How many operations were submitted and are not over, answered ones that nobody has taken too.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue().in_flight()
    }

    /// How jobs are paused for it, if they are.
    pub(crate) fn pauses(&self) -> Option<CompletedBy> {
        (self.way == Way::Asynchronous).then_some(self.completed_by)
    }

    /// Forgets an operation whose connection was given up.
    pub(crate) fn abandon(&self, ticket: Ticket) {
        if self.queue().abandon(ticket) {
            counts::add(|counts| counts.abandoned += 1);
        }
    }

    /// The paused operations of the calling thread that can continue, each named once: they are answered,
    /// or their time was over a second ago.
    #[must_use]
    pub fn ready(&self) -> Vec<Ticket> {
        let (now, owner) = (self.now(), thread::current().id());
        self.queue().ready(owner, now)
    }

    /// The time until the next paused operation of the calling thread is expected to be ready; `None` where
    /// it has none.
    #[must_use]
    pub fn next(&self) -> Option<Duration> {
        let due = self.queue().next(thread::current().id())?;
        Some(Nanos(due.0.saturating_sub(self.now().0)).into())
    }

    /// What the device answers where it is to answer `premaster`, and `None` where it does not. Until then
    /// `wait` is called again and again, with the operation and how long its answer is expected to take.
    /// Where the operation `is_polled`, [`ready`](Self::ready) names it.
    pub(crate) fn ask(
        &self,
        key_bits: u32,
        premaster: Premaster,
        is_polled: bool,
        wait: impl Fn(Ticket, Duration),
    ) -> Option<Premaster> {
        if self.way == Way::Inline {
            counts::add(|counts| {
                counts.submitted += 1;
                counts.completed += 1;
            });
            return Some(premaster);
        }
        let (now, owner) = (self.now(), is_polled.then(|| thread::current().id()));
        let (ticket, in_flight) = {
            let mut queue = self.queue();
            (queue.submit(owner, key_bits, premaster, now), queue.in_flight() as u64)
        };
        let Some(ticket) = ticket else {
            counts::add(|counts| counts.refused += 1);
            return None;
        };
        counts::add(|counts| {
            counts.submitted += 1;
            counts.in_flight_max = in_flight;
        });
        loop {
            let now = self.now();
            // Released before the wait, in which another connection may come here.
            let progress = self.queue().take(ticket, now);
            match progress {
                Progress::UnderWay { due } => {
                    wait(ticket, Nanos(due.0.saturating_sub(now.0)).into())
                }
                Progress::Answered(premaster) => {
                    counts::add(|counts| counts.completed += 1);
                    return Some(premaster);
                }
                Progress::Silent => {
                    counts::add(|counts| counts.timed_out += 1);
                    return None;
                }
            }
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.start.elapsed().as_nanos() as u64)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
