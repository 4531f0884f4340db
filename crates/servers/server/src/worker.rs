//! A thread of the server: its connections, which is next, and which took too long.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use counters::CounterRow;
use offload::{Accelerator, Ticket};
use rustix::io::Errno;
use slab::Slab;

use crate::connection::{Connection, Next, Shared};
use crate::content::Contents;
use crate::epoll::Epoll;
use crate::library::{Pause, TlsContext};
use crate::listener::{self, Accepted};
use crate::quic::{Endpoint, QuicSettings, Service, UdpSockets};
use crate::settings::Settings;
use crate::transfer::Writing;
use crate::wire::{Gather, Wire};

/// How long requests in flight may take to finish when the server stops.
pub(crate) const DRAIN: Duration = Duration::from_secs(5);

/// The longest wait, after which the signal to stop is looked at.
const TICK: Duration = Duration::from_millis(250);

/// The most connections that are accepted before those that are there get a turn.
const ACCEPTS: usize = 64;

/// The part of a connection's token that says that its paused job can continue.
const JOB: u64 = 1 << 63;
/// The part of a token that says that it is a listener's.
const LISTENER: u64 = 1 << 62;
/// The part of a token that says that it is an endpoint's of QUIC.
const ENDPOINT: u64 = 1 << 61;

/// The sockets of a thread.
pub(crate) struct Sockets {
    pub(crate) tls: Vec<OwnedFd>,
    pub(crate) plain: Vec<OwnedFd>,
    /// Its place among the threads.
    pub(crate) thread: usize,
}

/// What a thread needs to begin.
pub(crate) struct Worker<'a, L: TlsContext> {
    listeners: Vec<Listener>,
    epoll: Epoll,
    connections: Slab<Connection<L>>,
    /// Connections that can go on, each once, in the order of their turns.
    queue: VecDeque<usize>,
    accelerator: Option<&'static Accelerator>,
    /// Whether the last wait brought nothing to do.
    is_idle: bool,
    /// Connections whose handshake the accelerator works on, where it is polled.
    parked: HashMap<Ticket, usize>,
    /// Connections whose paused job can continue by an event.
    woken: Vec<usize>,
    /// HTTP/3, by address.
    endpoints: Vec<Endpoint<'a>>,
    gather: Gather,
    shared: Shared<'a, L>,
}

/// Their numbers are tokens of epoll; those of connections follow.
struct Listener {
    socket: OwnedFd,
    tls: bool,
    pending: Pending,
    /// Why the system refused to accept the last connection, which has been reported.
    refused: Option<Errno>,
}

/// Whether connections wait to be accepted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pending {
    No,
    Maybe,
    /// Yes, but none could be accepted: for want of a descriptor or memory, or because the system refuses.
    Stuck,
}

impl<'a, L: TlsContext> Worker<'a, L> {
    /// Makes the worker of the calling thread.
    pub(crate) fn new(
        settings: &Settings,
        library: &'a L,
        accelerator: Option<&'static Accelerator>,
        contents: &'a Contents,
        sockets: Sockets,
        quic: Option<&(QuicSettings, Vec<UdpSockets>)>,
        row: Option<CounterRow>,
    ) -> io::Result<Self> {
        let Sockets { tls, plain, thread } = sockets;
        let epoll = Epoll::new()?;
        let listener =
            |tls| move |socket| Listener { socket, tls, pending: Pending::Maybe, refused: None };
        let tls = tls.into_iter().map(listener(true));
        let listeners: Vec<_> = tls.chain(plain.into_iter().map(listener(false))).collect();
        for (index, listener) in (0..).zip(&listeners) {
            epoll.add_listener(&listener.socket, LISTENER | index)?;
        }
        let mut endpoints = Vec::new();
        if let Some((quic, addresses)) = quic {
            for socket in addresses.iter().filter_map(|sockets| sockets.of_thread(thread)) {
                let service = Service { contents, row, timeout: settings.timeout };
                endpoints.push(Endpoint::new(quic, socket, service)?);
            }
        }
        for (index, endpoint) in (0..).zip(&endpoints) {
            epoll.add_listener(endpoint, ENDPOINT | index)?;
        }
        Ok(Self {
            listeners,
            epoll,
            connections: Slab::new(),
            queue: VecDeque::new(),
            accelerator,
            is_idle: false,
            parked: HashMap::new(),
            woken: Vec::new(),
            endpoints,
            gather: Gather::default(),
            shared: Shared {
                library,
                contents,
                row,
                writing: Writing::new(settings.record_size, settings.records_per_write),
                now: Instant::now(),
                timeout: settings.timeout,
                draining: false,
            },
        })
    }

