//! Whom the kernel charges the time of interrupts to.
//!
//! Receiving and sending over loopback is done in soft interrupts, on the time of whichever
//! process runs at that moment. A kernel with `CONFIG_IRQ_TIME_ACCOUNTING` takes that time out of
//! the process's; another one leaves it in. What else a CPU did can be computed only where it is
//! known which of the two this kernel does.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::Fact;
use crate::error::read;
use crate::pid_stat::parse_schedstat;
use crate::root::Root;

/// Whom the kernel charges the time of interrupts and their deferred work to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InterruptTime {
    /// Nobody: it is counted for the CPU alone.
    Apart,
    /// The process that was interrupted.
    InProcesses,
}

/// What this kernel does, by the configuration that it was built with and the line that it was
/// started with. Both stay as they are while it runs, so they are read once.
pub fn interrupt_time() -> &'static Fact<InterruptTime> {
    static FOUND: OnceLock<Fact<InterruptTime>> = OnceLock::new();
    FOUND.get_or_init(|| of(&Root::machine()))
}

/// `noirqtime` switches it off at the start (Documentation/admin-guide/kernel-parameters.txt).
fn of(root: &Root) -> Fact<InterruptTime> {
    root.kernel_config("IRQ_TIME_ACCOUNTING").map(|set| {
        // Where the line cannot be read, the default holds.
        let line = root.line("/proc/cmdline");
        let words = line.known().map_or("", String::as_str).split_ascii_whitespace();
        match set.as_deref() == Some("y") && !words.into_iter().any(|word| word == "noirqtime") {
            true => InterruptTime::Apart,
            false => InterruptTime::InProcesses,
        }
    })
}

/// The CPU time of the kernel's threads that do deferred interrupt work, `ksoftirqd/N`, by the CPU
/// that each is bound to; empty where this process does not see them, as in a container.
///
/// They do what is left over when interrupts leave no time for anything else: the time of a busy
/// network, and no program's.
pub fn softirq_threads() -> BTreeMap<usize, Nanos> {
    static PIDS: OnceLock<Vec<(usize, u32)>> = OnceLock::new();
    let time =
        |pid: &u32| Some(parse_schedstat(&read(format!("/proc/{pid}/schedstat")).ok()?).ok()?.0);
    let pids = PIDS.get_or_init(find_softirq_threads);
    pids.iter().filter_map(|(cpu, pid)| Some((*cpu, time(pid)?))).collect()
}

fn find_softirq_threads() -> Vec<(usize, u32)> {
    let Ok(processes) = std::fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter_map(|process| {
            let pid = process.file_name().to_str()?.parse().ok()?;
            // A program may take that name too; the kernel's threads have no command line.
            let name = read(process.path().join("comm")).ok()?;
            let cpu = name.trim().strip_prefix("ksoftirqd/")?.parse().ok()?;
            let is_kernels = read(process.path().join("cmdline")).ok()?.is_empty();
            is_kernels.then_some((cpu, pid))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const APART: &str = "# Linux 6.1\nCONFIG_NO_HZ=y\nCONFIG_IRQ_TIME_ACCOUNTING=y\n";
    const WITHIN: &str = "# Linux 6.1\nCONFIG_NO_HZ=y\n# CONFIG_IRQ_TIME_ACCOUNTING is not set\n";

    #[test]
    fn the_option_and_the_line_that_switches_it_off_decide() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        for (file, text) in [("/proc/sys/kernel/osrelease", "6.1.0\n"), ("/boot/config-6.1.0", "")]
        {
            std::fs::create_dir_all(root.path(file).parent().unwrap()).unwrap();
            std::fs::write(root.path(file), text).unwrap();
        }
        let by_config = |config: &str, command_line: &str| {
            std::fs::write(root.path("/boot/config-6.1.0"), config).unwrap();
            std::fs::write(root.path("/proc/cmdline"), command_line).unwrap();
            of(&root).known().copied()
        };
        assert_eq!(by_config(APART, "quiet"), Some(InterruptTime::Apart));
        assert_eq!(by_config(APART, "quiet noirqtime"), Some(InterruptTime::InProcesses));
        assert_eq!(by_config(WITHIN, "quiet"), Some(InterruptTime::InProcesses));
        assert_eq!(by_config("CONFIG_NO_HZ=y\n", ""), Some(InterruptTime::InProcesses));
        assert_eq!(by_config("", ""), None);
    }

    #[test]
    fn what_is_not_known_has_a_reason_of_one_line() {
        if let Fact::Unknown { not_available_here } = interrupt_time() {
            assert!(not_available_here.contains("configuration"), "{not_available_here}");
            assert_eq!(not_available_here.lines().count(), 1);
        }
    }

    #[test]
    fn the_kernels_threads_are_of_cpus_that_are_there() {
        let seen = softirq_threads();
        let stat = crate::parse_proc_stat(&read("/proc/stat").unwrap()).unwrap();
        // In a container there are none to be seen.
        assert!(seen.is_empty() || stat.keys().all(|cpu| seen.contains_key(cpu)), "{seen:?}");
    }
}
