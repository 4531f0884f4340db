//! What the connections of one load thread share: its clock, its epoll, its requests.

use std::cell::Cell;
use std::io;
use std::num::NonZeroU32;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use congestion::CongestionControl;
use rustix::buffer::spare_capacity;
use rustix::event::{self, PollFd, PollFlags, Timespec, epoll};
use rustix::time::ClockId;
use units::Nanos;

use crate::clients::Clients;
use crate::clock::{self, Clock};
use crate::coalescing::Coalescing;
use crate::connection::http2::walk::Shapes;
use crate::draw::{Draw, Drawn};
use crate::ended::{Ended, Failed, Over};
use crate::quic::Quic;
use crate::recorder::Recorder;
use crate::requests::{AllRequests, Requests};
use crate::requests_per_connection::CountDraws;
use crate::session::User;
use crate::socket::{Socket, Use};
use crate::source::Sources;
use crate::window::Window;
use crate::{Job, Operation, Plan, Wakeups, names, ports};
use wire::handshake::Client;
use wire::reception::{Answers, Expectation, Learned, READ_AHEAD, Reception};
use wire::{ErrorKind, Failure};

/// The sum of the low-water marks of all connections, and the largest and smallest mark of one. A
/// mark grows the socket's buffer to twice the mark. The largest has room for a response of 1 MiB
/// with its head and its records' headers.
const ALL_MARKS: usize = 64 * MOST_MARK;
const MOST_MARK: usize = (1 << 20) + (64 << 10);
const LEAST_MARK: usize = 64 << 10;

/// Where responses are awaited whole, one in this many is awaited with a mark of 1 instead, to
/// measure when its first byte comes.
const TIMED_ONE_IN: NonZeroU32 = NonZeroU32::new(16).unwrap();

/// One connection in this many is asked what it sent and received, which takes a system call.
const TRAFFIC_ONE_IN: NonZeroU32 = NonZeroU32::new(64).unwrap();

const MILLISECOND: u64 = 1_000_000;

/// Until something is due, longer waits than this are first spent in epoll: see [`Pause`].
const LONG: u64 = 10 * MILLISECOND;

/// The most events that one wait returns.
const EVENTS: usize = 256;

/// A connection whose socket is ready.
pub(crate) struct Ready {
    pub(crate) connection: usize,
    /// Whether the server's end of stream has come after all that can be read.
    pub(crate) has_ended: bool,
}

/// The events of an established connection: data to read, and the server's end of stream.
pub(crate) const INCOMING: epoll::EventFlags =
    epoll::EventFlags::IN.union(epoll::EventFlags::RDHUP);

/// A buffer that connections use in turn. A connection keeps it only while bytes wait in it, so that
/// neither an idle connection nor a new one needs its own.
#[derive(Default)]
pub(crate) struct SharedBuffer(Vec<u8>);

impl SharedBuffer {
    /// Lends it to a connection that has no buffer.
    pub(crate) fn lend(&mut self, own: &mut Vec<u8>) {
        if own.capacity() == 0 {
            std::mem::swap(own, &mut self.0);
        }
    }

    /// Takes an empty buffer from a connection, and keeps the larger one.
    pub(crate) fn take_back(&mut self, own: &mut Vec<u8>) {
        if own.capacity() > 0 && own.is_empty() {
            let returned = std::mem::take(own);
            if returned.capacity() > self.0.capacity() {
                self.0 = returned;
            }
        }
    }
}

