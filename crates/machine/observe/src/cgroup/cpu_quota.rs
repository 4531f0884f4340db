use std::fmt;
use std::num::NonZeroU64;

use serde::{Deserialize, Serialize};
use units::Nanos;

use super::groups::Groups;
use super::mounts::Version;
use crate::Fact;

/// How much CPU time the processes of a group have in each period, all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuQuota {
    quota_us: u64,
    period_us: NonZeroU64,
}

impl CpuQuota {
    /// In CPUs: 0.5 is half of one.
    pub fn cpus(self) -> f64 {
        self.quota_us as f64 / self.period_us.get() as f64
    }

    /// Of one group; `None` where it sets none.
    pub(super) fn of(groups: &Groups, folder: &str) -> Fact<Option<Self>> {
        match groups.version {
            Version::One => groups.line(folder, "cpu.cfs_quota_us").and_then(|quota| {
                groups.line(folder, "cpu.cfs_period_us").and_then(|period| {
                    let text = quota.zip(period).map(|(quota, period)| format!("{quota} {period}"));
                    Self::parse(text.as_deref(), "-1").into()
                })
            }),
            Version::Two => groups
                .line(folder, "cpu.max")
                .and_then(|text| Self::parse(text.as_deref(), "max").into()),
        }
    }

    fn parse(text: Option<&str>, none: &str) -> Result<Option<Self>, String> {
        let Some((quota, period)) = text.and_then(|text| text.split_once(' ')) else {
            return text.map_or(Ok(None), |text| Err(malformed(text)));
        };
        if quota == none {
            return Ok(None);
        }
        let both = quota.parse().ok().zip(period.parse().ok());
        let (quota_us, period_us) = both.ok_or_else(|| malformed(&format!("{quota} {period}")))?;
        Ok(Some(Self { quota_us, period_us }))
    }

    /// The tightest of some.
    pub(super) fn tightest(quotas: impl IntoIterator<Item = Self>) -> Option<Self> {
        quotas.into_iter().min_by(|a, b| a.cpus().total_cmp(&b.cpus()))
    }
}

fn malformed(text: &str) -> String {
    format!("`{text}` is no CPU quota")
}

impl fmt::Display for CpuQuota {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = |us: u64| Nanos(us.saturating_mul(1_000));
        let (quota, period) = (nanos(self.quota_us), nanos(self.period_us.get()));
        write!(f, "{:.2} CPUs ({quota} in each {period})", self.cpus())
    }
}
