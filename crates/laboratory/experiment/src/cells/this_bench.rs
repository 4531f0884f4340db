//! The real bench of a run: servers on this machine and others, loaded by the engine.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use agent::{Clients, LocalServer, Refusal, RemoteHost, RunningServer};
use cluster::Cluster;
use cpus::CpuList;
use load::{Counter, Engine, Files, Operation, Plan, Source, Url};
use peers::{Client, Peer, PeerError};
use profile::Rules;
use targets::{Host, Objects, ServerFacts, Settings, Target, TargetError};
use tls::Group;
use units::Bytes;

use super::bench::{Ask, Bench};
use super::commands::settings;
use super::found_server::FoundServer;
use super::sampling::Sampling;
use super::this_target::{Life, ThisTarget, job};
use observe::Transport;
use study::{Cell, Only, Study, files, offer};
use trial::{Hooks, Measured, Moment, Neighbours, Reports, Trial, neighbours};

/// Servers on this machine and others, and the load engine.
pub struct ThisBench<'a> {
    /// Those of the study.
    cells: Vec<Cell>,
    /// The result folder.
    folder: PathBuf,
    /// `None` where no server of this machine needs any.
    objects: Option<Arc<Objects>>,
    /// How other machines are reached.
    reached_by: study::Hosts,
    /// Those that were reached.
    hosts: Vec<RemoteHost>,
    /// Where the server runs that a proxy passes requests to.
    backend_cpus: CpuList,
    /// What classes samples of CPU time belong to.
    rules: Rules,
    /// How many servers were found that toll did not start.
    elsewhere: usize,
    /// The ranks that make the load, if not this machine.
    cluster: Option<Cluster<'a>>,
    /// Whether pairs of server and client CPUs share a core, as measured.
    neighbours: Vec<(CpuList, CpuList, Neighbours)>,
    interrupt: &'a AtomicBool,
}

impl<'a> ThisBench<'a> {
    /// Makes the objects of the study, in memory where there is room, else in `folder`, the result
    /// folder.
    ///
    /// # Errors
    /// There is no room for them, or the system refuses.
    pub fn new(
        study: &Study,
        folder: PathBuf,
        cluster: Option<Cluster<'a>>,
        interrupt: &'a AtomicBool,
    ) -> Result<Self, TargetError> {
        let (sizes, sets) = content(&study.cells, None);
        let objects = match sizes.is_empty() {
            true => None,
            false => Some(Arc::new(Objects::make(&sizes, &folder)?.with_files(&sets, &folder)?)),
        };
        let own = study.profile.as_ref().and_then(|profile| profile.rules.as_deref());
        let rules = own.map_or_else(|| Ok(Rules::built_in()), Rules::with);
        let rules = rules.map_err(|error| TargetError::Settings(error.to_string()))?;
        let allowed =
            CpuList::allowed().map_err(|error| TargetError::Settings(error.to_string()))?;
        let backend_cpus = backend_cpus(study, &allowed);
        let cells = study.cells.clone();
        Ok(Self {
            cells,
            folder,
            objects,
            reached_by: study.hosts.clone(),
            hosts: Vec::new(),
            backend_cpus,
            rules,
            elsewhere: 0,
            cluster,
            neighbours: Vec::new(),
            interrupt,
        })
    }

    /// Another machine, with an agent that runs.
    ///
    /// # Errors
    /// It cannot be reached, in one line.
    pub fn host(&mut self, host: &Host) -> Result<&RemoteHost, Refusal> {
        // Servers of an agent that is lost are lost too.
        self.hosts.retain(|known| known.host() != host || !known.is_lost());
        let place = match self.hosts.iter().position(|known| known.host() == host) {
            Some(place) => place,
            None => {
                let content = content(&self.cells, Some(host));
                let study::Hosts { shell, silence, .. } = &self.reached_by;
                self.hosts.push(RemoteHost::open(shell, *silence, host, content, &self.folder)?);
                self.hosts.len() - 1
            }
        };
        Ok(&self.hosts[place])
    }

    /// The cell with the most connections among those for which the same process is warmed up as for
    /// this one.
    fn heaviest<'c>(&'c self, cell: &'c Cell) -> &'c Cell {
        let alike = self.cells.iter().filter(|other| other.is_warmed_up_with(cell));
        alike.max_by_key(|cell| cell.most_connections()).unwrap_or(cell)
    }

    /// All that a server is started with.
    fn settings(&self, target: &Target, only: Only, connections: usize) -> Settings {
        let backend_cpus = Some(self.backend_cpus.clone());
        Settings { connections, backend_cpus, ..settings(target, only) }
    }

