//! All that was seen of a trial beside the outcome of its load.

use std::collections::BTreeMap;
use std::time::Instant;

use observe::{
    CoreShares, CpuSeries, Fact, InterruptTime, KernelTlsCounters, NamedThread, ObserveError,
    OpenDescriptors,
};
use units::Nanos;

use crate::congestion::Connections;
use crate::connection_memory::ConnectionMemory;
use crate::evidence::Interface;
use crate::machine::RemoteSamples;
use crate::reading::{CoreHz, ProcessesChanged, Readings};
use crate::reports::Reports;

/// What was seen; nothing here is judged.
pub(crate) struct Observed {
    pub(crate) started_unix_ms: u64,
    pub(crate) started: Instant,
    pub(crate) ended: Instant,
    pub(crate) readings: Readings,
    pub(crate) server_change: Option<ProcessesChanged>,
    pub(crate) server_descriptors: Option<OpenDescriptors>,
    /// Those of the server that may serve.
    pub(crate) server_threads: Vec<NamedThread>,
    /// The CPU time of other programs, from the warm-up to the window's end, the busiest first.
    pub(crate) programs: Vec<(String, Nanos)>,
    /// The CPUs that share a core with the server's.
    pub(crate) siblings: Vec<usize>,
    /// Where the kernel counts the time of interrupts, if that is known.
    pub(crate) interrupt_time: Option<InterruptTime>,
    pub(crate) interfaces: Vec<Interface>,
    /// What connections took of the server's memory.
    pub(crate) connection_memory: Option<ConnectionMemory>,
    /// What the processors took while the server waited, in watts.
    pub(crate) idle_watts: Option<f64>,
    /// What the kernel encrypted by itself from before the load to after it.
    pub(crate) kernel_tls: Fact<KernelTlsCounters>,
    /// What connections had for congestion control.
    pub(crate) connections: Connections,
    pub(crate) series: Result<CpuSeries, ObserveError>,
    /// Of the server's machine, where that is another one.
    pub(crate) there: Option<RemoteSamples>,
    pub(crate) core_hz: CoreHz,
    /// What server and ranks report of the load.
    pub(crate) reports: Reports,
    /// Whether somebody asked for the window to end early.
    pub(crate) interrupt: bool,
}

impl Observed {
    pub(crate) fn shares(&self) -> BTreeMap<usize, CoreShares> {
        self.series
            .as_ref()
            .map(|series| series.shares(self.started, self.ended))
            .unwrap_or_default()
    }

    /// Of the CPUs of the server's machine, where that is another one.
    pub(crate) fn shares_there(&self) -> BTreeMap<usize, CoreShares> {
        self.series_there().map(|(series, (from, to))| series.shares(from, to)).unwrap_or_default()
    }

    /// With the window by the clock of that machine.
    pub(crate) fn series_there(&self) -> Option<(&CpuSeries, (Instant, Instant))> {
        let series = self.there.as_ref()?.series.as_ref().ok()?;
        Some((series, self.readings.window_there()?))
    }
}
