//! The processor: which CPUs share a core, at which frequency they run, and what makes them slower.

use std::collections::BTreeSet;

use observe::machine::{self, Accelerators, IdleState, Mitigation, NO_IDLE_STATES, QuickAssist};
use observe::tuning::Change;
use units::thousands;

use crate::item::{Fix, Found, bad, graded, ok, warning};
use crate::measured::Measured;
use observe::Root;

const SHARED_CORE: &str = "work on one hyperthread slows the other by up to half";

/// Two hyperthreads of a core share its execution units: the client's work slows the server, though
/// each has "its" CPU. A virtual machine often hides it; then it is measured.
pub(crate) fn siblings(root: &Root, measured: &Measured) -> Found {
    if measured.cpus.len() == 1 {
        return bad(
            format!("toll may use only CPU {}", measured.cpus),
            "server and load share it, so their costs cannot be separated",
            Fix::advice("give this machine, or toll's cpuset, a second CPU"),
        );
    }
    let reported = reported_sets(root);
    let is_told =
        |pair: &[usize; 2]| reported.iter().any(|set| pair.iter().all(|cpu| set.contains(cpu)));
    let hidden: Vec<[usize; 2]> = measured
        .siblings
        .known()
        .into_iter()
        .flatten()
        .filter(|pair| pair.share_a_core())
        .map(|pair| [pair.first, pair.second])
        .filter(|pair| !is_told(pair))
        .collect();
    if let Some([first, second]) = hidden.first() {
        let more = match hidden.len() {
            1 => String::new(),
            n => format!(" and {} more pairs", n - 1),
        };
        return warning(
            format!(
                "CPUs {first} and {second}{more} share a core by measurement; the kernel does not \
                 report it"
            ),
            SHARED_CORE,
            Fix::advice(
                "use CPUs of different cores for server and load; if there are none, use the \
                 figures per server CPU-second",
            ),
        );
    }
    if let Some(set) = reported.iter().find(|set| set.len() > 1) {
        let set: Vec<String> = set.iter().map(usize::to_string).collect();
        return warning(format!("a core has {} hyperthreads, such as CPUs {}", set.len(), set.join(" and ")),
            SHARED_CORE,
            Fix::Command(
                "echo off > /sys/devices/system/cpu/smt/control  # or take CPUs of different cores \
                 for server and load"
                    .to_owned(),
            ),
        );
    }
    match measured.siblings.known() {
        Some(pairs) => {
            let least = pairs.iter().map(|pair| pair.ratio).fold(1.0, f64::min);
            let kept = units::percent(least);
            ok(format!(
                "no two CPUs share a core; each keeps {kept} of its speed while the other is \
                     busy"
            ))
        }
        None if reported.is_empty() => {
            Err("the kernel does not report which CPUs share a core, and it cannot be \
                 measured"
                .to_owned())
        }
        None => ok("no two CPUs share a core, according to the kernel; not measured"),
    }
}

/// The sets of CPUs that share a core, as the kernel says.
fn reported_sets(root: &Root) -> BTreeSet<Vec<usize>> {
    let set = |cpu: usize| {
        let list: cpus::CpuList = root.thread_siblings(cpu).known()?.parse().ok()?;
        Some(list.as_slice().to_vec())
    };
    root.cpus().into_iter().filter_map(set).collect()
}

const PERFORMANCE: &str = "performance";

/// A governor that follows the load raises the frequency during a trial instead of before it.
pub(crate) fn governor(root: &Root) -> Found {
    let governors = of_each_cpu(root, "cpufreq/scaling_governor");
    let Some((first, _)) = governors.first() else {
        return Err(
            "the kernel does not control this machine's frequency; toll measures it with each \
             trial"
                .to_owned(),
        );
    };
    let beside = |file: &str, name: &str| root.line(&file.replace("scaling_governor", name));
    let names: BTreeSet<&str> = governors.iter().map(|(_, name)| name.as_str()).collect();
    let driver = beside(first, "scaling_driver");
    let driver = driver.known().map(|driver| format!(" ({driver})")).unwrap_or_default();
    let seen = format!("{}{driver}", names.into_iter().collect::<Vec<_>>().join(", "));
    let others = files_without(PERFORMANCE, &governors);
    let has_it = |file: &String| {
        let all = beside(file, "scaling_available_governors");
        all.known().is_some_and(|all| all.split(' ').any(|name| name == PERFORMANCE))
    };
    let is_wrong = !others.is_empty();
    let fix = match others.iter().all(has_it) {
        true => set_for_each_cpu("cpufreq/scaling_governor", others, PERFORMANCE),
        false => Fix::advice("boot a kernel with the governor `performance`"),
    };
    let why = "the frequency follows the load with a delay, so short trials start slowly";
    graded(seen, is_wrong, false, why, fix)
}