    /// Why the objects are not in memory, where they are not.
    pub fn note(&self) -> Option<&str> {
        self.objects.as_ref().and_then(|objects| objects.note())
    }

    fn note_of(&self, host: Option<&Host>) -> Option<&str> {
        match host {
            None => self.note(),
            Some(host) => self.hosts.iter().find(|known| known.host() == host)?.note(),
        }
    }

    /// Measured once for each pair of lists, while the servers idle.
    fn neighbours(&mut self, server: &CpuList, client: &CpuList) -> Neighbours {
        let known = self.neighbours.iter().find(|(s, c, _)| (s, c) == (server, client));
        if let Some((_, _, found)) = known {
            return *found;
        }
        let found = neighbours(server, client);
        self.neighbours.push((server.clone(), client.clone(), found));
        found
    }

    fn start_there(
        &mut self,
        host: &Host,
        settings: Settings,
        (sources, ranks): (Vec<Option<Source>>, usize),
        before: Option<&RunningServer>,
    ) -> Result<ThisTarget, Refusal> {
        let cluster = self.cluster.take();
        // The machines that load it check for themselves, on their own paths.
        let others = |addresses: &[SocketAddr], nonce: &str| {
            cluster
                .as_ref()
                .map_or(Ok(Vec::new()), |cluster| cluster.prove(ranks, addresses, nonce))
        };
        let clients = Clients { sources: &sources, others: &others };
        let started = self.host(host).and_then(|host| match before {
            Some(before) => host.restart(before, settings, &clients),
            None => host.start(settings, &clients),
        });
        self.cluster = cluster;
        started.map(ThisTarget::running)
    }

    fn find(&mut self, target: &Target, only: Only) -> Result<ThisTarget, Refusal> {
        self.elsewhere += 1;
        let setup = (target.clone(), only);
        let mut loads = self.cells.iter().filter(|cell| cell.setup() == setup);
        let transport = Transport::of_http3(loads.all(|cell| cell.load.is_http3()));
        let found = FoundServer::find(target, transport, self.elsewhere).map_err(Refusal::of)?;
        let addresses: Vec<IpAddr> = found.addresses.iter().map(SocketAddr::ip).collect();
        if let Some(cluster) = &self.cluster {
            let (_, ranks) = self.clients(target, only);
            cluster.loads(ranks, &addresses).map_err(Refusal::of)?;
        }
        Ok(ThisTarget::new(Life::Found(Box::new(found))))
    }

    /// Where connections of this machine to a server come from, and how many ranks load it.
    fn clients(&self, target: &Target, only: Only) -> (Vec<Option<Source>>, usize) {
        let setup = (target.clone(), only);
        let loads = self.cells.iter().filter(|cell| cell.setup() == setup).map(|cell| &cell.load);
        let mut sources = Vec::new();
        let mut ranks = 0;
        for Plan { source, ranks: own, .. } in loads {
            ranks = own.map_or(0, |own| own.get() as usize).max(ranks);
            let of_load = match source.is_empty() {
                true => vec![None],
                false => source.iter().cloned().map(Some).collect(),
            };
            for source in of_load {
                if !sources.contains(&source) {
                    sources.push(source);
                }
            }
        }
        (sources, ranks)
    }
}

/// The sizes of the objects, and the files, that the servers of a machine serve.
fn content(cells: &[Cell], host: Option<&Host>) -> (Vec<Bytes>, Vec<Files>) {
    let cells = || cells.iter().filter(|cell| cell.target.host.as_ref() == host);
    let served = cells().filter(|cell| cell.target.server.is_started());
    let sizes = served.filter_map(|cell| cell.target.object.sizes()).flatten().collect();
    (sizes, cells().filter_map(|cell| files(&cell.target, &cell.load)).collect())
}

/// The CPUs that no server and no load of the study uses; where there are none, those of the loads
/// that no server uses; where there are none either, all.
fn backend_cpus(study: &Study, allowed: &CpuList) -> CpuList {
    let without = |list: Option<CpuList>, used: fn(&Cell) -> Option<&CpuList>| {
        study.cells.iter().filter_map(used).fold(list, |left, used| left?.without(used))
    };
    let beside_servers = without(Some(allowed.clone()), |cell| cell.target.pinned_here());
    let beside_all = without(beside_servers.clone(), |cell| Some(&cell.load.cpus));
    beside_all.or(beside_servers).unwrap_or_else(|| allowed.clone())
}

