//! In a virtual machine CPUs, frequency and neighbours are the host's.

use crate::{Fix, Found, Root, ok, warning};

pub(crate) fn item(root: &Root) -> Found {
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
        Some(false) => ok("none: this is a physical machine"),
        Some(true) => warning(
            format!("a virtual machine{}", name.map(|n| format!(" ({n})")).unwrap_or_default()),
            "the host moves CPUs between cores and shares them with others, so runs differ from \
             hour to hour",
            Fix::advice(
                "compare only what was measured side by side; measure figures for publication on a \
                 physical machine",
            ),
        ),
        None => Err("this processor has no flag for it".to_owned()),
    }
}
