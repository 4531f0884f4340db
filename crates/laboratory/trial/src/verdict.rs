//! What limited a trial.
//!
//! A rate is a statement about the server only where the server was the limit. So candidates are judged
//! in an order in which each rules out those after it: if operations fail, nothing else matters; a
//! client without descriptors, ports or CPU did not load the server fully; only then is a busy server
//! the answer.

#[cfg(test)]
mod tests;

use observe::CpuShare;
use serde::{Deserialize, Serialize};
use strum::Display;

use crate::evidence::{Evidence, QuotaSide, SERVER_BUSY};

/// One failed operation in a hundred: with more, the mix of operations is not the one that was asked.
pub const ERRORS: f64 = 0.01;

/// A SYN that finds the accept queue full is sent again after one second (RFC 6298, section 2.1).
/// Where that idles the connections for a twentieth of their time, the load is not what was asked.
pub const ACCEPT_QUEUE_LOSS: f64 = 0.05;

/// An event loop is full well before 100%: answers wait for it, and the closed loop slows down.
pub const CLIENT_BUSY: f64 = 0.90;

/// The part of waiting in `client_busy` above which other programs are the cause rather than the client.
pub const CLIENT_WAITING: f64 = 0.10;

/// The part of datagrams or sends that may be lost at a socket, as that of TCP's segments in a network: each makes its
/// sender slow down and send again.
pub const UDP_LOST: f64 = 0.01;

/// An accelerator that always has a next operation completes what its rate allows, but for what is under
/// way at the window's ends.
pub const ACCELERATOR_BUSY: f64 = 0.95;

/// CPU time lost to others that changes a rate by more than trials differ otherwise.
pub const NOISE: f64 = 0.10;

/// How busy a hyperthread beside the server's must be to slow it by a tenth: two busy ones share
/// what one would have, so each loses about half.
pub const SIBLING_BUSY: f64 = 0.25;

/// Where requests wait for half of their time until the server opens a window, larger windows would bring
/// more.
pub const WINDOW_WAITING: f64 = 0.5;

/// A server that completes all that it is offered, but for what is under way at the window's ends.
pub const OFFERED_SERVED: f64 = 0.98;

/// What limited a trial, in the order in which it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Limit {
    /// Too many operations failed, something that was checked was wrong, or nothing completed and
    /// nothing else explains it.
    Errors,
    /// The client or the server had no file descriptor left.
    Descriptors,
    /// The client had no port left.
    Ports,
    /// The server's accept queue overflowed.
    AcceptQueue,
    /// The CPU time that a control group allows the client, the server or both.
    CpuQuota,
    /// The client's CPUs.
    ClientCpu,
    /// The buffers of the client's UDP sockets: datagrams that came were dropped, or sends refused.
    UdpBuffers,
    /// The CPUs of the server's backend.
    Backend,
    /// The accelerator of the server's private keys.
    Accelerator,
    /// The server's CPUs, or as many of them as it has threads for.
    ServerCpu,
    /// The network between client and server.
    Network,
    /// The windows of HTTP/2 or QUIC that the server opens for the bodies of requests.
    FlowControl,
    /// The limit that a search keeps: the next larger load broke it.
    LatencyLimit,
    /// No more was asked for: all operations that were meant to start were done.
    OfferedLoad,
    /// Something else used the CPUs.
    Noise,
    /// Nothing that could be seen.
    Unknown,
}

/// What limited a trial, with the evidence of every candidate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// What limited it.
    pub limit: Limit,
    /// All figures.
    pub evidence: Evidence,
}

/// The doubts of a trial: each needs a share that is as large as its threshold and surely no chance.
impl Evidence {
    /// Whether programs other than server and client ran on their CPUs.
    pub fn has_foreign_work(&self) -> bool {
        self.foreign.is_some_and(|share| share.exceeds(NOISE))
    }

    /// Whether the hypervisor took of these CPUs.
    pub fn has_steal(&self) -> bool {
        self.steal.is_some_and(|share| share.exceeds(NOISE))
    }

    /// Whether others ran on a hyperthread beside the server's.
    pub fn has_busy_sibling(&self) -> bool {
        self.sibling_busy.is_some_and(|share| share.exceeds(SIBLING_BUSY))
    }

