//! Intel's multi-buffer library as an accelerator: it is the server's own CPU, which does up to eight
//! operations with private keys in little more than the time of one.
//!
//! A handshake that waits leaves its operation with its thread. A batch runs on that thread when eight wait,
//! when the thread has nothing else to do, or when the first has waited for company long enough. A batch
//! costs about the same however full it is, so that fewer than the break-even, which is measured for each
//! class of operations, go back to OpenSSL. A server that moves connections between its threads may run a
//! batch of another thread's. Keys of handshakes are made in advance.

mod stack;
mod stock;
mod work;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use counters::{BatchCounts, KeyUse};
use crypto_mb::{CryptoMb, LANES};
use rustix::time::{ClockId, clock_gettime};

use crate::event::Event;
use crate::{Ticket, counts};
#[cfg(test)]
pub(crate) use stack::SIZE as STACK_SIZE;
pub(crate) use stock::KeyPair;
#[cfg(test)]
pub(crate) use stock::make as make_keys;
#[cfg(test)]
pub(crate) use work::compute;
pub(crate) use work::{Answer, Class, Work, X25519Secret};

/// How long an operation is waited for where another thread has it, which may be stopped.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct MultiBuffer {
    library: CryptoMb,
    /// How long an operation waits for company, at most.
    wait: Duration,
    /// CPU time of the pause that an operation makes.
    pause: Duration,
    operations: Mutex<TicketedOperations>,
    break_evens: Mutex<BTreeMap<Class, usize>>,
}

struct Pending {
    ticket: Ticket,
    since: Instant,
    work: Work,
}

#[derive(Default)]
struct TicketedOperations {
    next: u64,
    threads: HashMap<ThreadId, Waiting>,
    /// Those that nobody has taken.
    progress: HashMap<Ticket, OperationState>,
}

/// The operations of a thread.
#[derive(Default)]
struct Waiting {
    /// A batch has those of one class.
    queues: BTreeMap<Class, VecDeque<Pending>>,
    /// Those that are over and were not named as ready.
    ready: Vec<Ticket>,
}

enum OperationState {
    Waiting {
        /// The thread that it is with.
        owner: ThreadId,
        class: Class,
        wake: Wake,
    },
    Over(Answer),
}

/// How somebody learns that an operation is over.
pub(crate) enum Wake {
    /// The thread that it is with asks which are ready.
    Poll,
    /// This is set.
    Event(Arc<Event>),
    /// The caller waits for it.
    Caller,
}

/// Which batches run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    Full,
    /// And those whose first operation has waited long enough.
    Late,
    /// And those of a class.
    Of(Class),
    All,
}

impl MultiBuffer {
    pub(crate) fn new(library: CryptoMb, wait: Duration, pause: Duration) -> Self {
        let (operations, break_evens) = (Mutex::default(), Mutex::default());
        Self { library, wait, pause, operations, break_evens }
    }

    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    /// Computes operations of one class on the stack for batches; `None` where there is no memory for that.
    pub(crate) fn compute(&self, class: Class, works: Vec<Work>) -> Option<Vec<Answer>> {
        stack::run(|| work::compute(&self.library, class, works))
    }

    /// Keys for handshakes, in the same way.
    pub(crate) fn make_keys(&self, class: Class) -> Option<Vec<KeyPair>> {
        stack::run(|| stock::make(&self.library, class))
    }

    /// The library's name and version.
    pub(crate) fn title(&self) -> &str {
        self.library.title()
    }

    #[cfg(test)]
    pub(crate) fn library(&self) -> &CryptoMb {
        &self.library
    }

    /// How many operations of a class cost as much in a batch as one by one in OpenSSL; more than there are
    /// lanes is never. One, until that is measured.
    pub(crate) fn break_even(&self, class: Class) -> Option<usize> {
        self.break_evens().get(&class).copied()
    }

    pub(crate) fn set_break_even(&self, class: Class, count: usize) {
        self.break_evens().insert(class, count);
        self.publish_measured();
    }

    /// Writes what was measured where operations are counted.
    pub(crate) fn publish_measured(&self) {
        counts::set_pause(self.pause.as_nanos() as u64);
        for (class, count) in &*self.break_evens() {
            class.uses().iter().for_each(|of| counts::set_break_even(*of, *count));
        }
    }

    /// Leaves an operation with the calling thread.
    pub(crate) fn submit(&self, work: Work, wake: Wake) -> Ticket {
        let (owner, since, class) = (thread::current().id(), Instant::now(), work.class());
        let of = work.key_use();
        let (ticket, in_flight) = {
            let mut operations = self.operations();
            let ticket = Ticket(operations.next);
            operations.next += 1;
            operations.progress.insert(ticket, OperationState::Waiting { owner, class, wake });
            let queues = &mut operations.threads.entry(owner).or_default().queues;
            queues.entry(class).or_default().push_back(Pending { ticket, since, work });
            (ticket, operations.progress.len())
        };
        counts::add(|counts| {
            counts.submitted += 1;
            counts.in_flight_max = in_flight as u64;
            counts.batches.get_or_insert_default().uses[of].submitted += 1;
        });
        ticket
    }

