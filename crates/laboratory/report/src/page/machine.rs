//! The machine in facts that a reader of the figures should know.

use answer::wording::capitalized;
use observe::machine::{Accelerators, Settings};
use observe::{Availability, CgroupLimits, Fact, InterruptTime, Machine};
use serde::Serialize;
use units::{Bytes, Hertz, thousands};

/// One fact of the machine.
#[derive(Serialize)]
pub(super) struct FactView {
    name: String,
    words: String,
    is_missing: bool,
}

/// The machine in one word: its processor and its CPUs.
pub(super) fn in_a_word(machine: &Machine) -> String {
    let processor = &machine.processor;
    let model = processor.model.known().unwrap_or(&processor.architecture);
    match processor.online_cpus.known() {
        Some(1) => format!("{model}, 1 CPU"),
        Some(cpus) => format!("{model}, {cpus} CPUs"),
        None => model.clone(),
    }
}

/// All of the facts.
pub(super) fn facts(machine: &Machine) -> Vec<FactView> {
    let Machine { processor, memory, system, network, .. } = machine;
    let mut facts = vec![
        fact("Processor", &processor.model, Clone::clone),
        fact("CPUs online", &processor.online_cpus, ToString::to_string),
        known("Architecture", processor.architecture.clone()),
        fact("Hypervisor", &processor.hypervisor, Clone::clone),
        frequencies(machine),
        fact("Time-stamp counter", &processor.tsc_hz, |hz| {
            format!("{}; this is not the core's clock", Hertz(*hz))
        }),
        fact("Frequency governor", &processor.frequency_governor, Clone::clone),
        siblings(machine),
        fact("Hyperthreads, according to the kernel", &processor.kernel_siblings, |sets| {
            sets.iter().map(|cpus| format!("{{{cpus}}}")).collect::<Vec<_>>().join(" ")
        }),
        fact("Flags that cryptography uses", &processor.flags, |flags| flags.join(" ")),
        fact("Caches", &processor.caches, |caches| {
            let caches = caches.iter().map(|cache| {
                format!("{} {} (CPUs {})", cache.name, Bytes(cache.bytes), cache.shared_by_cpus)
            });
            caches.collect::<Vec<_>>().join(", ")
        }),
        fact("Memory", &memory.total_bytes, |bytes| {
            format!("{:.1} GiB", *bytes as f64 / f64::from(1 << 30))
        }),
        fact("NUMA nodes", &memory.numa_nodes, |nodes| {
            let nodes = nodes.iter().map(|node| format!("{} (CPUs {})", node.node, node.cpus));
            nodes.collect::<Vec<_>>().join(", ")
        }),
        fact("Kernel", &system.kernel_release, Clone::clone),
        fact("Distribution", &system.distribution, Clone::clone),
        fact("Time of interrupts", &system.interrupt_time, |time| match time {
            InterruptTime::Apart => "counted apart from processes".to_owned(),
            InterruptTime::InProcesses => "charged to the process that runs".to_owned(),
        }),
        known("OpenSSL of toll", machine.openssl.clone()),
        fact("Congestion control", &network.tcp_congestion_control, Clone::clone),
        fact("Open files", &system.descriptors, |limit| {
            format!("{} now, at most {}", limit.soft, limit.hard)
        }),
        availability("Kernel TLS", &machine.kernel_tls),
        availability("Hardware counters", &machine.hardware_counters),
        availability("Counters of memory traffic", &machine.memory_traffic),
        availability("Counters of energy (RAPL)", &machine.energy),
    ];
    let limits = machine.cgroup.iter().flat_map(CgroupLimits::in_words);
    let of_toll = |name: &str| format!("{} (control groups of toll)", capitalized(name));
    facts.extend(limits.map(|(name, words)| fact(&of_toll(name), &words, Clone::clone)));
    facts
}

/// How the processor is set, what it did with its idle states, and what accelerates it.
pub(super) fn settings(machine: &Machine) -> Vec<FactView> {
    let Some(settings) = &machine.settings else { return Vec::new() };
    let mut views: Vec<FactView> = settings
        .in_words()
        .into_iter()
        .map(|(name, words)| fact(&capitalized(name), &words, Clone::clone))
        .collect();
    views.push(idle_time(settings));
    views.extend(machine.accelerators.as_ref().map(quickassist));
    views
}

fn idle_time(settings: &Settings) -> FactView {
    fact("Idle states of the first CPU since its start", &settings.idle_states, |states| {
        let words = states.iter().map(|state| {
            let seconds = state.slept_us as f64 / 1e6;
            format!("{} {} times, {seconds:.1} s in all", state.name, thousands(state.entered))
        });
        words.collect::<Vec<_>>().join("; ")
    })
}

fn quickassist(accelerators: &Accelerators) -> FactView {
    let words = accelerators.quickassist.iter().map(|device| {
        let driver = device.driver.as_deref().unwrap_or("none");
        format!("{} ({}) at {}, driver {driver}", device.family, device.pci_id, device.slot)
    });
    match &accelerators.quickassist[..] {
        [] => missing("QuickAssist", "there is no such device on the PCI bus"),
        _ => known("QuickAssist", words.collect::<Vec<_>>().join("; ")),
    }
}

fn known(name: &str, words: String) -> FactView {
    FactView { name: name.to_owned(), words, is_missing: false }
}

fn missing(name: &str, why: &str) -> FactView {
    FactView {
        name: name.to_owned(),
        words: format!("not available here: {why}"),
        is_missing: true,
    }
}

fn fact<T>(name: &str, fact: &Fact<T>, in_words: impl Fn(&T) -> String) -> FactView {
    match fact {
        Fact::Known(value) => known(name, in_words(value)),
        Fact::Unknown { not_available_here } => missing(name, not_available_here),
    }
}

fn availability(name: &str, availability: &Availability) -> FactView {
    let is_missing = matches!(availability, Availability::NotAvailable(_));
    FactView { name: name.to_owned(), words: availability.to_string(), is_missing }
}

fn frequencies(machine: &Machine) -> FactView {
    let cpus = &machine.processor.frequencies;
    let words = cpus.iter().map(|cpu| match &cpu.core_hz {
        Fact::Known(hz) => format!("CPU {}: {}", cpu.cpu, Hertz(*hz)),
        Fact::Unknown { not_available_here } => {
            format!("CPU {}: not available here: {not_available_here}", cpu.cpu)
        }
    });
    FactView {
        name: "Core frequency, measured".to_owned(),
        words: words.collect::<Vec<_>>().join(", "),
        is_missing: cpus.iter().all(|cpu| cpu.core_hz.known().is_none()),
    }
}

fn siblings(machine: &Machine) -> FactView {
    fact("Hyperthreads, measured", &machine.processor.measured_siblings, |pairs| {
        let words = pairs.iter().map(|pair| {
            let [a, b] = pair.cpus;
            let words = if pair.share_a_core { "share a core" } else { "do not share a core" };
            format!("CPUs {a} and {b} {words} (ratio of throughput {:.2})", pair.throughput_ratio)
        });
        match pairs[..] {
            [] => "no pair of CPUs was used".to_owned(),
            _ => words.collect::<Vec<_>>().join("; "),
        }
    })
}
