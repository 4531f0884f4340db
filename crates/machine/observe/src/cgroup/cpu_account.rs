use units::Nanos;

use super::groups::Groups;
use super::mounts::Version;
use crate::{Fact, Root};

/// The account of CPU time of a control group: of all processes that are or were in it or in a group below.
#[derive(Debug, Clone)]
pub(crate) struct CpuAccount {
    root: Root,
    pub(super) version: Version,
    pub(super) folder: String,
}

impl CpuAccount {
    /// That of the group that a process is in.
    ///
    /// # Errors
    /// Why it is not seen here.
    pub(crate) fn of(root: &Root, pid: u32) -> Result<Self, String> {
        let groups = Groups::of(root, &pid.to_string(), CONTROLLER).or_why()?;
        let folder = groups.folders[0].clone();
        Ok(Self { root: root.clone(), version: groups.version, folder })
    }

    /// What it has counted, up to the last tick of those that run.
    pub(crate) fn used(&self) -> Option<Nanos> {
        match self.version {
            Version::One => {
                self.root.number(&format!("{}/cpuacct.usage", self.folder)).or_why().ok().map(Nanos)
            }
            Version::Two => {
                let text = self.root.text(&format!("{}/cpu.stat", self.folder));
                let used = text.known()?.lines().find_map(|line| line.strip_prefix("usage_usec "));
                used?.parse::<u64>().ok().map(|us| Nanos(us.saturating_mul(1_000)))
            }
        }
    }

    /// Whether a process is in the group or below it.
    pub(crate) fn has(&self, pid: u32) -> bool {
        let groups = Groups::of(&self.root, &pid.to_string(), CONTROLLER);
        groups.known().is_some_and(|groups| groups.folders.contains(&self.folder))
    }

    /// Whether this is true of all processes that are in the group and in those below; no, where they are not seen.
    pub(crate) fn holds_only(&self, is_known: &impl Fn(u32) -> bool) -> bool {
        self.are_known(&self.folder, is_known)
    }

    fn are_known(&self, folder: &str, is_known: &impl Fn(u32) -> bool) -> bool {
        let Fact::Known(members) = self.root.text(&format!("{folder}/cgroup.procs")) else {
            return false;
        };
        let mut members = members.lines().map(str::parse);
        let below = || self.root.names(folder).into_iter().map(|name| format!("{folder}/{name}"));
        members.all(|pid| pid.is_ok_and(is_known))
            && below()
                .filter(|group| self.root.path(group).is_dir())
                .all(|group| self.are_known(&group, is_known))
    }
}

/// Of version 1; in version 2 each group has an account.
pub(super) const CONTROLLER: &str = "cpuacct";
