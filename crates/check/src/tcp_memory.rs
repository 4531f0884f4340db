//! All TCP connections together may have only so much memory. Under pressure the kernel takes buffers
//! from them, which slows every connection.

use observe::NetCounters;
use units::thousands;

use crate::{Fix, Found, Root, ok, warning};

/// The share of the memory at which pressure begins. The kernel chooses a sixteenth of what is free
/// when it starts (Documentation/networking/ip-sysctl.rst, `tcp_mem`); half of that is somebody's choice.
const LEAST_SHARE: f64 = 1.0 / 32.0;

pub(crate) fn item(root: &Root) -> Found {
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
    if ((pressure * page) as f64) < total as f64 * LEAST_SHARE {
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
