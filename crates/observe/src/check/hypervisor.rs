//! In a virtual machine CPUs, frequency and neighbours are the host's.

use super::{Fix, Item, Root};

const NAME: &str = "hypervisor";

pub(super) fn item(root: &Root) -> Item {
    // Only x86 has the flag; it has a time-stamp counter too.
    let has_flag = root.cpu_flags().known().and_then(|flags| {
        let has = |name: &str| flags.iter().any(|flag| flag == name);
        has("tsc").then(|| has("hypervisor"))
    });
    let name =
        ["/sys/hypervisor/type", "/sys/class/dmi/id/product_name", "/sys/class/dmi/id/sys_vendor"]
            .into_iter()
            .find_map(|file| root.line(file).known().filter(|name| !name.is_empty()).cloned());
    match has_flag {
        Some(false) => Item::ok(NAME, "none: this is a physical machine"),
        Some(true) => Item::warning(
            NAME,
            format!("a virtual machine{}", name.map(|n| format!(" ({n})")).unwrap_or_default()),
            "the host moves CPUs between cores and shares them with others, so runs differ from \
             hour to hour",
            Fix::Advice(
                "compare only what was measured side by side; measure figures for publication on a \
                 physical machine"
                    .to_owned(),
            ),
        ),
        None => Item::not_available(NAME, "this processor has no flag for it"),
    }
}