/// See the module.
pub(crate) struct Context<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) job: &'a Job,
    pub(crate) window: &'a Window,
    /// By the numbers of names, one where there is no list of those; none over plain HTTP.
    pub(crate) clients: &'a [Box<dyn Client>],
    /// What QUIC connections share, where there are some.
    pub(crate) quic: Option<Quic>,
    pub(crate) recorder: Recorder,
    pub(crate) scratch: Box<[u8]>,
    /// What an HTTP/2 session has to send, before it is sealed.
    pub(crate) plaintext: Vec<u8>,
    /// For what a handshake received and has not used yet.
    pub(crate) received: SharedBuffer,
    /// For what is to be sent.
    pub(crate) unsent: SharedBuffer,
    pub(crate) requests: Requests,
    /// Which name each connection has.
    pub(crate) names: names::NameDraws,
    /// Which answers are right.
    pub(crate) answers: Answers,
    /// The users of a session, by their slots; empty for other operations.
    pub(crate) users: Vec<User<'a>>,
    /// After how many requests connections end, where they do.
    pub(crate) planned: Option<CountDraws>,
    /// What is known of the server's responses.
    pub(crate) learned: Learned,
    /// The same of responses over HTTP/2.
    pub(crate) shapes: Shapes,
    /// The low-water mark for bodies longer than it.
    pub(crate) mark: u32,
    pub(crate) coalescing: Coalescing,
    wakeups: Wakeups,
    /// What new sockets are given, where that is not the system's.
    pub(crate) congestion: Option<CongestionControl>,
    /// Operations that have ended on the connection in use, until its owner counts them.
    pub(crate) ended: Vec<Over>,
    /// Whether the window is over and only proofs are awaited.
    pub(crate) is_winding_up: bool,
    epoll: OwnedFd,
    /// The events of the last wait. The buffer is kept: to zero a new one takes longer than a wait
    /// that returns few events.
    events: Vec<epoll::Event>,
    /// When the last wait that returned events ended.
    pub(crate) woken: u64,
    /// The CPU time of polls that found nothing, in ns: a thread that never sleeps is idle then.
    pub(crate) polled_in_vain: u64,
    clock: Clock,
    /// What the clock said last.
    read: Cell<u64>,
    /// Where the next connection comes from, unless the kernel chooses.
    pub(crate) sources: Sources<'a>,
    pub(crate) bodies: Draw,
    pub(crate) first_bytes: Draw,
    pub(crate) traffic: Draw,
    /// How long the most recently completed operation took, in ns.
    pub(crate) took: u64,
    /// How many operations have succeeded, in all of the load.
    pub(crate) succeeded: u64,
}

impl<'a> Context<'a> {
    /// The context of the thread with this number; `base` is the load's start.
    pub(crate) fn new(
        job: &'a Job,
        requests: &Arc<AllRequests>,
        window: &'a Window,
        clients: &'a Clients,
        recorder: Recorder,
        thread: usize,
        base: Instant,
    ) -> io::Result<Self> {
        let plan = &job.plan;
        let draw = |what, one_in| Draw::new(what, one_in, job.seed, thread);
        let requests = Requests::new(job, requests.clone(), thread);
        let quic = clients.quic().map(|clients| Quic::new(job, clients, requests.body(), base));
        let has_many_sources = ports::has_many_sources(plan, job.address.ip());
        Ok(Self {
            plan,
            wakeups: plan.wakeups(),
            job,
            window,
            clients: clients.tcp(),
            quic,
            recorder,
            scratch: vec![0; 2 * READ_AHEAD].into(),
            plaintext: Vec::new(),
            received: SharedBuffer::default(),
            unsent: SharedBuffer::default(),
            names: names::NameDraws::new(requests.names(), job.seed, thread),
            requests,
            answers: plan.answers(),
            users: Vec::new(),
            planned: None,
            learned: Learned::default(),
            shapes: Shapes::default(),
            mark: (ALL_MARKS / plan.connections).clamp(LEAST_MARK, MOST_MARK) as u32,
            ended: Vec::new(),
            is_winding_up: false,
            epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(EVENTS),
            woken: 0,
            polled_in_vain: 0,
            coalescing: Coalescing::default(),
            congestion: CongestionControl::to_set(plan.congestion.as_ref(), job.address.ip()),
            clock: Clock::since(base),
            read: Cell::new(0),
            sources: Sources::new(&plan.source, has_many_sources, thread),
            bodies: draw(Drawn::Bodies, plan.verify().0),
            first_bytes: draw(Drawn::FirstBytes, TIMED_ONE_IN),
            traffic: draw(Drawn::Traffic, TRAFFIC_ONE_IN),
            took: 0,
            succeeded: 0,
        })
    }

