//! The machine in facts that a reader of the figures should know.

use observe::{Availability, Fact, InterruptTime, Machine};
use serde::Serialize;
use units::{Bytes, Hertz};

/// One fact of the machine.
#[derive(Serialize)]
pub(super) struct FactView {
    name: &'static str,
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
    vec![
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
    ]
}

fn known(name: &'static str, words: String) -> FactView {
    FactView { name, words, is_missing: false }
}

fn missing(name: &'static str, why: &str) -> FactView {
    FactView { name, words: format!("not available here: {why}"), is_missing: true }
}

fn fact<T>(name: &'static str, fact: &Fact<T>, in_words: impl Fn(&T) -> String) -> FactView {
    match fact {
        Fact::Known(value) => known(name, in_words(value)),
        Fact::Unknown { not_available_here } => missing(name, not_available_here),
    }
}

fn availability(name: &'static str, availability: &Availability) -> FactView {
    let is_missing = matches!(availability, Availability::NotAvailable(_));
    FactView { name, words: availability.to_string(), is_missing }
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
        name: "Core frequency, measured",
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
