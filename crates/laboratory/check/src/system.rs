//! The kernel and what it runs on: its clock, its accounts, its virtual machine, its OpenSSL.

use observe::{Availability, CgroupLimits, Fact, PARANOID_ALLOWS_CPUS};

use crate::item::{Fix, Found, graded, ok, warning};
use crate::measured::{AesGcm, Measured};
use observe::Root;

const CLOCK_SOURCE: &str = "/sys/devices/system/clocksource/clocksource0";
/// Those that are read without leaving the program.
const FAST_CLOCKS: [&str; 4] =
    ["tsc", "arch_sys_counter", "kvm-clock", "hyperv_clocksource_tsc_page"];

/// A clock that is no register of the processor costs a system call or more for each look.
pub(crate) fn clock(root: &Root) -> Found {
    let file = format!("{CLOCK_SOURCE}/current_clocksource");
    let Some(current) = root.line(&file).known().cloned() else {
        return Err(format!("cannot read {file}"));
    };
    if FAST_CLOCKS.contains(&current.as_str()) {
        return ok(current);
    }
    let available = root.line(&format!("{CLOCK_SOURCE}/available_clocksource"));
    let available = available.known().cloned().unwrap_or_default();
    let better =
        FAST_CLOCKS.into_iter().find(|fast| available.split(' ').any(|name| name == *fast));
    let fix = match better {
        Some(better) => Fix::files(&file, [file.clone()], better),
        None => Fix::advice("boot with a stable processor clock (see dmesg)"),
    };
    let why = "reading the clock costs a microsecond or more, in server and load";
    warning(current, why, fix)
}

/// On a machine of several nodes the kernel takes pages away for a moment to see who uses them.
pub(crate) fn numa_balancing(root: &Root) -> Found {
    let nodes = root.numbered("/sys/devices/system/node", "node").len();
    match root.number("/proc/sys/kernel/numa_balancing").known() {
        _ if nodes == 1 => ok("one node"),
        None => Err("this kernel does not balance memory over nodes".to_owned()),
        Some(0) => ok(format!("off, with {nodes} nodes")),
        Some(_) => warning(
            format!("on, with {nodes} nodes"),
            "the kernel moves memory pages during the measurement, some seconds after a load \
             begins",
            Fix::sysctl(&[("kernel.numa_balancing", "0")]),
        ),
    }
}

/// In a virtual machine CPUs, frequency and neighbours are the host's.
pub(crate) fn hypervisor(root: &Root) -> Found {
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

/// Where the kernel counts the time of interrupts decides what "per server CPU-second" means.
pub(crate) fn irq_time(root: &Root) -> Found {
    let config = root.kernel_config("IRQ_TIME_ACCOUNTING").or_why()?;
    match config.as_deref() {
        Some("y") => ok("CONFIG_IRQ_TIME_ACCOUNTING: interrupts are counted apart from processes"),
        _ => warning(
            "no CONFIG_IRQ_TIME_ACCOUNTING: interrupts are charged to the process that runs",
            "the server's CPU time includes network interrupts, also those of other programs on \
             its CPU",
            Fix::advice(
                "compare figures per CPU-second only with those of a kernel built with the same \
                 setting",
            ),
        ),
    }
}

/// With less, not even one load thread can run all the time.
const LEAST_CPUS: f64 = 1.0;

/// A control group that has used up its quota is stopped until the next period begins.
pub(crate) fn cpu_quota(root: &Root) -> Found {
    let limits = CgroupLimits::read(root, "self");
    let cpus = limits.cpus.known().map(|cpus| format!("; its CPUs are {cpus}"));
    let cpus = cpus.unwrap_or_default();
    let Some(quota) = limits.cpu_quota.or_why()? else {
        return ok(format!("none{cpus}"));
    };
    let why = "toll's control group, and with it the servers that toll starts, is stopped when it has used \
               that up: rates are the quota's, and latencies have the pauses";
    let fix = Fix::advice(
        "run toll outside of that group, or raise its quota (cpu.max, cpu.cfs_quota_us; docker --cpus; \
         Kubernetes: resources.limits.cpu)",
    );
    graded(format!("{quota}{cpus}"), true, quota.cpus() < LEAST_CPUS, why, fix)
}

const COUNTING_UNITS: &str = "/sys/bus/event_source/devices";

/// The processor's counters, and who may count and sample whole CPUs (`kernel.perf_event_paranoid`).
pub(crate) fn counters(root: &Root, measured: &Measured) -> Found {
    let is_of_cores = |name: &String| name.starts_with("cpu") || name.starts_with("armv8_");
    let unit = root.names(COUNTING_UNITS).into_iter().find(is_of_cores);
    let cycles = match (&measured.hardware_counters, unit) {
        (Availability::Available, _) => Ok("cycles are counted".to_owned()),
        (Availability::NotAvailable(why), Some(unit)) => {
            Err(format!("there are counters ({unit}), but {why}"))
        }
        (Availability::NotAvailable(why), None) => {
            Err(format!("no counters, as in many virtual machines ({why})"))
        }
    };
    let level = root.number::<i32>("/proc/sys/kernel/perf_event_paranoid");
    match level.known().filter(|level| **level > PARANOID_ALLOWS_CPUS) {
        // For root too, who makes the setting for others.
        Some(level) => warning(
            format!("{}; perf_event_paranoid {level}", cycles.unwrap_or_else(|lacking| lacking)),
            "only root may sample CPUs (toll run --profile) and count memory traffic",
            Fix::sysctl(&[("kernel.perf_event_paranoid", &PARANOID_ALLOWS_CPUS.to_string())]),
        ),
        None => ok(cycles?),
    }
}

/// How many times as much OpenSSL may cost: two good implementations differ by less.
const MOST_OVER_RING: f64 = 1.25;

/// How fast the system's OpenSSL is at the algorithm of most connections, compared with another library.
pub(crate) fn openssl(measured: &Measured) -> Found {
    let version = &measured.openssl;
    let AesGcm { openssl, ring } = match &measured.aes_gcm {
        Fact::Known(costs) => *costs,
        Fact::Unknown { not_available_here: why } => {
            return ok(format!("{version} (its AES-GCM was not measured: {why})"));
        }
    };
    let seen =
        format!("{version}, AES-128-GCM {openssl:.2} cycles per byte at 16 KiB, ring {ring:.2}");
    if openssl <= MOST_OVER_RING * ring {
        return ok(seen);
    }
    let why = format!(
        "its AES-GCM takes {:.1} times as long as ring's on this processor: figures of AES-GCM show \
         this version, not the processor",
        openssl / ring
    );
    let advice = "measure with a newer OpenSSL (`library-path`), or treat the GCM figures as valid for \
                  this version only";
    warning(seen, &why, Fix::advice(advice))
}
