//! A server of this machine.

use std::cell::RefCell;
use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use cpus::CpuList;
use observe::TreeMeter;
use serde::Serialize;
use serde_json::Value;
use targets::{Objects, Ports, Running, ServerFacts, Settings};
use trial::{Machine, ThisMachine};

use crate::Refusal;
use crate::request::ServerQuery;

/// A server of this machine, that toll started.
#[derive(Debug)]
pub struct LocalServer {
    running: RefCell<Running>,
    /// Its CPU time since it was started.
    used: Option<TreeMeter>,
    pub(crate) facts: ServerFacts,
    settings: Settings,
}

impl LocalServer {
    /// Starts a server, on ports that were reserved before where some are given.
    ///
    /// # Errors
    /// As [`targets::start`], and where it is to send with the kernel's TLS and the kernel has none.
    pub fn start(
        settings: Settings,
        objects: &Arc<Objects>,
        folder: &Path,
        ports: Option<Ports>,
    ) -> Result<Self, Refusal> {
        let target = &settings.target;
        if let Some(lacking) = check::kernel_tls_lacking().filter(|_| target.send.is_kernels()) {
            return Err(Refusal::missing(format!(
                "{} cannot send by {}: {lacking}, or leave out target.send = {}",
                target.server,
                target.send.words(),
                target.send
            )));
        }
        let running = targets::start(target.server, &settings, objects, folder, ports)?;
        Ok(Self::new(running, settings))
    }

    /// Ends it and starts another process of it, with these settings.
    ///
    /// # Errors
    /// As [`targets::restart`]. Nothing is left running.
    pub fn restart(self, settings: Settings, ports: Option<Ports>) -> Result<Self, Refusal> {
        let running = self.running.into_inner();
        let running = targets::restart(running, settings.target.server, &settings, ports)?;
        Ok(Self::new(running, settings))
    }

    fn new(running: Running, settings: Settings) -> Self {
        Self {
            facts: running.facts().clone(),
            used: TreeMeter::begin(running.pid()).ok(),
            running: RefCell::new(running),
            settings,
        }
    }
    pub(crate) fn pid(&self) -> u32 {
        self.running.borrow().pid()
    }

    /// The answer to a query, as [`RunningServer`](crate::RunningServer) documents it.
    pub(crate) fn answer(&self, query: ServerQuery) -> Result<Value, String> {
        let mut running = self.running.borrow_mut();
        let program = self.settings.target.server.program().ok_or("toll did not start it")?;
        match query {
            ServerQuery::IsAlive => value(running.check_alive()),
            ServerQuery::HasDied => value(running.death().map_or(Ok(()), Err)),
            ServerQuery::Counts => value(program.counts(&running)),
            ServerQuery::Crypto => value(program.crypto(&running, &self.settings)),
            ServerQuery::Spread => self.repin(|all| running.spread(all)),
            ServerQuery::Pin => self.repin(|all| running.pin(all)),
            ServerQuery::CpuTime => {
                let used = self.used.as_ref().ok_or("its process could not be seen")?;
                value(used.read().map(|used| used.on_cpu))
            }
        }
    }

    /// Changes its CPUs, given all that this process may use.
    fn repin(&self, change: impl FnOnce(&CpuList) -> io::Result<()>) -> Result<Value, String> {
        let changed = CpuList::allowed().and_then(|all| change(&all));
        value(changed.map_err(|error| format!("{} cannot be pinned: {error}", self.facts.name)))
    }

    pub(crate) fn machine(&self) -> Result<Box<dyn Machine>, String> {
        let running = self.running.borrow();
        let machine = ThisMachine::with_server(running.pid());
        let machine = match running.backend() {
            Some(backend) => machine.and_then(|machine| machine.and_backend(backend.pid())),
            None => machine,
        };
        machine.map(|machine| Box::new(machine) as Box<dyn Machine>).map_err(|e| e.to_string())
    }
}

fn value(answer: Result<impl Serialize, impl Display>) -> Result<Value, String> {
    let answer = answer.map_err(|error| error.to_string())?;
    serde_json::to_value(answer).map_err(|error| error.to_string())
}
