//! What the kernel does against the processor's vulnerabilities
//! (Documentation/ABI/testing/sysfs-devices-system-cpu, `vulnerabilities`).

use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::root::Root;

/// What the kernel says of one vulnerability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mitigation {
    /// The kernel's name of it, such as `meltdown`.
    pub vulnerability: String,
    /// Such as `Mitigation: PTI`, `Not affected`, `Vulnerable`.
    pub status: String,
}

const FOLDER: &str = "/sys/devices/system/cpu/vulnerabilities";

/// Those that work at each entry to the kernel or at each return from it, by the words of
/// Documentation/admin-guide/hw-vuln and Documentation/arch/x86/pti.rst.
const AT_EACH_SYSTEM_CALL: [(&str, &str); 8] = [
    ("meltdown", "Mitigation: PTI"),
    ("spectre_v2", "Mitigation: IBRS"),
    ("retbleed", "Mitigation: IBRS"),
    ("retbleed", "Mitigation: untrained return thunk"),
    ("mds", "Mitigation: Clear CPU buffers"),
    ("tsx_async_abort", "Mitigation: Clear CPU buffers"),
    ("mmio_stale_data", "Mitigation: Clear CPU buffers"),
    ("spec_rstack_overflow", "Mitigation: Safe RET"),
];

/// Of all vulnerabilities that the kernel knows, by their names.
pub fn mitigations(root: &Root) -> Fact<Vec<Mitigation>> {
    let mitigation = |vulnerability: String| {
        let status = root.line(&format!("{FOLDER}/{vulnerability}")).known()?.clone();
        Some(Mitigation { vulnerability, status })
    };
    let all: Vec<Mitigation> = root.names(FOLDER).into_iter().filter_map(mitigation).collect();
    match all.is_empty() {
        true => Fact::unknown(format_args!("{FOLDER} lists none")),
        false => Fact::Known(all),
    }
}

impl Mitigation {
    /// Whether it takes time at each system call.
    pub fn is_at_each_system_call(&self) -> bool {
        let is_this = |&(vulnerability, begin): &(&str, &str)| {
            self.vulnerability == vulnerability && self.status.starts_with(begin)
        };
        AT_EACH_SYSTEM_CALL.iter().any(is_this)
    }
}
