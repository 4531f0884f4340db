//! One trial: the load and the observation of the machine over the same window.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use cpus::CpuList;
use load::{Engine, Job, Latencies, Outcome, Progress};
use observe::{KernelTlsCounters, ObserveError, OpenDescriptors};
use peers::PeerReport;
use tls::CertificateKey;
use units::Nanos;

use crate::account::Observed;
use crate::line::{CoreHz, Line};
use crate::machine::Machine;
use crate::reading::Readings;
use crate::receipt::RunsOn;
use crate::warning::Neighbours;

/// How often a trial looks up: for an interrupt, and to report its progress.
pub(crate) const STEP: Duration = Duration::from_millis(100);

/// How long before the window's end the load threads are read once more, for the case that they end
/// with it.
const BEFORE_END: Duration = Duration::from_millis(2);

/// What is loaded, by what, and what is known of both.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The load.
    pub job: Job,
    /// The kind of key that the server was given, where that is known.
    pub certificate_key: Option<CertificateKey>,
    /// The server's CPUs, where it runs on this machine and is known.
    pub server_cpus: Option<CpuList>,
    /// The CPUs of the server's backend, where that is accounted for apart.
    pub backend_cpus: Option<CpuList>,
    /// Where server and client run relative to each other.
    pub neighbours: Neighbours,
    /// What the server was to run on and what it runs on, where toll started it.
    pub runs_on: Option<RunsOn>,
    /// Why the server's objects are not in memory, where they are not.
    pub objects_on_disk: Option<String>,
    /// Where the server was warmed up but did not become steady.
    pub not_steady: Option<NotSteady>,
    /// How far the next larger load of a search was above its limit, as a share of the limit.
    pub beyond_limit: Option<f64>,
    /// Where the caller writes the latencies, by its path in the result folder.
    pub latency_file: Option<String>,
}

/// A server whose rate still changed when its warm-up was over.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct NotSteady {
    /// How long it was warmed up.
    pub after: Nanos,
    /// How far the last slices lay apart, as a share of their median; `None` where it completed
    /// next to nothing.
    pub spread: Option<f64>,
}

/// A load that runs. [`Engine`] is the real one.
pub trait Load {
    /// When the window begins, and when it is planned to end.
    fn window(&self) -> (Instant, Instant);
    /// The kernel's ids of its threads.
    fn thread_ids(&self) -> Vec<i32>;
    /// What it has done so far.
    fn progress(&self) -> Progress;
    /// Whether it has ended by itself.
    fn is_finished(&self) -> bool;
    /// Ends the window now.
    fn stop(&self);
    /// Waits for its end, a second or so. `Some` where another program made the load.
    fn join(self) -> (Outcome, Option<PeerReport>);
}

impl Load for Engine {
    fn window(&self) -> (Instant, Instant) {
        self.window()
    }

    fn thread_ids(&self) -> Vec<i32> {
        self.thread_ids()
    }

    fn progress(&self) -> Progress {
        self.progress()
    }

    fn is_finished(&self) -> bool {
        self.is_finished()
    }

    fn stop(&self) {
        self.stop();
    }

    fn join(self) -> (Outcome, Option<PeerReport>) {
        (self.join(), None)
    }
}

/// What a trial needs from its caller.
pub struct Hooks<'a> {
    /// Set to end the window early.
    pub interrupt: &'a AtomicBool,
    /// Called about every 100 ms.
    pub progress: &'a mut dyn FnMut(Moment),
    /// Called when the load has ended: why the server is no longer the one that was started.
    pub check_target: &'a mut dyn FnMut() -> Result<(), String>,
}

/// How far a trial is.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    /// How much of the window is over; zero in the warm-up.
    pub elapsed: Duration,
    /// The length of the window.
    pub window: Duration,
    /// What the load has done within the window.
    pub progress: Progress,
}

/// What a trial gave.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Its line in the journal.
    pub line: Line,
    /// What its percentiles were taken from.
    pub latencies: Latencies,
    /// How long those had taken that were under way when the window ended.
    pub under_way: Latencies,
}

impl Trial {
    /// Of a server about which nothing is known but its CPUs.
    #[must_use]
    pub fn new(job: Job, server_cpus: Option<CpuList>, neighbours: Neighbours) -> Self {
        Self {
            job,
            certificate_key: None,
            server_cpus,
            backend_cpus: None,
            neighbours,
            runs_on: None,
            objects_on_disk: None,
            not_steady: None,
            beyond_limit: None,
            latency_file: None,
        }
    }

