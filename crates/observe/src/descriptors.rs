//! How many files a process has open, and how many it may have.

use crate::error::{ObserveError, read};

/// The descriptors of a process (getrlimit(2), `RLIMIT_NOFILE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenDescriptors {
    /// Open now.
    pub open: u64,
    /// So many may be open.
    pub limit: u64,
}

/// The descriptors of the process `pid` now. Costs some tens of microseconds, and on kernels before
/// 6.2 as much again for each hundred that are open.
pub fn open_descriptors(pid: u32) -> Result<OpenDescriptors, ObserveError> {
    let limits = read(format!("/proc/{pid}/limits"))?;
    let limit = limit(&limits).ok_or_else(|| ObserveError::Malformed {
        file: "/proc/PID/limits",
        what: "it has no limit of open files".into(),
    })?;
    let folder = format!("/proc/{pid}/fd");
    let failed = |source| ObserveError::Unreadable { path: folder.clone().into(), source };
    // Since Linux 6.2 the folder's size is the number of its entries.
    let open = match std::fs::metadata(&folder).map_err(failed)?.len() {
        0 => std::fs::read_dir(&folder).map_err(failed)?.count() as u64,
        size => size,
    };
    Ok(OpenDescriptors { open, limit })
}

/// The soft limit in the text of `/proc/PID/limits` (proc_pid_limits(5)).
fn limit(limits: &str) -> Option<u64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_ascii_whitespace().next()?.parse().ok()
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

    #[test]
    fn the_soft_limit_is_the_first_number() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
            Max cpu time              unlimited            unlimited            seconds   \n\
            Max open files            1024                 20000                files     \n";
        assert_eq!(limit(text), Some(1024));
        assert_eq!(limit("Max cpu time unlimited\n"), None);
    }
}
