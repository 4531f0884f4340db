//! What a load did.

mod latencies;

use std::collections::BTreeSet;

use derive_more::AddAssign;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};
use units::Nanos;

pub use latencies::Latencies;

use crate::choice::Pauses;
use crate::failures::Failures;
use crate::http2_counts::Http2Counts;
use crate::own_time::ThreadUse;
use crate::quic_counts::QuicCounts;
use crate::stream_counts::StreamCounts;
use crate::up::Up;
use crate::user_time::UserTime;
use latencies::histogram;
use wire::handshake::{Fingerprint, Negotiated};

/// What a load did within its window.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// The length of the window; shorter than planned where the load was stopped.
    pub window: Nanos,
    /// Whether it was stopped before its planned end.
    pub interrupted: bool,
    /// How many operations were meant to start, and how many of them did not in time.
    pub arrivals: ArrivalCounts,
    /// Operations that succeeded within the window.
    pub completed: u64,
    /// Operations under way when the window ended.
    pub in_flight: u64,
    /// Those by what they waited for: how they would have failed in the end.
    pub unended: Failures,
    /// How the threads paused; `None` where they did not, without a choice.
    pub pauses: Option<Pauses>,
    /// How late the load's threads did what was due.
    pub timers: LateTimers,
    /// Operations that failed within the window. Where connections are opened ahead or kept idle
    /// (all arrivals but a closed loop without think time), connections that failed without an
    /// operation count too.
    pub failures: Failures,
    /// Bytes that arrived within the window.
    pub bytes: ByteCounts,
    /// The size of the body that each request had.
    pub request_body: u64,
    /// Completed operations whose answer came before all of that was sent.
    pub answered_early: u64,
    /// The statuses of completed responses other than 200, each with its count.
    pub statuses: Vec<(u16, u64)>,
    /// The latencies of operations that succeeded within the window. Operations under way at its
    /// end count with the time to their first byte, where that had come.
    pub latencies: Latencies,
    /// What the users spent their time on.
    pub user_time: UserTime,
    /// How many completed operations received each object, in the order of the plan's objects. The
    /// list ends with the last object that was received.
    pub objects: Vec<u64>,
    /// The ages of operations under way when the window ended, by what they still waited for:
    /// `connect` for connections that were not established, `first_byte` for operations without a
    /// byte of their response, `whole` for all operations. The last two include operations that had
    /// not begun. The other histograms are empty.
    pub under_way: Latencies,
    /// What the successful handshakes of the load negotiated, each with its count. The warm-up is
    /// included: the window's requests use connections that the warm-up opened.
    pub negotiated: Vec<(Negotiated, u64)>,
    /// Handshakes in which the server asked for a certificate of the client, warm-up included.
    pub certificate_requests: u64,
    /// Handshakes in which the server asked for a second ClientHello (HelloRetryRequest), warm-up
    /// included.
    pub hello_retry_requests: u64,
    /// Handshakes for which the client had a session to resume, and so offered it, warm-up included.
    pub sessions_offered: u64,
    /// Where connections have names of a list: how many were established with each, warm-up included, in the
    /// order of the list. It ends with the last that was asked for.
    pub names: Vec<u64>,
    /// How long the list of names is.
    pub names_asked: usize,
    /// For each name, in how many handshakes the server showed a certificate: those that resumed a session
    /// are not among them, those that collected it are.
    pub names_certified: Vec<u64>,
    /// The certificates that the server showed for names of a list.
    pub certificates: BTreeSet<Fingerprint>,
    /// What the server gave to be resumed, warm-up included.
    pub given: SessionsGiven,
    /// What was collected before the window, to be resumed in it; only where a load that ends by itself
    /// is to resume.
    pub collected: Option<Collected>,
    /// What was verified, and how.
    pub verified: Verified,
    /// What connections without a request sent and received, of one in 64, warm-up included.
    pub traffic: Traffic,
    /// The pages of a session, in their order; empty for other operations.
    pub pages: Vec<PageOutcome>,
    /// The walks of a session that ended within the window.
    pub walks: WalkCounts,
    /// How many connections were up, where they are kept.
    pub up: Option<Up>,
    /// The most connections that were open at the same time, warm-up included. With several load
    /// threads it is the sum of what each had at most.
    pub most_open: usize,
    /// Connections that the server did not close after their last response, although it was asked to or the
    /// client had ended them, by when the client gave them up; not known where the client resets them.
    pub not_closed_by_server: u64,
    /// Answers that came on connections that have been opened, and these connections, warm-up included.
    pub answers: u64,
    pub connections: u64,
    /// Requests that were sent again within the window, because they had no answer: whatever the protocol and the
    /// reason, each time that one was.
    pub sent_again: u64,
    /// Those of them that the server had not begun with, as it said: their stream was refused, or a GOAWAY left
    /// them out. The others were on a kept connection that it closed.
    pub not_taken: u64,
    /// Connections that were to carry a number of requests and have ended, warm-up included.
    pub ended: EndedConnections,
    /// Connections whose opening waited until a packet was sent again.
    pub repeated: Repeated,
    /// What was counted of connections that carry several requests at once.
    pub streams: StreamCounts,
    /// The frames of those over HTTP/2.
    pub http2: Http2Counts,
    /// What the QUIC connections of the load did.
    pub quic: QuicCounts,
    /// Why load threads ended early, one entry each. Their operations are missing from all figures
    /// here, so a load with an entry has no valid rate.
    pub lost: Vec<String>,
    /// The program that made the load, where that was not toll.
    pub peer: Option<PeerClient>,
    /// What each load thread used within the window, in the order of
    /// [`thread_ids`](crate::Load::thread_ids). Empty where they are another program's.
    pub threads: Vec<ThreadUse>,
}

