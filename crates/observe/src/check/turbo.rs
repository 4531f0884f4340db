//! With turbo a core's frequency depends on how many others work, and on how warm it is.

use super::{Fix, Item, Root};

const NAME: &str = "turbo";
/// Of the driver `intel_pstate`: 1 is off.
const NO_TURBO: &str = "/sys/devices/system/cpu/intel_pstate/no_turbo";
/// Of all others: 0 is off.
const BOOST: &str = "/sys/devices/system/cpu/cpufreq/boost";

pub(super) fn item(root: &Root) -> Item {
    let switch = [(NO_TURBO, "0", "1"), (BOOST, "1", "0")]
        .into_iter()
        .find_map(|(file, on, off)| Some((file, root.line(file).known()? == on, off)));
    match switch {
        None => Item::not_available(NAME, "the kernel has no switch for it here"),
        Some((_, false, _)) => Item::ok(NAME, "off"),
        Some((file, true, off)) => Item::warning(
            NAME,
            "on".to_owned(),
            "the frequency falls when more cores work or get warm, which looks like a cost of the \
             load",
            Fix::files(file, [file.to_owned()], off),
        ),
    }
}
