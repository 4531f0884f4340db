//! Which CPUs are hyperthreads of one core.

use std::collections::BTreeMap;
use std::io;

use crate::CpuList;

/// Socket and, within it, core: as the kernel numbers them.
pub type Core = (usize, usize);

/// The CPUs that a process may use, and their cores.
#[derive(Debug, Clone)]
pub struct Topology {
    allowed: CpuList,
    cores: BTreeMap<usize, Core>,
}

impl Topology {
    /// Of this process and machine. A virtual machine may tell what is not so.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn of_this_process() -> io::Result<Self> {
        Ok(Self::new(CpuList::allowed()?, place))
    }

    /// `core` has socket and core of a CPU; a CPU without is a core of its own.
    pub fn new(allowed: CpuList, core: impl Fn(usize) -> Option<Core>) -> Self {
        let cores = allowed.as_slice().iter().filter_map(|&cpu| Some((cpu, core(cpu)?))).collect();
        Self { allowed, cores }
    }

    /// The CPUs that the process may use.
    pub fn allowed(&self) -> &CpuList {
        &self.allowed
    }

    /// The core of a CPU.
    pub fn core(&self, cpu: usize) -> Core {
        self.cores.get(&cpu).copied().unwrap_or((0, usize::MAX - cpu))
    }
}

impl From<CpuList> for Topology {
    /// Of CPUs of which each is a core.
    fn from(allowed: CpuList) -> Self {
        Self::new(allowed, |_| None)
    }
}

fn place(cpu: usize) -> Option<Core> {
    let number = |name: &str| -> Option<usize> {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/{name}");
        std::fs::read_to_string(path).ok()?.trim().parse().ok()
    };
    Some((number("physical_package_id")?, number("core_id")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_that_is_not_there_has_no_place() {
        assert_eq!(place(100_000), None);
    }
}
