//! The processor: model, flags that matter to cryptography, topology, caches, frequencies.

use std::collections::BTreeSet;
use std::path::Path;

use cpus::CpuList;
use serde::{Deserialize, Serialize};

use crate::error::{ObserveError, read};
use crate::root::Root;
use crate::{Fact, contention, frequency};

/// The processor, and the CPUs that a study uses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Processor {
    /// The architecture that toll was built for.
    pub architecture: String,
    pub model: Fact<String>,
    /// The vendor, as the processor names it.
    pub vendor: Fact<String>,
    /// The flags that matter to the speed of cryptography.
    pub flags: Fact<Vec<String>>,
    /// The hypervisor under which this machine runs, `"none"`, or `"yes, which one is not known"`.
    pub hypervisor: Fact<String>,
    pub online_cpus: Fact<usize>,
    /// The sets of CPUs that share a core, as the kernel says; a virtual machine may not know.
    pub kernel_siblings: Fact<Vec<String>>,
    /// The pairs of a study's CPUs, measured.
    pub measured_siblings: Fact<Vec<MeasuredSiblings>>,
    /// The data and unified caches of the study's first CPU.
    pub caches: Fact<Vec<Cache>>,
    /// The kernel's frequency governor of the study's first CPU.
    pub frequency_governor: Fact<String>,
    /// The frequency of each CPU of the study, measured.
    pub frequencies: Vec<CpuFrequency>,
    /// The rate of the time-stamp counter, measured; it is not the core's frequency.
    pub tsc_hz: Fact<f64>,
}

/// Whether two CPUs share a core, measured; see [`contention`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MeasuredSiblings {
    pub cpus: [usize; 2],
    /// The throughput of the first while the second adds, over that while it pauses.
    pub throughput_ratio: f64,
    /// Whether that shows that they share a core.
    pub share_a_core: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuFrequency {
    pub cpu: usize,
    /// What the core did when this was measured, in cycles per second.
    pub core_hz: Fact<f64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cache {
    /// `L1d`, `L2`, `L3`.
    pub name: String,
    pub bytes: u64,
    /// The CPUs that share it, as the kernel says.
    pub shared_by_cpus: String,
}

/// The flags of x86-64 and of aarch64 that crypto libraries choose their code by.
const FLAGS: [&str; 31] = [
    "ssse3",
    "aes",
    "pclmulqdq",
    "avx",
    "avx2",
    "bmi2",
    "adx",
    "sha_ni",
    "sha512",
    "gfni",
    "vaes",
    "vpclmulqdq",
    "avx512f",
    "avx512dq",
    "avx512bw",
    "avx512vl",
    "avx512ifma",
    "avx512vbmi",
    "avx512_vbmi2",
    "avx_ifma",
    "constant_tsc",
    "asimd",
    "pmull",
    "sha1",
    "sha2",
    "sha3",
    "sve",
    "sve2",
    "sveaes",
    "svepmull",
    "atomics",
];

impl Processor {
    pub(super) fn read(root: &Root, cpus: &CpuList) -> Self {
        let flags = root.cpu_flags();
        let first = cpus.as_slice()[0];
        Self {
            architecture: std::env::consts::ARCH.to_owned(),
            model: root.cpuinfo(&["model name", "CPU part"]),
            vendor: root.cpuinfo(&["vendor_id", "CPU implementer"]),
            hypervisor: hypervisor(root, &flags),
            tsc_hz: tsc_hz(&flags),
            flags: flags.map(|flags| relevant_flags(&flags)),
            online_cpus: online_cpus(root),
            kernel_siblings: Fact::Known(kernel_siblings(root)),
            measured_siblings: measured_siblings(cpus),
            caches: caches(first).into(),
            frequency_governor: root
                .line(&format!("/sys/devices/system/cpu/cpu{first}/cpufreq/scaling_governor")),
            frequencies: cpus.as_slice().iter().map(|&cpu| CpuFrequency::measure(cpu)).collect(),
        }
    }
}

impl CpuFrequency {
    fn measure(cpu: usize) -> Self {
        Self { cpu, core_hz: frequency::core_hz(cpu).map(|hz| hz.0.round()).into() }
    }
}

fn has_flag(flags: &[String], flag: &str) -> bool {
    flags.iter().any(|word| word == flag)
}

fn relevant_flags(flags: &[String]) -> Vec<String> {
    FLAGS.iter().filter(|flag| has_flag(flags, flag)).map(|flag| (*flag).to_owned()).collect()
}

/// The hypervisor by the name that it gives itself, or that of the virtual hardware's vendor.
fn hypervisor(root: &Root, flags: &Fact<Vec<String>>) -> Fact<String> {
    flags.clone().and_then(|flags| match has_flag(&flags, "hypervisor") {
        _ if !cfg!(target_arch = "x86_64") => Fact::unknown("this processor has no flag for it"),
        false => Fact::Known("none".into()),
        true => Fact::Known(
            cpuid_vendor()
                .or_else(|| root.line("/sys/hypervisor/type").known().cloned())
                .or_else(|| root.line("/sys/class/dmi/id/sys_vendor").known().cloned())
                .unwrap_or_else(|| "yes, which one is not known".into()),
        ),
    })
}

/// The hypervisor's signature, such as `KVMKVMKVM`, in the CPUID leaf that is reserved for it.
#[cfg(target_arch = "x86_64")]
fn cpuid_vendor() -> Option<String> {
    #[allow(unused_unsafe, reason = "safe in newer Rust, unsafe in the oldest supported")]
    // SAFETY: every x86-64 processor has CPUID; an unknown leaf gives meaningless numbers.
    let leaf = unsafe { std::arch::x86_64::__cpuid(0x4000_0000) };
    let bytes = [leaf.ebx, leaf.ecx, leaf.edx].map(u32::to_le_bytes).concat();
    let text = String::from_utf8(bytes).ok()?;
    let text = text.trim_matches(['\0', ' ']);
    let printable = !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() || c == ' ');
    printable.then(|| text.to_owned())
}

