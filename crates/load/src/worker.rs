//! One load thread: its connections, its epoll, its clock.

use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

use rustix::event::{Timespec, epoll};
use units::Bytes;

use crate::connection::{After, Connection};
use crate::handshake::Client;
use crate::receive::{Expectation, Lengths, READ_AHEAD};
use crate::recorder::{Recorder, Window};
use crate::socket::Socket;
use crate::{Operation, Plan};

/// How often is looked for what has taken too long, and how late an end is noticed at most, in ns.
const TICK: u64 = 20_000_000;

/// How long a connection waits after a failure before its next operation, in ns.
const BACK_OFF: u64 = 20_000_000;

/// How long is waited for the proof of bytes under way when the window has ended, in ns.
const WIND_UP_LIMIT: u64 = 1_000_000_000;

/// Connections that are opened between two looks at those that are open.
const OPENED_AT_ONCE: usize = 32;

/// Receive memory that the marks of all connections together may claim, and the most and least of
/// one: a mark grows the socket's buffer to twice its size.
const ALL_MARKS: usize = 32 << 20;
const MOST_MARK: usize = 1 << 20;
const LEAST_MARK: usize = 64 << 10;

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
    /// How many of the plan's connections are this thread's.
    pub(crate) connections: usize,
    /// Which of the load's threads this is.
    pub(crate) thread: usize,
    pub(crate) counters: &'a Counters,
}

/// What connections share within their thread.
pub(crate) struct Context<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) window: &'a Window,
    pub(crate) client: Option<&'a dyn Client>,
    pub(crate) recorder: Recorder,
    pub(crate) scratch: &'a mut [u8],
    pub(crate) request: &'a [u8],
    pub(crate) expectation: Expectation,
    /// What is known of the lengths of the server's records.
    pub(crate) lengths: Lengths,
    /// The low-water mark for bodies longer than it.
    pub(crate) mark: u32,
    /// Whether the window is over and only proofs are awaited.
    pub(crate) is_winding_up: bool,
    epoll: OwnedFd,
    base: Instant,
    sources: Option<Sources>,
    responses: u32,
}

impl Context<'_> {
    /// Nanoseconds since the load's start.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.base.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The address from which to connect next, where there is a choice.
    pub(crate) fn source(&mut self) -> Option<Ipv4Addr> {
        self.sources.as_mut().map(Sources::next)
    }

    /// Whether the next response is one of those that are opened whole: the first, then one in K.
    pub(crate) fn next_is_sampled(&mut self) -> bool {
        let is_sampled = self.responses.is_multiple_of(self.plan.verify.0.get());
        self.responses = self.responses.wrapping_add(1);
        is_sampled
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
}

/// Addresses of 127.0.0.0/8, in turn: each has its own 28,000 ports, so that connections which
/// wait for their time to end (TIME-WAIT, RFC 9293) do not use them up.
struct Sources {
    thread: u8,
    count: u16,
}

impl Sources {
    fn next(&mut self) -> Ipv4Addr {
        self.count = (self.count + 1) % (250 * 250);
        Ipv4Addr::new(127, self.thread, (self.count / 250) as u8, (self.count % 250) as u8 + 1)
    }
}

/// Runs a thread's share of the load until the window is over.
pub(crate) fn run(share: &Share<'_>, client: Option<&dyn Client>) -> io::Result<Recorder> {
    let plan = share.plan;
    let request = request(plan);
    let mut scratch = vec![0; 2 * READ_AHEAD];
    let is_churning = plan.operation != Operation::Requests;
    let is_local = matches!(plan.address.ip(), IpAddr::V4(address) if address.is_loopback());
    let mut context = Context {
        plan,
        window: share.window,
        client,
        recorder: Recorder::default(),
        scratch: &mut scratch,
        request: request.as_bytes(),
        expectation: match objects::size_of(plan.url.path()) {
            Some(Bytes(size)) => Expectation::Object(size),
            None => Expectation::Anything,
        },
        lengths: Lengths::default(),
        mark: (ALL_MARKS / plan.connections).clamp(LEAST_MARK, MOST_MARK) as u32,
        is_winding_up: false,
        epoll: epoll::create(epoll::CreateFlags::CLOEXEC)?,
        base: share.base,
        sources: (is_local && is_churning)
            .then_some(Sources { thread: 1 + (share.thread % 250) as u8, count: 0 }),
        responses: 0,
    };
    let mut slots: Vec<Connection> =
        std::iter::repeat_with(Connection::default).take(share.connections).collect();
    load(&mut context, &mut slots, share.counters)?;
    wind_up(&mut context, &mut slots)?;
    publish(share.counters, &context.recorder);
    Ok(context.recorder)
}

