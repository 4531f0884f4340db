//! Runs a trial: the load and the observation of the machine over the same window.

#[cfg(test)]
mod tests;

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use load::{Job, Load};
use observe::{Fact, KernelTlsCounters, ObserveError, OpenDescriptors, Transport};

use crate::congestion::Connections;
use crate::connection_memory::{ConnectionMemory, LEAST_CONNECTIONS};
use crate::judge::judge;
use crate::machine::Machine;
use crate::moment::Moment;
use crate::observed::Observed;
use crate::reading::{CoreHz, Readings};
use crate::trial::{Hooks, Measured, STEP, Trial};

/// How long before the window's end the threads of another program are read once more, for the case that
/// they end with it.
const BEFORE_END: Duration = Duration::from_millis(2);

/// How long before the window's end a server's memory is looked at, which takes some milliseconds: then all
/// connections are open, and its CPU time is read when that is over.
const MEMORY_BEFORE_END: Duration = Duration::from_millis(100);

/// How long after the last answer a server is read: its kernel charges a thread that runs at its next
/// tick, at most 10 ms later, or when it goes to sleep, which it does at once for lack of requests.
const SETTLED_AFTER: Duration = Duration::from_millis(10);

impl Trial {
    /// Runs the trial and judges it. The window ends early where `hooks.interrupt` is set or the
    /// load ends by itself; the line then holds what was measured until then.
    ///
    /// `start` prepares the load, calls what it is given, and begins the load.
    ///
    /// # Errors
    /// That of `start`, before anything was sent.
    pub fn run<L: Load, E, M: Machine + ?Sized>(
        &self,
        machine: &mut M,
        hooks: &mut Hooks<'_>,
        start: impl FnOnce(Job, &mut dyn FnMut()) -> Result<L, E>,
    ) -> Result<Measured, E> {
        let core = self.server_cpus.as_ref().unwrap_or(&self.job.plan.cpus).as_slice()[0];
        let before = machine.core_hz(core);
        machine.find_links(&[self.job.address.ip()], &self.job.plan.source);
        machine.find_listeners(self.job.address);
        let transport = Transport::of_http3(self.job.plan.is_http3());
        let sharers = machine.sharers(transport, self.job.address);
        let kernel_tls = machine.kernel_tls();
        let idle_watts = machine.watts();
        let looks_at_memory =
            self.is_first_load && self.job.plan.connections as u64 >= LEAST_CONNECTIONS;
        let memory = |machine: &M| {
            looks_at_memory.then(|| machine.server_memory(self.job.address)).flatten()
        };
        let memory_before = memory(machine);
        let is_whole = self.job.ends_by_itself();
        let mut whole = None;
        let load = start(self.job.clone(), &mut || {
            if is_whole {
                machine.find_server();
                whole = Some(Readings::begin(machine.read(&[])));
            }
        })?;
        load.wake_at_end(std::thread::current());
        let threads = load.thread_ids();

        machine.start_series(STEP);
        let begun = machine.now();
        machine.note_programs();
        // What others do in the window is seen between two looks: just before it, where there is time for that, and
        // just after it.
        let look = machine.now() - begun;
        wait_until(|window| window.0 - 2 * look, &load, machine, hooks, &mut |_| {});
        if machine.now() + look < load.window().0 {
            machine.note_programs();
        }
        wait_until(|window| window.0, &load, machine, hooks, &mut |_| {});
        let window = load.window();
        let started_unix_ms = machine.unix_ms();
        let mut readings = whole.unwrap_or_else(|| {
            machine.find_server();
            Readings::begin(machine.read(&threads))
        });
        let started = if is_whole { window.0 } else { machine.now() };
        // Looked at within the window: at its end the load lets its connections go.
        let mut server_descriptors: Option<OpenDescriptors> = None;
        let mut connections = Connections::default();
        let mut read = |machine: &M| {
            if connections.is_empty() {
                connections = machine.connections(self.job.address);
            }
            readings.advance(Machine::read(machine, &threads));
            let both = server_descriptors.into_iter().chain(Machine::server_descriptors(machine));
            server_descriptors = both.min_by_key(|files| files.limit.saturating_sub(files.open));
        };
        if looks_at_memory {
            wait_until(|_| window.1 - MEMORY_BEFORE_END, &load, machine, hooks, &mut read);
        }
        let memory_after = memory(machine);
        wait_until(|_| window.1 - BEFORE_END, &load, machine, hooks, &mut read);
        wait_until(|_| window.1, &load, machine, hooks, &mut read);
        let ended = machine.now();
        if is_whole {
            // What still runs at the server has time to be charged for that.
            let settled = ended + SETTLED_AFTER;
            while machine.now() < settled {
                machine.sleep_until(settled);
            }
        }
        read(machine);
        let server_change = machine.server_change();
        let server_threads = machine.server_threads();
        let programs = machine.other_programs(&threads);
        if let Some(change) = &server_change {
            readings.server_changed(change);
        }

        // The load shrinks, which is not counted.
        let over = window.1 + Duration::from(self.job.plan.ramp);
        wait_until(|_| over, &load, machine, hooks, &mut |_| {});
        load.stop();
        let outcome = load.join();
        readings.report_threads(&outcome.threads);
        if is_whole {
            readings.are_of_whole_load(outcome.window);
        }
        // Who came meanwhile, and who left.
        let sharers = match machine.sharers(transport, self.job.address) {
            Fact::Known(now) if now.is_empty() => sharers,
            now => now,
        };
        let (series, there) = (machine.take_series(), machine.take_remote_series());
        let kernel_tls = kernel_tls_since(kernel_tls, machine.kernel_tls());
        let core_hz = CoreHz { before, after: machine.core_hz(core) };
        let reports = (hooks.reports)();
        let observed = Observed {
            started_unix_ms,
            started,
            ended,
            readings,
            server_change,
            server_descriptors,
            server_threads,
            sharers,
            programs,
            siblings: self
                .server_cpus
                .as_ref()
                .map(|cpus| machine.sibling_cpus(cpus))
                .unwrap_or_default(),
            interfaces: machine.interfaces(),
            kernel_tls: kernel_tls.into(),
            connections,
            connection_memory: memory_before
                .zip(memory_after)
                .and_then(|(before, after)| ConnectionMemory::since(&before, &after)),
            idle_watts,
            series,
            there,
            core_hz,
            reports,
            interrupt: hooks.interrupt.load(Relaxed),
        };
        let line = judge(self, &outcome, &observed);
        Ok(Measured { line, outcome })
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

/// Sleeps until `instant` of the load's window, which may change meanwhile, in steps with `each` between them; returns
/// early where the load is to end or has ended.
fn wait_until<M: Machine + ?Sized>(
    instant: impl Fn((Instant, Instant)) -> Instant,
    load: &impl Load,
    machine: &M,
    hooks: &mut Hooks<'_>,
    each: &mut impl FnMut(&M),
) {
    // A load that ends by itself has an earlier end in the end.
    let planned_end = load.window().1;
    loop {
        let (now, window) = (machine.now(), load.window());
        let instant = instant(window);
        let is_over = instant <= planned_end && now >= window.1;
        (hooks.progress)(Moment {
            prepared: Duration::ZERO,
            elapsed: now.saturating_duration_since(window.0),
            window: window.1.saturating_duration_since(window.0),
            progress: load.progress(),
        });
        if now >= instant || is_over || hooks.interrupt.load(Relaxed) || load.is_finished() {
            return;
        }
        machine.sleep_until(instant.min(now + STEP));
        each(machine);
    }
}
