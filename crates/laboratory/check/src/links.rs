//! The interfaces that a load could use: what they carry, and which CPUs serve them. Where all queues of
//! an interface interrupt one CPU, that CPU is full before the link is.

use std::collections::BTreeSet;

use cpus::CpuList;

use crate::item::{Fix, Found, ok, warning};
use observe::{Fact, Root};
use units::BitsPerSecond;

const FOLDER: &str = "/sys/class/net";

struct Link {
    words: String,
    /// Whether several queues have interrupts, and all go to one CPU.
    is_narrow: bool,
}

pub(crate) fn item(root: &Root) -> Found {
    let links: Vec<Link> =
        root.names(FOLDER).into_iter().filter_map(|name| link(root, &name)).collect();
    if links.is_empty() {
        return Err("no interface but loopback is up".to_owned());
    }
    let seen = links.iter().map(|link| link.words.as_str()).collect::<Vec<_>>().join(". ");
    match links.iter().any(|link| link.is_narrow) {
        false => ok(seen),
        true => warning(
            seen,
            "one CPU handles the interrupts of all queues, and is full before the link is",
            Fix::advice(
                "spread the interrupts over CPUs: start irqbalance, or write a CPU into each \
                 /proc/irq/N/smp_affinity_list",
            ),
        ),
    }
}

/// The interfaces that are up, but for loopback, with what each carries.
pub fn link_speeds(root: &Root) -> Vec<(String, Fact<BitsPerSecond>)> {
    let names = root.names(FOLDER).into_iter();
    let up = names.filter(|name| is_up(root, &format!("{FOLDER}/{name}")));
    up.map(|name| (name.clone(), speed(root, &format!("{FOLDER}/{name}")))).collect()
}

/// Whether an interface is up, and is not loopback.
fn is_up(root: &Root, folder: &str) -> bool {
    // "unknown" where the driver does not set it, as of tun and WireGuard; the kernel says "down" of those
    // that are not up (Documentation/ABI/testing/sysfs-class-net).
    let state = root.line(&format!("{folder}/operstate"));
    let is_up = state.known().is_some_and(|state| ["up", "unknown"].contains(&state.as_str()));
    let kind = root.number::<u32>(&format!("{folder}/type"));
    is_up && kind.known() != Some(&u32::from(libc::ARPHRD_LOOPBACK))
}

fn speed(root: &Root, folder: &str) -> Fact<BitsPerSecond> {
    // -1 where the driver does not know it (Documentation/ABI/testing/sysfs-class-net).
    let speed = root.number::<i64>(&format!("{folder}/speed"));
    match speed.known() {
        Some(megabits) if *megabits > 0 => Fact::Known(BitsPerSecond(*megabits as f64 * 1e6)),
        _ if root.names(&format!("{folder}/device")).is_empty() => Fact::unknown("it is virtual"),
        _ => Fact::unknown("its driver does not say"),
    }
}

/// An interface that is up, but for loopback.
fn link(root: &Root, name: &str) -> Option<Link> {
    let folder = format!("{FOLDER}/{name}");
    if !is_up(root, &folder) {
        return None;
    }
    let speed = match speed(root, &folder) {
        Fact::Known(speed) => speed.to_string(),
        Fact::Unknown { .. } => "speed not known".to_owned(),
    };
    let mtu = root.number::<u64>(&format!("{folder}/mtu"));
    let mtu = mtu.known().map(|mtu| format!(", MTU {mtu}")).unwrap_or_default();
    let queues = |prefix| root.numbered(&format!("{folder}/queues"), prefix).len();
    let (receiving, sending) = (queues("rx-"), queues("tx-"));
    let interrupts = interrupts(root, &folder);
    let cpus: BTreeSet<usize> =
        interrupts.iter().flat_map(|cpus| cpus.as_slice().iter().copied()).collect();
    let served = match cpus.is_empty() {
        true => String::new(),
        false => {
            let cpus: Vec<String> = cpus.iter().map(usize::to_string).collect();
            format!("; interrupts on CPUs {}", cpus.join(","))
        }
    };
    Some(Link {
        words: format!(
            "{name}: {speed}{mtu}, queues: {receiving} to receive, {sending} to send{served}"
        ),
        is_narrow: receiving > 1
            && interrupts.len() > 1
            && cpus.len() == 1
            && root.cpus().len() > 1,
    })
}

/// The CPUs of each of a device's interrupts: those that really serve it, where the kernel says so
/// (Documentation/core-api/irq/irq-affinity.rst). Those of a virtio device are its parent's.
fn interrupts(root: &Root, folder: &str) -> Vec<CpuList> {
    let numbers = ["device/msi_irqs", "device/../msi_irqs"]
        .into_iter()
        .map(|irqs| root.numbered(&format!("{folder}/{irqs}"), ""))
        .find(|numbers| !numbers.is_empty());
    let cpus = |irq: usize| {
        ["effective_affinity_list", "smp_affinity_list"].into_iter().find_map(|file| {
            root.line(&format!("/proc/irq/{irq}/{file}")).known()?.parse::<CpuList>().ok()
        })
    };
    numbers.unwrap_or_default().into_iter().filter_map(cpus).collect()
}
