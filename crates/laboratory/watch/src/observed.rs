//! What was seen of a server, and which part of its calls was counted.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use observe::{Fact, SentBytes};
use profile::CallStack;

use crate::calls::{Call, Tally};
use crate::image::Mapping;
use crate::sort::Sorted;

/// What was seen of a server.
pub(crate) struct Observed {
    pub(crate) window: Duration,
    /// Why it was not watched for as long as asked.
    pub(crate) ended: Option<String>,
    pub(crate) cpu_s: Fact<f64>,
    /// How many samples each line has, in each part of the window.
    pub(crate) blocks: Vec<BTreeMap<Sorted, u64>>,
    pub(crate) stacks: HashMap<CallStack, u64>,
    pub(crate) lost: u64,
    pub(crate) calls: Result<BTreeMap<Call, Tally>, String>,
    pub(crate) counted: Option<CountedUntil>,
    pub(crate) sent: Fact<SentBytes>,
    /// The CPUs on which it was seen, and those that it may use where these are not all.
    pub(crate) cpus: BTreeSet<usize>,
    pub(crate) threads_left_out: usize,
    /// Processes that began within the window.
    pub(crate) new_processes: usize,
    pub(crate) hides_kernel: bool,
    pub(crate) libraries: Vec<Mapping>,
    /// What toll itself used of the CPUs meanwhile.
    pub(crate) own_cpu_s: f64,
}

/// Where in the window counting of calls ended, if it ended before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CountedUntil {
    pub(crate) time: Duration,
    /// Connections that had ended until then, by TCP; 0 where these are not counted.
    pub(crate) ended: u64,
}

/// With at least this many ended connections they say better than the time how much of the window's traffic was before.
pub(crate) const ENOUGH_ENDED: u64 = 100;

impl Observed {
    /// All that were not lost.
    pub(crate) fn samples(&self) -> u64 {
        self.blocks.iter().flat_map(BTreeMap::values).sum()
    }

    /// Which part of the window's calls was counted: that of the connections that ended meanwhile, where these are known
    /// and enough, else that of the time. `None`: all of them.
    pub(crate) fn counted_part(&self) -> Option<f64> {
        let CountedUntil { time, ended } = self.counted?;
        let sent = self.sent.known().filter(|sent| ended >= ENOUGH_ENDED && !sent.is_short);
        Some(sent.map_or_else(
            || time.as_secs_f64() / self.window.as_secs_f64(),
            |sent| ended as f64 / sent.connections as f64,
        ))
    }
}
