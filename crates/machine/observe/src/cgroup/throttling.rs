use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::cpu_quota::CpuQuota;
use super::groups::Groups;
use super::mounts::{Mount, Version};
use crate::{Fact, Root};

/// The groups with a CPU quota that processes are in, to be read again and again.
///
/// Groups are as they were when they were [found](Self::of): a quota that is set or changed later is seen when they
/// are found again. Most processes have none, and reading that costs nothing.
#[derive(Debug, Clone)]
pub struct QuotaWatch {
    limited: Vec<(Groups, String, CpuQuota)>,
}

/// How often and how long quotas have held groups back until one moment, by the folder of each group.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttling(BTreeMap<String, GroupThrottling>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct GroupThrottling {
    quota: CpuQuota,
    periods: u64,
    time: Nanos,
}

/// What the quota did between two moments that held a process back most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Throttled {
    /// The folder of its group.
    pub group: String,
    pub quota: CpuQuota,
    /// The periods in which it was used up.
    pub periods: u64,
    /// For how long the group was stopped, summed over CPUs. The kernel counts a stop when it ends, so this is up to
    /// a period off at each moment.
    pub time: Nanos,
}

impl QuotaWatch {
    /// Those of processes of this machine, by their numbers.
    pub fn of(pids: impl IntoIterator<Item = u32>) -> Self {
        Self::within(&Root::machine(), pids)
    }

    pub(super) fn within(root: &Root, pids: impl IntoIterator<Item = u32>) -> Self {
        let of_process = |pid: u32| Groups::text(root, &pid.to_string()).or_why().ok();
        let places: BTreeSet<String> = pids.into_iter().filter_map(of_process).collect();
        let mounts = Mount::text(root).or_why().unwrap_or_default();
        let mut limited: BTreeMap<String, (Groups, CpuQuota)> = BTreeMap::new();
        // What cannot be read is not known to be a limit; `CgroupLimits` has the reason.
        for groups in places.iter().filter_map(|of| Groups::find(root, "cpu", of, &mounts).ok()) {
            for folder in &groups.folders {
                if let Fact::Known(Some(quota)) = CpuQuota::of(&groups, folder) {
                    limited.insert(folder.clone(), (groups.clone(), quota));
                }
            }
        }
        let limited = limited.into_iter().map(|(folder, (groups, quota))| (groups, folder, quota));
        Self { limited: limited.collect() }
    }

    pub fn read(&self) -> Throttling {
        let of = |(groups, folder, quota): &(Groups, String, CpuQuota)| {
            let text = groups.line(folder, "cpu.stat").known()?.clone()?;
            let count = |name: &str| {
                let value =
                    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
                value.and_then(|value| value.parse::<u64>().ok())
            };
            let time = match groups.version {
                Version::One => count("throttled_time")?,
                Version::Two => count("throttled_usec")?.saturating_mul(1_000),
            };
            let periods = count("nr_throttled")?;
            Some((folder.clone(), GroupThrottling { quota: *quota, periods, time: Nanos(time) }))
        };
        Throttling(self.limited.iter().filter_map(of).collect())
    }
}

impl Throttling {
    /// Of the groups that were read at both moments, the one that was stopped for longest since `earlier`; where none
    /// was, the one with the tightest quota. `None` where none has a quota.
    pub fn since(&self, earlier: &Self) -> Option<Throttled> {
        let both = self.0.iter().filter_map(|(group, now)| {
            let before = earlier.0.get(group)?;
            Some(Throttled {
                group: group.clone(),
                quota: now.quota,
                periods: now.periods.saturating_sub(before.periods),
                time: Nanos(now.time.0.saturating_sub(before.time.0)),
            })
        });
        both.max_by(|a, b| {
            let tighter = || b.quota.cpus().total_cmp(&a.quota.cpus());
            a.time.cmp(&b.time).then_with(tighter)
        })
    }
}