#[cfg(not(target_arch = "x86_64"))]
fn cpuid_vendor() -> Option<String> {
    None
}

fn online_cpus(root: &Root) -> Fact<usize> {
    let online = root.line("/sys/devices/system/cpu/online");
    online.and_then(|list| list.parse().map(|cpus: CpuList| cpus.len()).into())
}

fn kernel_siblings(root: &Root) -> Vec<String> {
    let sets = root.cpus().into_iter().filter_map(|cpu| root.thread_siblings(cpu).known().cloned());
    let mut seen = BTreeSet::new();
    sets.filter(|set| seen.insert(set.clone())).collect()
}

fn measured_siblings(cpus: &CpuList) -> Fact<Vec<MeasuredSiblings>> {
    let pairs = cpus.len() * (cpus.len() - 1) / 2;
    if pairs > contention::MOST_PAIRS {
        return Fact::unknown(format_args!("{pairs} pairs of CPUs would take too long to measure"));
    }
    let measured = contention::siblings(cpus).map(|pairs| {
        let fact = |pair: contention::SiblingRatio| MeasuredSiblings {
            cpus: [pair.first, pair.second],
            throughput_ratio: (pair.ratio * 1000.0).round() / 1000.0,
            share_a_core: pair.share_a_core(),
        };
        pairs.into_iter().map(fact).collect()
    });
    measured.into()
}

fn caches(cpu: usize) -> Result<Vec<Cache>, ObserveError> {
    let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cache");
    let failed = |source| ObserveError::Unreadable { path: folder.clone().into(), source };
    let mut caches = Vec::new();
    for entry in std::fs::read_dir(&folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.join("level").exists() {
            caches.extend(cache(&path)?);
        }
    }
    caches.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(caches)
}

