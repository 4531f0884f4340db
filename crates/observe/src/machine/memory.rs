use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::error::{ObserveError, read};

/// Main memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What the kernel has to give, in bytes.
    pub total_bytes: Fact<u64>,
    /// The NUMA nodes with CPUs, ascending.
    pub numa_nodes: Fact<Vec<NumaNode>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    /// Its number.
    pub node: usize,
    /// Its CPUs, as a list such as `0-15,32-47`.
    pub cpus: String,
}

impl Memory {
    pub(super) fn read() -> Self {
        Self { total_bytes: total().into(), numa_nodes: numa_nodes().into() }
    }
}

fn total() -> Result<u64, ObserveError> {
    total_in(&read("/proc/meminfo")?).ok_or_else(|| ObserveError::Malformed {
        file: "/proc/meminfo",
        what: "it has no line `MemTotal: … kB`".into(),
    })
}

/// The kernel writes kB and means KiB.
fn total_in(meminfo: &str) -> Option<u64> {
    let value = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    value.trim().strip_suffix("kB")?.trim_end().parse::<u64>().ok()?.checked_mul(1024)
}

fn numa_nodes() -> Result<Vec<NumaNode>, ObserveError> {
    const FOLDER: &str = "/sys/devices/system/node";
    let failed = |source| ObserveError::Unreadable { path: FOLDER.into(), source };
    let mut nodes = Vec::new();
    for entry in std::fs::read_dir(FOLDER).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("node")?.parse().ok());
        let Some(node) = number else { continue };
        let cpus = read(entry.path().join("cpulist"))?.trim().to_owned();
        nodes.push(NumaNode { node, cpus });
    }
    nodes.sort_by_key(|node| node.node);
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_in_bytes() {
        assert_eq!(total_in("MemFree: 1 kB\nMemTotal:   2048 kB\n"), Some(2 << 20));
        for text in ["", "MemTotal: x kB", "MemTotal: 5", "MemTotal: 18446744073709551615 kB"] {
            assert_eq!(total_in(text), None, "{text}");
        }
    }
}
