//! All that was seen of a trial beside the outcome of its load.

use std::time::Instant;

use observe::{
    CpuSeries, Fact, Holder, KernelTlsCounters, NamedThread, ObserveError, OpenDescriptors,
};

use crate::congestion::Connections;
use crate::connection_memory::ConnectionMemory;
use crate::evidence::Interface;
use crate::machine::OtherPrograms;
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
    /// Who else gets a part of what is sent to the server's address.
    pub(crate) sharers: Fact<Vec<Holder>>,
    /// What other programs did, from just before the window to just after it.
    pub(crate) programs: OtherPrograms,
    /// The CPUs that share a core with the server's.
    pub(crate) siblings: Vec<usize>,
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
    pub(crate) there: Option<Result<CpuSeries, ObserveError>>,
    pub(crate) core_hz: CoreHz,
    /// What server and ranks report of the load.
    pub(crate) reports: Reports,
    /// Whether somebody asked for the window to end early.
    pub(crate) interrupt: bool,
}

impl Observed {
    /// What the CPUs of the server's machine did, where that is another one, with the window by its clock.
    pub(crate) fn series_there(&self) -> Option<(&CpuSeries, (Instant, Instant))> {
        let series = self.there.as_ref()?.as_ref().ok()?;
        Some((series, self.readings.window_there()?))
    }
}
