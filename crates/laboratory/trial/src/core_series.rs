//! What each CPU did over a trial's window.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use cpus::CpuList;
use observe::{CoreShares, CpuSeries};

use crate::observed::Observed;
use crate::trial::{STEP, Trial};
use crate::trial_record::CoreSeries;

/// How many steps the record of a window's CPU time has at most.
const SERIES_STEPS: u32 = 10;

impl Trial {
    /// What each CPU did: step by step those of server and client, the others over the whole window.
    /// Where the server's are not known, all step by step.
    pub(crate) fn series(&self, observed: &Observed) -> Vec<CoreSeries> {
        let Ok(series) = &observed.series else { return Vec::new() };
        let server = self.server_cpus.as_ref().filter(|_| observed.there.is_none());
        let is_of_interest = |cpu: &usize| match server {
            Some(server) => {
                let mut lists = [Some(server), self.client_cpus()].into_iter().flatten();
                lists.any(|cpus| cpus.as_slice().contains(cpu))
            }
            None => observed.there.is_none() || self.job.plan.cpus.as_slice().contains(cpu),
        };
        core_series(series, (observed.started, observed.ended), &is_of_interest)
    }

    /// The same of the server's machine, where that is another one.
    pub(crate) fn series_there(&self, observed: &Observed) -> Vec<CoreSeries> {
        let Some((series, window)) = observed.series_there() else { return Vec::new() };
        let server = self.server_cpus.as_ref().map_or(&[][..], CpuList::as_slice);
        core_series(series, window, &|cpu| server.contains(cpu))
    }
}

/// What each CPU did: those of interest step by step, the others over the whole window.
fn core_series(
    series: &CpuSeries,
    (from, to): (Instant, Instant),
    is_of_interest: &dyn Fn(&usize) -> bool,
) -> Vec<CoreSeries> {
    let window = to.saturating_duration_since(from);
    let steps = (window.as_nanos() / STEP.as_nanos()).clamp(1, SERIES_STEPS.into()) as u32;
    let step = window / steps;
    let mut all: BTreeMap<usize, CoreSeries> = BTreeMap::new();
    let mut add = |from: Instant, length: Duration, is_wanted: &dyn Fn(&usize) -> bool| {
        for (cpu, shares) in series.shares(from, from + length) {
            if is_wanted(&cpu) {
                let core = all.entry(cpu).or_default();
                core.cpu = cpu;
                core.push(length, &shares);
            }
        }
    };
    for i in 0..steps {
        add(from + step * i, step, is_of_interest);
    }
    add(from, window, &|cpu| !is_of_interest(cpu));
    all.into_values().collect()
}

impl CoreSeries {
    fn push(&mut self, step: Duration, shares: &CoreShares) {
        let rounded = |share: f64| (share * 1e3).round() / 1e3;
        self.step_ns.push(u64::try_from(step.as_nanos()).unwrap_or(u64::MAX));
        self.user.push(rounded(shares.user));
        self.system.push(rounded(shares.system));
        self.softirq.push(rounded(shares.softirq + shares.irq));
        self.steal.push(rounded(shares.steal));
        self.idle.push(rounded(shares.idle));
    }
}
