use procfs::{Current, Meminfo};
use serde::{Deserialize, Serialize};

use crate::Fact;
use crate::root::Root;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// What the kernel has to give, in bytes.
    pub total_bytes: Fact<u64>,
    /// The NUMA nodes with CPUs, ascending.
    pub numa_nodes: Fact<Vec<NumaNode>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumaNode {
    pub node: usize,
    /// Its CPUs, as a list such as `0-15,32-47`.
    pub cpus: String,
}

impl Memory {
    pub(super) fn read(root: &Root) -> Self {
        Self {
            total_bytes: Meminfo::current().map(|memory| memory.mem_total).into(),
            numa_nodes: numa_nodes(root),
        }
    }
}

fn numa_nodes(root: &Root) -> Fact<Vec<NumaNode>> {
    const FOLDER: &str = "/sys/devices/system/node";
    let node = |node: usize| {
        let cpus = root.line(&format!("{FOLDER}/node{node}/cpulist")).known()?.clone();
        Some(NumaNode { node, cpus })
    };
    let nodes: Vec<_> = root.numbered(FOLDER, "node").into_iter().filter_map(node).collect();
    if nodes.is_empty() {
        Fact::unknown(format_args!("{FOLDER} lists none"))
    } else {
        Fact::Known(nodes)
    }
}
