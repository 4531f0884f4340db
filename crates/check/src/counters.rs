//! The processor's counters, and who may count and sample whole CPUs (`kernel.perf_event_paranoid`).
use observe::{Availability, PARANOID_ALLOWS_CPUS};

use crate::{Fix, Found, Measured, Root, ok, warning};

const FOLDER: &str = "/sys/bus/event_source/devices";

pub(crate) fn item(root: &Root, measured: &Measured) -> Found {
    let is_of_cores = |name: &String| name.starts_with("cpu") || name.starts_with("armv8_");
    let unit = root.names(FOLDER).into_iter().find(is_of_cores);
    let cycles = match (&measured.hardware_counters, unit) {
        (Availability::Available, _) => Ok("cycles are counted".to_owned()),
        (Availability::NotAvailable(why), Some(unit)) => {
            Err(format!("there are counters ({unit}), but {why}"))
        }
        (Availability::NotAvailable(why), None) => {
            Err(format!("no counters, as in many virtual machines ({why})"))
        }
    };
    let level = root.number::<i32>("/proc/sys/kernel/perf_event_paranoid");
    match level.known().filter(|level| **level > PARANOID_ALLOWS_CPUS) {
        // For root too, who makes the setting for others.
        Some(level) => warning(
            format!("{}; perf_event_paranoid {level}", cycles.unwrap_or_else(|lacking| lacking)),
            "only root may sample CPUs (toll run --profile) and count memory traffic",
            Fix::sysctl(&[("kernel.perf_event_paranoid", &PARANOID_ALLOWS_CPUS.to_string())]),
        ),
        None => ok(cycles?),
    }
}
