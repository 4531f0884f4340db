//! The side that closes first keeps the port for a minute (TIME_WAIT, RFC 9293, section 3.6.1),
//! unless the kernel may take it again for a new connection, which it recognizes by timestamps (RFC
//! 6191).

use units::thousands;

use crate::{Fix, Found, Root, ok, warning};

const REUSE: &str = "net.ipv4.tcp_tw_reuse";
const TIMESTAMPS: &str = "net.ipv4.tcp_timestamps";
/// Left over from an earlier load: they are looked through at each connection.
const MANY: u64 = 10_000;
/// What the kernel keeps at least by itself on a machine that runs servers: half of its table of
/// connections, at most 262,144 (Documentation/networking/ip-sysctl.rst).
const FEW_BUCKETS: u64 = 32_768;
/// The kernel's choice, in seconds.
const USUAL_TIMEOUT: u64 = 60;

pub(crate) fn item(root: &Root) -> Found {
    let reuse = root.number("/proc/sys/net/ipv4/tcp_tw_reuse").or_why()?;
    let timestamps = root.number("/proc/sys/net/ipv4/tcp_timestamps").known().copied();
    let waiting = root.text("/proc/net/sockstat").known().and_then(|text| waiting(text));
    let now = waiting.map(|n| format!(", {} waiting now", thousands(n))).unwrap_or_default();
    let reused = match reuse {
        0 => "not reused",
        1 => "reused",
        _ => "reused over loopback",
    };
    let number = |name: &str| root.number::<u64>(&format!("/proc/sys/net/ipv4/{name}"));
    let buckets = number("tcp_max_tw_buckets").known().copied();
    let timeout = number("tcp_fin_timeout").known().copied();
    let kept = buckets.map(|n| format!(", at most {} are kept", thousands(n))).unwrap_or_default();
    let closing = timeout.map(|s| format!("; FIN_WAIT_2 lasts {s} s")).unwrap_or_default();
    let seen =
        format!("ports in TIME_WAIT are {reused} (tcp_tw_reuse {reuse}){now}{kept}{closing}");
    let mut limits = Vec::new();
    if buckets.is_some_and(|buckets| buckets < FEW_BUCKETS) {
        limits.push(("net.ipv4.tcp_max_tw_buckets", "262144"));
    }
    if timeout.is_some_and(|timeout| timeout > USUAL_TIMEOUT) {
        limits.push(("net.ipv4.tcp_fin_timeout", "60"));
    }
    let mut settings = Vec::new();
    if reuse == 0 {
        settings.push((REUSE, "1"));
    }
    if timestamps == Some(0) {
        settings.push((TIMESTAMPS, "1"));
    }
    if !settings.is_empty() {
        let why = "a port is free again only after 60 s: 500 connections per second from one \
                   address use up all of them";
        warning(seen, why, Fix::sysctl(&[settings, limits].concat()))
    } else if !limits.is_empty() {
        let why = "the kernel drops connections in TIME_WAIT early, or keeps half-closed ones for \
                   longer than usual, so a run meets what an earlier one left";
        warning(seen, why, Fix::sysctl(&limits))
    } else if waiting.is_some_and(|n| n >= MANY) {
        let why = "an earlier load left them, and they use ports and memory";
        warning(seen, why, Fix::advice("wait a minute"))
    } else {
        ok(seen)
    }
}

/// `tw` of the line `TCP: inuse 3 orphan 0 tw 1 alloc 3 mem 202`.
fn waiting(sockstat: &str) -> Option<u64> {
    let line = sockstat.lines().find_map(|line| line.strip_prefix("TCP:"))?;
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "tw")?;
    words.next()?.parse().ok()
}