    /// Nanoseconds since the load's start.
    pub(crate) fn now(&self) -> u64 {
        let now = self.clock.now();
        self.read.set(now);
        now
    }

    /// What [`Self::now`] was last, when a wait ended or later: enough where nothing but arithmetic was done
    /// since, and for time limits. A response reads the clock three times so, where it would eleven times.
    pub(crate) fn recently(&self) -> u64 {
        self.read.get()
    }

    /// What QUIC connections share; such a load has it.
    pub(crate) fn quic(&mut self) -> Result<&mut Quic, Failure> {
        let none = || Failure::new(ErrorKind::Quic, "no QUIC");
        self.quic.as_mut().ok_or_else(none)
    }

    /// What this load's connections are for.
    pub(crate) fn usage(&self) -> Use {
        match self.plan.operation {
            _ if self.plan.has_streams() => Use::Kept,
            Operation::Requests | Operation::Session => Use::Kept,
            Operation::Handshakes | Operation::OneRequestPerConnection => Use::Once,
        }
    }

    /// Whether a connection is known to be open on both sides only by its response: where a full accept
    /// queue loses the last packet of the opening, the request comes in vain.
    pub(crate) fn opens_with_response(&self) -> bool {
        self.clients.is_empty() && self.usage() == Use::Once
    }

    /// The mark for responses that should cost at most two wake-ups: they are awaited whole, or
    /// half.
    pub(crate) fn mark_of_whole(
        &self,
        expectation: Expectation,
        reception: &Reception,
    ) -> Option<u32> {
        let size = expectation.size()?;
        let most = u64::from(self.mark);
        let total = reception.total(expectation).unwrap_or(size);
        (LEAST_MARK as u64..=2 * most).contains(&size).then_some(total.min(most) as u32)
    }

    /// An operation has ended, on a connection that has had `answers`. Counts it if it succeeded; the owner of its
    /// slot does the rest.
    #[inline(always)]
    pub(crate) fn ends(&mut self, ended: Ended, answers: u64) {
        let Ended { place, begun, at, bytes, result, is_early, unanswered } = ended;
        let failed = match result {
            Ok(received) => {
                self.succeeded += 1;
                self.took = at.saturating_sub(begun.times.start);
                self.coalescing.ended(self.took, received.map_or(0, |received| received.body));
                self.recorder.proven(bytes.0, bytes.1);
                let is_early = is_early && self.window.contains(at);
                self.recorder.outcome.answered_early += u64::from(is_early);
                self.recorder.completed(self.window, at, begun, received);
                None
            }
            Err(failure) => {
                self.recorder.outcome.bytes.unproven += bytes.0;
                Some(Box::new(Failed { begun, failure, unanswered, answers }))
            }
        };
        self.ended.push(Over { place, at, failed });
    }

    pub(crate) fn watch(
        &self,
        socket: &Socket,
        slot: usize,
        interest: epoll::EventFlags,
    ) -> io::Result<()> {
        Ok(epoll::add(&self.epoll, socket, epoll::EventData::new_u64(slot as u64), interest)?)
    }

    /// Cannot fail for a socket that is watched.
    pub(crate) fn rewatch(&self, socket: &Socket, slot: usize, interest: epoll::EventFlags) {
        let _ =
            epoll::modify(&self.epoll, socket, epoll::EventData::new_u64(slot as u64), interest);
    }

