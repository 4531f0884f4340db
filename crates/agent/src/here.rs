//! A server of this machine.

use std::io;

use cpus::CpuList;
use observe::ProcessTree;
use targets::{
    AcceleratorCounts, CryptoFacts, Facts, Program, Running, SendCounters, Settings, Target,
};
use trial::{Machine, ThisMachine};
use units::Nanos;

use crate::RunningServer;

/// Refuses a server of this machine that is to send with the kernel's TLS where the kernel has none.
///
/// # Errors
/// What is lacking, and what to do.
pub fn check_kernel(target: &Target) -> Result<(), String> {
    match check::kernel_tls_lacking().filter(|_| target.send.is_kernels()) {
        None => Ok(()),
        Some(lacking) => Err(format!(
            "{} cannot send by {}: {lacking}, or leave out target.send = {}",
            target.server,
            target.send.words(),
            target.send
        )),
    }
}

/// A server of this machine, that toll started.
#[derive(Debug)]
pub struct Here {
    running: Running,
    target: Target,
}

impl Here {
    /// `target` is what it was started with.
    #[must_use]
    pub fn new(running: Running, target: Target) -> Self {
        Self { running, target }
    }

    /// What toll knows of the program, of which there is one: it was started.
    fn program(&self) -> Option<&'static dyn Program> {
        self.target.server.program()
    }

    fn ask<T>(
        &self,
        question: impl FnOnce(&dyn Program, &Running) -> Result<Option<T>, targets::TargetError>,
    ) -> Result<Option<T>, String> {
        let Some(program) = self.program() else { return Ok(None) };
        question(program, &self.running).map_err(|error| error.to_string())
    }

    /// Changes its CPUs, given all that this process may use.
    fn repin(&self, change: fn(&Running, &CpuList) -> io::Result<()>) -> Result<(), String> {
        let changed = CpuList::allowed().and_then(|all| change(&self.running, &all));
        changed.map_err(|error| format!("{} cannot be pinned: {error}", self.running.facts().name))
    }
}

impl RunningServer for Here {
    fn into_running(self: Box<Self>) -> Option<Running> {
        Some(self.running)
    }

    fn facts(&self) -> &Facts {
        self.running.facts()
    }

    fn process(&self) -> Option<u32> {
        Some(self.running.pid())
    }

    fn check_alive(&mut self) -> Result<(), String> {
        self.running.check_alive().map_err(|error| error.to_string())
    }

    fn death(&mut self) -> Option<String> {
        self.running.death().map(|death| death.to_string())
    }

    fn orders(&self) -> Result<Option<u64>, String> {
        self.ask(|program, running| program.orders(running))
    }

    fn sent(&self) -> Result<Option<SendCounters>, String> {
        self.ask(|program, running| program.sent(running))
    }

    fn accelerated(&self) -> Result<Option<AcceleratorCounts>, String> {
        self.ask(|program, running| program.accelerated(running))
    }

    fn crypto(&self) -> Result<Option<CryptoFacts>, String> {
        let settings = Settings::of(self.target.clone());
        self.ask(|program, running| program.crypto(running, &settings))
    }

    fn spread(&self) -> Result<(), String> {
        self.repin(Running::spread)
    }

    fn pin(&self) -> Result<(), String> {
        self.repin(Running::pin)
    }

    fn cpu_time(&self) -> Option<Nanos> {
        let tree = ProcessTree::find(self.running.pid()).ok()?;
        Some(tree.read().ok()?.on_cpu)
    }

    fn machine(&self) -> Result<Box<dyn Machine>, String> {
        let machine = ThisMachine::with_server(self.running.pid());
        let machine = match self.running.backend() {
            Some(backend) => machine.and_then(|machine| machine.and_backend(backend.pid())),
            None => machine,
        };
        machine.map(|machine| Box::new(machine) as Box<dyn Machine>).map_err(|e| e.to_string())
    }
}