/// A cache for data, or `None` for one that holds only instructions.
fn cache(folder: &Path) -> Result<Option<Cache>, ObserveError> {
    let value = |name: &str| read(folder.join(name)).map(|text| text.trim().to_owned());
    let suffix = match value("type")?.as_str() {
        "Instruction" => return Ok(None),
        "Data" => "d",
        _ => "",
    };
    let size = value("size")?;
    let bytes = cache_bytes(&size).ok_or_else(|| ObserveError::Malformed {
        file: "/sys/devices/system/cpu/cpu*/cache/index*/size",
        what: format!("`{size}`"),
    })?;
    let name = format!("L{}{suffix}", value("level")?);
    Ok(Some(Cache { name, bytes, shared_by_cpus: value("shared_cpu_list")? }))
}

/// The kernel writes K and means KiB.
fn cache_bytes(size: &str) -> Option<u64> {
    size.strip_suffix('K')?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The time-stamp counter against the monotonic clock over 20 ms: good to some parts in 10^5.
#[cfg(target_arch = "x86_64")]
fn tsc_hz(flags: &Fact<Vec<String>>) -> Fact<f64> {
    use std::time::{Duration, Instant};

    if !flags.known().is_some_and(|flags| has_flag(flags, "constant_tsc")) {
        return Fact::unknown("the processor does not guarantee a constant rate");
    }
    // SAFETY: every x86-64 processor has the instruction; Linux lets user mode execute it.
    let tsc = || unsafe { std::arch::x86_64::_rdtsc() };
    let (start, first) = (Instant::now(), tsc());
    std::thread::sleep(Duration::from_millis(20));
    let (time, last) = (start.elapsed(), tsc());
    Fact::Known((last.wrapping_sub(first) as f64 / time.as_secs_f64()).round())
}

#[cfg(not(target_arch = "x86_64"))]
fn tsc_hz(_flags: &Fact<Vec<String>>) -> Fact<f64> {
    Fact::unknown("this processor has no time-stamp counter")
}

#[cfg(test)]
mod tests {
    use super::*;

    const X86: &str = "\
processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Intel(R) Xeon(R) Processor
flags\t\t: fpu aes avx2 hypervisor sha_ni constant_tsc avx512ifma
";
    const ARM: &str = "\
processor\t: 0
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics
CPU implementer\t: 0x41
CPU part\t: 0xd40
";

    #[test]
    fn both_architectures_report_their_flags() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir(root.path("/proc")).unwrap();
        let cpuinfo = |text| std::fs::write(root.path("/proc/cpuinfo"), text).unwrap();
        let flags = || relevant_flags(root.cpu_flags().known().unwrap());
        cpuinfo(X86);
        assert_eq!(flags(), ["aes", "avx2", "sha_ni", "avx512ifma", "constant_tsc"]);
        let model = || root.cpuinfo(&["model name", "CPU part"]).known().cloned();
        assert_eq!(model().as_deref(), Some("Intel(R) Xeon(R) Processor"));
        cpuinfo(ARM);
        assert_eq!(flags(), ["aes", "asimd", "pmull", "sha1", "sha2", "atomics"]);
        assert_eq!(model().as_deref(), Some("0xd40"));
        cpuinfo("");
        let why = "/proc/cpuinfo has no line `flags` or `Features`";
        assert_eq!(root.cpu_flags(), Fact::unknown(why));
    }

    #[test]
    fn cache_sizes_are_in_bytes() {
        assert_eq!(cache_bytes("48K"), Some(48 << 10));
        assert_eq!(cache_bytes("48"), None);
        assert_eq!(cache_bytes("K"), None);
    }

    #[test]
    fn too_many_pairs_are_not_measured() {
        let many: CpuList = "0-31".parse().unwrap();
        assert!(measured_siblings(&many).known().is_none());
    }
}
