//! A verdict in words: what limited the trial, by which figures, and what to do.

use units::{percent, thousands};

use crate::evidence::Evidence;
use crate::verdict::{CLIENT_WAITING, Limit, NOISE, Verdict};

impl Verdict {
    /// What limited the trial and by which figures, in a sentence without its full stop.
    #[must_use]
    pub fn reason(&self) -> String {
        let e = &self.evidence;
        match self.limit {
            Limit::Errors if e.completed + e.failed == 0 => {
                "no operation ended within the window".to_owned()
            }
            Limit::Errors if e.completed == 0 => {
                format!("no operation completed, {} failed", thousands(e.failed))
            }
            Limit::Errors => format!(
                "{} of the operations failed ({} of {})",
                percent(e.failed_share.unwrap_or_default()),
                thousands(e.failed),
                thousands(e.failed + e.completed)
            ),
            Limit::Descriptors => format!(
                "the client had no file descriptor left for {} connections",
                thousands(e.descriptors_lacking)
            ),
            Limit::Ports => format!(
                "the client had no port left for {} connections",
                thousands(e.ports_lacking)
            ),
            Limit::AcceptQueue => format!(
                "the server's accept queue, which overflowed {} times and cost the connections {} of \
                 their time",
                thousands(e.listen_overflows.unwrap_or_default()),
                percent(e.accept_queue_loss.unwrap_or_default())
            ),
            Limit::ClientCpu => {
                let busy = e.client_busy.unwrap_or_default();
                let busy = match e.client_waiting {
                    Some(waiting) if waiting >= CLIENT_WAITING => format!(
                        "ran {} and waited {} of the time, while others ran on its CPU",
                        percent(busy - waiting),
                        percent(waiting)
                    ),
                    _ => format!("was {} busy", percent(busy)),
                };
                format!("the client's CPU: its busiest load thread {busy}; {}", server_in_words(e))
            }
            Limit::Backend => format!(
                "what stands behind the server: its backend was {} busy; {}",
                percent(e.backend_busy.unwrap_or_default()),
                server_in_words(e)
            ),
            Limit::ServerCpu => {
                format!("the server's CPU: {}; {}", server_in_words(e), client_in_words(e))
            }
            Limit::OfferedLoad => format!(
                "the load that was offered: {} of what was meant to start was done; {}",
                percent(e.offered_served.unwrap_or_default()),
                server_in_words(e)
            ),
            Limit::Noise => format!("noise: {}", noise_in_words(e)),
            Limit::Unknown => {
                format!("nothing that toll saw: {}; {}", server_in_words(e), client_in_words(e))
            }
        }
    }

    /// What to do for a better or a higher figure, in a sentence without its full stop.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        let e = &self.evidence;
        match self.limit {
            Limit::Errors if e.completed + e.failed == 0 => "measure longer (--duration)",
            Limit::Errors => "read the first error of each kind, and the server's log",
            Limit::Descriptors => {
                "raise the limit (ulimit -n), or use fewer connections (--connections)"
            }
            Limit::Ports => {
                "use fewer connections (--connections), wait a minute until closed ones leave TIME_WAIT, or \
                 widen net.ipv4.ip_local_port_range"
            }
            Limit::AcceptQueue => {
                "raise the server's backlog and net.core.somaxconn, or use fewer connections (--connections)"
            }
            Limit::ClientCpu if e.client_waiting >= Some(CLIENT_WAITING) => {
                "do not take this as the server's maximum; stop the other work on the client's \
                 CPUs, or give the client other CPUs (--cpus)"
            }
            Limit::ClientCpu => {
                "do not take this as the server's maximum; give the client more CPUs (--cpus)"
            }
            Limit::Backend => {
                "do not take this as the server's maximum; leave the backend more CPUs, or give \
                 the server fewer"
            }
            Limit::ServerCpu if e.foreign >= Some(NOISE) || e.steal >= Some(NOISE) => {
                "the server had no CPU left, but shared it with others: measure again when nothing \
                 else runs on these CPUs"
            }
            Limit::ServerCpu => {
                "this is the server's maximum here; more needs more CPUs or less work a request"
            }
            Limit::OfferedLoad => {
                "the server could do more; offer more (--arrival) to find out how much"
            }
            Limit::Noise => "measure again when nothing else runs on these CPUs",
            Limit::Unknown if e.server_busy.is_none() => {
                "tell which process the server is (--server-pid), and let it keep its processes, so \
                 that its CPU time is counted"
            }
            Limit::Unknown => {
                "offer more load with more connections (--connections); if the rate stays, the server waits \
                 for something else than CPU, or has fewer threads than CPUs"
            }
        }
    }
}

fn server_in_words(e: &Evidence) -> String {
    match (e.server_busy, e.server_cpus_idle) {
        (None, _) => "how busy the server was is not known".to_owned(),
        (Some(busy), Some(idle)) => {
            format!("the server used {} of its CPUs (idle {})", percent(busy), percent(idle))
        }
        (Some(busy), None) => format!("the server used {} of its CPUs", percent(busy)),
    }
}

fn client_in_words(e: &Evidence) -> String {
    match e.client_busy {
        Some(busy) => format!("the client's busiest thread was {} busy", percent(busy)),
        None => "how busy the client was is not known".to_owned(),
    }
}

fn noise_in_words(e: &Evidence) -> String {
    let mut parts = Vec::new();
    if let Some(share) = e.foreign.filter(|share| *share >= NOISE) {
        parts.push(format!(
            "other programs used {} of the server's or the client's CPUs",
            percent(share)
        ));
    }
    if let Some(share) = e.steal.filter(|share| *share >= NOISE) {
        parts.push(format!("the hypervisor took {} of a CPU", percent(share)));
    }
    parts.join(", and ")
}
