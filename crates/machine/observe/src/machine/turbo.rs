use crate::root::Root;

/// The kernel's switch for turbo.
pub struct Turbo {
    /// Its file, from `/`.
    pub file: &'static str,
    pub is_on: bool,
    /// What to write to switch it off.
    pub off: &'static str,
}

/// Of the driver `intel_pstate`: 1 is off (Documentation/admin-guide/pm/intel_pstate.rst).
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
/// Of all others: 0 is off (Documentation/admin-guide/pm/cpufreq.rst).
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

pub fn turbo(root: &Root) -> Option<Turbo> {
    [(NO_TURBO, "0", "1"), (BOOST, "1", "0")].into_iter().find_map(|(file, on, off)| {
        Some(Turbo { file, is_on: root.line(file).known()? == on, off })
    })
}
