//! What control groups allow a process, and for how long they held it back.
//!
//! A group of the controllers `cpu`, `cpuset` and `memory` limits its processes and those of all groups below it
//! (the kernel's Documentation/admin-guide/cgroup-v2.rst, and cgroup-v1/ and scheduler/sched-bwc.rst for version 1).
//! So what counts of a process is the least that a group on its way to the root allows. A container is shown its own
//! group as the root: what limits the groups above that cannot be seen from within.

mod cpu_account;
mod cpu_quota;
mod groups;
mod limits;
mod mounts;
mod own_group;
#[cfg(test)]
mod tests;
mod throttling;

pub(crate) use cpu_account::CpuAccount;
pub use cpu_quota::CpuQuota;
pub use limits::{CgroupLimits, MemoryPressure};
pub(crate) use mounts::Mount;
pub use own_group::OwnGroup;
pub use throttling::{QuotaWatch, Throttled, Throttling};
