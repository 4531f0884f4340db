//! Without window scaling (RFC 7323) a connection has at most 64 KiB under way, whatever its buffers.

use crate::{Fix, Found, Root, bad, ok};

pub(crate) fn item(root: &Root) -> Found {
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
