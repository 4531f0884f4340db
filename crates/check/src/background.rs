//! Other programs take CPU time, caches and the turbo's budget from what is measured.

use crate::{Fix, Found, Snapshot, bad, ok, warning};

/// CPUs that may be busy by themselves: a kernel's own work seldom is more.
const QUIET: f64 = 0.05;
/// From here on no window goes by without it.
const LOUD: f64 = 0.5;
/// How many programs are named.
const NAMED: usize = 4;

pub(crate) fn item(before: &Snapshot, after: &Snapshot, own_pid: u32) -> Found {
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
    let fix = || Fix::advice("stop these programs, or wait until they end");
    if !busy.exceeds(QUIET) {
        ok(seen)
    } else if !busy.exceeds(LOUD) {
        warning(seen, why, fix())
    } else {
        bad(seen, why, fix())
    }
}
