use cpus::CpuList;
use serde::{Deserialize, Serialize};
use units::{Bytes, percent};

use super::cpu_quota::CpuQuota;
use super::groups::Groups;
use super::mounts::Version;
use crate::{Fact, Root};

/// Version 1 writes the largest number of whole pages where there is no limit.
const UNLIMITED: u64 = 1 << 62;

/// What the control groups of a process allow it, of each the least on the way to the root that is seen.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimits {
    /// `null` where there is none.
    pub cpu_quota: Fact<Option<CpuQuota>>,
    /// The CPUs that its processes may run on.
    pub cpus: Fact<CpuList>,
    /// `null` where there is none.
    pub memory_bytes: Fact<Option<u64>>,
    pub memory_pressure: Fact<MemoryPressure>,
}

/// How scarce memory was in the last ten seconds (Documentation/accounting/psi.rst).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryPressure {
    /// The share of the time in which some task waited for memory.
    pub some: f64,
}

impl CgroupLimits {
    /// Of a process by its number, or `self`.
    pub fn read(root: &Root, process: &str) -> Self {
        let of = |controller| Groups::of(root, process, controller);
        let memory = of("memory");
        Self {
            cpu_quota: of("cpu")
                .and_then(|groups| groups.each(|folder| CpuQuota::of(&groups, folder)))
                .map(CpuQuota::tightest),
            cpus: of("cpuset").and_then(|groups| cpus(&groups)),
            memory_bytes: memory.clone().and_then(|groups| memory_limit(&groups)),
            memory_pressure: memory.and_then(|groups| memory_pressure(&groups)),
        }
    }
}

/// The names of what is limited, in the order of [`CgroupLimits::in_words`].
const NAMES: [&str; 4] = ["CPU quota", "allowed CPUs", "memory limit", "memory pressure"];

impl CgroupLimits {
    /// Each limit with its name: that of CPU time first, then the CPUs, then memory.
    pub fn in_words(&self) -> [(&'static str, Fact<String>); 4] {
        fn or_none<T: ToString>(limit: Option<T>) -> String {
            limit.map_or_else(|| "none".to_owned(), |limit| limit.to_string())
        }
        let Self { cpu_quota, cpus, memory_bytes, memory_pressure } = self.clone();
        let [quota, list, memory, pressure] = NAMES;
        [
            (quota, cpu_quota.map(or_none)),
            (list, cpus.map(|cpus| cpus.to_string())),
            (memory, memory_bytes.map(|limit| or_none(limit.map(Bytes)))),
            (pressure, memory_pressure.map(|pressure| percent(pressure.some))),
        ]
    }

    /// The same of a machine of which they were not recorded.
    pub fn unknown_in_words() -> [(&'static str, Fact<String>); 4] {
        NAMES.map(|name| (name, Fact::unknown("it was not recorded")))
    }
}

/// Of version 2, only groups whose parent passes the controller on have the file.
fn cpus(groups: &Groups) -> Fact<CpuList> {
    let name = match groups.version {
        Version::One => "cpuset.effective_cpus",
        Version::Two => "cpuset.cpus.effective",
    };
    groups.each(|folder| groups.line(folder, name)).and_then(|lists| match lists.first() {
        Some(list) => list.parse().map_err(|_| format!("`{list}` is no list of CPUs")).into(),
        None => Fact::unknown("no control group has a list of CPUs"),
    })
}

fn memory_limit(groups: &Groups) -> Fact<Option<u64>> {
    let name = match groups.version {
        Version::One => "memory.limit_in_bytes",
        Version::Two => "memory.max",
    };
    let limit = |text: String| match text.as_str() {
        "max" => Fact::Known(None),
        text => Fact::from(text.parse().map_err(|_| format!("`{text}` is no memory limit")))
            .map(|limit| Some(limit).filter(|limit| *limit < UNLIMITED)),
    };
    let of = |folder: &str| {
        groups.line(folder, name).and_then(|text| text.map_or(Fact::Known(None), limit))
    };
    groups.each(of).map(|limits| limits.into_iter().min())
}

fn memory_pressure(groups: &Groups) -> Fact<MemoryPressure> {
    if groups.version == Version::One {
        return Fact::unknown("control groups of version 1 do not count it");
    }
    let first = groups.folders.first().map_or("", String::as_str);
    groups.line(first, "memory.pressure").and_then(|text| {
        let percent = text.as_deref().and_then(|text| {
            let some = text.lines().find_map(|line| line.strip_prefix("some avg10="))?;
            some.split_ascii_whitespace().next()?.parse::<f64>().ok()
        });
        let some = percent.map(|percent| MemoryPressure { some: percent / 100.0 });
        some.ok_or("the control group has no memory.pressure").into()
    })
}
