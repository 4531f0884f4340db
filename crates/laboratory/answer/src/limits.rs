//! What limited trials, in words.

use trial::Limit;

/// What limited a trial, in a clause.
pub(crate) fn in_words(limit: Limit) -> &'static str {
    match limit {
        Limit::Errors => "operations failed",
        Limit::Descriptors => "file descriptors ran out",
        Limit::Ports => "the client had no port left",
        Limit::AcceptQueue => "the server's accept queue was full",
        Limit::CpuQuota => "a CPU quota was the limit",
        Limit::ClientCpu => "the client's CPU was the limit",
        Limit::UdpBuffers => "the client's UDP buffers were the limit",
        Limit::Backend => "the server's backend was the limit",
        Limit::Accelerator => "the server's accelerator was the limit",
        Limit::ServerCpu => "the server's CPU was the limit",
        Limit::Network => "the network was the limit",
        Limit::FlowControl => "the server's windows of HTTP/2 were the limit",
        Limit::LatencyLimit => "the study's limit was reached",
        Limit::OfferedLoad => "no more load was offered",
        Limit::Noise => "other work on the CPUs was the limit",
        Limit::Unknown => "no limit was found",
    }
}

/// `in 2 of 7 trials`, `in all 7 trials`, `in the only trial`.
pub(crate) fn of_trials(count: usize, all: usize) -> String {
    match (count, all) {
        (1, 1) => "in the only trial".to_owned(),
        _ if count == all => format!("in all {all} trials"),
        _ => format!("in {count} of {all} trials"),
    }
}
