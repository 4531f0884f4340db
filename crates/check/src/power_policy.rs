//! What the processor prefers where it chooses its frequency by itself: speed, or saving power. The
//! governor does not say it.

use crate::{Fix, Found, Root, ok, warning};

const WANTED: &str = "performance";
/// Documentation/admin-guide/pm/intel_epb.rst: the value for performance.
const WANTED_BIAS: &str = "0";

pub(crate) fn item(root: &Root) -> Found {
    let cpus = root.cpus();
    let values = |file: &str| -> Vec<(String, String)> {
        let of_cpu = |cpu: &usize| {
            let file = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
            Some((file.clone(), root.line(&file).known()?.clone()))
        };
        cpus.iter().filter_map(of_cpu).collect()
    };
    let preferences = values("cpufreq/energy_performance_preference");
    let biases = values("power/energy_perf_bias");
    let mut seen = Vec::new();
    if let Some((_, first)) = preferences.first() {
        let other = preferences.iter().find(|(_, value)| value != WANTED).map(|(_, value)| value);
        seen.push(format!("the processor prefers {}", other.unwrap_or(first)));
    }
    if let Some((_, first)) = biases.first() {
        let other = biases.iter().find(|(_, value)| value != WANTED_BIAS).map(|(_, value)| value);
        seen.push(format!("its energy and performance bias is {}", other.unwrap_or(first)));
    }
    if seen.is_empty() {
        return Err("the processor has no preference that the kernel can read here".to_owned());
    }
    let seen = seen.join(", ");
    let wrong = |values: &[(String, String)], wanted: &str| -> Vec<String> {
        let wrong = values.iter().filter(|(_, value)| value != wanted);
        wrong.map(|(file, _)| file.clone()).collect()
    };
    let why = "the processor raises its frequency late, or not to its highest, to save power";
    let (preferences, biases) = (wrong(&preferences, WANTED), wrong(&biases, WANTED_BIAS));
    let fix = match (preferences.is_empty(), biases.is_empty()) {
        (true, true) => return ok(seen),
        (false, _) => Fix::files(
            "/sys/devices/system/cpu/cpu*/cpufreq/energy_performance_preference",
            preferences,
            WANTED,
        ),
        (true, false) => {
            Fix::files("/sys/devices/system/cpu/cpu*/power/energy_perf_bias", biases, WANTED_BIAS)
        }
    };
    warning(seen, why, fix)
}
