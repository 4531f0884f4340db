//! Time that the hypervisor gives to somebody else while a CPU of this machine wants to run.

use super::{Item, Measured, Mend};

const NAME: &str = "steal";
/// The share that toll's verdicts take for noise.
const NOISE: f64 = 0.01;
const MUCH: f64 = 0.05;

pub(super) fn item(measured: &Measured) -> Item {
    let Some(cores) = measured.after.cores_since(&measured.before) else {
        return Item::not_available(NAME, "/proc/stat cannot be read");
    };
    let worst = cores.iter().filter(|(_, ticks)| ticks.total() > 0).map(|(cpu, ticks)| {
        let share = ticks.steal as f64 / ticks.total() as f64;
        (share, *cpu)
    });
    let Some((share, cpu)) = worst.max_by(|a, b| a.0.total_cmp(&b.0)) else {
        return Item::not_available(NAME, "the kernel counted no time");
    };
    let seen = match share {
        0.0 => "none in a second without load".to_owned(),
        _ => format!("{} of CPU {cpu} within a second", units::percent(share)),
    };
    let why =
        "the hypervisor gives this machine's CPUs to others, so rates and latencies are theirs";
    let mend = || Mend::Advice("measure on a dedicated host, or when it is quiet".to_owned());
    if share <= NOISE {
        Item::ok(NAME, seen)
    } else if share <= MUCH {
        Item::warning(NAME, seen, why, mend())
    } else {
        Item::bad(NAME, seen, why, mend())
    }
}
