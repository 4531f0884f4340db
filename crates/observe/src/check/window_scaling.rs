//! Without window scaling (RFC 7323) a connection has at most 64 KiB under way, whatever its buffers.

use super::{Fix, Item, Root};
use crate::Fact;

const NAME: &str = "window-scaling";

pub(super) fn item(root: &Root) -> Item {
    match root.number::<i64>("/proc/sys/net/ipv4/tcp_window_scaling") {
        Fact::Unknown { not_available_here } => Item::not_available(NAME, not_available_here),
        Fact::Known(0) => Item::bad(
            NAME,
            "off (tcp_window_scaling 0)".to_owned(),
            "a connection can have only 64 KiB under way, which limits large objects on any link \
             with a delay",
            Fix::sysctl(&[("net.ipv4.tcp_window_scaling", "1")]),
        ),
        Fact::Known(_) => Item::ok(NAME, "on"),
    }
}
