//! The accelerator of a process, which its threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use units::Nanos;

use crate::counts;
use crate::device::{Device, Premaster};
use crate::model::Model;
use crate::queue::{Progress, Queue};
use crate::{Description, Ticket, Way};

/// A device with the operations on their way through it.
pub struct Accelerator {
    way: Way,
    start: Instant,
    queue: Mutex<Queue>,
}

impl Accelerator {
    pub(crate) fn new(description: &Description) -> Self {
        Self::with(description.way, Box::new(Model::new(description)))
    }

    pub(crate) fn with(way: Way, device: Box<dyn Device>) -> Self {
        Self { way, start: Instant::now(), queue: Mutex::new(Queue::new(device)) }
    }

    /// How many operations were submitted and are not over, answered ones that nobody has taken too.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.queue().in_flight()
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
    /// Where that pauses the caller, [`ready`](Self::ready) names the operation.
    pub(crate) fn ask(
        &self,
        key_bits: u32,
        premaster: Premaster,
        pauses: bool,
        wait: impl Fn(Ticket, Duration),
    ) -> Option<Premaster> {
        if self.way == Way::Inline {
            counts::change(|counts| {
                counts.submitted += 1;
                counts.completed += 1;
            });
            return Some(premaster);
        }
        let (now, owner) = (self.now(), pauses.then(|| thread::current().id()));
        let (ticket, in_flight) = {
            let mut queue = self.queue();
            (queue.submit(owner, key_bits, premaster, now), queue.in_flight() as u64)
        };
        let Some(ticket) = ticket else {
            counts::change(|counts| counts.refused += 1);
            return None;
        };
        counts::change(|counts| {
            counts.submitted += 1;
            counts.in_flight_max = counts.in_flight_max.max(in_flight);
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
                    counts::change(|counts| counts.completed += 1);
                    return Some(premaster);
                }
                Progress::Silent => {
                    counts::change(|counts| counts.timed_out += 1);
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