    /// Sleeps for what is left, since the last wake-up, of the pause that this many operations
    /// under way allow, until `until` at most; not where the plan wants each event seen at once.
    pub(crate) fn pause(&mut self, under_way: usize, until: u64) {
        if !self.wakeups.pauses() {
            return;
        }
        let cpu = || clock::read(ClockId::ThreadCPUTime);
        let pause = self.coalescing.pause(under_way, self.recently(), cpu);
        if pause == Nanos(0) {
            return;
        }
        let began = self.now();
        let left = until.min(self.woken.saturating_add(pause.0)).saturating_sub(began);
        if left > 0 {
            std::thread::sleep(Duration::from_nanos(left));
            let slept = Nanos(self.now().saturating_sub(began));
            self.recorder.paused(self.window, began, slept);
        }
    }

    /// Fills `ready` with the connections whose sockets are ready, waiting for them until `due` at most,
    /// and at most a millisecond longer than until `limit`.
    pub(crate) fn wait(
        &mut self,
        ready: &mut Vec<Ready>,
        due: Option<u64>,
        limit: u64,
    ) -> io::Result<()> {
        let now = match self.wakeups {
            Wakeups::None => self.poll(due.map_or(limit, |due| due.min(limit)))?,
            _ => self.sleep(due, limit)?,
        };
        if !self.events.is_empty() {
            self.woken = now;
        }
        ready.extend(self.events.iter().map(|event| {
            let (flags, data) = (event.flags, event.data);
            // A reset ends both sides too, but is not an orderly end.
            let ended = flags & (epoll::EventFlags::RDHUP | epoll::EventFlags::ERR);
            let has_ended = ended == epoll::EventFlags::RDHUP;
            Ready { connection: data.u64() as usize, has_ended }
        }));
        Ok(())
    }

    /// Sleeps until sockets are ready, and returns the time.
    fn sleep(&mut self, due: Option<u64>, limit: u64) -> io::Result<u64> {
        let timeout = match Pause::between(self.recently(), due, limit) {
            Pause::Milliseconds(ns) => ns,
            Pause::Exact(ns) => {
                let poll = PollFd::new(&self.epoll, PollFlags::IN);
                uninterrupted(event::poll(&mut [poll], Some(&timespec(ns))))?;
                0
            }
        };
        self.look(timeout)
    }

    /// Asks again and again until sockets are ready, and returns the time.
    fn poll(&mut self, until: u64) -> io::Result<u64> {
        let mut idle_since = None;
        loop {
            let now = self.look(0)?;
            if !self.events.is_empty() || now >= until {
                return Ok(now);
            }
            // What the first one cost counts as work, and so does the last.
            let used = clock::read(ClockId::ThreadCPUTime);
            self.polled_in_vain += used - idle_since.unwrap_or(used);
            idle_since = Some(used);
        }
    }

    /// Fills `events`, waiting `timeout` ns at most, and returns the time.
    fn look(&mut self, timeout: u64) -> io::Result<u64> {
        self.events.clear();
        let events = spare_capacity(&mut self.events);
        uninterrupted(epoll::wait(&self.epoll, events, Some(&timespec(timeout))))?;
        Ok(self.now())
    }
}

/// How a thread waits; both in ns.
#[derive(Debug, PartialEq, Eq)]
enum Pause {
    /// In epoll, which rounds up to whole milliseconds.
    Milliseconds(u64),
    /// In poll, which knows nanoseconds, so that operations begin on time. It is a second system
    /// call. (epoll_pwait2 knows nanoseconds too, but needs Linux 5.11, and valgrind 3.19 does not
    /// know it.)
    Exact(u64),
}

impl Pause {
    fn between(now: u64, due: Option<u64>, limit: u64) -> Self {
        let limit = limit.saturating_sub(now);
        match due.map_or(u64::MAX, |due| due.saturating_sub(now)) {
            // What is due soon after the limit ends both waits: rounded down, one until the limit would be none.
            left @ 1.. if left < LONG.min(limit.saturating_add(MILLISECOND)) => Self::Exact(left),
            left => Self::Milliseconds((left - left % MILLISECOND).min(limit)),
        }
    }
}

