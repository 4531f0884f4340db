use rustix::process::{Resource, Rlimit, getrlimit};
use serde::{Deserialize, Serialize};

use crate::root::Root;
use crate::{Fact, InterruptTime, interrupt_time};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct System {
    /// The kernel's release, as of `uname -r`.
    pub kernel_release: Fact<String>,
    /// The distribution's name and version.
    pub distribution: Fact<String>,
    /// How many files this process may have open.
    pub descriptors: Fact<Descriptors>,
    /// The most that root can set a process's limit of open files to.
    pub descriptors_of_root: Fact<u64>,
    /// Whom the kernel charges the time of interrupts to.
    #[serde(default = "not_recorded")]
    pub interrupt_time: Fact<InterruptTime>,
}

/// Of a machine that an earlier toll described.
fn not_recorded() -> Fact<InterruptTime> {
    Fact::unknown("it was not recorded")
}

/// The limits of open files (getrlimit(2), `RLIMIT_NOFILE`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptors {
    /// The limit that holds now.
    pub soft: u64,
    /// What this process may raise it to.
    pub hard: u64,
}

impl System {
    pub(super) fn read(root: &Root) -> Self {
        Self {
            kernel_release: root.line("/proc/sys/kernel/osrelease"),
            distribution: distribution(root),
            descriptors: limits(),
            descriptors_of_root: root.number("/proc/sys/fs/nr_open"),
            interrupt_time: interrupt_time().clone(),
        }
    }
}

/// The value of `PRETTY_NAME`, with or without quotes (os-release(5)).
fn distribution(root: &Root) -> Fact<String> {
    let texts = ["/etc/os-release", "/usr/lib/os-release"].map(|file| root.text(file));
    let text = texts.iter().find_map(Fact::known).map_or("", String::as_str);
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    let value = value.map(|value| value.trim().trim_matches(['"', '\'']).to_owned());
    value.ok_or("no os-release names the distribution").into()
}

pub fn limits() -> Fact<Descriptors> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let [soft, hard] = [current, maximum].map(|limit| limit.unwrap_or(u64::MAX));
    Fact::Known(Descriptors { soft, hard })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pretty_name_loses_its_quotes() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::at(folder.path());
        std::fs::create_dir(root.path("/etc")).unwrap();
        let distribution = |text: &str| {
            std::fs::write(root.path("/etc/os-release"), text).unwrap();
            distribution(&root).known().cloned()
        };
        let debian = "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
        assert_eq!(distribution(debian).as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(distribution("PRETTY_NAME=Alpine").as_deref(), Some("Alpine"));
        assert_eq!(distribution("NAME=x"), None);
    }
}
