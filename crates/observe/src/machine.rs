//! Everything about the machine that a reader of the figures should know: `machine.json`.

mod hardware_counters;
mod kernel_tls;
mod memory;
mod network;
mod processor;
mod system;

use cpus::CpuList;
use serde::{Deserialize, Serialize};

pub use memory::{Memory, NumaNode};
pub use network::Network;
pub use processor::{Cache, CpuFrequency, MeasuredSiblings, Processor};
pub use system::{Descriptors, System};

use crate::Availability;

/// The machine as it is now; JSON in snake_case with units in the names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor and its CPUs.
    pub processor: Processor,
    /// Memory and its nodes.
    pub memory: Memory,
    /// Kernel, distribution, hypervisor, limits.
    pub system: System,
    /// The network's settings.
    pub network: Network,
    /// The version of the OpenSSL library that toll itself runs with.
    pub openssl: String,
    /// Whether the kernel can encrypt TLS records, tried on a loopback connection.
    pub kernel_tls: Availability,
    /// Whether cycles can be counted with the processor's counters, tried.
    pub hardware_counters: Availability,
}

impl Machine {
    /// Reads and measures. `cpus` are those that a study uses: their frequency is measured, and
    /// which of them share a core. Takes some milliseconds for each CPU and about 15 ms for each
    /// pair.
    #[must_use]
    pub fn read(cpus: &CpuList) -> Self {
        Self {
            processor: Processor::read(cpus),
            memory: Memory::read(),
            system: System::read(),
            network: Network::read(),
            openssl: tls::openssl_version().to_owned(),
            kernel_tls: kernel_tls::probe(),
            hardware_counters: hardware_counters::probe(),
        }
    }
}

/// The trimmed content of a file that holds one line, or why it cannot be read.
fn line(path: &str) -> crate::Fact<String> {
    crate::error::read(path).map(|text| text.trim().to_owned()).into()
}

/// The number that a file holds, or why it cannot be read.
fn number<T: std::str::FromStr>(path: &str) -> crate::Fact<T> {
    let crate::Fact::Known(text) = line(path) else {
        return crate::Fact::unknown(format_args!("cannot read {path}"));
    };
    text.parse().map_err(|_| format!("{path} holds `{text}`, which is no such number")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_survives_json() {
        let machine = Machine::read(&CpuList::allowed().unwrap());
        let json = serde_json::to_string(&machine).unwrap();
        assert_eq!(serde_json::from_str::<Machine>(&json).unwrap(), machine);
    }

    #[test]
    fn what_every_linux_tells_is_there() {
        let first = CpuList::from(CpuList::allowed().unwrap().as_slice()[0]);
        let machine = Machine::read(&first);
        assert!(*machine.memory.total_bytes.known().unwrap() > 0);
        assert!(*machine.processor.online_cpus.known().unwrap() > 0);
        assert!(machine.system.kernel_release.known().is_some());
        assert!(machine.network.local_port_range.known().unwrap()[0] > 0);
        assert!(machine.system.descriptors.known().unwrap().soft > 0);
        assert!(machine.openssl.starts_with("OpenSSL"));
        assert_eq!(machine.processor.frequencies.len(), 1);
        assert_eq!(machine.processor.measured_siblings.known().map(Vec::len), Some(0));
    }

    #[test]
    fn a_file_that_is_not_there_gives_a_reason() {
        let missing = number::<u64>("/proc/no/such/file");
        let json = serde_json::to_string(&missing).unwrap();
        assert_eq!(json, r#"{"not_available_here":"cannot read /proc/no/such/file"}"#);
    }
}
