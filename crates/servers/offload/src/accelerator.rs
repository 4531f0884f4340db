//! The accelerator of a process, which its threads share.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use counters::CounterRow;
use units::Nanos;

use crate::counts;
use crate::device::{Device, Premaster};
use crate::model::Model;
use crate::multi_buffer::MultiBuffer;
use crate::queue::{DeviceReply, Queue};
use crate::{Batching, CompletedBy, Description, Ticket, Way};

/// That of this process.
static ACCELERATOR: OnceLock<Accelerator> = OnceLock::new();

/// A device with the operations on their way through it.
pub struct Accelerator {
    way: Way,
    completed_by: CompletedBy,
    start: Instant,
    engine: Engine,
}

/// What does the operations.
enum Engine {
    /// A device beside the CPU.
    Device(Mutex<Queue>),
    /// The CPU itself.
    MultiBuffer(MultiBuffer),
}

/// How often a device is asked for an answer that is due where nothing else happens.
const POLL: Duration = Duration::from_micros(10);

/// Why there is no accelerator.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    #[error("{0}")]
    Library(#[from] crypto_mb::OpenError),
    #[error("OpenSSL refuses the accelerator: {0}")]
    OpenSsl(#[from] openssl::error::ErrorStack),
}

impl Accelerator {
    /// Makes that of this process, where it has none yet.
    pub(crate) fn make(description: &Description) -> &'static Self {
        let Description { way, completed_by, .. } = *description;
        ACCELERATOR.get_or_init(|| Self::new(way, completed_by, Box::new(Model::new(description))))
    }

    /// Makes that of this process of Intel's library, where it has none yet; `pause` is what a pause of a job costs.
    pub(crate) fn make_multi_buffer(
        library: crypto_mb::CryptoMb,
        batching: &Batching,
        completed_by: CompletedBy,
        pause: Duration,
    ) -> &'static Self {
        let way = batching.way;
        let engine = Engine::MultiBuffer(MultiBuffer::new(library, batching.wait.into(), pause));
        ACCELERATOR.get_or_init(|| Self { way, completed_by, start: Instant::now(), engine })
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

    /// Whether that of this process is Intel's library.
    pub(crate) fn is_multi_buffer() -> bool {
        Self::get().is_some_and(|it| it.multi_buffer().is_some())
    }

    fn new(way: Way, completed_by: CompletedBy, device: Box<dyn Device>) -> Self {
        let engine = Engine::Device(Mutex::new(Queue::new(device)));
        Self { way, completed_by, start: Instant::now(), engine }
    }

    /// The name and version of the library that it is, where it is one.
    pub fn library(&self) -> Option<&str> {
        self.multi_buffer().map(MultiBuffer::title)
    }

    pub(crate) fn multi_buffer(&self) -> Option<&MultiBuffer> {
        match &self.engine {
            Engine::Device(_) => None,
            Engine::MultiBuffer(device) => Some(device),
        }
    }

    /// How many operations were submitted and are not over, answered ones that nobody has taken too.
    pub fn in_flight(&self) -> usize {
        match &self.engine {
            Engine::Device(queue) => locked(queue).in_flight(),
            Engine::MultiBuffer(device) => device.in_flight(),
        }
    }

    /// How jobs are paused for it, if they are.
    pub(crate) fn pauses(&self) -> Option<CompletedBy> {
        (self.way == Way::Asynchronous).then_some(self.completed_by)
    }

    /// Forgets an operation whose connection was given up.
    pub(crate) fn abandon(&self, ticket: Ticket) {
        let is_abandoned = match &self.engine {
            Engine::Device(queue) => locked(queue).abandon(ticket),
            Engine::MultiBuffer(device) => device.forget(ticket),
        };
        if is_abandoned {
            counts::add(|counts| counts.abandoned += 1);
        }
    }

    /// Forgets all operations of the multi-buffer library, as its process ends.
    pub(crate) fn end(&self) {
        if let Some(device) = self.multi_buffer() {
            let abandoned = device.forget_all() as u64;
            counts::add(|counts| counts.abandoned += abandoned);
        }
    }

    /// The paused operations of the calling thread that can continue, each named once: they are answered,
    /// or their time was over a second ago. A thread that `is_idle` has nothing else to do.
    pub fn ready(&self, is_idle: bool) -> Vec<Ticket> {
        match &self.engine {
            Engine::Device(queue) => {
                let (now, owner) = (self.now(), thread::current().id());
                locked(queue).ready(owner, now)
            }
            Engine::MultiBuffer(device) => device.ready(is_idle),
        }
    }

    /// The time after which to ask for those that are [`ready`](Self::ready); `None` where the calling
    /// thread has none.
    pub fn next(&self) -> Option<Duration> {
        match &self.engine {
            Engine::Device(queue) => {
                let due = locked(queue).next(thread::current().id())?;
                let left = Duration::from(Nanos(due.0.saturating_sub(self.now().0)));
                Some(left.max(POLL))
            }
            // The thread itself is to compute them.
            Engine::MultiBuffer(device) => device.has_waiting().then_some(Duration::ZERO),
        }
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
        let Engine::Device(queue) = &self.engine else { return None };
        if self.way == Way::Inline {
            counts::add(|counts| {
                counts.submitted += 1;
                counts.completed += 1;
            });
            return Some(premaster);
        }
        let (now, owner) = (self.now(), is_polled.then(|| thread::current().id()));
        let (ticket, in_flight) = {
            let mut queue = locked(queue);
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
            let progress = locked(queue).take(ticket, now);
            match progress {
                DeviceReply::UnderWay { due } => {
                    wait(ticket, Nanos(due.0.saturating_sub(now.0)).into())
                }
                DeviceReply::Answered(premaster) => {
                    counts::add(|counts| counts.completed += 1);
                    return Some(premaster);
                }
                DeviceReply::Silent => {
                    counts::add(|counts| counts.timed_out += 1);
                    return None;
                }
            }
        }
    }

    fn now(&self) -> Nanos {
        Nanos(self.start.elapsed().as_nanos() as u64)
    }
}

/// From now on, once the accelerator is made, all threads of this process count their operations in one of these
/// rows, and so does each process that it forks.
pub fn count_in(rows: Vec<CounterRow>) {
    counts::count_in(rows, |row| {
        let device = Accelerator::get().and_then(Accelerator::multi_buffer);
        row.has_accelerator(device.is_some());
        if let Some(device) = device {
            device.publish_measured();
        }
    });
}

fn locked(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
