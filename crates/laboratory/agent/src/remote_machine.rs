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
use observe::{
    CpuSeries, Fact, Holder, KernelTlsCounters, NamedThread, ObserveError, OpenDescriptors,
    Transport,
};
use serde::de::DeserializeOwned;
use trial::{
    Connections, Interface, Machine, OtherPrograms, ProcessesChanged, Reading, ThisMachine,
};

use crate::connection::Connection;
use crate::request::{AgentRequest, MachineQuery};

pub(crate) struct RemoteMachine {
    /// The client's.
    here: ThisMachine,
    there: Rc<RefCell<Connection>>,
    /// The clients' addresses on the way to the server.
    clients: Vec<IpAddr>,
    /// Those of the server's machine.
    interfaces: Vec<Interface>,
}

impl RemoteMachine {
    pub(crate) fn new(
        here: ThisMachine,
        there: Rc<RefCell<Connection>>,
        clients: Vec<IpAddr>,
    ) -> Self {
        Self { here, there, clients, interfaces: Vec::new() }
    }

    fn ask<T: DeserializeOwned>(&self, query: MachineQuery) -> Result<T, ObserveError> {
        let answer = self.there.borrow_mut().ask(&AgentRequest::Watched(query));
        answer.map_err(|refusal| ObserveError::OnHost(refusal.why))
    }

    /// What the agent says; nothing where it is lost.
    fn known<T: DeserializeOwned + Default>(&self, query: MachineQuery) -> T {
        self.ask(query).unwrap_or_default()
    }
}

impl Machine for RemoteMachine {
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
        self.known(MachineQuery::CoreHz(cpu))
    }

    fn find_server(&mut self) {
        self.known(MachineQuery::FindServer)
    }

    fn server_change(&self) -> Option<ProcessesChanged> {
        self.known(MachineQuery::ServerChange)
    }

    fn server_threads(&self) -> Vec<NamedThread> {
        self.known(MachineQuery::ServerThreads)
    }

    fn find_links(&mut self, peers: &[IpAddr], sources: &[Source]) {
        self.here.find_links(peers, sources);
        let chosen = sources.iter().find_map(|source| match source {
            Source::Address(address) => Some(*address),
            Source::Interface(_) => None,
        });
        let clients = chosen.map_or_else(|| self.clients.clone(), |address| vec![address]);
        let found: Vec<Interface> = self.known(MachineQuery::FindLinks(clients));
        let named = |link: Interface| Interface { name: format!("server:{}", link.name), ..link };
        self.interfaces = found.into_iter().map(named).collect();
    }

    fn find_listeners(&mut self, address: SocketAddr) {
        self.known(MachineQuery::FindListeners(address))
    }

    fn sharers(&self, transport: Transport, address: SocketAddr) -> Fact<Vec<Holder>> {
        let answer: Result<Fact<Vec<Holder>>, _> =
            self.ask(MachineQuery::Sharers(transport, address));
        answer.unwrap_or_else(Fact::unknown)
    }

    fn interfaces(&self) -> Vec<Interface> {
        let there = self.interfaces.iter().cloned();
        self.here.interfaces().into_iter().chain(there).collect()
    }

    fn server_descriptors(&self) -> Option<OpenDescriptors> {
        self.known(MachineQuery::ServerDescriptors)
    }

    fn kernel_tls(&self) -> Result<KernelTlsCounters, ObserveError> {
        let counters: Option<Result<_, String>> = self.ask(MachineQuery::KernelTls)?;
        counters.ok_or(ObserveError::NoKernelTls)?.map_err(ObserveError::OnHost)
    }

    fn connections(&self, address: SocketAddr) -> Connections {
        let there: Connections = self.known(MachineQuery::Connections(address));
        Connections { client: self.here.connections(address).client, ..there }
    }

    /// Of CPUs of the server.
    fn sibling_cpus(&self, cpus: &CpuList) -> Vec<usize> {
        self.known(MachineQuery::SiblingCpus(cpus.clone()))
    }

    fn read(&self, threads: &[i32]) -> Reading {
        // The load threads first: they may be about to end.
        let here = self.here.read(threads);
        Reading { there: Some(self.known(MachineQuery::Read)), ..here }
    }

    fn note_programs(&mut self) {
        self.here.note_programs();
        self.known(MachineQuery::NotePrograms)
    }

    fn other_programs(&self, threads: &[i32]) -> OtherPrograms {
        let there: OtherPrograms = self.known(MachineQuery::OtherPrograms);
        let mut all = self.here.other_programs(threads);
        let named = |(name, cpu)| (format!("{name} on the server's host"), cpu);
        all.busiest.extend(there.busiest.into_iter().map(named));
        all.busiest.sort_by_key(|(_, cpu)| std::cmp::Reverse(*cpu));
        OtherPrograms { tasks_there: there.tasks, ..all }
    }

    fn start_series(&mut self, interval: Duration) {
        self.here.start_series(interval);
        self.known(MachineQuery::StartSeries(interval))
    }

    fn take_series(&mut self) -> Result<CpuSeries, ObserveError> {
        self.here.take_series()
    }

    fn take_remote_series(&mut self) -> Option<Result<CpuSeries, ObserveError>> {
        let there: Result<Result<_, String>, _> = self.ask(MachineQuery::TakeSeries);
        Some(there.and_then(|series| series.map_err(ObserveError::OnHost)))
    }
}