/// What a file of each CPU says, with its path.
fn of_each_cpu(root: &Root, file: &str) -> Vec<(String, String)> {
    let of_cpu = |cpu: usize| {
        let file = format!("/sys/devices/system/cpu/cpu{cpu}/{file}");
        Some((file.clone(), root.line(&file).known()?.clone()))
    };
    root.cpus().into_iter().filter_map(of_cpu).collect()
}

/// The files that say something else.
fn files_without(wanted: &str, values: &[(String, String)]) -> Vec<String> {
    let others = values.iter().filter(|(_, value)| value != wanted);
    others.map(|(file, _)| file.clone()).collect()
}

fn set_for_each_cpu(file: &str, files: Vec<String>, to: &str) -> Fix {
    Fix::files(&format!("/sys/devices/system/cpu/cpu*/{file}"), files, to)
}

/// With turbo a core's frequency depends on how many others work, and on how warm it is.
pub(crate) fn turbo(root: &Root) -> Found {
    match machine::turbo(root) {
        None => Err("the kernel has no switch for it here".to_owned()),
        Some(turbo) if !turbo.is_on => ok("off"),
        Some(turbo) => warning(
            "on",
            "the frequency falls when more cores work or get warm, which looks like a cost of the \
             load",
            Fix::files(turbo.file, [turbo.file.to_owned()], turbo.off),
        ),
    }
}

/// What a wake-up may cost: less than a connection over loopback takes.
const MOST_MICROSECONDS: u64 = 20;

/// A CPU that sleeps deeply takes its time to wake up, which lightly loaded servers show as latency.
pub(crate) fn idle_states(root: &Root) -> Found {
    let of_cpu = |cpu: usize| {
        let states = machine::idle_states(root, cpu).known().cloned().unwrap_or_default();
        states.into_iter().map(move |state| (cpu, state))
    };
    let states: Vec<(usize, IdleState)> = root.cpus().into_iter().flat_map(of_cpu).collect();
    if states.is_empty() {
        return Err(NO_IDLE_STATES.to_owned());
    }
    let is_deep = |state: &IdleState| state.is_allowed && state.latency_us > MOST_MICROSECONDS;
    let deep: Vec<&(usize, IdleState)> = states.iter().filter(|(_, s)| is_deep(s)).collect();
    let Some((_, deepest)) = deep.iter().max_by_key(|(_, state)| state.latency_us) else {
        return ok(format!("none takes more than {MOST_MICROSECONDS} µs to leave"));
    };
    let entered = states.iter().filter(|(_, state)| state.name == deepest.name);
    let entered: u64 = entered.map(|(_, state)| state.entered).sum();
    let file = |(cpu, state): &&(usize, IdleState)| Change {
        file: format!("/sys/devices/system/cpu/cpu{cpu}/cpuidle/state{}/disable", state.state),
        to: "1".to_owned(),
    };
    warning(
        format!(
            "{} takes {} µs to leave; CPUs entered it {} times since the machine was started",
            deepest.name,
            deepest.latency_us,
            thousands(entered)
        ),
        "latencies at low load include the time to wake up; a busy server does not sleep",
        Fix::Setting {
            command: format!("cpupower idle-set -D {MOST_MICROSECONDS}"),
            changes: deep.iter().map(file).collect(),
        },
    )
}

/// Documentation/admin-guide/pm/intel_epb.rst: the value for performance.
const PERFORMANCE_BIAS: &str = "0";