/// The closed loop: each slot starts its next operation when its last one has ended.
fn load(
    context: &mut Context<'_>,
    slots: &mut [Connection],
    counters: &Counters,
) -> io::Result<()> {
    let mut events = Vec::with_capacity(256);
    // Slots that start at this time or later; back-offs are equal, so the queue is in order.
    let mut waiting: VecDeque<(u64, usize)> = (0..slots.len()).map(|slot| (0, slot)).collect();
    let mut restarts = Vec::new();
    let mut next_tick = TICK;
    loop {
        let now = context.now();
        if context.window.is_over(now) {
            return Ok(());
        }
        for _ in 0..OPENED_AT_ONCE {
            match waiting.front() {
                Some(&(at, slot)) if at <= now => {
                    waiting.pop_front();
                    restarts.push(slot);
                }
                _ => break,
            }
        }
        // A start that fails at once backs off, so this ends.
        for slot in restarts.drain(..) {
            let after = slots[slot].start(context, slot);
            wait_for(after, slot, context, &mut waiting);
        }
        let until = waiting.front().map_or(next_tick, |(at, _)| *at).min(next_tick);
        wait(context, &mut events, until.min(context.window.end()))?;
        for slot in events.drain(..) {
            let after = slots[slot].ready(context, slot);
            if after == After::Restart {
                restarts.push(slot)
            } else {
                wait_for(after, slot, context, &mut waiting)
            }
        }
        let now = context.now();
        if now >= next_tick {
            next_tick = now + TICK;
            for (slot, connection) in slots.iter_mut().enumerate() {
                let after = connection.check_time(context, slot);
                wait_for(after, slot, context, &mut waiting);
            }
        }
        publish(counters, &context.recorder);
    }
}

fn wait_for(
    after: After,
    slot: usize,
    context: &Context<'_>,
    waiting: &mut VecDeque<(u64, usize)>,
) {
    match after {
        After::Wait => {}
        After::Restart => waiting.push_front((0, slot)),
        After::BackOff => waiting.push_back((context.now() + BACK_OFF, slot)),
    }
}

/// Waits for the proof of the bytes that were under way when the window ended.
fn wind_up(context: &mut Context<'_>, slots: &mut [Connection]) -> io::Result<()> {
    context.is_winding_up = true;
    let deadline = context.now() + WIND_UP_LIMIT;
    let mut left = 0;
    for (slot, connection) in slots.iter_mut().enumerate() {
        left += usize::from(connection.wind_up(context, slot));
    }
    let mut events = Vec::with_capacity(256);
    while left > 0 && context.now() < deadline {
        wait(context, &mut events, deadline)?;
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

/// Fills `ready` with the slots whose sockets are ready, waiting for them until `until` at most.
fn wait(context: &Context<'_>, ready: &mut Vec<usize>, until: u64) -> io::Result<()> {
    let left = until.saturating_sub(context.now());
    let timeout =
        Timespec { tv_sec: (left / 1_000_000_000) as i64, tv_nsec: (left % 1_000_000_000) as _ };
    let mut events =
        [epoll::Event { flags: epoll::EventFlags::empty(), data: epoll::EventData::new_u64(0) };
            256];
    let count = match epoll::wait(&context.epoll, &mut events[..], Some(&timeout)) {
        Ok(count) => count,
        Err(rustix::io::Errno::INTR) => 0,
        Err(error) => return Err(error.into()),
    };
    ready.extend(events[..count].iter().map(|event| event.data.u64() as usize));
    Ok(())
}

fn publish(counters: &Counters, recorder: &Recorder) {
    let (completed, failed, body) = recorder.totals();
    counters.completed.store(completed, Relaxed);
    counters.failed.store(failed, Relaxed);
    counters.body.store(body, Relaxed);
}

fn request(plan: &Plan) -> String {
    let connection = match plan.operation {
        Operation::OneRequestPerConnection => "Connection: close\r\n",
        Operation::Requests | Operation::Handshakes => "",
    };
    format!(
        "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: toll/{}\r\n{connection}\r\n",
        plan.url.path(),
        plan.url.authority(),
        env!("CARGO_PKG_VERSION"),
    )
}
