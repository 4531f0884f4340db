//! On a machine of several nodes the kernel takes pages away for a moment to see who uses them.

use crate::{Fix, Found, Root, ok, warning};

pub(crate) fn item(root: &Root) -> Found {
    let nodes = root.numbered("/sys/devices/system/node", "node").len();
    match root.number("/proc/sys/kernel/numa_balancing").known() {
        _ if nodes == 1 => ok("one node"),
        None => Err("this kernel does not balance memory over nodes".to_owned()),
        Some(0) => ok(format!("off, with {nodes} nodes")),
        Some(_) => warning(
            format!("on, with {nodes} nodes"),
            "the kernel moves memory pages during the measurement, some seconds after a load \
             begins",
            Fix::sysctl(&[("kernel.numa_balancing", "0")]),
        ),
    }
}
