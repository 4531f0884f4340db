//! What the kernel allows connections: how many, and how much each has under way.

use observe::NetCounters;
use units::{Bytes, thousands};

use crate::item::{Fix, Found, bad, graded, ok, warning};
use crate::measured::Measured;
use observe::Root;

/// Fewer do not carry a load of some thousand connections.
const FEW_FILES: u64 = 4_096;
/// Enough for the studies that open tens of thousands of connections.
const ENOUGH_FILES: u64 = 65_536;
const WANTED_FILES: u64 = 1_048_576;

/// Each connection is an open file of the load, and one or two of the server.
pub(crate) fn descriptors(root: &Root, measured: &Measured) -> Found {
    let limits = measured.descriptors.clone().or_why()?;
    let seen = format!(
        "{} soft, {} hard; toll takes the hard limit",
        limit_in_words(limits.soft),
        limit_in_words(limits.hard)
    );
    let why = "one server process cannot hold more connections than that; toll's load and its \
               nginx need more threads and workers instead, which costs CPU time";
    let most = root.number("/proc/sys/fs/nr_open");
    let wanted = most.known().map_or(WANTED_FILES, |most| WANTED_FILES.min(*most));
    // The limit of the shell that starts toll: toll cannot change it for that shell.
    let fix = Fix::Command(format!(
        "prlimit --pid $$ --nofile={wanted}:{wanted}  # for this shell, as root"
    ));
    graded(seen, limits.hard < ENOUGH_FILES, limits.hard < FEW_FILES, why, fix)
}

fn limit_in_words(limit: u64) -> String {
    match limit {
        u64::MAX => "no limit".to_owned(),
        limit => thousands(limit),
    }
}

/// The kernel's own choice, 32768 to 60999, has 28,232.
const USUAL_PORTS: u64 = 28_000;
const FEW_PORTS: u64 = 4_000;

/// An outgoing connection takes a port of its address, which limits how many can be open at once to
/// one server.
pub(crate) fn ports(root: &Root) -> Found {
    let file = "/proc/sys/net/ipv4/ip_local_port_range";
    let [first, last] = root.numbers::<u64, 2>(file).or_why()?;
    let ports = (last + 1).saturating_sub(first);
    let seen = format!("{} from one address ({first} to {last})", thousands(ports));
    let why = "a load with more connections from one address fails with `ports`; over loopback \
               toll uses many addresses, other clients use one";
    let fix = Fix::sysctl(&[("net.ipv4.ip_local_port_range", "10240 65535")]);
    graded(seen, ports < USUAL_PORTS, ports < FEW_PORTS, why, fix)
}

/// Left over from an earlier load: they are looked through at each connection.
const MANY_WAITING: u64 = 10_000;
/// What the kernel keeps at least by itself on a machine that runs servers: half of its table of
/// connections, at most 262,144 (Documentation/networking/ip-sysctl.rst).
const FEW_BUCKETS: u64 = 32_768;
/// The kernel's choice, in seconds.
const USUAL_TIMEOUT: u64 = 60;

