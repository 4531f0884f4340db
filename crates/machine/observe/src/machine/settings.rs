//! How the processor is set: what the published characterizations of TLS servers list beside their
//! figures, because the same processor does more or less work by it.

use serde::{Deserialize, Serialize};

use super::idle_state::{IdleState, deepest, idle_states};
use super::mitigations::{Mitigation, mitigations};
use super::prefetchers::{Prefetcher, prefetchers};
use super::turbo::turbo;
use crate::Fact;
use crate::root::Root;

/// The settings of a processor; what a CPU has for itself is that of the study's first one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settings {
    /// `on`, `off`, `forceoff`, `notsupported` or `notimplemented`.
    pub hyper_threading: Fact<String>,
    pub idle_states: Fact<Vec<IdleState>>,
    /// The driver that sets the frequency, such as `intel_pstate` or `amd-pstate-epp`.
    pub frequency_driver: Fact<String>,
    /// The lowest and the highest frequency that may be chosen, in kHz.
    pub frequency_range_khz: Fact<[u64; 2]>,
    /// Whether the processor chooses its frequency by itself (Intel: HWP; AMD: CPPC).
    pub hardware_p_states: Fact<bool>,
    /// What the processor is told to prefer then, such as `balance_performance`.
    pub energy_preference: Fact<String>,
    pub turbo: Fact<bool>,
    /// Intel's energy and performance bias: 0 is for performance, 15 for saving power.
    pub power_policy: Fact<u8>,
    pub prefetchers: Fact<Vec<Prefetcher>>,
    /// The revision, such as `0x2b000603`.
    pub microcode: Fact<String>,
    /// What the kernel does against the processor's vulnerabilities.
    pub mitigations: Fact<Vec<Mitigation>>,
}

impl Settings {
    pub fn read(root: &Root, cpu: usize) -> Self {
        let of_cpu = |file: &str| format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        let energy_preference = root.line(&of_cpu("cpufreq/energy_performance_preference"));
        let least = root.number(&of_cpu("cpufreq/scaling_min_freq"));
        let most = root.number(&of_cpu("cpufreq/scaling_max_freq"));
        let frequency_driver = root.line(&of_cpu("cpufreq/scaling_driver"));
        Self {
            hyper_threading: root.line("/sys/devices/system/cpu/smt/control"),
            idle_states: idle_states(root, cpu),
            // The drivers show a preference only where the processor chooses.
            hardware_p_states: frequency_driver
                .clone()
                .map(|_| energy_preference.known().is_some()),
            frequency_driver,
            frequency_range_khz: least.and_then(|least| most.map(|most| [least, most])),
            energy_preference,
            turbo: turbo(root)
                .map(|turbo| turbo.is_on)
                .ok_or("the kernel has no switch for it here")
                .into(),
            power_policy: root.number(&of_cpu("power/energy_perf_bias")),
            prefetchers: prefetchers(root, cpu),
            microcode: root.cpuinfo(&["microcode"]),
            mitigations: mitigations(root),
        }
    }

    /// The settings in words, each with its name. What only counts how they were used is left out.
    pub fn in_words(&self) -> Vec<(&'static str, Fact<String>)> {
        let on = |is_on: bool| if is_on { "on" } else { "off" }.to_owned();
        let deepest = |states: Vec<IdleState>| match deepest(&states) {
            Some(state) => format!("{}, {} µs to leave", state.name, state.latency_us),
            None => "none is allowed".to_owned(),
        };
        let list = |prefetchers: Vec<Prefetcher>| {
            let words =
                prefetchers.into_iter().map(|one| format!("{} {}", one.name, on(one.is_on)));
            words.collect::<Vec<_>>().join(", ")
        };
        let mitigations = |all: Vec<Mitigation>| {
            let some = all.into_iter().filter(|one| one.status != "Not affected");
            let words = some.map(|one| format!("{}: {}", one.vulnerability, one.status));
            words.collect::<Vec<_>>().join("; ")
        };
        vec![
            ("hyper-threading", self.hyper_threading.clone()),
            ("deepest idle state", self.idle_states.clone().map(deepest)),
            ("frequency driver", self.frequency_driver.clone()),
            (
                "frequency range",
                self.frequency_range_khz
                    .clone()
                    .map(|[least, most]| format!("{} to {} MHz", least / 1000, most / 1000)),
            ),
            ("hardware P-states", self.hardware_p_states.clone().map(on)),
            ("energy preference", self.energy_preference.clone()),
            ("turbo", self.turbo.clone().map(on)),
            ("energy and performance bias", self.power_policy.clone().map(|bias| bias.to_string())),
            ("prefetchers", self.prefetchers.clone().map(list)),
            ("microcode", self.microcode.clone()),
            ("mitigations", self.mitigations.clone().map(mitigations)),
        ]
    }
}
