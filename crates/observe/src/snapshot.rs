use std::collections::BTreeMap;

use rustix::param::clock_ticks_per_second;
use units::Nanos;

use crate::pid_stat::PidStat;
use crate::{CoreTicks, Fact, Root, parse_proc_stat};

/// CPU time of all CPUs and all processes until one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    cores: Fact<BTreeMap<usize, CoreTicks>>,
    /// By number and start, which together are never given twice.
    processes: BTreeMap<(u32, u64), Process>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    name: String,
    ticks: u64,
}

impl Snapshot {
    pub fn take(root: &Root) -> Self {
        let cores = root.text("/proc/stat").and_then(|text| parse_proc_stat(&text).into());
        let pids = root.numbered("/proc", "");
        let process = |pid: usize| {
            // A process that has ended meanwhile has no file.
            let text = root.text(&format!("/proc/{pid}/stat")).known()?.clone();
            let stat = PidStat::parse(&text).ok()?;
            let name = text.split_once('(')?.1.rsplit_once(')')?.0.to_owned();
            let ticks = stat.user_ticks + stat.system_ticks;
            Some(((u32::try_from(pid).ok()?, stat.start_ticks), Process { name, ticks }))
        };
        Self { cores, processes: pids.into_iter().filter_map(process).collect() }
    }

    /// What each CPU did since `earlier`; `None` where that is not known.
    #[must_use]
    pub fn cores_since(&self, earlier: &Self) -> Option<BTreeMap<usize, CoreTicks>> {
        let (now, then) = (self.cores.known()?, earlier.cores.known()?);
        let passed = |(cpu, ticks): (&usize, &CoreTicks)| Some((*cpu, ticks.since(then.get(cpu)?)));
        Some(now.iter().filter_map(passed).collect())
    }

    /// The programs that ran since `earlier` with their ticks, those of one name together, the
    /// busiest first. Those of the processes `without` are left out.
    #[must_use]
    pub fn programs_since(&self, earlier: &Self, without: &[u32]) -> Vec<(String, u64)> {
        let mut programs: BTreeMap<&str, u64> = BTreeMap::new();
        for (key, process) in self.processes.iter().filter(|((pid, _), _)| !without.contains(pid)) {
            let before = earlier.processes.get(key).map_or(0, |process| process.ticks);
            *programs.entry(&process.name).or_default() += process.ticks.saturating_sub(before);
        }
        let mut programs: Vec<(String, u64)> = programs
            .into_iter()
            .filter(|(_, ticks)| *ticks > 0)
            .map(|(name, ticks)| (name.to_owned(), ticks))
            .collect();
        programs.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
        programs
    }

    /// The same with the CPU time of each, to the tick of 10 ms.
    #[must_use]
    pub fn programs_cpu_since(&self, earlier: &Self, without: &[u32]) -> Vec<(String, Nanos)> {
        let tick = 1_000_000_000 / clock_ticks_per_second();
        let programs = self.programs_since(earlier, without).into_iter();
        programs.map(|(name, ticks)| (name, Nanos(ticks * tick))).collect()
    }
}
