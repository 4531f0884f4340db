//! Other programs take CPU time, caches and the turbo's budget from what is measured.

use crate::{Fix, Found, Snapshot, bad, ok, warning};

/// CPUs that may be busy by themselves: a kernel's own work seldom is more.
const QUIET: f64 = 0.05;
/// From here on no window goes by without it.
const LOUD: f64 = 0.5;
/// How many programs are named.
const NAMED: usize = 4;

pub(crate) fn item(before: &Snapshot, after: &Snapshot, own_pid: u32) -> Found {
    let Some(cores) = after.cores_since(before) else {
        return Err("/proc/stat cannot be read".to_owned());
    };
    let total: u64 = cores.values().map(|ticks| ticks.total()).sum();
    if total == 0 {
        return Err("the kernel counted no time".to_owned());
    }
    let busy: u64 = cores.values().map(|ticks| ticks.total() - ticks.idle - ticks.steal).sum();
    // Ticks per CPU.
    let window = total as f64 / cores.len() as f64;
    let cpus = |ticks: u64| ticks as f64 / window;
    let programs: Vec<String> = after
        .programs_since(before, &[own_pid])
        .into_iter()
        .take(NAMED)
        .map(|(name, ticks)| format!("{name} {:.2}", cpus(ticks)))
        .collect();
    let busy = cpus(busy);
    let seen = match programs.is_empty() {
        true => format!("{busy:.2} of {} CPUs busy", cores.len()),
        false => format!("{busy:.2} of {} CPUs busy: {}", cores.len(), programs.join(", ")),
    };
    let why = "other programs take CPU time, cache and turbo from server and load";
    let fix = || Fix::advice("stop these programs, or wait until they end");
    if busy <= QUIET {
        ok(seen)
    } else if busy <= LOUD {
        warning(seen, why, fix())
    } else {
        bad(seen, why, fix())
    }
}