/// Another program that made a load. toll has verified nothing of that outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeerClient {
    /// The program and its version, such as `wrk 4.1.0`.
    pub name: String,
    /// A caution for readers of its figures.
    pub caution: String,
    /// How long its process ran, by toll's clock.
    pub ran: Nanos,
    /// How much longer than it was told to it may run in good health.
    pub slack: Nanos,
    /// Operations that it began, that did not end, and that no open connection of it was left for; known
    /// of programs that count what they begin.
    pub unaccounted: Option<u64>,
}

/// Operations by their intended starts.
///
/// See [`Outcome::balance`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct ArrivalCounts {
    /// Operations whose intended start lay in the window. In a closed loop the intended start is
    /// the actual one.
    pub intended: u64,
    /// Operations that were meant to start before the window's end, warm-up included, but had not
    /// begun by then: no connection was free, or the load thread was late. Not in
    /// [`Outcome::in_flight`].
    pub waiting: u64,
    /// Operations that were meant to start in the warm-up and had not ended by its end.
    pub carried: u64,
    /// Connections that failed without an operation within the window; they are among
    /// [`Outcome::failures`].
    pub failed_connections: u64,
    /// Under [`Arrival::Paced`](crate::Arrival::Paced): operations whose deadline, their connection's
    /// next tick, lay in the window. None does where a load is shorter than a period.
    pub deadlines: u64,
    /// Those of them that had not ended by their deadline. Those that failed before it count only as
    /// failures.
    pub deadline_misses: u64,
}

/// How late a load's threads did what was due at a time, within the window: the starts of operations for which
/// a connection was free, and the thread's own ticks. A thread that is late shows its delay as the server's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct LateTimers {
    /// How many were due.
    pub count: u64,
    /// How late they were, all together.
    pub late_ns: u64,
}

/// Bytes that arrived within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct ByteCounts {
    /// Proven body bytes: of complete responses, and of those under way at the window's end, up to
    /// an authentic record with the expected sequence number.
    pub body: u64,
    /// Body bytes that arrived but belong to operations that failed or were not proven.
    pub unproven: u64,
    /// The part of `body` that was decrypted; over plain HTTP, that was read.
    pub opened: u64,
}

/// Sessions that were collected before a load began. Their handshakes are in no other count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct Collected {
    /// What the server gave.
    pub given: SessionsGiven,
    /// On how many connections.
    pub connections: u64,
}

