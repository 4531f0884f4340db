//! What a line says that cannot have been measured.

use crate::trial_record::{CpuTimes, TrialRecord};

/// The kernel books a running thread's CPU time at its ticks, up to 10 ms apart, so what is read at a
/// window's ends may be a tick of each CPU too much.
const TICK_NS: u64 = 10_000_000;

impl TrialRecord {
    /// Why this cannot have been measured; `None` where that is not certain.
    pub fn contradiction(&self) -> Option<&'static str> {
        let has_ended_early = self.interrupted || self.load_error.is_some();
        (self.window_ns == 0 && !has_ended_early)
            .then_some("a window of 0 ns that was not interrupted")
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