/// A second at most: a thread looks more often than that at what it waits for.
fn timespec(ns: u64) -> Timespec {
    Timespec { tv_sec: 0, tv_nsec: ns.min(999_999_999) as _ }
}

/// A signal ends a wait early, which does no harm.
fn uninterrupted(waited: rustix::io::Result<usize>) -> io::Result<()> {
    match waited {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arrival::Arrival;
    use crate::job::Stop;
    use crate::job::tests::job;
    use crate::plan::Plan;

    /// What a thread notes of a pause that may last until then.
    fn noted(until: u64) -> Nanos {
        let job = job("http://localhost/", Plan::default());
        let stop = Stop::After { warmup: Nanos(0), duration: Nanos(u64::MAX) };
        let (window, requests) = (Window::new(stop, Nanos(0)), Arc::default());
        let recorder = Recorder::new(Arrival::CLOSED);
        let mut context =
            Context::new(&job, &requests, &window, &Clients::Plain, recorder, 0, Instant::now())
                .unwrap();
        for _ in 0..1000 {
            context.coalescing.ended(32 * MILLISECOND, 1);
        }
        // So that a thread that stands still for a moment has some of its pause left.
        context.woken = context.now() + 20 * MILLISECOND;
        context.pause(64, until);
        context.recorder.into_outcome().latencies.coalescing
    }

    #[test]
    fn only_time_that_was_slept_is_noted() {
        // A pause that may not last is allowed a millisecond all the same.
        assert_eq!(noted(0), Nanos(0));
        assert_ne!(noted(u64::MAX), Nanos(0));
    }

    #[test]
    fn only_what_is_due_soon_is_awaited_to_the_nanosecond() {
        const MS: u64 = MILLISECOND;
        let now = 5 * MS + 1;
        for (due, limit, expected) in [
            (None, 20 * MS, Pause::Milliseconds(15 * MS - 1)),
            (None, now, Pause::Milliseconds(0)),
            (None, now + 1, Pause::Milliseconds(1)),
            (Some(now + 1), 20 * MS, Pause::Exact(1)),
            (Some(now + LONG - 1), 20 * MS, Pause::Exact(LONG - 1)),
            // The rest is awaited by the next call.
            (Some(now + LONG + 1), 20 * MS, Pause::Milliseconds(LONG)),
            // What is due soon after the limit ends both waits.
            (Some(now + 2 * MS + 2), now + 2 * MS + 1, Pause::Exact(2 * MS + 2)),
            (Some(now + 2), now + 1, Pause::Exact(2)),
            (Some(now + MS / 2), now + MS / 3, Pause::Exact(MS / 2)),
            // Rounded up, a wait until the limit does not miss what is due later.
            (Some(now + 3 * MS), now + 2 * MS, Pause::Milliseconds(2 * MS)),
            (Some(now + 3 * MS), now + MS / 2, Pause::Milliseconds(MS / 2)),
            (Some(now), 20 * MS, Pause::Milliseconds(0)),
            (Some(1), 2, Pause::Milliseconds(0)),
        ] {
            assert_eq!(Pause::between(now, due, limit), expected, "{due:?} {limit}");
        }
    }

    proptest! {
        /// A thread that waits for nothing polls again and again until something is due.
        #[test]
        fn no_wait_is_empty_and_none_misses_its_end(
            due in prop::option::of(1..40 * MILLISECOND),
            limit in 1..40 * MILLISECOND,
        ) {
            let most = due.unwrap_or(u64::MAX).min(limit + MILLISECOND);
            match Pause::between(0, due, limit) {
                Pause::Exact(ns) => prop_assert!(ns > 0 && ns <= most),
                Pause::Milliseconds(ns) => {
                    prop_assert!(ns > 0 && ns.next_multiple_of(MILLISECOND) <= most.max(MILLISECOND));
                }
            }
        }
    }
}
