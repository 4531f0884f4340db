//! A connection waits in two queues before a server accepts it, and its packets in a third before a
//! CPU looks at them; where one is full they are dropped, and come again a second later.

use units::thousands;

use crate::{Fix, Found, Root, bad, ok, warning};

/// The kernel's own choice since Linux 5.4.
const WANTED: &str = "4096";
/// This many connections may begin at once.
const USUAL: i64 = 1_024;
/// The kernel's choice until then.
const OLD: i64 = 128;
/// The kernel's own choice for packets that wait for a CPU; packets of loopback wait there too.
const PACKETS: i64 = 1_000;

pub(crate) fn item(root: &Root) -> Found {
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
    let mut settings = Vec::new();
    if accepted < USUAL {
        settings.push(("net.core.somaxconn", WANTED));
    }
    if half_open < USUAL {
        settings.push(("net.ipv4.tcp_max_syn_backlog", WANTED));
    }
    if packets.is_some_and(|packets| packets < PACKETS) {
        settings.push(("net.core.netdev_max_backlog", WANTED));
    }
    let why = "when many connections arrive at once, some are dropped and retried after 1 s, which \
               shows as latency";
    if settings.is_empty() {
        ok(seen)
    } else if accepted <= OLD {
        bad(seen, why, Fix::sysctl(&settings))
    } else {
        warning(seen, why, Fix::sysctl(&settings))
    }
}
