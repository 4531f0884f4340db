//! Where a server's CPU time goes, by class of work.

use std::collections::BTreeMap;

use observe::Fact;
use profile::{Class, Event, Profile};
use serde::Serialize;
use study::Metric;

use super::row::Row;

/// The samples of one cell. They come from trials of their own, whose rates are in no figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cycles {
    pub event: Event,
    /// Samples of the server's processes.
    pub samples: u64,
    /// Shares of these samples, from 0 to 1.
    pub shares: BTreeMap<Class, f64>,
    /// CPU time by class for one operation, in ns: the share of what the measured trials took.
    pub ns_per_operation: BTreeMap<Class, f64>,
    /// The same for one byte of bodies, in ns; empty where there are none.
    pub ns_per_byte: BTreeMap<Class, f64>,
    /// Samples of kernel threads beside each sample of the server, by thread.
    pub kernel_threads: BTreeMap<String, f64>,
    /// Calls of futex(2) for each operation: how often its threads waited for each other or woke each other.
    pub futex_calls_per_operation: Fact<f64>,
    /// Why the shares are not reliable, a clause each.
    pub doubts: Vec<String>,
    /// Whether the server's code hides its callers from the rules.
    pub lacks_frame_pointers: bool,
}

impl Cycles {
    /// `None` where nothing was sampled.
    pub(super) fn of(trials: &Row) -> Option<Self> {
        let profile = trials.profiles.iter().cloned().reduce(Profile::and)?;
        let samples = profile.samples();
        let shares: BTreeMap<Class, f64> = profile
            .server
            .keys()
            .filter_map(|class| Some((*class, profile.share(*class)?)))
            .collect();
        let spread = |metric: Metric| match trials.figure(metric) {
            Some(figure) => {
                let whole = figure.median();
                shares.iter().map(|(class, share)| (*class, share * whole)).collect()
            }
            None => BTreeMap::new(),
        };
        let beside = |count: &u64| *count as f64 / samples.max(1) as f64;
        Some(Self {
            event: profile.event,
            samples,
            ns_per_operation: spread(Metric::ServerCpuPerOperation),
            // A second for a gigabyte is a nanosecond for a byte.
            ns_per_byte: spread(Metric::ServerCpuPerGigabyte),
            kernel_threads: profile
                .kernel_threads
                .iter()
                .map(|(name, count)| (name.clone(), beside(count)))
                .collect(),
            futex_calls_per_operation: profile.futexes.clone().and_then(|of| {
                let each = of.per_operation();
                each.map_or_else(|| Fact::unknown("no operation ended meanwhile"), Fact::Known)
            }),
            doubts: profile.doubts(),
            lacks_frame_pointers: profile.lacks_frame_pointers,
            shares,
        })
    }
}
