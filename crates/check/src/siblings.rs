//! Two hyperthreads of a core share its execution units: the client's work slows the server, though
//! each has "its" CPU. A virtual machine often hides it; then it is measured.

use std::collections::BTreeSet;

use crate::{Fix, Found, Measured, Root, bad, ok, warning};

const WHY: &str = "work on one hyperthread slows the other by up to half";

pub(crate) fn item(root: &Root, measured: &Measured) -> Found {
    if measured.cpus.len() == 1 {
        return bad(
            format!("toll may use only CPU {}", measured.cpus),
            "server and load share it, so their costs cannot be separated",
            Fix::advice("give this machine, or toll's cpuset, a second CPU"),
        );
    }
    let reported = reported_sets(root);
    let is_told =
        |pair: &[usize; 2]| reported.iter().any(|set| pair.iter().all(|cpu| set.contains(cpu)));
    let hidden: Vec<[usize; 2]> = measured
        .siblings
        .known()
        .into_iter()
        .flatten()
        .filter(|pair| pair.share_a_core())
        .map(|pair| [pair.first, pair.second])
        .filter(|pair| !is_told(pair))
        .collect();
    if let Some([first, second]) = hidden.first() {
        let more = match hidden.len() {
            1 => String::new(),
            n => format!(" and {} more pairs", n - 1),
        };
        return warning(
            format!(
                "CPUs {first} and {second}{more} share a core by measurement; the kernel does not \
                 report it"
            ),
            WHY,
            Fix::advice(
                "use CPUs of different cores for server and load; if there are none, use the \
                 figures per server CPU-second",
            ),
        );
    }
    if let Some(set) = reported.iter().find(|set| set.len() > 1) {
        let set: Vec<String> = set.iter().map(usize::to_string).collect();
        return warning(format!("a core has {} hyperthreads, such as CPUs {}", set.len(), set.join(" and ")),
            WHY,
            Fix::Command(
                "echo off > /sys/devices/system/cpu/smt/control  # or take CPUs of different cores \
                 for server and load"
                    .to_owned(),
            ),
        );
    }
    match measured.siblings.known() {
        Some(pairs) => {
            let least = pairs.iter().map(|pair| pair.ratio).fold(1.0, f64::min);
            let kept = units::percent(least);
            ok(format!(
                "no two CPUs share a core; each keeps {kept} of its speed while the other is \
                     busy"
            ))
        }
        None if reported.is_empty() => {
            Err("the kernel does not report which CPUs share a core, and it cannot be \
                 measured"
                .to_owned())
        }
        None => ok("no two CPUs share a core, according to the kernel; not measured"),
    }
}

/// The sets of CPUs that share a core, as the kernel says.
fn reported_sets(root: &Root) -> BTreeSet<Vec<usize>> {
    let set = |cpu: usize| {
        let list: cpus::CpuList = root.thread_siblings(cpu).known()?.parse().ok()?;
        Some(list.as_slice().to_vec())
    };
    root.cpus().into_iter().filter_map(set).collect()
}
