//! What takes CPU time from a measurement: other machines of the same host, and other programs.

use crate::item::{Fix, Found, graded};
use observe::Snapshot;

/// Shares of a CPU that idles. Of a busy one the hypervisor takes more, so they lie below the share at which
/// a trial's verdict is noise.
const SOME: f64 = 0.01;
const MUCH: f64 = 0.05;

/// Time that the hypervisor gives to other machines while a CPU of this machine is ready to run.
pub(crate) fn steal(before: &Snapshot, after: &Snapshot) -> Found {
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
    let fix = Fix::advice("measure on a dedicated host, or when this one is quiet");
    graded(seen, stolen.exceeds(SOME), stolen.exceeds(MUCH), why, fix)
}

/// CPUs that may be busy by themselves: a kernel's own work seldom is more.
const QUIET: f64 = 0.05;
/// From here on no window goes by without it.
const LOUD: f64 = 0.5;
/// How many programs are named.
const NAMED: usize = 4;

/// Other programs take CPU time, caches and the turbo's budget from what is measured.
pub(crate) fn background(before: &Snapshot, after: &Snapshot, own_pid: u32) -> Found {
    let Some(window) = after.cpus_since(before) else {
        return Err("/proc/stat cannot be read".to_owned());
    };
    let cpus: Vec<usize> = window.cpus().collect();
    let Some(busy) = window.busy(&cpus) else {
        return Err("the kernel counted no time".to_owned());
    };
    let busy = busy.of_all(cpus.len());
    let programs: Vec<String> = after
        .programs_since(before, &[own_pid])
        .into_iter()
        .take(NAMED)
        .map(|(name, time)| format!("{name} {:.2}", time.seconds() / window.seconds()))
        .collect();
    let all = cpus.len();
    let seen = match programs.is_empty() {
        true => format!("{:.2} of {all} CPUs busy", busy.share),
        false => format!("{:.2} of {all} CPUs busy: {}", busy.share, programs.join(", ")),
    };
    let why = "other programs take CPU time, cache and turbo from server and load";
    let fix = Fix::advice("stop these programs, or wait until they end");
    graded(seen, busy.exceeds(QUIET), busy.exceeds(LOUD), why, fix)
}
