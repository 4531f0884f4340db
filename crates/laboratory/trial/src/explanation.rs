//! A verdict in words: what limited the trial, by which figures, and what to do.

use units::{BitsPerSecond, percent, thousands};

use crate::evidence::SERVER_BUSY;
use crate::evidence::{Evidence, NetworkEvidence, QuotaSide};
use crate::nouns::Nouns;
use crate::verdict::{CLIENT_WAITING, Limit, Verdict};

const NO_DESCRIPTORS: &str = "the server had all its file descriptors open";

impl Verdict {
    /// What limited the trial and by which figures, in a sentence without its full stop.
    pub fn reason(&self, nouns: Nouns) -> String {
        let e = &self.evidence;
        let noun = nouns.operation;
        match self.limit {
            Limit::Errors if e.completed + e.failed == 0 => {
                format!("no {noun} ended within the window")
            }
            Limit::Errors if e.completed == 0 => {
                format!("no {noun} completed, {} failed", thousands(e.failed))
            }
            Limit::Errors if e.wrong_bodies > 0 => format!(
                "{} of {} bodies that were checked were wrong",
                thousands(e.wrong_bodies),
                thousands(e.checked_bodies)
            ),
            Limit::Errors if e.unauthentic_handshakes > 0 => format!(
                "{} of {} handshakes that were checked did not authenticate the server",
                thousands(e.unauthentic_handshakes),
                thousands(e.checked_handshakes)
            ),
            Limit::Errors => format!(
                "{} of the {noun}s failed ({} of {}){}",
                percent(e.failed_share.unwrap_or_default()),
                thousands(e.failed),
                thousands(e.failed + e.completed),
                if e.has_full_server() { format!("; {NO_DESCRIPTORS}") } else { String::new() }
            ),
            Limit::Descriptors if e.descriptors_lacking == 0 => NO_DESCRIPTORS.to_owned(),
            Limit::Descriptors => format!(
                "the client had no file descriptor left for {} connections",
                thousands(e.descriptors_lacking)
            ),
            Limit::Ports => format!(
                "the client had no port left for {} connections",
                thousands(e.ports_lacking)
            ),
            Limit::AcceptQueue => format!(
                "the server's accept queue, which dropped {} connections; waiting for them cost {} of \
                 the time of all connections",
                thousands(e.accept_queue_drops.or(e.connects_repeated).unwrap_or_default()),
                percent(e.accept_queue_loss.unwrap_or_default())
            ),
            Limit::CpuQuota => quota_in_words(e),
            Limit::ClientCpu => {
                let busy = e.client_busy.unwrap_or_default();
                let busy = match e.waiting_for_others() {
                    Some(waiting) if waiting >= CLIENT_WAITING => format!(
                        "ran {} and waited {} of the time while other programs ran on its CPU",
                        percent(busy - waiting),
                        percent(waiting)
                    ),
                    _ => format!("was {} busy", percent(busy)),
                };
                let whose = match &e.client_rank {
                    Some(rank) => format!("the busiest load thread of {rank}"),
                    None => "its busiest load thread".to_owned(),
                };
                format!("the client's CPU: {whose} {busy}; {}", server_in_words(e))
            }
            Limit::UdpBuffers => format!(
                "the buffers of the client's UDP sockets: the kernel dropped {} of the datagrams that came and \
                 refused {} of the sends; {}; {}",
                percent(e.udp_dropped.unwrap_or_default()),
                percent(e.udp_sends_refused.unwrap_or_default()),
                client_in_words(e),
                server_in_words(e)
            ),
            Limit::Backend => format!(
                "the backend of the server: it was {} busy; {}",
                percent(e.backend_busy.unwrap_or_default()),
                server_in_words(e)
            ),
            Limit::Accelerator => format!(
                "the accelerator of the server's private keys: it completed {} of what its rate allows; {}",
                percent(e.accelerator_busy.unwrap_or_default()),
                server_in_words(e)
            ),
            Limit::ServerCpu => {
                format!("the server's CPU: {}; {}", server_in_words(e), client_in_words(e))
            }
            Limit::Network => {
                let network = e.network.as_ref().map_or_else(String::new, network_in_words);
                format!("the network: {network}; {}", server_in_words(e))
            }
            Limit::FlowControl => format!(
                "the server's flow control: requests waited for its windows {} of their time; {}",
                percent(e.window_waiting.unwrap_or_default()),
                server_in_words(e)
            ),
            Limit::LatencyLimit => format!(
                "the limit set by the study: the next larger load reached {} of it; {}",
                percent(e.beyond_limit.unwrap_or_default()),
                server_in_words(e)
            ),
            Limit::OfferedLoad => format!(
                "the offered load: {} of the intended {noun}s completed; {}",
                percent(e.offered_served.unwrap_or_default()),
                server_in_words(e)
            ),
            Limit::Noise => format!("noise: {}; {}", noise_in_words(e), server_in_words(e)),
            Limit::Unknown => format!(
                "nothing that toll can see: {}{}; {}",
                server_in_words(e),
                waiting_in_words(e),
                client_in_words(e)
            ),
        }
    }

