//! How many files a process has open, and how many it may have.

use procfs::ProcResult;
use procfs::process::{LimitValue, Process};
use serde::{Deserialize, Serialize};

/// The descriptors of a process (getrlimit(2), `RLIMIT_NOFILE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenDescriptors {
    /// Open now.
    pub open: u64,
    /// The most that may be open.
    pub limit: u64,
}

/// The descriptors of the process `pid` now. Costs some tens of microseconds, and on kernels before
/// 6.2 as much again for each hundred that are open.
pub fn open_descriptors(pid: u32) -> ProcResult<OpenDescriptors> {
    let process = Process::new(pid.cast_signed())?;
    let limit = match process.limits()?.max_open_files.soft_limit {
        LimitValue::Value(limit) => limit,
        LimitValue::Unlimited => u64::MAX,
    };
    Ok(OpenDescriptors { open: process.fd_count()? as u64, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_counted() {
        let me = std::process::id();
        let files: Vec<_> = (0..100).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        let found = open_descriptors(me).unwrap();
        assert!(found.open >= files.len() as u64 && found.open <= found.limit, "{found:?}");
        assert!(open_descriptors(1 << 23).is_err());
    }
}