/// What a server gave so that later handshakes resume it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct SessionsGiven {
    /// Tickets (RFC 8446, section 4.6.1; RFC 5077), used or not. A client of TLS 1.2 asks for one only
    /// where the plan is to resume.
    pub tickets: u64,
    /// In handshakes of TLS 1.2 whose session the client keeps: identifiers without a ticket. A server
    /// may give them and keep no session.
    pub ids: u64,
}

/// Connections that a packet of theirs was lost of while they were opened: a SYN, or what came right after
/// it. On one machine it is the server's accept queue that loses them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Repeated {
    /// How many were opened within the window, or were still being opened when it ended.
    pub connections: u64,
    /// The part of the window in which they were being opened, all together.
    pub time: Nanos,
}

/// Connections that were to carry a number of requests, and what became of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndedConnections {
    /// Those that the client ended after their last response: how many requests they carried, and how many
    /// of them there were. Without those that began in the middle of their lives.
    pub by_requests: Vec<(u32, u64)>,
    /// Those that began in the middle of their lives and ended in the same way.
    pub rests: u64,
    /// Those that the server closed before.
    pub by_server: u64,
}

/// What connections sent and received, from the handshake to the end, as the kernel counted it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct Traffic {
    /// How many were looked at.
    pub connections: u64,
    /// Bytes of TLS.
    pub bytes_sent: u64,
    pub bytes_received: u64,
    /// Packets of TCP, those without data included.
    pub packets_sent: u64,
    pub packets_received: u64,
}

/// What was verified within the window, and how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct Verified {
    /// Handshakes whose signature was verified, warm-up included, as in [`Outcome::negotiated`].
    pub signatures: u64,
    /// Responses whose last record was opened and some of whose other records were dropped.
    pub walked: u64,
    /// The part of `walked` whose head was read without opening its record: status and length are not
    /// authenticated.
    pub peeked: u64,
    /// Responses that were opened whole.
    pub opened: u64,
    /// Responses opened whole (or plain ones read whole) whose every byte was compared with the
    /// generated object.
    pub compared: u64,
    /// Responses opened whole that had wrong content or an unauthentic record. They are not in
    /// `opened`.
    pub wrong: u64,
    /// Handshakes that did not authenticate the server, warm-up included. They are not in
    /// `signatures`.
    pub unauthentic: u64,
}

/// What became of one page of a session within the window.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PageOutcome {
    /// Its name in the session file.
    pub name: String,
    /// Whether the shop stores an order for each that completes.
    pub is_order: bool,
    /// How often it was what it should be.
    pub completed: u64,
    /// The same of the whole load, not of the window only.
    pub completed_ever: u64,
    /// How often not. Each failure ended its user's walk.
    pub failures: Failures,
    /// From the start of a page to its end, redirects included, of those completed.
    #[serde(with = "crate::histogram")]
    pub latency: Histogram<u64>,
}

/// Walks that ended within the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, AddAssign)]
pub struct WalkCounts {
    /// With their last page.
    pub completed: u64,
    /// With a page that failed.
    pub failed: u64,
}

impl Outcome {
    /// Whether each operation was counted once: those that were meant to start, and those that the window
    /// began with, have completed, failed, were in flight at its end, or had not begun.
    ///
    /// # Errors
    /// What does not come out, in one line. It is a fault of toll.
    pub fn balance(&self) -> Result<(), String> {
        let Self { arrivals, completed, failures, in_flight, .. } = self;
        let failed = failures.total() - arrivals.failed_connections;
        let begun = arrivals.intended + arrivals.carried;
        let ended = completed + failed + in_flight + arrivals.waiting;
        if begun == ended || self.peer.is_some() || !self.lost.is_empty() {
            return Ok(());
        }
        Err(format!(
            "a fault of toll, please report it: {} operations were meant to start and {} were carried over \
             from the warm-up, but {completed} completed, {failed} failed, {in_flight} were in flight and {} \
             waited",
            arrivals.intended, arrivals.carried, arrivals.waiting
        ))
    }

    /// Completed operations whose request's body was sent whole.
    pub fn bodies_sent(&self) -> u64 {
        self.completed.saturating_sub(self.answered_early)
    }

