//! On a machine of several nodes the kernel takes pages away for a moment to see who uses them.

use super::{Fix, Item, Root};

const NAME: &str = "numa-balancing";

pub(super) fn item(root: &Root) -> Item {
    let nodes = root.numbered("/sys/devices/system/node", "node").len();
    match root.number("/proc/sys/kernel/numa_balancing").known() {
        _ if nodes == 1 => Item::ok(NAME, "one node"),
        None => Item::not_available(NAME, "this kernel does not balance memory over nodes"),
        Some(0) => Item::ok(NAME, format!("off, with {nodes} nodes")),
        Some(_) => Item::warning(
            NAME,
            format!("on, with {nodes} nodes"),
            "the kernel moves memory pages during the measurement, some seconds after a load \
             begins",
            Fix::sysctl(&[("kernel.numa_balancing", "0")]),
        ),
    }
}