    /// What to do for a better or a higher figure, in a sentence without its full stop.
    pub fn remedy(&self) -> &'static str {
        let e = &self.evidence;
        match self.limit {
            Limit::Errors if e.completed + e.failed == 0 => "measure longer (--duration)",
            Limit::Errors if e.is_any_wrong() || !e.has_full_server() => {
                "read the first error of each kind, and the server's log"
            }
            // Connections that the server cannot accept time out.
            Limit::Errors | Limit::Descriptors if e.descriptors_lacking == 0 => {
                "raise the server's limit of descriptors (until it restarts: prlimit --pid PID \
                 --nofile=1048576:1048576; permanently: LimitNOFILE= in its unit), or lower \
                 --connections"
            }
            Limit::Errors | Limit::Descriptors => {
                "raise the limit that the error names (such as ulimit -n 1048576), or lower \
                 --connections"
            }
            Limit::Ports => {
                "keep connections (--operation requests, a larger --requests-per-connection; reconnect = \
                 \"never\" in a session file), \
                 lower --connections, give more source addresses (--source), wait a minute until \
                 closed ones leave TIME_WAIT, or widen the range (sysctl -w \
                 net.ipv4.ip_local_port_range='1024 65535')"
            }
            Limit::AcceptQueue => {
                "raise the server's backlog (nginx: listen ... backlog=16384) and the kernel's \
                 (sysctl -w net.core.somaxconn=16384), or lower --connections"
            }
            Limit::CpuQuota if self.is_of_client() => {
                "do not take this as the server's maximum, nor the latencies as the server's: give toll's \
                 control group more CPU time (cpu.max, cpu.cfs_quota_us; docker --cpus; Kubernetes: \
                 resources.limits.cpu), or run it outside of that group"
            }
            Limit::CpuQuota => {
                "this is what the quota allows, not the server's maximum on its CPUs: raise it (cpu.max, \
                 cpu.cfs_quota_us; docker --cpus; Kubernetes: resources.limits.cpu), or compare figures \
                 per CPU-second of the server"
            }
            Limit::ClientCpu if e.waiting_for_others() >= Some(CLIENT_WAITING) => {
                "do not take this as the server's maximum; stop the other work on the client's \
                 CPUs, or give the client other CPUs (--cpus; of a rank, [[rank]] cpus)"
            }
            Limit::ClientCpu if e.client_rank.is_some() => {
                "do not take this as the server's maximum; give that rank more CPUs ([[rank]] cpus), \
                 or add a rank"
            }
            Limit::ClientCpu => {
                "do not take this as the server's maximum; give the client more CPUs (--cpus)"
            }
            Limit::UdpBuffers => {
                "do not take this as the server's maximum: what was dropped it sent in vain; let sockets hold more \
                 (sysctl -w net.core.rmem_max=8388608 net.core.rmem_default=8388608 net.core.wmem_max=8388608), \
                 lower --streams or --connections, or give the client more CPUs (--cpus)"
            }
            Limit::Backend => {
                "do not take this as the server's maximum; give the backend more CPUs, or the \
                 server fewer"
            }
            Limit::Accelerator => {
                "this is what the rate that was set allows; a higher rate needs more engines \
                 (accelerator-count) or a faster one (accelerator-rate)"
            }
            Limit::ServerCpu if e.has_few_workers() => {
                "the server's threads are fully busy, its CPUs are not: give it more workers \
                 (nginx: worker_processes; HAProxy: nbthread) or fewer CPUs (taskset -acp LIST PID)"
            }
            Limit::ServerCpu if self.is_disturbed() => {
                "the server used all the CPU it could get, but shared it with other programs: \
                 measure again when nothing else runs on these CPUs"
            }
            Limit::ServerCpu => {
                "this is the server's maximum here; a higher rate needs more CPUs or less work per \
                 request"
            }
            Limit::Network if e.network.as_ref().is_some_and(NetworkEvidence::is_full) => {
                "this is the network's maximum, not the server's: find what delays packets (tc -s \
                 qdisc show; ethtool INTERFACE), or measure over a faster network or over loopback"
            }
            Limit::Network => {
                "the network loses packets, which slows TCP down: find where (ip -s link; ethtool \
                 -S INTERFACE; nstat -az TcpRetransSegs), fix it and measure again"
            }
            Limit::FlowControl => {
                "let the server take more of a request's body at once (nginx: http2_body_preread_size, over HTTP/3 \
                 http3_stream_buffer_size; \
                 HAProxy: tune.h2.fe.initial-window-size; Apache: H2WindowSize), or send shorter ones"
            }
            Limit::LatencyLimit => {
                "this is the largest load within the limit (find.while); for more, loosen the \
                 limit or find out what the answers wait for"
            }
            Limit::OfferedLoad => {
                "the server could do more; offer more load (--arrival) to find out how much"
            }
            Limit::Noise if e.has_steal() && !e.has_foreign_work() => {
                "measure again when the host's other virtual machines are quiet, or on a dedicated \
                 host"
            }
            Limit::Noise => {
                "measure again when nothing else runs on these CPUs (ps -eo psr,pcpu,pid,args --sort \
                 -pcpu | head shows what does)"
            }
            Limit::Unknown if e.server_busy.is_none() => {
                "let toll count the server's CPU time: run toll on the server's machine, as root, or give the \
                 server's first process (--server-pid, target.pid)"
            }
            Limit::Unknown if e.server_busiest_thread >= Some(SERVER_BUSY) => {
                "one thread of the server is fully busy and others are not, so connections are \
                 spread unevenly: raise --connections"
            }
            Limit::Unknown if e.server_waiting >= Some(CLIENT_WAITING) => {
                "find out what keeps the server's threads, which are ready to run, from a CPU: other threads \
                 there, or a CPU quota that is not seen from here, as that around a container; or offer more \
                 load (raise --connections)"
            }
            Limit::Unknown => {
                "offer more load (raise --connections); if the rate does not change, the server \
                 waits for something other than CPU"
            }
        }
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
