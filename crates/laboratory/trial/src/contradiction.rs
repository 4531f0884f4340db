//! What a line says that cannot have been measured.

use crate::trial_record::{CpuTimes, TrialRecord};

/// The kernel books a running thread's CPU time at its ticks, up to 10 ms apart, so what is read at a
/// window's ends may be a tick of each CPU too much.
const TICK_NS: u64 = 10_000_000;

impl TrialRecord {
    /// Why this cannot have been measured; `None` where that is not certain.
    pub fn contradiction(&self) -> Option<String> {
        let has_ended_early = self.interrupted || self.load_error.is_some();
        if self.window_ns == 0 && !has_ended_early {
            return Some("a window of 0 ns that was not interrupted".to_owned());
        }
        if self.valid
            && let Some(fault) = self.faults().first()
        {
            return Some(format!(
                "it is marked valid, and is not: {}",
                self.fault_in_words(*fault)
            ));
        }
        self.wrong_rate()
    }

    /// Which rate does not follow from its count and the window.
    fn wrong_rate(&self) -> Option<String> {
        let followed = self.clone().with_rates();
        let bits = |line: &Self| line.goodput_bps.map(|rate| rate as f64);
        [
            ("rate_per_s", self.rate_per_s, followed.rate_per_s),
            ("goodput_bps", bits(self), bits(&followed)),
            ("connections_per_s", self.connections_per_s, followed.connections_per_s),
        ]
        .into_iter()
        .find_map(|(name, written, followed)| {
            let (written, followed) = (written?, followed?);
            // A rate may have been written with few digits.
            let is_near = (written - followed).abs() <= 1.0 + 0.01 * followed;
            (!is_near).then(|| {
                format!("{name} is {written}, and its counts and its window give {followed}")
            })
        })
    }

    /// Which side's CPU time is more than this many CPUs have within the window.
    pub fn excess_cpu_time(&self, cpus: usize) -> Option<String> {
        let CpuTimes { server, client, backend, .. } = self.cpu_ns;
        let client_cpus = match self.ranks.as_slice() {
            [] => cpus,
            ranks => ranks.iter().map(|rank| rank.cpus.len()).sum(),
        };
        let most =
            |cpus: usize| (cpus as u64).saturating_mul(self.window_ns.saturating_add(TICK_NS));
        [("server", server, cpus), ("client", client, client_cpus), ("backend", backend, cpus)]
            .into_iter()
            .find(|(_, used, cpus)| *used > Some(most(*cpus)))
            .map(|(who, _, cpus)| format!("more CPU time of the {who} than {cpus} CPUs can give"))
    }
}
