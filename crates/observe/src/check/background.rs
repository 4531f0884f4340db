//! Other programs take CPU time, caches and the turbo's budget from what is measured.

use super::{Fix, Item, Snapshot};

const NAME: &str = "background";
/// CPUs that may be busy by themselves: a kernel's own work seldom is more.
const QUIET: f64 = 0.05;
/// From here on no window goes by without it.
const LOUD: f64 = 0.5;
/// How many programs are named.
const NAMED: usize = 4;

pub(super) fn item(before: &Snapshot, after: &Snapshot, own_pid: u32) -> Item {
    let Some(cores) = after.cores_since(before) else {
        return Item::not_available(NAME, "/proc/stat cannot be read");
    };
    let total: u64 = cores.values().map(|ticks| ticks.total()).sum();
    if total == 0 {
        return Item::not_available(NAME, "the kernel counted no time");
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
    let fix = || Fix::Advice("stop these programs, or wait until they end".to_owned());
    if busy <= QUIET {
        Item::ok(NAME, seen)
    } else if busy <= LOUD {
        Item::warning(NAME, seen, why, fix())
    } else {
        Item::bad(NAME, seen, why, fix())
    }
}