    /// Runs the trial and judges it. The window ends early where `hooks.interrupt` is set or the
    /// load ends by itself; the line then holds what was measured until then.
    ///
    /// # Errors
    /// That of `start`, before anything was sent.
    pub fn run<L: Load, E>(
        &self,
        machine: &mut impl Machine,
        hooks: &mut Hooks<'_>,
        start: impl FnOnce(Job) -> Result<L, E>,
    ) -> Result<Measured, E> {
        let core = self.server_cpus.as_ref().unwrap_or(&self.job.plan.cpus).as_slice()[0];
        let before = machine.core_hz(core);
        machine.find_links(self.job.address.ip());
        let kernel_tls = machine.kernel_tls();
        let load = start(self.job.clone())?;
        let window = load.window();
        let threads = load.thread_ids();

        machine.start_series(STEP);
        wait_until(window.0, window, &load, machine, hooks, &mut |_| {});
        machine.find_server();
        let started_unix_ms = machine.unix_ms();
        let started = machine.now();
        let mut readings = Readings::begin(machine.read(&threads));
        // Looked at within the window: at its end the load lets its connections go.
        let mut server_descriptors: Option<OpenDescriptors> = None;
        let mut read = |machine: &_| {
            readings.advance(Machine::read(machine, &threads));
            let both = server_descriptors.into_iter().chain(Machine::server_descriptors(machine));
            server_descriptors = both.min_by_key(|files| files.limit.saturating_sub(files.open));
        };
        wait_until(window.1 - BEFORE_END, window, &load, machine, hooks, &mut read);
        wait_until(window.1, window, &load, machine, hooks, &mut read);
        read(machine);
        let ended = machine.now();
        let server_change = machine.server_change();
        if server_change.is_some() {
            readings.forget_server();
        }

        // The load shrinks, which is not counted.
        let over = window.1 + Duration::from(self.job.plan.ramp);
        wait_until(over, window, &load, machine, hooks, &mut |_| {});
        load.stop();
        let (outcome, peer) = load.join();
        let series = machine.take_series();
        let kernel_tls = kernel_tls_since(kernel_tls, machine.kernel_tls());
        let target_error = (hooks.check_target)().err();
        let core_hz = CoreHz { before, after: machine.core_hz(core) };
        let observed = Observed {
            started_unix_ms,
            started,
            ended,
            readings,
            server_change,
            server_descriptors,
            siblings: self
                .server_cpus
                .as_ref()
                .map(|cpus| machine.sibling_cpus(cpus))
                .unwrap_or_default(),
            interfaces: machine.interfaces(),
            kernel_tls,
            series,
            core_hz,
            target_error,
            interrupt: hooks.interrupt.load(Relaxed),
        };
        let line = self.line(&outcome, peer.as_ref(), observed);
        Ok(Measured { line, latencies: outcome.latencies, under_way: outcome.under_way })
    }
}

/// What the kernel took over between two looks. Its module is loaded by the first connection that
/// asks for it, and has taken over none before.
fn kernel_tls_since(
    before: Result<KernelTlsCounters, ObserveError>,
    after: Result<KernelTlsCounters, ObserveError>,
) -> Result<KernelTlsCounters, ObserveError> {
    let before = match before {
        Err(ObserveError::NoKernelTls) => KernelTlsCounters::default(),
        before => before?,
    };
    Ok(after?.since(&before))
}

/// Sleeps until `instant`, in steps with `each` between them; returns early where the load is to
/// end or has ended.
fn wait_until<M: Machine>(
    instant: Instant,
    window: (Instant, Instant),
    load: &impl Load,
    machine: &M,
    hooks: &mut Hooks<'_>,
    each: &mut impl FnMut(&M),
) {
    loop {
        let now = machine.now();
        (hooks.progress)(Moment {
            elapsed: now.saturating_duration_since(window.0),
            window: window.1.saturating_duration_since(window.0),
            progress: load.progress(),
        });
        if now >= instant || hooks.interrupt.load(Relaxed) || load.is_finished() {
            return;
        }
        machine.sleep_until(instant.min(now + STEP));
        each(machine);
    }
}

#[cfg(test)]
mod tests;