/// What the processor prefers where it chooses its frequency by itself: speed, or saving power. The
/// governor does not say it.
pub(crate) fn power_policy(root: &Root) -> Found {
    let (mut all, mut fix) = (Vec::new(), None);
    for (words, file, wanted) in [
        ("the processor prefers", "cpufreq/energy_performance_preference", PERFORMANCE),
        ("its energy and performance bias is", "power/energy_perf_bias", PERFORMANCE_BIAS),
    ] {
        let values = of_each_cpu(root, file);
        let other = values.iter().find(|(_, value)| value != wanted);
        let Some((_, shown)) = other.or(values.first()) else { continue };
        all.push(format!("{words} {shown}"));
        if other.is_some() && fix.is_none() {
            fix = Some(set_for_each_cpu(file, files_without(wanted, &values), wanted));
        }
    }
    if all.is_empty() {
        return Err("the processor has no preference that the kernel can read here".to_owned());
    }
    let why = "the processor raises its frequency late, or not to its highest, to save power";
    match fix {
        None => ok(all.join(", ")),
        Some(fix) => warning(all.join(", "), why, fix),
    }
}

/// Prefetchers that are off slow everything that reads memory in order: copies, hashes, ciphers.
pub(crate) fn prefetchers(root: &Root, measured: &Measured) -> Found {
    let all = machine::prefetchers(root, measured.cpus.as_slice()[0]).or_why()?;
    let off: Vec<&str> = all.iter().filter(|one| !one.is_on).map(|one| one.name.as_str()).collect();
    match off.is_empty() {
        true => ok(format!("all {} are on", all.len())),
        false => warning(
            format!("{} of {} are off: {}", off.len(), all.len(), off.join(", ")),
            "data is fetched from memory only when it is needed, so bulk encryption is slower than \
             on other machines with this processor",
            Fix::advice("switch them on in the firmware's settings"),
        ),
    }
}

/// The microcode decides with the kernel which mitigations are needed; it is shown, not judged.
pub(crate) fn microcode(root: &Root) -> Found {
    ok(format!("revision {}", root.cpuinfo(&["microcode"]).or_why()?))
}

/// Some mitigations of the processor's vulnerabilities work at each system call, which then costs
/// several times as much.
pub(crate) fn mitigations(root: &Root) -> Found {
    let all = machine::mitigations(root).or_why()?;
    let vulnerable: Vec<&str> = all
        .iter()
        .filter(|one| one.status.starts_with("Vulnerable"))
        .map(|one| one.vulnerability.as_str())
        .collect();
    let costly: Vec<String> =
        all.iter().filter(|one| one.is_at_each_system_call()).map(mitigation_in_words).collect();
    let vulnerable = match vulnerable.is_empty() {
        true => String::new(),
        false => format!("; vulnerable: {}", vulnerable.join(", ")),
    };
    match costly.is_empty() {
        true => ok(format!("none works at each system call{vulnerable}")),
        false => warning(
            format!("at each system call: {}{vulnerable}", costly.join(", ")),
            "system calls cost several times as much as on a processor that needs none of these, \
             most where objects are small",
            Fix::advice(
                "compare with machines that have the same mitigations; they stay on where others \
                 can run code",
            ),
        ),
    }
}

fn mitigation_in_words(Mitigation { vulnerability, status }: &Mitigation) -> String {
    format!("{vulnerability} ({})", status.trim_start_matches("Mitigation: "))
}

/// What could take private-key operations from the processor's usual instructions.
pub(crate) fn accelerators(root: &Root) -> Found {
    let Accelerators { quickassist, ifma } = Accelerators::read(root);
    let ifma = ifma.known().cloned().unwrap_or_default();
    let ifma = (!ifma.is_empty()).then(|| {
        format!(
            "AVX-512 IFMA ({}): Intel's multi-buffer library can be used (make crypto-mb)",
            ifma.join(", ")
        )
    });
    let words = |device: &QuickAssist| {
        let function = if device.is_virtual_function { ", a virtual function" } else { "" };
        let driver = device.driver.as_deref().unwrap_or("no driver");
        format!(
            "QuickAssist {} {} at {}{function} ({driver})",
            device.family, device.pci_id, device.slot
        )
    };
    let seen: Vec<String> = quickassist.iter().map(words).chain(ifma).collect();
    if seen.is_empty() {
        return Err("no QuickAssist device on the PCI bus, and no AVX-512 IFMA, which Intel's multi-buffer library \
                    needs"
            .to_owned());
    }
    let seen = seen.join("; ");
    // Virtual functions without a driver are for guests.
    let idle = quickassist.iter().find(|one| one.driver.is_none() && !one.is_virtual_function);
    match idle {
        None => ok(seen),
        Some(device) => warning(
            seen,
            "no program can use a QuickAssist device without its driver",
            Fix::Command(format!("modprobe {}", device.module())),
        ),
    }
}
