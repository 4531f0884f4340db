//! The client's machine and the server's, as one trial sees them.
//!
//! Each is read by its own clock. What an agent does not say is not known, and never taken from this
//! machine; that it does not answer shows in the trial by its server, which is lost then.

use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;
use std::time::{Duration, Instant};

use cpus::CpuList;
use load::Source;
use observe::{CpuSeries, KernelTlsCounters, NamedThread, ObserveError, OpenDescriptors};
use serde::de::DeserializeOwned;
use trial::{Connections, Interface, Machine, ProcessesChanged, Reading, SeriesThere, ThisMachine};
use units::Nanos;

use crate::connection::Connection;
use crate::request::{KernelTls, Look, Request, Series};

pub(crate) struct TwoMachines {
    here: ThisMachine,
    there: Rc<RefCell<Connection>>,
    /// The clients' addresses on the way to the server.
    clients: Vec<IpAddr>,
    /// Those of the server's machine.
    interfaces: Vec<Interface>,
}

impl TwoMachines {
    pub(crate) fn new(
        here: ThisMachine,
        there: Rc<RefCell<Connection>>,
        clients: Vec<IpAddr>,
    ) -> Self {
        Self { here, there, clients, interfaces: Vec::new() }
    }

    fn look<T: DeserializeOwned>(&self, look: Look) -> Result<T, ObserveError> {
        let answer = self.there.borrow_mut().ask(&Request::Look(look));
        answer.map_err(|refusal| ObserveError::OnHost(refusal.why))
    }
}

impl Machine for TwoMachines {
    fn now(&self) -> Instant {
        self.here.now()
    }

    fn unix_ms(&self) -> u64 {
        self.here.unix_ms()
    }

    fn sleep_until(&self, instant: Instant) {
        self.here.sleep_until(instant);
    }

    /// Of a core of the server.
    fn core_hz(&self, cpu: usize) -> Option<u64> {
        self.look(Look::CoreHz(cpu)).ok().flatten()
    }

    fn find_server(&mut self) {
        let _: Result<(), _> = self.look(Look::FindServer);
    }

    fn server_change(&self) -> Option<ProcessesChanged> {
        self.look(Look::ServerChange).ok().flatten()
    }

    fn server_threads(&self) -> Vec<NamedThread> {
        self.look(Look::ServerThreads).unwrap_or_default()
    }

    fn find_links(&mut self, peers: &[IpAddr], sources: &[Source]) {
        self.here.find_links(peers, sources);
        let chosen = sources.iter().find_map(|source| match source {
            Source::Address(address) => Some(*address),
            Source::Interface(_) => None,
        });
        let clients = chosen.map_or_else(|| self.clients.clone(), |address| vec![address]);
        let found: Vec<Interface> = self.look(Look::FindLinks(clients)).unwrap_or_default();
        let named = |link: Interface| Interface { name: format!("server:{}", link.name), ..link };
        self.interfaces = found.into_iter().map(named).collect();
    }

    fn find_listeners(&mut self, address: SocketAddr) {
        let _: Result<(), _> = self.look(Look::FindListeners(address));
    }

    fn interfaces(&self) -> Vec<Interface> {
        let there = self.interfaces.iter().cloned();
        self.here.interfaces().into_iter().chain(there).collect()
    }

    fn server_descriptors(&self) -> Option<OpenDescriptors> {
        self.look(Look::ServerDescriptors).ok().flatten()
    }

    fn kernel_tls(&self) -> Result<KernelTlsCounters, ObserveError> {
        match self.look(Look::KernelTls)? {
            KernelTls::Counted(counters) => Ok(counters),
            KernelTls::NoLayer => Err(ObserveError::NoKernelTls),
            KernelTls::Unknown(why) => Err(ObserveError::OnHost(why)),
        }
    }

    fn connections(&self, address: SocketAddr) -> Connections {
        let there: Connections = self.look(Look::Connections(address)).unwrap_or_default();
        Connections { client: self.here.connections(address).client, ..there }
    }

    /// Of CPUs of the server.
    fn sibling_cpus(&self, cpus: &CpuList) -> Vec<usize> {
        self.look(Look::SiblingCpus(cpus.clone())).unwrap_or_default()
    }

    fn read(&self, threads: &[i32]) -> Reading {
        // The load threads first: they may be about to end.
        let here = self.here.read(threads);
        // Of an agent that is lost, nothing is known.
        let there: Reading = self.look(Look::Read).unwrap_or_default();
        Reading { there: Some(Box::new(there)), ..here }
    }

    fn note_programs(&mut self) {
        self.here.note_programs();
        let _: Result<(), _> = self.look(Look::NotePrograms);
    }

    fn other_programs(&self, threads: &[i32]) -> Vec<(String, Nanos)> {
        let there: Vec<(String, Nanos)> = self.look(Look::OtherPrograms).unwrap_or_default();
        let there =
            there.into_iter().map(|(name, cpu)| (format!("{name} on the server's host"), cpu));
        let mut all: Vec<_> = self.here.other_programs(threads).into_iter().chain(there).collect();
        all.sort_by_key(|(_, cpu)| std::cmp::Reverse(*cpu));
        all
    }

    fn start_series(&mut self, interval: Duration) {
        self.here.start_series(interval);
        let _: Result<(), _> = self.look(Look::StartSeries(interval));
    }

    fn take_series(&mut self) -> Result<CpuSeries, ObserveError> {
        self.here.take_series()
    }

    fn take_series_there(&mut self) -> Option<SeriesThere> {
        Some(match self.look(Look::TakeSeries) {
            Ok(Series { series, interrupt_time }) => {
                SeriesThere { series: series.map_err(ObserveError::OnHost), interrupt_time }
            }
            Err(error) => SeriesThere { series: Err(error), interrupt_time: None },
        })
    }
}