/// The side that closes first keeps the port for a minute (TIME_WAIT, RFC 9293, section 3.6.1),
/// unless the kernel may take it again for a new connection, which it recognizes by timestamps (RFC
/// 6191).
pub(crate) fn time_wait(root: &Root) -> Found {
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
    let has_few_buckets = buckets.is_some_and(|buckets| buckets < FEW_BUCKETS);
    let is_slow = timeout.is_some_and(|timeout| timeout > USUAL_TIMEOUT);
    let limits = needed([
        (has_few_buckets, "net.ipv4.tcp_max_tw_buckets", "262144"),
        (is_slow, "net.ipv4.tcp_fin_timeout", "60"),
    ]);
    let settings = needed([
        (reuse == 0, "net.ipv4.tcp_tw_reuse", "1"),
        (timestamps == Some(0), "net.ipv4.tcp_timestamps", "1"),
    ]);
    if !settings.is_empty() {
        let why = "a port is free again only after 60 s: 500 connections per second from one \
                   address use up all of them";
        warning(seen, why, Fix::sysctl(&[settings, limits].concat()))
    } else if !limits.is_empty() {
        let why = "the kernel drops connections in TIME_WAIT early, or keeps half-closed ones for \
                   longer than usual, so a run meets what an earlier one left";
        warning(seen, why, Fix::sysctl(&limits))
    } else if waiting.is_some_and(|n| n >= MANY_WAITING) {
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

/// The kernel's own choice since Linux 5.4.
const WANTED_QUEUE: &str = "4096";
/// This many connections may begin at once.
const USUAL_QUEUE: i64 = 1_024;
/// The kernel's choice until then.
const OLD_QUEUE: i64 = 128;
/// The kernel's own choice for packets that wait for a CPU; packets of loopback wait there too.
const USUAL_PACKETS: i64 = 1_000;

/// A connection waits in two queues before a server accepts it, and its packets in a third before a
/// CPU looks at them; where one is full they are dropped, and come again a second later.
pub(crate) fn backlog(root: &Root) -> Found {
    let accepted = root.number("/proc/sys/net/core/somaxconn");
    let half_open = root.number("/proc/sys/net/ipv4/tcp_max_syn_backlog");
    let (Some(&accepted), Some(&half_open)) = (accepted.known(), half_open.known()) else {
        return Err("the kernel does not report somaxconn and tcp_max_syn_backlog".to_owned());
    };
    // It belongs to no network namespace, and is not shown in one of a container.
    let packets = root.number::<i64>("/proc/sys/net/core/netdev_max_backlog").known().copied();
    let number = |n: i64| thousands(n.unsigned_abs());
    let waiting = packets.map(|n| format!(", netdev_max_backlog {}", number(n)));
    let seen = format!(
        "somaxconn {}, tcp_max_syn_backlog {}{}",
        number(accepted),
        number(half_open),
        waiting.unwrap_or_default()
    );
    let has_few_packets = packets.is_some_and(|packets| packets < USUAL_PACKETS);
    let settings = needed([
        (accepted < USUAL_QUEUE, "net.core.somaxconn", WANTED_QUEUE),
        (half_open < USUAL_QUEUE, "net.ipv4.tcp_max_syn_backlog", WANTED_QUEUE),
        (has_few_packets, "net.core.netdev_max_backlog", WANTED_QUEUE),
    ]);
    let why = "when many connections arrive at once, some are dropped and retried after 1 s, which \
               shows as latency";
    graded(seen, !settings.is_empty(), accepted <= OLD_QUEUE, why, Fix::sysctl(&settings))
}

/// Those settings, by name and value, that are to be made.
fn needed<const N: usize>(
    all: [(bool, &'static str, &'static str); N],
) -> Vec<(&'static str, &'static str)> {
    all.into_iter().filter(|of| of.0).map(|(_, name, value)| (name, value)).collect()
}

/// The kernel's choice for the send buffer. toll's client is woken up once a MiB, for which the
/// kernel needs a receive buffer of twice that.
const LEAST_BUFFER: u64 = 4 << 20;
const WANTED_BUFFER: u64 = 16 << 20;
/// The kernel's choices for a new connection (tcp(7)): less makes the first round trips of each
/// connection carry less.
const RECEIVE_AT_FIRST: u64 = 131_072;
const SEND_AT_FIRST: u64 = 16_384;

/// What a connection may have under way is bound by its buffers, and how often a program wakes up for
/// it.
pub(crate) fn buffers(root: &Root) -> Found {
    let numbers = |name: &str| root.numbers::<u64, 3>(&format!("/proc/sys/net/ipv4/{name}"));
    let (receive, send) = (numbers("tcp_rmem"), numbers("tcp_wmem"));
    let (Some(&receive), Some(&send)) = (receive.known(), send.known()) else {
        return Err("the kernel does not report tcp_rmem and tcp_wmem".to_owned());
    };
    let seen = format!(
        "receive {}, send {} (at least, at first, at most){}{}",
        sizes_in_words(receive),
        sizes_in_words(send),
        sizes_of_sockets(root, "; a program may ask for", "max", ""),
        sizes_of_sockets(root, "; other protocols have", "default", ", which TCP ignores")
    );
    let settings: Vec<(&str, String)> = [
        ("net.ipv4.tcp_rmem", receive, RECEIVE_AT_FIRST),
        ("net.ipv4.tcp_wmem", send, SEND_AT_FIRST),
    ]
    .into_iter()
    .filter(|(_, [_, first, most], usual)| most < &LEAST_BUFFER || first < usual)
    .map(|(name, [least, first, most], usual)| {
        let most = if most < LEAST_BUFFER { WANTED_BUFFER } else { most };
        (name, format!("{least} {} {most}", first.max(usual)))
    })
    .collect();
    let why = "large objects are sent in small pieces, with more wake-ups than necessary on both \
               sides";
    let settings: Vec<(&str, &str)> =
        settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    graded(seen, !settings.is_empty(), false, why, Fix::sysctl(&settings))
}

fn sizes_in_words([least, first, most]: [u64; 3]) -> String {
    format!("{} {} {}", Bytes(least), Bytes(first), Bytes(most))
}

/// What the settings of all sockets are, where they can be read: `rmem_max` and `wmem_max`, or
/// `rmem_default` and `wmem_default`. TCP takes its own instead of the latter (tcp(7)).
fn sizes_of_sockets(root: &Root, before: &str, kind: &str, after: &str) -> String {
    let size = |side: &str| {
        root.number(&format!("/proc/sys/net/core/{side}mem_{kind}")).known().map(|n| Bytes(*n))
    };
    match (size("r"), size("w")) {
        (Some(receive), Some(send)) => {
            format!("{before} {receive} and {send} ([rw]mem_{kind}){after}")
        }
        _ => String::new(),
    }
}

/// Without window scaling (RFC 7323) a connection has at most 64 KiB under way, whatever its buffers.
pub(crate) fn window_scaling(root: &Root) -> Found {
    match root.number::<i64>("/proc/sys/net/ipv4/tcp_window_scaling").or_why()? {
        0 => bad(
            "off (tcp_window_scaling 0)",
            "a connection can have only 64 KiB under way, which limits large objects on any link \
             with a delay",
            Fix::sysctl(&[("net.ipv4.tcp_window_scaling", "1")]),
        ),
        _ => ok("on"),
    }
}

/// The share of the memory at which pressure begins. The kernel chooses a sixteenth of what is free
/// when it starts (Documentation/networking/ip-sysctl.rst, `tcp_mem`); half of that is somebody's choice.
const LEAST_PRESSURE: f64 = 1.0 / 32.0;

/// All TCP connections together may have only so much memory. Under pressure the kernel takes buffers
/// from them, which slows every connection.
pub(crate) fn tcp_memory(root: &Root) -> Found {
    let pages = root.numbers::<u64, 3>("/proc/sys/net/ipv4/tcp_mem");
    let [_, pressure, most] = pages.or_why()?;
    let Some(total) = root.text("/proc/meminfo").known().and_then(|text| total_bytes(text)) else {
        return Err("/proc/meminfo has no MemTotal".to_owned());
    };
    let page = rustix::param::page_size() as u64;
    let gib = |bytes: u64| format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30));
    let times = pressures(root);
    let counted = match times {
        Some(times) => format!("; under pressure {} times", thousands(times)),
        None => String::new(),
    };
    let seen = format!(
        "pressure from {} and at most {} of {}{counted}",
        gib(pressure * page),
        gib(most * page),
        gib(total)
    );
    let why = "the kernel takes buffers from connections, which slows all of them";
    if ((pressure * page) as f64) < total as f64 * LEAST_PRESSURE {
        let sixteenth = total / 16 / page;
        let value = format!("{} {sixteenth} {}", sixteenth / 4 * 3, sixteenth * 3 / 2);
        warning(seen, why, Fix::sysctl(&[("net.ipv4.tcp_mem", &value)]))
    } else if times.is_some_and(|times| times > 0) {
        let advice = "use fewer connections or smaller buffers, or raise net.ipv4.tcp_mem";
        warning(seen, why, Fix::advice(advice))
    } else {
        ok(seen)
    }
}

/// `MemTotal:       24684084 kB`, where the kernel means KiB.
fn total_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? * 1024)
}

/// How often TCP has come under pressure in this network namespace.
fn pressures(root: &Root) -> Option<u64> {
    let text = root.text("/proc/net/netstat").known()?.clone();
    u64::try_from(NetCounters::parse(&text).ok()?.get("TcpExt", "TCPMemoryPressures")?).ok()
}