    /// Whether no batch of a class is worth it; an operation of this use goes back then, and is counted.
    pub(crate) fn never_pays(&self, work: &Work) -> bool {
        let never = self.break_even(work.class()).is_some_and(|least| least > LANES);
        if never {
            counts::add(|counts| {
                counts.submitted += 1;
                let of = &mut counts.batches.get_or_insert_default().uses[work.key_use()];
                (of.submitted, of.below_break_even) = (1, 1);
            });
        }
        never
    }

    /// A key for one handshake; `None` where OpenSSL is to make it.
    pub(crate) fn key(&self, class: Class) -> Option<KeyPair> {
        let pays = self.break_even(class).is_none_or(|least| least <= LANES);
        let mut new = BatchCounts::default();
        let key = if pays {
            stock::take(class, || {
                let start = cpu_time();
                let made = self.make_keys(class).unwrap_or_default();
                new.computing_ns = cpu_time().saturating_sub(start);
                new.by_size[LANES - 1] = 1;
                made
            })
        } else {
            None
        };
        for of in class.uses() {
            let counts = &mut new.uses[*of];
            counts.submitted = 1;
            match key {
                Some(_) => counts.completed = 1,
                None if pays => counts.faulty = 1,
                None => counts.below_break_even = 1,
            }
        }
        counts::add(|counts| {
            counts.submitted += 1;
            counts.completed += u64::from(key.is_some());
            counts.batches = Some(new);
        });
        key
    }

    /// The operations of the calling thread that are over, each named once. Runs at most one batch of each
    /// class, so that others are served in between; one that is not full only if the thread `is_idle`, or
    /// has waited long enough.
    pub(crate) fn ready(&self, is_idle: bool) -> Vec<Ticket> {
        let owner = thread::current().id();
        self.run_batches(owner, if is_idle { Which::All } else { Which::Late });
        let mut operations = self.operations();
        let waiting = operations.threads.get_mut(&owner);
        waiting.map(|waiting| mem::take(&mut waiting.ready)).unwrap_or_default()
    }

    /// Runs the batches of the calling thread that are full.
    pub(crate) fn run_full(&self) {
        self.run_batches(thread::current().id(), Which::Full);
    }

    /// Sets an event when an operation is over, or when it is the first of those that wait because another was
    /// forgotten; whether that is still to come.
    pub(crate) fn wake_by(&self, ticket: Ticket, event: Arc<Event>) -> bool {
        match self.operations().progress.get_mut(&ticket) {
            Some(OperationState::Waiting { wake, .. }) => {
                *wake = Wake::Event(event);
                true
            }
            _ => false,
        }
    }

    /// Whether an operation is the first of those that wait with it, and how many there are; `None` if it is over.
    pub(crate) fn company(&self, ticket: Ticket) -> Option<(bool, usize)> {
        let mut operations = self.operations();
        let queue = operations.queue_of(ticket)?;
        Some((queue.front().is_some_and(|first| first.ticket == ticket), queue.len()))
    }

    /// Has an operation over, with those that wait beside it. Where another thread has it and is stopped, it is
    /// given up.
    pub(crate) fn finish(&self, ticket: Ticket) {
        let end = Instant::now() + PATIENCE;
        loop {
            let (owner, class) = match self.operations().progress.get_mut(&ticket) {
                Some(OperationState::Waiting { owner, class, wake }) => {
                    *wake = Wake::Caller;
                    (*owner, *class)
                }
                Some(OperationState::Over(_)) | None => return,
            };
            if !self.run_batches(owner, Which::Of(class)) {
                // Another thread computes it.
                thread::yield_now();
            }
            if Instant::now() >= end && self.forget(ticket) {
                return counts::add(|counts| counts.timed_out += 1);
            }
        }
    }

    /// Whether operations of the calling thread wait.
    pub(crate) fn has_waiting(&self) -> bool {
        let operations = self.operations();
        operations.threads.get(&thread::current().id()).is_some_and(|waiting| {
            !waiting.ready.is_empty() || waiting.queues.values().any(|queue| !queue.is_empty())
        })
    }

    /// The operations that nobody has taken.
    pub(crate) fn in_flight(&self) -> usize {
        self.operations().progress.len()
    }

    /// The answer to an operation, once, if it is over.
    pub(crate) fn take(&self, ticket: Ticket) -> Option<Answer> {
        let mut operations = self.operations();
        match operations.progress.remove(&ticket)? {
            OperationState::Over(answer) => Some(answer),
            waiting @ OperationState::Waiting { .. } => {
                operations.progress.insert(ticket, waiting);
                None
            }
        }
    }

