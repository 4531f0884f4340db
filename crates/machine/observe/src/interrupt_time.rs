//! Whom the kernel charges the time of interrupts to.
//!
//! Receiving and sending over loopback is done in soft interrupts, on the time of whichever
//! process runs at that moment. A kernel with `CONFIG_IRQ_TIME_ACCOUNTING` takes that time out of
//! the process's; another one leaves it in. What else a CPU did can be computed only where it is
//! known which of the two this kernel does.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::Fact;
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
pub(crate) fn of(root: &Root) -> Fact<InterruptTime> {
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

/// The kernel's threads that do deferred interrupt work, `ksoftirqd/N`, by the CPU that each is bound to; none where
/// this process does not see them, as in a container.
///
/// They do what is left over when interrupts leave no time for anything else: the time of a busy
/// network, and no program's.
pub(crate) fn softirq_threads(root: &Root) -> Vec<(usize, u32)> {
    let pids = root.numbered("/proc", "").into_iter();
    pids.filter_map(|pid| {
        let name = root.line(&format!("/proc/{pid}/comm"));
        let cpu = name.known()?.strip_prefix("ksoftirqd/")?.parse().ok()?;
        // A program may take that name too; the kernel's threads have no command line.
        let is_kernels = root.line(&format!("/proc/{pid}/cmdline")).known()?.is_empty();
        is_kernels.then_some((cpu, u32::try_from(pid).ok()?))
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
        let seen = softirq_threads(&Root::machine());
        let stat = std::fs::read_to_string("/proc/stat").unwrap();
        let stat = crate::parse_proc_stat(&stat).unwrap();
        let is_seen = |cpu: &usize| seen.iter().any(|(of, _)| of == cpu);
        // In a container there are none to be seen.
        assert!(seen.is_empty() || stat.keys().all(is_seen), "{seen:?}");
    }
}