    fn has_full_udp_buffers(&self) -> bool {
        [self.udp_dropped, self.udp_sends_refused].iter().any(|share| *share >= Some(UDP_LOST))
    }

    fn is_noisy(&self) -> bool {
        self.has_foreign_work() || self.has_steal()
    }
}

impl Verdict {
    /// Whether the hypervisor or other programs took so much of the CPUs that it changes a rate.
    pub fn is_disturbed(&self) -> bool {
        self.evidence.is_noisy()
    }

    /// What the hypervisor and other programs took of the CPUs together, as a share.
    pub fn disturbance(&self) -> f64 {
        let Evidence { steal, foreign, .. } = &self.evidence;
        let share = |of: &Option<CpuShare>| of.map_or(0.0, |of| of.share.max(0.0));
        share(steal) + share(foreign)
    }

    /// Whether the client was the limit, so that the server could do more.
    pub fn is_of_client(&self) -> bool {
        match self.limit {
            Limit::ClientCpu | Limit::UdpBuffers => true,
            Limit::CpuQuota => !matches!(self.evidence.held_back(), Some((QuotaSide::Server, _))),
            _ => false,
        }
    }

    /// Judges a trial by its evidence.
    pub fn of(evidence: Evidence) -> Self {
        Self { limit: limit(&evidence), evidence }
    }
}

fn limit(e: &Evidence) -> Limit {
    let lacking = e.descriptors_lacking + e.ports_lacking;
    // Connections that this machine could not make have limits of their own, below.
    let failed = e.failed.saturating_sub(lacking);
    let ended = failed + e.completed;
    if failed > 0 && failed as f64 >= ERRORS * ended as f64 {
        return Limit::Errors;
    }
    // Checked on a sample: a wrong one means that many unchecked ones are wrong too.
    if e.is_any_wrong() {
        return Limit::Errors;
    }
    let at_least = |share: Option<f64>, threshold| share.is_some_and(|share| share >= threshold);
    if e.descriptors_lacking > 0 || e.has_full_server() {
        return Limit::Descriptors;
    }
    if e.ports_lacking > 0 {
        return Limit::Ports;
    }
    if at_least(e.accept_queue_loss, ACCEPT_QUEUE_LOSS) {
        return Limit::AcceptQueue;
    }
    if e.held_back().is_some() {
        return Limit::CpuQuota;
    }
    if at_least(e.client_busy, CLIENT_BUSY) {
        return Limit::ClientCpu;
    }
    // A client that is too busy to read drops datagrams too, so it goes first. What a server sends in vain is in its
    // CPU time, so it goes after.
    if e.has_full_udp_buffers() && !at_least(e.offered_served, OFFERED_SERVED) {
        return Limit::UdpBuffers;
    }
    if at_least(e.backend_busy, SERVER_BUSY) {
        return Limit::Backend;
    }
    if at_least(e.accelerator_busy, ACCELERATOR_BUSY) {
        return Limit::Accelerator;
    }
    // Interrupt work for the server on its own CPUs is not in its process's time. Where nothing
    // was idle and nothing else ran there, the server had all that there is.
    let nothing_idle = e.server_busy.is_some()
        && e.server_cpus_idle.is_some_and(|idle| idle.is_within(1.0 - SERVER_BUSY))
        && !e.is_noisy();
    if at_least(e.server_busy, SERVER_BUSY) || nothing_idle || e.has_few_workers() {
        return Limit::ServerCpu;
    }
    let is_all_served = at_least(e.offered_served, OFFERED_SERVED);
    // A network that loses segments and still carries the whole offered load is not the limit.
    let network = e.network.as_ref();
    if network.is_some_and(|network| network.is_full() || (network.is_lossy() && !is_all_served)) {
        return Limit::Network;
    }
    if at_least(e.window_waiting, WINDOW_WAITING) && !is_all_served {
        return Limit::FlowControl;
    }
    if e.beyond_limit.is_some() {
        return Limit::LatencyLimit;
    }
    if is_all_served {
        return Limit::OfferedLoad;
    }
    if e.is_noisy() || e.has_busy_sibling() {
        return Limit::Noise;
    }
    // Where nothing ended, nothing failed, and nothing was busy, the server does not answer.
    if e.completed == 0 { Limit::Errors } else { Limit::Unknown }
}
