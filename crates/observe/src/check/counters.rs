//! Cycles, instructions and cache misses come from the processor's counters, where it lets them be
//! read.

use super::{Fix, Found, Measured, Root, ok, warning};
use crate::Availability;

const FOLDER: &str = "/sys/bus/event_source/devices";

pub(super) fn item(root: &Root, measured: &Measured) -> Found {
    let is_of_cores = |name: &String| name.starts_with("cpu") || name.starts_with("armv8_");
    let unit = root.names(FOLDER).into_iter().find(is_of_cores);
    let paranoid = root.number::<i64>("/proc/sys/kernel/perf_event_paranoid");
    let paranoid = match paranoid.known() {
        Some(level) => format!("perf_event_paranoid {level}"),
        None => "no perf_event_paranoid".to_owned(),
    };
    match (&measured.hardware_counters, unit) {
        (Availability::Available, _) => ok(format!("cycles are counted; {paranoid}")),
        (Availability::NotAvailable(why), None) => {
            Err(format!("no counters, as in many virtual machines ({why}); {paranoid}"))
        }
        (Availability::NotAvailable(why), Some(unit)) => warning(
            format!("there are counters ({unit}), but {why}; {paranoid}"),
            "profiles and cycles per byte are taken from clocks instead",
            Fix::sysctl(&[("kernel.perf_event_paranoid", "1")]),
        ),
    }
}