    /// Serves until `stop` says so and the requests in flight are done, or [`DRAIN`] is over.
    /// `report` is given what its operator should know meanwhile.
    pub(crate) fn run(mut self, stop: impl Fn() -> bool, report: &dyn Fn(&str)) -> io::Result<()> {
        let sweep_every =
            (self.shared.timeout / 8).clamp(Duration::from_millis(10), Duration::from_secs(1));
        let tick = TICK.min(sweep_every);
        let mut next_tick = self.shared.now + tick;
        let mut next_sweep = self.shared.now + sweep_every;
        let mut drained_by = None;
        loop {
            self.wait(next_tick)?;
            self.accept(report);
            self.take_turns();
            self.resume();
            let now = self.shared.now;
            self.serve_quic(now)?;
            if now >= next_tick {
                next_tick = now + tick;
                self.unstick();
                if drained_by.is_none() && stop() {
                    drained_by = Some(now + DRAIN);
                    self.drain()?;
                }
            }
            if now >= next_sweep {
                next_sweep = now + sweep_every;
                self.sweep();
            }
            let is_served =
                || self.connections.is_empty() && self.endpoints.iter().all(Endpoint::is_drained);
            let is_drained = |end| is_served() || now >= end;
            let is_paused =
                || self.connections.iter().any(|(_, connection)| connection.is_paused());
            if drained_by.is_some_and(is_drained) && !is_paused() {
                return Ok(());
            }
        }
    }

    /// Waits for sockets until `end`, or only looks where a connection can continue.
    fn wait(&mut self, end: Instant) -> io::Result<()> {
        let busy = !self.queue.is_empty()
            || self.listeners.iter().any(|listener| listener.pending == Pending::Maybe)
            || self.endpoints.iter().any(Endpoint::is_busy);
        let timeout = if busy {
            Duration::ZERO
        } else {
            // A part of a millisecond is rounded up, so as not to wake too early and spin.
            end.saturating_duration_since(self.shared.now) + Duration::from_millis(1)
        };
        let is_parking = !self.parked.is_empty();
        let answer = self.accelerator.filter(|_| is_parking).and_then(Accelerator::next);
        let timeout = answer.map_or(timeout, |answer| timeout.min(answer));
        let due = self.endpoints.iter().filter_map(Endpoint::next_timeout).min();
        let due = due.map(|due| due.saturating_duration_since(self.shared.now));
        let timeout = due.map_or(timeout, |due| timeout.min(due));
        self.is_idle = !busy;
        for event in self.epoll.wait(timeout)? {
            self.is_idle = false;
            let key = (event.token & !(JOB | LISTENER | ENDPOINT)) as usize;
            if event.token & ENDPOINT != 0 {
                if let Some(endpoint) = self.endpoints.get_mut(key) {
                    endpoint.ready(event.readable, event.writable)?;
                }
                continue;
            }
            if event.token & LISTENER != 0 {
                if let Some(listener) = self.listeners.get_mut(key) {
                    listener.pending = Pending::Maybe;
                }
                continue;
            }
            if event.token & JOB != 0 {
                self.woken.push(key);
                continue;
            }
            if let Some(connection) = self.connections.get_mut(key) {
                connection.wire().ready(&event);
                if !std::mem::replace(&mut connection.queued, true) {
                    self.queue.push_back(key);
                }
            }
        }
        self.shared.now = Instant::now();
        Ok(())
    }

    /// Whether no connection is open.
    fn is_empty(&self) -> bool {
        self.connections.is_empty() && self.endpoints.iter().all(Endpoint::is_empty)
    }

    /// What HTTP/3 has to do.
    fn serve_quic(&mut self, now: Instant) -> io::Result<()> {
        let was_empty = self.is_empty();
        for (index, endpoint) in (0..).zip(&mut self.endpoints) {
            endpoint.turn(now)?;
            // Otherwise each datagram that has left would wake the thread.
            if let Some(is_watched) = endpoint.changes_watch() {
                self.epoll.watch_room(endpoint, ENDPOINT | index, is_watched)?;
            }
        }
        if let Some(row) = self.shared.row.filter(|_| !was_empty && self.is_empty()) {
            row.settle();
        }
        Ok(())
    }

