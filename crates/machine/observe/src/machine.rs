//! Everything about the machine that a reader of the figures should know: `machine.json`.

mod accelerators;
mod hardware_counters;
mod idle_state;
mod kernel_tls;
mod memory;
mod mitigations;
mod network;
mod prefetchers;
mod processor;
mod settings;
mod system;
mod turbo;

use cpus::CpuList;
use serde::{Deserialize, Serialize};

pub use accelerators::{Accelerators, QuickAssist};
pub use hardware_counters::probe as hardware_counters;
pub use idle_state::{IdleState, NO_IDLE_STATES, idle_states};
pub use kernel_tls::probe as kernel_tls;
pub use memory::{Memory, NumaNode};
pub use mitigations::{Mitigation, mitigations};
pub use network::Network;
pub use prefetchers::{Prefetcher, prefetchers};
pub use processor::{Cache, CpuFrequency, MeasuredSiblings, Processor};
pub use settings::Settings;
pub use system::{Descriptors, System, limits as descriptors};
pub use turbo::{Turbo, turbo};

use crate::cgroup::{CgroupLimits, CpuQuota};
use crate::root::Root;
use crate::{Availability, Fact, energy, memory_traffic};

/// The machine as it is now; JSON in snake_case with units in the names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub processor: Processor,
    /// How the processor is set; absent of a machine that an earlier toll described.
    #[serde(default)]
    pub settings: Option<Settings>,
    /// What takes work off the processor's usual instructions; absent as the settings.
    #[serde(default)]
    pub accelerators: Option<Accelerators>,
    pub memory: Memory,
    /// Kernel, distribution, hypervisor, limits.
    pub system: System,
    /// What control groups allow toll; absent as the settings.
    #[serde(default)]
    pub cgroup: Option<CgroupLimits>,
    pub network: Network,
    /// The version of the OpenSSL library that toll itself runs with.
    pub openssl: String,
    /// Whether the kernel can encrypt TLS records, tried on a loopback connection.
    pub kernel_tls: Availability,
    /// Whether cycles can be counted with the processor's counters, tried.
    pub hardware_counters: Availability,
    /// Whether what moves between processors and memory is counted, tried.
    #[serde(default = "not_recorded")]
    pub memory_traffic: Availability,
    /// Whether the processors' energy can be read, tried.
    #[serde(default = "not_recorded")]
    pub energy: Availability,
}

/// Of a machine that an earlier toll described.
fn not_recorded() -> Availability {
    Availability::NotAvailable("it was not recorded".to_owned())
}

impl Machine {
    /// Reads and measures. `cpus` are those that a study uses: their frequency is measured, and
    /// which of them share a core. Takes some milliseconds for each CPU and about 15 ms for each
    /// pair.
    pub fn read(cpus: &CpuList) -> Self {
        let root = Root::machine();
        Self {
            processor: Processor::read(&root, cpus),
            settings: Some(Settings::read(&root, cpus.as_slice()[0])),
            accelerators: Some(Accelerators::read(&root)),
            memory: Memory::read(&root),
            system: System::read(&root),
            cgroup: Some(CgroupLimits::read(&root, "self")),
            network: Network::read(&root),
            openssl: tls::openssl_version().to_owned(),
            kernel_tls: kernel_tls::probe(),
            hardware_counters: hardware_counters::probe(),
            memory_traffic: memory_traffic::probe(),
            energy: energy::probe(),
        }
    }

    /// How many CPUs are online, where that is known.
    pub fn cpus(&self) -> Option<usize> {
        self.processor.online_cpus.known().copied()
    }

    /// That of toll's control groups, where they have one.
    pub fn cpu_quota(&self) -> Option<CpuQuota> {
        self.cgroup.as_ref().and_then(|limits| limits.cpu_quota.known().copied().flatten())
    }

    /// What decides how fast it is, each with its name: times of a machine on which one of these is another do not
    /// show what a program gained or lost. `None` where it is not known.
    pub fn speed(&self) -> [(&'static str, Option<String>); 5] {
        let Processor { model, online_cpus, .. } = &self.processor;
        let limits = self.cgroup.as_ref().map(CgroupLimits::in_words);
        let [quota, cpus, ..] = limits.unwrap_or_else(CgroupLimits::unknown_in_words);
        let known = |(what, words): (&'static str, Fact<String>)| (what, words.or_why().ok());
        [
            ("processor", model.known().cloned()),
            ("CPUs", online_cpus.known().map(ToString::to_string)),
            known(quota),
            known(cpus),
            ("kernel", self.system.kernel_release.known().cloned()),
        ]
    }

    /// How this machine differs from an `earlier` one in what figures depend on: its speed, its OpenSSL. `None` where
    /// it does not; what is not known differs from nothing.
    pub fn difference(&self, earlier: &Self) -> Option<String> {
        let facts = |machine: &Self| {
            machine.speed().into_iter().chain([("OpenSSL", Some(machine.openssl.clone()))])
        };
        let both = facts(earlier).zip(facts(self));
        let different = both.filter_map(|((what, was), (_, is))| match (was, is) {
            (Some(was), Some(is)) if was != is => Some(format!("{what}: {was} before, {is} now")),
            _ => None,
        });
        let different: Vec<String> = different.collect();
        (!different.is_empty()).then(|| different.join("; "))
    }
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
    fn facts_that_every_linux_reports_are_there() {
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
    fn another_kernel_or_library_is_another_machine_and_another_frequency_is_not() {
        let machine = Machine::read(&CpuList::from(CpuList::allowed().unwrap().as_slice()[0]));
        let mut later = machine.clone();
        later.processor.frequencies.clear();
        later.memory.total_bytes = Fact::unknown("test");
        assert_eq!(later.difference(&machine), None);
        later.openssl = "OpenSSL 9".to_owned();
        assert!(later.difference(&machine).unwrap().contains("OpenSSL 9"));
        later.system.kernel_release = Fact::Known("9.9".to_owned());
        assert!(later.difference(&machine).unwrap().contains("9.9 now; OpenSSL: "));
        later.system.kernel_release = Fact::unknown("test");
        later.openssl = machine.openssl.clone();
        assert_eq!(later.difference(&machine), None, "what is not known differs from nothing");
    }

    #[test]
    fn another_quota_or_other_cpus_are_another_machine() {
        let machine = |cgroup: serde_json::Value| {
            let read = Machine::read(&CpuList::from(CpuList::allowed().unwrap().as_slice()[0]));
            Machine { cgroup: serde_json::from_value(cgroup).unwrap(), ..read }
        };
        let limits = |quota: serde_json::Value, cpus: &str| {
            let unknown = serde_json::json!({ "not_available_here": "test" });
            let cgroup = serde_json::json!({
                "cpu_quota": quota, "cpus": cpus, "memory_bytes": null, "memory_pressure": unknown
            });
            machine(cgroup)
        };
        let half = || serde_json::json!({ "quota_us": 50_000, "period_us": 100_000 });
        let free = limits(serde_json::Value::Null, "0-1");
        assert_eq!(free.difference(&free), None);
        assert_eq!(
            limits(half(), "0").difference(&free).unwrap(),
            "CPU quota: none before, 0.50 CPUs (50ms in each 100ms) now; allowed CPUs: 0-1 before, 0 now"
        );
        assert_eq!(limits(half(), "0").difference(&machine(serde_json::Value::Null)), None);
    }
}
