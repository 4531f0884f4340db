//! A congestion control that paces, such as BBR, and the queue `fq` send by timers. Over a link that is how
//! they work; on loopback there is nothing to wait for, and the timers can cost a sender several times
//! what the sending does.

use congestion::{CongestionControl, UNPACED};

use crate::item::{Fix, Found, ok, warning};
use crate::measured::Measured;
use observe::Root;

const SETTING: &str = "net.ipv4.tcp_congestion_control";

pub(crate) fn item(root: &Root, measured: &Measured) -> Found {
    let control = root.line("/proc/sys/net/ipv4/tcp_congestion_control").or_why()?;
    let queue = measured.loopback_queue.known().cloned().flatten();
    let queued = queue.as_ref().map(|kind| format!(", {kind} on lo")).unwrap_or_default();
    let seen = format!("{control}{queued}");
    if control.parse().is_ok_and(|control: CongestionControl| control.paces()) {
        let available = root.line("/proc/sys/net/ipv4/tcp_available_congestion_control");
        let allowed = root.line("/proc/sys/net/ipv4/tcp_allowed_congestion_control");
        // Other network namespaces do not have this file, and take only what everybody may choose.
        let is_first_namespace =
            root.line("/proc/sys/net/core/netdev_max_backlog").known().is_some();
        let can_be_set = |one: &&&str| {
            let list = if is_first_namespace { &available } else { &allowed };
            list.known().is_some_and(|all| all.split(' ').any(|known| known == **one))
        };
        let fix = match UNPACED.iter().find(can_be_set) {
            Some(control) => Fix::sysctl(&[(SETTING, control)]),
            None => {
                Fix::advice("modprobe tcp_cubic, so that there is one; then toll check --apply")
            }
        };
        return warning(
            seen,
            "it sends by timers, which on loopback cost up to eight times what the sending does; toll's \
             own sockets and those of servers that it starts get another there, others do not",
            fix,
        );
    }
    match queue.as_deref() {
        Some("fq") => warning(
            seen,
            "fq sends by timers, which on loopback cost more than the sending",
            Fix::Command("tc qdisc del dev lo root".to_owned()),
        ),
        _ => ok(seen),
    }
}