    /// Forgets an operation that nobody will take; whether it was still to be done. If it is being computed, its
    /// result is dropped and not counted.
    pub(crate) fn forget(&self, ticket: Ticket) -> bool {
        let mut operations = self.operations();
        let queue = operations.queue_of(ticket);
        let next = queue.and_then(|queue| {
            let place = queue.iter().position(|one| one.ticket == ticket)?;
            queue.remove(place);
            queue.front().filter(|_| place == 0).map(|one| one.ticket)
        });
        // The first is the one that looks whether others come.
        if let Some(OperationState::Waiting { wake: Wake::Event(event), .. }) =
            next.and_then(|next| operations.progress.get(&next))
        {
            event.set(true);
        }
        matches!(operations.progress.remove(&ticket), Some(OperationState::Waiting { .. }))
    }

    /// Forgets all operations; how many were still to be done.
    pub(crate) fn forget_all(&self) -> usize {
        let mut operations = self.operations();
        operations.threads.clear();
        let all = mem::take(&mut operations.progress);
        all.values().filter(|one| matches!(one, OperationState::Waiting { .. })).count()
    }

    /// How long an operation may wait for company.
    pub(crate) fn wait(&self) -> Duration {
        self.wait
    }

    /// Runs at most one batch of each class of a thread; whether there was one.
    fn run_batches(&self, owner: ThreadId, which: Which) -> bool {
        let batches: Vec<(Class, Vec<Pending>)> = {
            let mut operations = self.operations();
            let Some(waiting) = operations.threads.get_mut(&owner) else { return false };
            let batch = |(class, queue): (&Class, &mut VecDeque<Pending>)| {
                let oldest = queue.front()?;
                let runs = match which {
                    _ if queue.len() >= LANES => true,
                    Which::Full => false,
                    Which::Late => oldest.since.elapsed() >= self.wait,
                    Which::Of(wanted) => *class == wanted,
                    Which::All => true,
                };
                runs.then(|| (*class, queue.drain(..queue.len().min(LANES)).collect()))
            };
            waiting.queues.iter_mut().filter_map(batch).collect()
        };
        let has_run = !batches.is_empty();
        // No lock is held meanwhile: other threads submit and compute.
        for (class, batch) in batches {
            self.run(owner, class, batch);
        }
        has_run
    }

    /// Runs a batch of a thread, or sends it back where it is too small.
    fn run(&self, owner: ThreadId, class: Class, batch: Vec<Pending>) {
        let size = batch.len();
        let waited = batch.iter().map(|one| one.since.elapsed().as_nanos() as u64);
        let mut new = BatchCounts { waited_ns: waited.sum(), ..BatchCounts::default() };
        let labels: Vec<_> = batch.iter().map(|one| (one.ticket, one.work.key_use())).collect();
        let is_too_small = self.break_even(class).is_some_and(|least| size < least);
        let answers: Vec<Answer> = if is_too_small {
            batch.iter().map(|_| None).collect()
        } else {
            let works = batch.into_iter().map(|one| one.work).collect();
            let start = cpu_time();
            let answers = self.compute(class, works);
            let answers = answers.unwrap_or_else(|| labels.iter().map(|_| None).collect());
            new.computing_ns = cpu_time().saturating_sub(start);
            new.by_size[size - 1] += 1;
            answers
        };
        let mut events = Vec::new();
        {
            let mut operations = self.operations();
            for ((ticket, of), answer) in labels.into_iter().zip(answers) {
                // One that was forgotten is counted as such.
                let Some(progress) = operations.progress.get_mut(&ticket) else { continue };
                count(&mut new, of, answer.is_some(), is_too_small);
                let OperationState::Waiting { wake, .. } =
                    mem::replace(progress, OperationState::Over(answer))
                else {
                    continue;
                };
                match wake {
                    Wake::Poll => {
                        operations.threads.entry(owner).or_default().ready.push(ticket);
                    }
                    Wake::Event(event) => events.push(event),
                    Wake::Caller => {}
                }
            }
        }
        counts::add(|counts| {
            counts.completed = new.uses.completed();
            counts.batches = Some(new);
        });
        // Who is woken finds its answer counted.
        events.iter().for_each(|event| event.set(true));
    }

    fn operations(&self) -> MutexGuard<'_, TicketedOperations> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn break_evens(&self) -> MutexGuard<'_, BTreeMap<Class, usize>> {
        self.break_evens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TicketedOperations {
    /// The operations that wait where one does, with it unless it is being computed.
    fn queue_of(&mut self, ticket: Ticket) -> Option<&mut VecDeque<Pending>> {
        let OperationState::Waiting { owner, class, .. } = self.progress.get(&ticket)? else {
            return None;
        };
        self.threads.get_mut(owner)?.queues.get_mut(class)
    }
}

/// Adds what became of an operation.
fn count(new: &mut BatchCounts, of: KeyUse, is_completed: bool, is_too_small: bool) {
    let counts = &mut new.uses[of];
    match is_completed {
        true => counts.completed += 1,
        false if is_too_small => counts.below_break_even += 1,
        false => counts.faulty += 1,
    }
}

/// Of the calling thread, in nanoseconds.
pub(crate) fn cpu_time() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs()
}

#[cfg(test)]
mod tests;