    /// Adds what another thread's or process's part of the same load did. Both have the same window;
    /// it is the longer of the two.
    pub fn merge(&mut self, other: Self) {
        self.window = self.window.max(other.window);
        self.interrupted |= other.interrupted;
        self.arrivals += other.arrivals;
        self.completed += other.completed;
        self.in_flight += other.in_flight;
        self.unended.merge(other.unended);
        self.pauses = self.pauses.or(other.pauses);
        self.timers += other.timers;
        self.answered_early += other.answered_early;
        self.answers += other.answers;
        self.connections += other.connections;
        self.failures.merge(other.failures);
        self.bytes += other.bytes;
        self.request_body = self.request_body.max(other.request_body);
        add_counts(&mut self.statuses, other.statuses);
        self.latencies.merge(&other.latencies);
        self.user_time += other.user_time;
        add_objects(&mut self.objects, &other.objects);
        self.under_way.merge(&other.under_way);
        add_counts(&mut self.negotiated, other.negotiated);
        self.certificate_requests += other.certificate_requests;
        self.hello_retry_requests += other.hello_retry_requests;
        self.sessions_offered += other.sessions_offered;
        add_objects(&mut self.names, &other.names);
        add_objects(&mut self.names_certified, &other.names_certified);
        self.names_asked = self.names_asked.max(other.names_asked);
        self.certificates.extend(other.certificates);
        self.given += other.given;
        if let Some(collected) = other.collected {
            *self.collected.get_or_insert_default() += collected;
        }
        self.verified += other.verified;
        self.traffic += other.traffic;
        match self.pages.is_empty() {
            true => self.pages = other.pages,
            false => self.pages.iter_mut().zip(other.pages).for_each(|(page, own)| page.merge(own)),
        }
        self.walks += other.walks;
        self.most_open += other.most_open;
        if let Some(theirs) = other.up {
            let up = self.up.get_or_insert_default();
            (up.at_begin, up.at_end) = (up.at_begin + theirs.at_begin, up.at_end + theirs.at_end);
            up.short = up.short.max(theirs.short);
        }
        self.not_closed_by_server += other.not_closed_by_server;
        self.sent_again += other.sent_again;
        self.not_taken += other.not_taken;
        add_counts(&mut self.ended.by_requests, other.ended.by_requests);
        self.ended.rests += other.ended.rests;
        self.ended.by_server += other.ended.by_server;
        self.repeated.connections += other.repeated.connections;
        self.repeated.time.0 += other.repeated.time.0;
        self.streams.add(other.streams);
        self.http2.add(other.http2);
        self.quic.add(other.quic);
        self.lost.extend(other.lost);
        self.peer = self.peer.take().or(other.peer);
        self.threads.extend(other.threads);
    }
}

pub(crate) fn add_object(list: &mut Vec<u64>, object: usize, count: u64) {
    if list.len() <= object {
        list.resize(object + 1, 0);
    }
    list[object] += count;
}

fn add_objects(list: &mut Vec<u64>, others: &[u64]) {
    others.iter().enumerate().for_each(|(object, count)| add_object(list, object, *count));
}

fn add_counts<T: PartialEq>(list: &mut Vec<(T, u64)>, others: Vec<(T, u64)>) {
    others.into_iter().for_each(|(what, count)| add_count(list, what, count));
}

/// There are few distinct entries, so a list is searched faster than a map.
pub(crate) fn add_count<T: PartialEq>(list: &mut Vec<(T, u64)>, what: T, count: u64) {
    match list.iter_mut().find(|(known, _)| *known == what) {
        Some((_, known)) => *known += count,
        None => list.push((what, count)),
    }
}

impl PageOutcome {
    pub(crate) fn new(name: &str, is_order: bool) -> Self {
        Self {
            name: name.to_owned(),
            is_order,
            completed: 0,
            completed_ever: 0,
            failures: Failures::default(),
            latency: histogram(),
        }
    }

    fn merge(&mut self, other: Self) {
        self.completed += other.completed;
        self.completed_ever += other.completed_ever;
        self.failures.merge(other.failures);
        // Cannot fail: both have the same bounds.
        let _ = self.latency.add(other.latency);
    }
}