    fn accept(&mut self, report: &dyn Fn(&str)) {
        for index in 0..self.listeners.len() {
            for _ in 0..ACCEPTS {
                let listener = &mut self.listeners[index];
                if listener.pending != Pending::Maybe {
                    break;
                }
                match listener::accept(&listener.socket) {
                    Accepted::Connection(socket) => {
                        let tls = listener.tls;
                        listener.refused = None;
                        // One that cannot be set up is closed, as by a broken peer.
                        let _: io::Result<()> = self.add(socket, tls);
                    }
                    Accepted::None => listener.pending = Pending::No,
                    Accepted::Exhausted => listener.pending = Pending::Stuck,
                    Accepted::Broken => {}
                    Accepted::Refused(error) => {
                        listener.pending = Pending::Stuck;
                        if listener.refused.replace(error) != Some(error) {
                            report(&format!(
                                "cannot accept connections: {error}; trying again; does a firewall or a \
                                 sandbox of this machine forbid it?"
                            ));
                        }
                    }
                }
            }
        }
    }

    fn add(&mut self, socket: OwnedFd, tls: bool) -> io::Result<()> {
        let is_only_one = self.is_empty();
        let entry = self.connections.vacant_entry();
        self.epoll.add_connection(&socket, entry.key() as u64)?;
        let wire = Wire::new(socket, Gather::clone(&self.gather), self.shared.row);
        let deadline = self.shared.now + self.shared.timeout;
        if let Some(row) = self.shared.row.filter(|_| is_only_one) {
            row.begin();
        }
        if let Some(row) = self.shared.row.filter(|_| !tls) {
            row.count_plain_connection();
        }
        entry.insert(if tls {
            Connection::tls(wire, deadline)
        } else {
            Connection::plain(wire, deadline)
        });
        Ok(())
    }

    /// One turn for each connection that can go on.
    fn take_turns(&mut self) {
        for _ in 0..self.queue.len() {
            let Some(key) = self.queue.pop_front() else { break };
            let Some(connection) = self.connections.get_mut(key) else { continue };
            connection.queued = false;
            let next = connection.turn(&mut self.shared);
            self.follow(key, next);
        }
    }

    /// Continues the handshakes that the accelerator has answered.
    fn resume(&mut self) {
        if let Some(accelerator) = self.accelerator.filter(|_| !self.parked.is_empty()) {
            let answered = accelerator.ready(self.is_idle).into_iter();
            self.woken.extend(answered.filter_map(|ticket| self.parked.remove(&ticket)));
        }
        for key in std::mem::take(&mut self.woken) {
            if let Some(connection) = self.connections.get_mut(key).filter(|one| one.is_paused()) {
                let next = connection.resume(&mut self.shared);
                self.follow(key, next);
            }
        }
    }

    fn follow(&mut self, key: usize, next: Next) {
        // What a failing connection wrote must not go out with the next one's.
        self.gather.borrow_mut().clear();
        match next {
            Next::Wait => {}
            Next::Continue => {
                if let Some(connection) = self.connections.get_mut(key)
                    && !std::mem::replace(&mut connection.queued, true)
                {
                    self.queue.push_back(key);
                }
            }
            Next::Park(Pause::Answer(ticket)) => {
                self.parked.insert(ticket, key);
            }
            Next::Park(Pause::Event(descriptors)) => {
                for descriptor in descriptors {
                    // SAFETY: it stays open while the connection is there, which is paused.
                    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
                    let token = JOB | key as u64;
                    // It fails only where the kernel has no memory left.
                    let _: io::Result<()> = self.epoll.add_job(descriptor, token);
                }
            }
            Next::Drop => {
                self.connections.try_remove(key);
                if let Some(row) = self.shared.row.filter(|_| self.is_empty()) {
                    row.settle();
                }
                self.unstick();
            }
        }
    }

    /// Accepting may work again.
    fn unstick(&mut self) {
        for listener in &mut self.listeners {
            if listener.pending == Pending::Stuck {
                listener.pending = Pending::Maybe;
            }
        }
    }

    /// Stops accepting, and ends the connections that have no request in flight.
    fn drain(&mut self) -> io::Result<()> {
        self.shared.draining = true;
        self.listeners.clear();
        self.endpoints.iter_mut().try_for_each(Endpoint::drain)?;
        self.for_each_key(|worker, key| {
            let next = worker.connections[key].drain(&mut worker.shared);
            worker.follow(key, next);
        });
        Ok(())
    }

    /// Ends the connections whose time is up.
    fn sweep(&mut self) {
        self.for_each_key(|worker, key| {
            if worker.connections[key].is_overdue(worker.shared.now) {
                let next = worker.connections[key].expire(&mut worker.shared);
                worker.follow(key, next);
            }
        });
    }

    fn for_each_key(&mut self, mut visit: impl FnMut(&mut Self, usize)) {
        for key in 0..self.connections.capacity() {
            if self.connections.contains(key) {
                visit(self, key);
            }
        }
    }
}