impl Bench for ThisBench<'_> {
    type Target = ThisTarget;

    fn start(
        &mut self,
        target: &Target,
        only: Only,
        connections: usize,
    ) -> Result<ThisTarget, Refusal> {
        let server = target.server;
        if !server.is_started() {
            return self.find(target, only);
        }
        let settings = self.settings(target, only, connections);
        if let Some(host) = &target.host {
            return self.start_there(host, settings, self.clients(target, only), None);
        }
        let failed = |what| Refusal::of(format!("{server} {what}"));
        let objects = self.objects.as_ref().ok_or_else(|| failed("has no objects to serve"))?;
        let started = LocalServer::start(settings, objects, &self.folder, None)?;
        Ok(ThisTarget::running(RunningServer::Local(started)))
    }

    fn restart(
        &mut self,
        running: ThisTarget,
        target: &Target,
        only: Only,
        connections: usize,
    ) -> Result<ThisTarget, Refusal> {
        let Life::Started(running) = running.life else {
            return Err(Refusal::of("toll did not start it"));
        };
        let settings = self.settings(target, only, connections);
        match (*running, &target.host) {
            (running, Some(host)) => {
                let clients = self.clients(target, only);
                self.start_there(host, settings, clients, Some(&running))
            }
            (RunningServer::Local(running), None) => {
                let started = running.restart(settings, None)?;
                Ok(ThisTarget::running(RunningServer::Local(started)))
            }
            (RunningServer::Remote(_), None) => Err(Refusal::of("it runs on another machine")),
        }
    }

    fn is_lost(&self, target: &ThisTarget) -> bool {
        target.started().is_some_and(RunningServer::is_lost)
    }

    fn lacks_ranks(&self) -> bool {
        self.cluster.as_ref().is_some_and(Cluster::is_lost)
    }

    fn name(&self, target: &ThisTarget) -> String {
        match &target.life {
            Life::Started(running) => running.facts().name.clone(),
            Life::Found(found) => found.name(),
        }
    }

    fn version(&self, target: &ThisTarget) -> String {
        match &target.life {
            Life::Started(running) => running.facts().version.clone(),
            Life::Found(found) => found.to_string(),
        }
    }

    fn process(&self, target: &ThisTarget) -> Option<String> {
        match &target.life {
            Life::Started(_) => None,
            Life::Found(found) => Some(found.process_in_words()),
        }
    }

    fn probe(&mut self, target: &ThisTarget, cell: &Cell) -> Result<(), Refusal> {
        let suite = cell.load.only_suite();
        if let (Some(facts), Some(suite)) = (target.facts(), suite)
            && facts.lacks.iter().any(|lacks| lacks == suite.name)
        {
            let library = facts.stack.as_ref().map(|(_, version)| version.as_str());
            return Err(Refusal::missing(format!(
                "{} runs on {}, which lacks {suite}; use another library, or leave load.suite = {suite} out",
                cell.target.server,
                library.unwrap_or_default()
            )));
        }
        if let (Some(facts), Some(group)) = (target.facts(), cell.load.group)
            && let Some(library) = lacking(facts, group)
        {
            return Err(Refusal::missing(format!(
                "{} runs on {library}, which lacks {group}; use another library, or leave \
                 load.group = {group} out",
                cell.target.server
            )));
        }
        let mut job = job(cell, target, 0);
        // Ranks look for theirs.
        if let Some(peer) = Peer::of(cell.load.client).filter(|_| cell.load.ranks.is_none()) {
            let client = Client::prepare(peer, &job, offer(cell.target.server));
            client.map_err(|error| match error {
                PeerError::Missing { .. } => Refusal::missing(error),
                _ => Refusal::of(error),
            })?;
        }
        // All objects are there; a small one shows as much as a large one, which would take minutes.
        let sizes = content(&self.cells, cell.target.host.as_ref()).0;
        if let (Some(_), Some(smallest)) = (target.started(), sizes.into_iter().min())
            && cell.load.operation != Operation::Session
        {
            let path = objects::path(smallest);
            job.url = Url::at(job.url.is_tls(), job.address, &path);
            (job.objects, job.files) = (None, None);
        }
        load::probe(&job, self.interrupt).map(|_| ()).map_err(|error| {
            let here = target.started().filter(|running| !running.is_lost());
            match here.and_then(RunningServer::death) {
                Some(death) => Refusal::missing(format!(
                    "{}, in its first operation: {death}; or leave this target out",
                    self.version(target)
                )),
                None => Refusal::of(error),
            }
        })
    }

    fn trial(
        &mut self,
        target: &mut ThisTarget,
        Ask { cell, seed, beyond_limit, latency_file, profile }: Ask<'_>,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<Measured, String> {
        target.check_alive()?;
        if let (Some(host), Some(_)) = (&cell.target.host, &profile) {
            return Err(format!("perf samples this machine only, and the server runs on {host}"));
        }
        let heaviest = self.heaviest(cell);
        let (not_steady, prepared) = target.warm_up(heaviest, seed, interrupt, progress)?;
        let server_cpus = target.cpus();
        let trial = Trial {
            job: job(cell, target, seed),
            // Where toll chose it and the server has no choice.
            certificate_key: cell
                .target
                .server
                .is_configured()
                .then_some(cell.target.certificate_key),
            neighbours: match (&server_cpus, &cell.target.host, cell.load.ranks) {
                (Some(server), None, None) => self.neighbours(server, &cell.load.cpus),
                _ => Neighbours::Apart,
            },
            host: cell.target.host.as_ref().map(ToString::to_string),
            process: target.found_process(),
            server_cpus,
            backend_cpus: target.facts().and_then(|facts| facts.backend_cpus.clone()),
            runs_on: target.runs_on(cell),
            objects_on_disk: self.note_of(cell.target.host.as_ref()).map(str::to_owned),
            is_first_load: !target.was_loaded && cell.target.warmup.is_none(),
            not_steady,
            beyond_limit,
            latency_file: Some(latency_file),
        };
        target.was_loaded = true;
        if let (Some(objects), Some(files)) = (&self.objects, &trial.job.files) {
            objects.drop_cached(files).map_err(|error| error.to_string())?;
        }
        if let Some(counter) = cell.load.counter() {
            return match profile {
                Some(_) => Err("instructions are counted here, not CPU time".to_owned()),
                None => count(target, &trial, counter, (cell, interrupt, progress)),
            };
        }
        let before = target.counts()?;
        let machine = target.machine();
        let mut machine = machine.map_err(|error| target.cause(error))?;
        let machine = &mut *machine;
        let sampling = profile.map(|files| Sampling::start(target.pid().zip(target.cpus()), files));
        let mut sampling = sampling.transpose()?;
        let progress = &mut |moment: Moment| {
            if let Some(sampling) = &mut sampling {
                sampling.look(&moment);
            }
            progress(Moment { prepared, ..moment });
        };
        let cluster = self.cluster.as_ref().filter(|_| cell.load.ranks.is_some());
        let mut reports = || Reports {
            server: target.report(cell, &before),
            ranks: cluster.map(Cluster::report),
        };
        let mut hooks = Hooks { interrupt, progress, reports: &mut reports };
        let measured = match (cluster, Peer::of(cell.load.client)) {
            (Some(cluster), _) => {
                let offer = offer(cell.target.server);
                trial.run(machine, &mut hooks, |job, _| cluster.load(&job, offer))
            }
            (None, None) => trial
                .run(machine, &mut hooks, |job, begins| Engine::start_after(job, interrupt, begins))
                .map_err(|error| error.to_string()),
            (None, Some(peer)) => Client::prepare(peer, &trial.job, offer(cell.target.server))
                .map_err(|error| error.to_string())
                .and_then(|client| {
                    let measured = trial.run(machine, &mut hooks, |_, _| client.start());
                    measured.map_err(|error| error.to_string())
                }),
        };
        let mut measured = measured.map_err(|error| target.cause(error))?;
        if let Some(sampling) = sampling {
            measured.line.profile = sampling.end(&measured.line, &self.rules)?;
        }
        Ok(measured)
    }
}

