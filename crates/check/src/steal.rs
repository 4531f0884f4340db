//! Time that the hypervisor gives to other machines while a CPU of this machine is ready to run.

use crate::{Fix, Found, Snapshot, bad, ok, warning};

/// Shares of a CPU that idles. Of a busy one the hypervisor takes more, so they lie below the share at which
/// a trial's verdict is noise.
const SOME: f64 = 0.01;
const MUCH: f64 = 0.05;

pub(crate) fn item(before: &Snapshot, after: &Snapshot) -> Found {
    let Some(window) = after.cpus_since(before) else {
        return Err("/proc/stat cannot be read".to_owned());
    };
    let of_cpu = |cpu: usize| Some((window.steal(cpu)?, cpu));
    let most = window.cpus().filter_map(of_cpu).max_by(|a, b| a.0.share.total_cmp(&b.0.share));
    let Some((stolen, cpu)) = most else {
        return Err("the kernel counted no time".to_owned());
    };
    let seen = match stolen.share {
        0.0 => "none in 1 s without load".to_owned(),
        share => format!("{} of CPU {cpu} within 1 s", units::percent(share)),
    };
    let why = "the hypervisor gives this machine's CPU time to others, which lowers rates and \
               raises latencies";
    let fix = || Fix::advice("measure on a dedicated host, or when this one is quiet");
    if !stolen.exceeds(SOME) {
        ok(seen)
    } else if !stolen.exceeds(MUCH) {
        warning(seen, why, fix())
    } else {
        bad(seen, why, fix())
    }
}
