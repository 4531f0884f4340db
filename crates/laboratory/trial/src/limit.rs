//! What can limit a trial: a table, in the order in which it is judged, of what decides it, by which figures that is said,
//! and what to do.
//!
//! A rate is a statement about the server only where the server was the limit. So candidates are judged
//! in an order in which each rules out those after it: if operations fail, nothing else matters; a
//! client without descriptors, ports or CPU did not load the server fully; only then is a busy server
//! the answer.

use serde::{Deserialize, Serialize};
use strum::Display;
use units::{BitsPerSecond, percent, thousands};

use crate::evidence::{Evidence, NetworkEvidence, QuotaSide, SERVER_BUSY};
use crate::nouns::Nouns;

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

const NO_DESCRIPTORS: &str = "the server had all its file descriptors open";

const MORE_AT_SERVER: &str = "raise the server's limit of descriptors (until it restarts: prlimit --pid PID \
    --nofile=1048576:1048576; permanently: LimitNOFILE= in its unit), or lower --connections";

const MORE_AT_CLIENT: &str =
    "raise the limit that the error names (such as ulimit -n 1048576), or lower --connections";

/// A row is a limit, when it is the one, its reason and its remedy: the first of each whose condition holds, or else the
/// usual one.
macro_rules! limits {
    (|$e:ident, $noun:ident| { $(let $local:pat = $value:expr;)* }
    $($(#[$about:meta])* $kind:ident if $when:expr => {
        $($reason_if:expr => $reason:literal $(, $reason_of:expr)*;)*
        else $usual:literal $(, $usual_of:expr)*;
        do: $($remedy_if:expr => $remedy:expr;)*
        else $usual_remedy:expr;
    })*) => {
        /// What limited a trial, in the order in which it is judged.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, Display)]
        #[serde(rename_all = "kebab-case")]
        #[strum(serialize_all = "kebab-case")]
        pub enum Limit {
            $($(#[$about])* $kind,)*
        }

        impl Limit {
            /// The first that the evidence shows.
            pub(crate) fn of($e: &Evidence) -> Self {
                $(let $local = $value;)*
                $(if $when { return Self::$kind; })*
                // Where nothing ended, nothing failed, and nothing was busy, the server does not answer.
                Self::Errors
            }

            /// By which figures, in a sentence without its full stop.
            pub(crate) fn reason(self, $e: &Evidence, nouns: Nouns) -> String {
                let $noun = nouns.operation;
                match self {
                    $(Self::$kind => {
                        $(if $reason_if { return std::fmt::format(format_args!($reason $(, $reason_of)*)); })*
                        std::fmt::format(format_args!($usual $(, $usual_of)*))
                    })*
                }
            }

            /// What to do for a better or a higher figure, in a sentence without its full stop.
            pub(crate) fn remedy(self, $e: &Evidence) -> &'static str {
                match self {
                    $(Self::$kind => {
                        $(if $remedy_if { return $remedy; })*
                        $usual_remedy
                    })*
                }
            }
        }
    };
}

limits! {
    |e, noun| {
        let at_least = |share: Option<f64>, threshold| share.is_some_and(|share| share >= threshold);
        // Connections that this machine could not make have limits of their own.
        let failed = e.failed.saturating_sub(e.descriptors_lacking + e.ports_lacking);
        let is_all_served = at_least(e.offered_served, OFFERED_SERVED);
        // Interrupt work for the server on its own CPUs is not in its process's time. Where nothing was idle and nothing
        // else ran there, the server had all that there is.
        let is_nothing_idle = e.server_busy.is_some() && !e.is_noisy()
            && e.server_cpus_idle.is_some_and(|idle| idle.is_within(1.0 - SERVER_BUSY));
        let network = e.network.as_ref();
    }

    /// Too many operations failed, something that was checked was wrong, or nothing completed and nothing else explains
    /// it. What is checked on a sample and wrong there means that many unchecked ones are wrong too.
    Errors if failed > 0 && failed as f64 >= ERRORS * (failed + e.completed) as f64 || e.is_any_wrong() => {
        e.completed + e.failed == 0 => "no {noun} ended within the window";
        e.completed == 0 => "no {noun} completed, {} failed", thousands(e.failed);
        e.wrong_bodies > 0 => "{} of {} bodies that were checked were wrong",
            thousands(e.wrong_bodies), thousands(e.checked_bodies);
        e.unauthentic_handshakes > 0 => "{} of {} handshakes that were checked did not authenticate the server",
            thousands(e.unauthentic_handshakes), thousands(e.checked_handshakes);
        else "{} of the {noun}s failed ({} of {}){}", percent(e.failed_share.unwrap_or_default()),
            thousands(e.failed), thousands(e.failed + e.completed),
            if e.has_full_server() { format!("; {NO_DESCRIPTORS}") } else { String::new() };
        do: e.completed + e.failed == 0 => "measure longer (--duration)";
        e.is_any_wrong() || !e.has_full_server() => "read the first error of each kind, and the server's log";
        // Connections that the server cannot accept time out.
        e.descriptors_lacking == 0 => MORE_AT_SERVER;
        else MORE_AT_CLIENT;
    }
    /// The client or the server had no file descriptor left.
    Descriptors if e.descriptors_lacking > 0 || e.has_full_server() => {
        e.descriptors_lacking == 0 => "{NO_DESCRIPTORS}";
        else "the client had no file descriptor left for {} connections", thousands(e.descriptors_lacking);
        do: e.descriptors_lacking == 0 => MORE_AT_SERVER;
        else MORE_AT_CLIENT;
    }
    /// The client had no port left.
    Ports if e.ports_lacking > 0 => {
        else "the client had no port left for {} connections", thousands(e.ports_lacking);
        do: else "keep connections (--operation requests, a larger --requests-per-connection; reconnect = \"never\" in a \
                  session file), lower --connections, give more source addresses (--source), wait a minute until closed \
                  ones leave TIME_WAIT, or widen the range (sysctl -w net.ipv4.ip_local_port_range='1024 65535')";
    }
    /// The server's accept queue overflowed.
    AcceptQueue if at_least(e.accept_queue_loss, ACCEPT_QUEUE_LOSS) => {
        else "the server's accept queue, which dropped {} connections; waiting for them cost {} of the time of all \
              connections", thousands(e.accept_queue_drops.or(e.connects_repeated).unwrap_or_default()),
            percent(e.accept_queue_loss.unwrap_or_default());
        do: else "raise the server's backlog (nginx: listen ... backlog=16384) and the kernel's (sysctl -w \
                  net.core.somaxconn=16384), or lower --connections";
    }
    /// The CPU time that a control group allows the client, the server or both.
    CpuQuota if e.held_back().is_some() => {
        else "{}", quota_in_words(e);
        do: e.is_client_held_back() =>
            "do not take this as the server's maximum, nor the latencies as the server's: give toll's control group more \
             CPU time (cpu.max, cpu.cfs_quota_us; docker --cpus; Kubernetes: resources.limits.cpu), or run it outside of \
             that group";
        else "this is what the quota allows, not the server's maximum on its CPUs: raise it (cpu.max, cpu.cfs_quota_us; \
              docker --cpus; Kubernetes: resources.limits.cpu), or compare figures per CPU-second of the server";
    }
    /// The client's CPUs.
    ClientCpu if at_least(e.client_busy, CLIENT_BUSY) => {
        else "the client's CPU: {}; {}", busiest_thread_in_words(e), server_in_words(e);
        do: e.waiting_for_others() >= Some(CLIENT_WAITING) =>
            "do not take this as the server's maximum; stop the other work on the client's CPUs, or give the client other \
             CPUs (--cpus; of a rank, [[rank]] cpus)";
        e.client_rank.is_some() =>
            "do not take this as the server's maximum; give that rank more CPUs ([[rank]] cpus), or add a rank";
        else "do not take this as the server's maximum; give the client more CPUs (--cpus)";
    }
    /// The buffers of the client's UDP sockets: datagrams that came were dropped, or sends refused. A client that is too
    /// busy to read drops datagrams too, so it goes first. What a server sends in vain is in its CPU time, so it goes
    /// after.
    UdpBuffers if e.has_full_udp_buffers() && !is_all_served => {
        else "the buffers of the client's UDP sockets: the kernel dropped {} of the datagrams that came and refused {} of \
              the sends; {}; {}", percent(e.udp_dropped.unwrap_or_default()),
            percent(e.udp_sends_refused.unwrap_or_default()), client_in_words(e), server_in_words(e);
        do: else "do not take this as the server's maximum: what was dropped it sent in vain; let sockets hold more \
                  (sysctl -w net.core.rmem_max=8388608 net.core.rmem_default=8388608 net.core.wmem_max=8388608), lower \
                  --streams or --connections, or give the client more CPUs (--cpus)";
    }
    /// The CPUs of the server's backend.
    Backend if at_least(e.backend_busy, SERVER_BUSY) => {
        else "the backend of the server: it was {} busy; {}",
            percent(e.backend_busy.unwrap_or_default()), server_in_words(e);
        do: else "do not take this as the server's maximum; give the backend more CPUs, or the server fewer";
    }
    /// The accelerator of the server's private keys.
    Accelerator if at_least(e.accelerator_busy, ACCELERATOR_BUSY) => {
        else "the accelerator of the server's private keys: it completed {} of what its rate allows; {}",
            percent(e.accelerator_busy.unwrap_or_default()), server_in_words(e);
        do: else "this is what the rate that was set allows; a higher rate needs more engines (accelerator-count) or a \
                  faster one (accelerator-rate)";
    }
    /// The server's CPUs, or as many of them as it has threads for.
    ServerCpu if at_least(e.server_busy, SERVER_BUSY) || is_nothing_idle || e.has_few_workers() => {
        else "the server's CPU: {}; {}", server_in_words(e), client_in_words(e);
        do: e.has_few_workers() =>
            "the server's threads are fully busy, its CPUs are not: give it more workers (nginx: worker_processes; \
             HAProxy: nbthread) or fewer CPUs (taskset -acp LIST PID)";
        e.is_noisy() =>
            "the server used all the CPU it could get, but shared it with other programs: measure again when nothing else \
             runs on these CPUs";
        else "this is the server's maximum here; a higher rate needs more CPUs or less work per request";
    }
    /// The network between client and server. One that loses segments and still carries the whole offered load is none.
    Network if network.is_some_and(|network| network.is_full() || network.is_lossy() && !is_all_served) => {
        else "the network: {}; {}", e.network.as_ref().map_or_else(String::new, network_in_words), server_in_words(e);
        do: e.network.as_ref().is_some_and(NetworkEvidence::is_full) =>
            "this is the network's maximum, not the server's: find what delays packets (tc -s qdisc show; ethtool \
             INTERFACE), or measure over a faster network or over loopback";
        else "the network loses packets, which slows TCP down: find where (ip -s link; ethtool -S INTERFACE; nstat -az \
              TcpRetransSegs), fix it and measure again";
    }
    /// The windows of HTTP/2 or QUIC that the server opens for the bodies of requests.
    FlowControl if at_least(e.window_waiting, WINDOW_WAITING) && !is_all_served => {
        else "the server's flow control: requests waited for its windows {} of their time; {}",
            percent(e.window_waiting.unwrap_or_default()), server_in_words(e);
        do: else "let the server take more of a request's body at once (nginx: http2_body_preread_size, over HTTP/3 \
                  http3_stream_buffer_size; HAProxy: tune.h2.fe.initial-window-size; Apache: H2WindowSize), or send \
                  shorter ones";
    }
    /// The limit that a search keeps: the next larger load broke it.
    LatencyLimit if e.beyond_limit.is_some() => {
        else "the limit set by the study: the next larger load reached {} of it; {}",
            percent(e.beyond_limit.unwrap_or_default()), server_in_words(e);
        do: else "this is the largest load within the limit (find.while); for more, loosen the limit or find out what the \
                  answers wait for";
    }
    /// No more was asked for: all operations that were meant to start were done.
    OfferedLoad if is_all_served => {
        else "the offered load: {} of the intended {noun}s completed; {}",
            percent(e.offered_served.unwrap_or_default()), server_in_words(e);
        do: else "the server could do more; offer more load (--arrival) to find out how much";
    }
    /// Something else used the CPUs.
    Noise if e.is_noisy() || e.has_busy_sibling() => {
        else "noise: {}; {}", noise_in_words(e), server_in_words(e);
        do: e.has_steal() && !e.has_foreign_work() =>
            "measure again when the host's other virtual machines are quiet, or on a dedicated host";
        else "measure again when nothing else runs on these CPUs (ps -eo psr,pcpu,pid,args --sort -pcpu | head shows what \
              does)";
    }
    /// Nothing that could be seen.
    Unknown if e.completed > 0 => {
        else "nothing that toll can see: {}{}; {}", server_in_words(e), waiting_in_words(e), client_in_words(e);
        do: e.server_busy.is_none() =>
            "let toll count the server's CPU time: run toll on the server's machine, as root, or give the server's first \
             process (--server-pid, target.pid)";
        e.server_busiest_thread >= Some(SERVER_BUSY) =>
            "one thread of the server is fully busy and others are not, so connections are spread unevenly: raise \
             --connections";
        e.server_waiting >= Some(CLIENT_WAITING) =>
            "find out what keeps the server's threads, which are ready to run, from a CPU: other threads there, or a CPU \
             quota that is not seen from here, as that around a container; or offer more load (raise --connections)";
        else "offer more load (raise --connections); if the rate does not change, the server waits for something other \
              than CPU";
    }
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

    /// Whether the client's UDP sockets lost much.
    pub(crate) fn has_full_udp_buffers(&self) -> bool {
        [self.udp_dropped, self.udp_sends_refused].iter().any(|share| *share >= Some(UDP_LOST))
    }

    /// Whether the hypervisor or other programs took so much of the CPUs that it changes a rate.
    pub(crate) fn is_noisy(&self) -> bool {
        self.has_foreign_work() || self.has_steal()
    }

    /// Whether a quota of the client, or one that it shares with the server, was the limit.
    pub(crate) fn is_client_held_back(&self) -> bool {
        !matches!(self.held_back(), Some((QuotaSide::Server, _)))
    }
}

/// What the client's busiest thread did, or that of the rank that had it.
fn busiest_thread_in_words(e: &Evidence) -> String {
    let busy = e.client_busy.unwrap_or_default();
    let busy = match e.waiting_for_others() {
        Some(waiting) if waiting >= CLIENT_WAITING => format!(
            "ran {} and waited {} of the time while other programs ran on its CPU",
            percent(busy - waiting),
            percent(waiting)
        ),
        _ => format!("was {} busy", percent(busy)),
    };
    match &e.client_rank {
        Some(rank) => format!("the busiest load thread of {rank} {busy}"),
        None => format!("its busiest load thread {busy}"),
    }
}

fn server_in_words(e: &Evidence) -> String {
    match (e.server_busy, e.server_cpus_idle) {
        (Some(busy), _) if e.has_few_workers() => format!(
            "the server used {} of its CPUs, and its busiest thread {} of one",
            percent(busy),
            percent(e.server_busiest_thread.unwrap_or_default())
        ),
        (None, _) => "the server's CPU use is not known".to_owned(),
        (Some(busy), Some(idle)) => {
            format!("the server used {} of its CPUs (idle {})", percent(busy), percent(idle.share))
        }
        (Some(busy), None) => format!("the server used {} of its CPUs", percent(busy)),
    }
}

/// Whose quota it was, and what it did.
fn quota_in_words(e: &Evidence) -> String {
    let Some((side, quota)) = e.held_back() else { return "a CPU quota".to_owned() };
    let whose = match (side, &e.client_rank) {
        (QuotaSide::Server, _) => "the server's control group".to_owned(),
        (QuotaSide::Both, _) => "the control group of server and client".to_owned(),
        (QuotaSide::Client, Some(rank)) => {
            format!("the control group of {rank}")
        }
        (QuotaSide::Client, None) => "the client's control group".to_owned(),
    };
    let other = match side {
        QuotaSide::Server => client_in_words(e),
        QuotaSide::Client | QuotaSide::Both => server_in_words(e),
    };
    format!(
        "a CPU quota: {whose} may use {:.2} CPUs and was stopped {} of the time; {other}",
        quota.cpus,
        percent(quota.throttled)
    )
}

/// How much the server's threads waited for a CPU, where that is much.
fn waiting_in_words(e: &Evidence) -> String {
    let waiting = e.server_waiting.filter(|waiting| *waiting >= CLIENT_WAITING);
    waiting.map_or_else(String::new, |waiting| {
        format!(", and its threads, ready to run, waited {} for one", percent(waiting))
    })
}

fn client_in_words(e: &Evidence) -> String {
    match e.client_busy {
        Some(busy) => format!("the client's busiest thread was {} busy", percent(busy)),
        None => "the client's CPU use is not known".to_owned(),
    }
}

fn noise_in_words(e: &Evidence) -> String {
    let mut parts = Vec::new();
    if let Some(share) = e.foreign.filter(|_| e.has_foreign_work()) {
        parts.push(format!(
            "other programs used {} of the server's or the client's CPUs",
            percent(share.share)
        ));
    }
    if let Some(share) = e.steal.filter(|_| e.has_steal()) {
        parts.push(format!("the hypervisor took {} of a CPU", percent(share.share)));
    }
    if let Some(share) = e.sibling_busy.filter(|_| e.has_busy_sibling()) {
        parts.push(format!(
            "a hyperthread that shares a core with the server was {} busy with work other than the \
             client",
            percent(share.share)
        ));
    }
    parts.join(", and ")
}

fn network_in_words(network: &NetworkEvidence) -> String {
    let NetworkEvidence { interface, used, queued, .. } = network;
    let rate = BitsPerSecond(network.bits_per_s as f64);
    match *used {
        Some(used) if network.is_full() && used >= *queued => {
            format!("{interface} carried {rate}, {} of its speed", percent(used))
        }
        _ if network.is_full() => format!(
            "packets waited {} of the time for {interface}, which carried {rate}",
            percent(*queued)
        ),
        _ => format!(
            "{} of the segments were retransmitted ({interface} carried {rate})",
            percent(network.retransmitted.unwrap_or_default())
        ),
    }
}