/// A trial in which the server's instructions are counted.
fn count(
    target: &mut ThisTarget,
    of: &Trial,
    counter: Counter,
    (cell, interrupt, progress): (&Cell, &AtomicBool, &mut dyn FnMut(Moment)),
) -> Result<Measured, String> {
    let before = target.counts()?;
    let pid = target.pid().ok_or("the server's process is not known")?;
    let meter = trial::instruction_meter(counter, pid);
    let mut meter = meter.map_err(|error| target.cause(error.to_string()))?;
    let counted = {
        let mut reports = || Reports { server: target.report(cell, &before), ranks: None };
        let mut hooks = Hooks { interrupt, progress, reports: &mut reports };
        let start = |job, begins: &mut dyn FnMut()| Engine::start_after(job, interrupt, begins);
        of.count(&mut meter, &mut hooks, start)
    };
    counted.map_err(|error| target.cause(error))
}

/// The TLS library of a server, where it lacks the group.
fn lacking(facts: &ServerFacts, group: Group) -> Option<String> {
    let stack = facts.stack.as_ref().map(|(stack, _)| stack);
    if let Some(stack) = stack.filter(|stack| !stack.has_group(group)) {
        return Some(stack.to_string());
    }
    if facts.lacks.iter().any(|lacks| lacks == group.name()) {
        return facts.stack.as_ref().map(|(_, version)| version.clone());
    }
    facts.libraries.iter().find(|library| library.lacks(group)).map(ToString::to_string)
}
