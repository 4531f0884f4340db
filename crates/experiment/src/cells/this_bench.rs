//! The world of a run as it is: servers on this machine, loaded by the engine.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cluster::Cluster;
use cpus::CpuList;
use load::{Engine, Files, Job, Operation, Plan, Progress, Trust, Url};
use observe::{ObserveError, ProcessTree};
use peers::{Client, Offer, Peer, PeerError};
use profile::Rules;
use targets::{
    AcceleratorCounts, CryptoFacts, Objects, Running, SendCounters, Settings, Target, TargetError,
};
use tls::{Group, OrPlain, Suite, Version};
use units::Bytes;

use super::elsewhere::Elsewhere;
use super::run::{Ask, Bench, StartError};
use super::sampling::Sampling;
use super::warm_up::{self, warm_up};
use study::{Cell, Only, Study, files, mixed_objects, offer, path};
use trial::{Application, Hooks, Measured, Moment, Neighbours, NotSteady, Orders, RunsOn};
use trial::{Sending, ThisMachine, Trial, neighbours};

/// How many users of the warm-up there are for each CPU of the server, most of the time.
const USERS_PER_CPU: usize = 2;

/// Servers on this machine, and the load engine.
pub struct ThisBench {
    /// Those of the study.
    cells: Vec<Cell>,
    /// The result folder.
    folder: PathBuf,
    /// `None` where no server of the study needs any.
    objects: Option<Arc<Objects>>,
    /// Where the server runs that a proxy passes requests to.
    backend_cpus: CpuList,
    /// What classes samples of CPU time belong to.
    rules: Rules,
    /// How many servers were found that toll did not start.
    elsewhere: usize,
    /// What makes the load, where that is not this machine.
    cluster: Option<Cluster>,
    /// What was found of pairs of server and client CPUs.
    neighbours: Vec<(CpuList, CpuList, Neighbours)>,
}

/// A server that can be loaded.
#[derive(Debug)]
pub struct ThisTarget {
    life: Life,
    /// How its warm-up ended, for each suite that it was warmed up with.
    warmed_up: Vec<(Option<OrPlain<&'static Suite>>, Option<NotSteady>)>,
    /// What its cryptography runs on, once it was asked.
    crypto: Option<CryptoFacts>,
}

#[derive(Debug)]
enum Life {
    /// toll started it, and stops it.
    Started(Box<Running>),
    /// It was there before.
    Elsewhere(Elsewhere),
}

impl ThisBench {
    /// Makes the objects of the study, in memory where there is room, else in `folder`, the result
    /// folder.
    ///
    /// # Errors
    /// There is no room for them, or the system refuses.
    pub fn new(
        study: &Study,
        folder: PathBuf,
        cluster: Option<Cluster>,
    ) -> Result<Self, TargetError> {
        let cells = study.cells.iter().filter(|cell| cell.target.server.program().is_some());
        let sizes: Vec<Bytes> =
            cells.filter_map(|cell| cell.target.object.sizes()).flatten().collect();
        let sets: Vec<Files> =
            study.cells.iter().filter_map(|cell| files(&cell.target, &cell.load)).collect();
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
        let neighbours = Vec::new();
        Ok(Self { cells, folder, objects, backend_cpus, rules, elsewhere: 0, cluster, neighbours })
    }

    /// The cell with the most connections among those for which the same process is warmed up as for
    /// this one.
    fn heaviest<'a>(&'a self, cell: &'a Cell) -> &'a Cell {
        let alike = self.cells.iter().filter(|other| other.is_warmed_up_with(cell));
        alike.max_by_key(|cell| cell.most_connections()).unwrap_or(cell)
    }

    /// All that a server is started with.
    fn settings(&self, target: &Target, only: Only, connections: usize) -> Settings {
        let backend_cpus = Some(self.backend_cpus.clone());
        Settings { connections, backend_cpus, ..settings(target, only) }
    }

    /// Why the objects are not in memory, where they are not.
    #[must_use]
    pub fn note(&self) -> Option<&str> {
        self.objects.as_ref().and_then(|objects| objects.note())
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

    fn find(&mut self, target: &Target) -> Result<ThisTarget, StartError> {
        self.elsewhere += 1;
        Elsewhere::find(target, self.elsewhere)
            .map(|found| ThisTarget::new(Life::Elsewhere(found)))
            .map_err(StartError::Failed)
    }
}

fn not_started(error: TargetError) -> StartError {
    match error {
        TargetError::Missing { .. }
        | TargetError::NotBuilt { .. }
        | TargetError::WeakKey { .. } => StartError::Missing(error.to_string()),
        _ => StartError::Failed(error.to_string()),
    }
}

/// The CPUs that no server and no load of the study uses; where there are none, those of the loads
/// that no server uses; where there are none either, all.
fn backend_cpus(study: &Study, allowed: &CpuList) -> CpuList {
    let without = |list: Option<CpuList>, used: fn(&Cell) -> Option<&CpuList>| {
        study.cells.iter().filter_map(used).fold(list, |left, used| left?.without(used))
    };
    let beside_servers = without(Some(allowed.clone()), |cell| cell.target.pinned_to());
    let beside_all = without(beside_servers.clone(), |cell| Some(&cell.load.cpus));
    beside_all.or(beside_servers).unwrap_or_else(|| allowed.clone())
}

impl Bench for ThisBench {
    type Target = ThisTarget;

    fn start(
        &mut self,
        target: &Target,
        only: Only,
        connections: usize,
    ) -> Result<ThisTarget, StartError> {
        let server = target.server;
        if server.program().is_none() {
            return self.find(target);
        }
        let failed = |what| StartError::Failed(format!("{server} {what}"));
        let objects = self.objects.as_ref().ok_or_else(|| failed("has no objects to serve"))?;
        if target.send.is_kernels()
            && let Some(lacking) = observe::check::kernel_tls_lacking()
        {
            return Err(StartError::Missing(format!(
                "{server} cannot send by {}: {lacking}, or leave out target.send = {}",
                target.send.words(),
                target.send
            )));
        }
        let settings = self.settings(target, only, connections);
        targets::start(server, &settings, objects, &self.folder)
            .map(|running| ThisTarget::new(Life::Started(Box::new(running))))
            .map_err(not_started)
    }

    fn restart(
        &mut self,
        running: ThisTarget,
        target: &Target,
        only: Only,
        connections: usize,
    ) -> Result<ThisTarget, StartError> {
        let (Life::Started(running), Some(program)) = (running.life, target.server.program())
        else {
            return Err(StartError::Failed("toll did not start it".to_owned()));
        };
        let settings = self.settings(target, only, connections);
        targets::restart(*running, program, &settings)
            .map(|running| ThisTarget::new(Life::Started(Box::new(running))))
            .map_err(not_started)
    }

    fn name(&self, target: &ThisTarget) -> String {
        match &target.life {
            Life::Started(running) => running.name().to_owned(),
            Life::Elsewhere(found) => found.name(),
        }
    }

    fn version(&self, target: &ThisTarget) -> String {
        match &target.life {
            Life::Started(running) => running.version().to_owned(),
            Life::Elsewhere(found) => found.to_string(),
        }
    }

    fn probe(&mut self, target: &ThisTarget, cell: &Cell) -> Result<(), StartError> {
        if let (Life::Started(running), Some(group)) = (&target.life, cell.load.group)
            && let Some(library) = lacking(running, group)
        {
            return Err(StartError::Missing(format!(
                "{} runs on {library}, which lacks {group}; take another library, or leave \
                 load.group = {group} out",
                cell.target.server
            )));
        }
        let mut job = job(cell, target, 0);
        // Ranks look for theirs.
        if let Some(peer) = Peer::of(cell.load.client).filter(|_| cell.load.ranks.is_none()) {
            let client = Client::prepare(peer, &job, offer(cell.target.server));
            client.map_err(|error| match error {
                PeerError::Missing { .. } => StartError::Missing(error.to_string()),
                _ => StartError::Failed(error.to_string()),
            })?;
        }
        // All objects are there; a large one would take minutes to tell what a small one does.
        if let (Life::Started(_), Some(made)) = (&target.life, &self.objects)
            && cell.load.operation != Operation::Session
        {
            let path = objects::path(made.sizes()[0]);
            job.url = Url::at(job.url.is_tls(), job.address, &path);
            (job.objects, job.files) = (None, None);
        }
        load::probe(&job).map(|_| ()).map_err(|error| StartError::Failed(error.to_string()))
    }

    fn trial(
        &mut self,
        target: &mut ThisTarget,
        Ask { cell, seed, beyond_limit, latency_file, profile }: Ask<'_>,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<Measured, String> {
        target.check_alive()?;
        let heaviest = self.heaviest(cell);
        let (not_steady, prepared) = target.warm_up(heaviest, seed, interrupt, progress)?;
        let progress = &mut |moment: Moment| progress(Moment { prepared, ..moment });
        let server_cpus = target.cpus();
        let trial = Trial {
            job: job(cell, target, seed),
            certificate_key: target.certificate_key(cell),
            neighbours: match (&server_cpus, cell.load.ranks) {
                (Some(server), None) => self.neighbours(server, &cell.load.cpus),
                _ => Neighbours::Apart,
            },
            server_cpus,
            backend_cpus: target.backend().map(|backend| backend.cpus().clone()),
            runs_on: target.runs_on(cell),
            objects_on_disk: self.note().map(str::to_owned),
            not_steady,
            beyond_limit,
            latency_file: Some(latency_file),
        };
        if let (Some(objects), Some(files)) = (&self.objects, &trial.job.files) {
            objects.drop_cached(files).map_err(|error| error.to_string())?;
        }
        let orders = target.orders(cell)?;
        let sent = target.sent(cell)?;
        let accelerated = target.accelerated(cell)?;
        let machine = target.machine();
        let mut machine = machine.map_err(|error| target.cause(error.to_string()))?;
        let sampling = profile.map(|files| Sampling::start(target.pid_and_cpus(), files));
        let sampling = sampling.transpose()?;
        let mut hooks = Hooks { interrupt, progress, check_target: &mut || target.check_alive() };
        let cluster = self.cluster.as_ref().filter(|_| cell.load.ranks.is_some());
        let measured = match (cluster, Peer::of(cell.load.client)) {
            (Some(cluster), _) => {
                let offer = offer(cell.target.server);
                let measured = trial.run(&mut machine, &mut hooks, |job| cluster.load(&job, offer));
                measured.map(|measured| {
                    let line = cluster.account(measured.line, &trial.job);
                    Measured { line, ..measured }
                })
            }
            (None, None) => trial
                .run(&mut machine, &mut hooks, Engine::start)
                .map_err(|error| error.to_string()),
            (None, Some(peer)) => {
                client(peer, &trial.job, offer(cell.target.server)).and_then(|client| {
                    trial
                        .run(&mut machine, &mut hooks, |_| client.start())
                        .map_err(|error| error.to_string())
                })
            }
        };
        let mut measured = measured.map_err(|error| target.cause(error))?;
        if measured.line.target_error.is_none() {
            measured.line = measured.line.with_application(target.application(cell, orders));
            if cell.target.server.is_configured() {
                let sending = target.sending(cell, sent.as_ref());
                let after = target.accelerated(cell)?;
                let accelerated =
                    after.zip(accelerated).map(|(after, before)| after.since(&before));
                measured.line =
                    measured.line.with_accelerator(&cell.target, accelerated).with_sending(sending);
            }
        }
        if let Some(sampling) = sampling {
            measured.line.profile = sampling.end(&measured.line, &self.rules)?;
        }
        Ok(measured)
    }
}

impl ThisTarget {
    fn new(life: Life) -> Self {
        Self { life, warmed_up: Vec::new(), crypto: None }
    }

    /// Warms it up with this cell's load where the study asks for it and the suite was not used
    /// before; where it did not become steady, with that, and with what was planned for it now.
    fn warm_up(
        &mut self,
        cell: &Cell,
        seed: u64,
        interrupt: &AtomicBool,
        progress: &mut dyn FnMut(Moment),
    ) -> Result<(Option<NotSteady>, Duration), String> {
        let Some(how) = cell.target.warmup else { return Ok((None, Duration::ZERO)) };
        let suite = cell.load.suite;
        if let Some((_, ended)) = self.warmed_up.iter().find(|(known, _)| *known == suite) {
            return Ok((*ended, Duration::ZERO));
        }
        let job = job(cell, self, seed);
        let few = USERS_PER_CPU * cell.target.cpus.len();
        let server = self.pid().and_then(|pid| ProcessTree::find(pid).ok());
        let plan = warm_up::Plan { how, few, most: cell.most_connections(), server };
        let mut each = |prepared| {
            let (elapsed, window) = (Duration::ZERO, cell.load.duration.into());
            progress(Moment { prepared, elapsed, window, progress: Progress::default() });
        };
        let ended = self.spread(|| warm_up(&plan, job, interrupt, &mut each))??;
        self.warmed_up.push((suite, ended));
        Ok((ended, how.most().into()))
    }

    /// Does something while it may use all CPUs that toll may use, if toll started it.
    fn spread<T>(&self, what: impl FnOnce() -> T) -> Result<T, String> {
        let Life::Started(running) = &self.life else { return Ok(what()) };
        let failed = |error: io::Error| format!("{} cannot be pinned: {error}", running.name());
        let all = CpuList::allowed().map_err(failed)?;
        running.spread(&all).map_err(failed)?;
        let done = what();
        running.pin(&all).map_err(failed)?;
        Ok(done)
    }

    /// Why it is no longer the server that it was.
    fn check_alive(&mut self) -> Result<(), String> {
        match &mut self.life {
            Life::Started(running) => running.check_alive().map_err(|error| error.to_string()),
            Life::Elsewhere(found) => found.check_alive(),
        }
    }

    /// What kept a trial from being measured: where the server has died meanwhile, that, rather
    /// than what failed for it.
    fn cause(&mut self, error: String) -> String {
        match &mut self.life {
            Life::Started(running) => running.death().map_or(error, |death| death.to_string()),
            Life::Elsewhere(found) => found.check_alive().err().unwrap_or(error),
        }
    }

    /// The CPUs that it runs on, where that is known.
    fn cpus(&self) -> Option<CpuList> {
        match &self.life {
            Life::Started(running) => Some(running.cpus().clone()),
            Life::Elsewhere(found) => found.cpus.clone(),
        }
    }

    /// What it was to run on and what it runs on, where toll started it.
    fn runs_on(&self, cell: &Cell) -> Option<RunsOn> {
        match &self.life {
            Life::Started(running) => Some(RunsOn {
                target: cell.target.clone(),
                libraries: running.libraries().to_vec(),
                stack: running.stack().cloned(),
            }),
            Life::Elsewhere(_) => None,
        }
    }

    /// The orders that it has, where it is a shop.
    fn orders(&self, cell: &Cell) -> Result<Option<u64>, String> {
        match self.program(cell) {
            Some((running, program)) => program.orders(running).map_err(|error| error.to_string()),
            None => Ok(None),
        }
    }

    /// What it has sent by its own count.
    fn sent(&self, cell: &Cell) -> Result<Option<SendCounters>, String> {
        match self.program(cell) {
            Some((running, program)) => program.sent(running).map_err(|error| error.to_string()),
            None => Ok(None),
        }
    }

    /// What its accelerator did, where it has one.
    fn accelerated(&self, cell: &Cell) -> Result<Option<AcceleratorCounts>, String> {
        match self.program(cell).filter(|_| cell.target.accelerator().is_some()) {
            Some((running, program)) => {
                program.accelerated(running).map_err(|error| error.to_string())
            }
            None => Ok(None),
        }
    }

    /// How it has sent in a load before which it had sent this.
    fn sending(&self, cell: &Cell, before: Option<&SendCounters>) -> Result<Sending, String> {
        let counted = match (before, self.sent(cell)?) {
            (Some(before), Some(after)) => Some(after.since(before)),
            _ => None,
        };
        let lacks_sendfile = self
            .program(cell)
            .and_then(|(running, program)| program.lacks_sendfile(running.version()));
        Ok(Sending { asked: cell.target.send, counted, lacks_sendfile })
    }

    /// Its process with what toll knows of the program, where toll started it.
    fn program(&self, cell: &Cell) -> Option<(&Running, &'static dyn targets::Program)> {
        let Life::Started(running) = &self.life else { return None };
        Some((running, cell.target.server.program()?))
    }

    /// What it says of itself after a load before which it had these orders. Its cryptography is asked
    /// after the first load only: a process keeps its providers and switches.
    fn application(&mut self, cell: &Cell, before: Option<u64>) -> Result<Application, String> {
        let orders = match (before, self.orders(cell)?) {
            (Some(before), Some(after)) => Some(Orders { before, after }),
            _ => None,
        };
        if let Some((running, program)) = self.program(cell)
            && self.crypto.is_none()
        {
            let found = program.crypto(running, &Settings::of(cell.target.clone()));
            self.crypto = found.map_err(|error| error.to_string())?;
        }
        let asked = (cell.target.crypto, cell.target.aes);
        Ok(Application { orders, crypto: self.crypto.clone().map(|found| (asked, found)) })
    }

    fn backend(&self) -> Option<&Running> {
        match &self.life {
            Life::Started(running) => running.backend(),
            Life::Elsewhere(_) => None,
        }
    }

    /// The kind of key in its certificate, where toll chose it and the server has no choice.
    fn certificate_key(&self, cell: &Cell) -> Option<tls::CertificateKey> {
        cell.target.server.is_configured().then_some(cell.target.certificate_key)
    }

    /// Its first process and its CPUs, where both are known.
    fn pid_and_cpus(&self) -> Option<(u32, CpuList)> {
        self.pid().zip(self.cpus())
    }

    /// Its first process, where that is known.
    fn pid(&self) -> Option<u32> {
        match &self.life {
            Life::Started(running) => Some(running.pid()),
            Life::Elsewhere(found) => found.pid,
        }
    }

    fn machine(&self) -> Result<ThisMachine, ObserveError> {
        let machine = match self.pid() {
            Some(pid) => ThisMachine::with_server(pid)?,
            None => ThisMachine::without_server(),
        };
        match self.backend() {
            Some(backend) => machine.and_backend(backend.pid()),
            None => Ok(machine),
        }
    }
}

/// The TLS library of a server, where it lacks the group.
fn lacking(running: &Running, group: Group) -> Option<String> {
    if let Some((stack, _)) = running.stack().filter(|(stack, _)| !stack.has_group(group)) {
        return Some(stack.to_string());
    }
    running.libraries().iter().find(|library| library.lacks(group)).map(ToString::to_string)
}

/// Another program that can carry out this plan at a server that leaves this to it.
fn client(peer: Peer, job: &Job, offer: Offer) -> Result<Client, String> {
    Client::prepare(peer, job, offer).map_err(|error| error.to_string())
}

/// The commands that would be started for the study's servers, in the order of starting, with the
/// places that they would have in the result folder; `objects` stands for the folder of the objects.
/// Where a server is not installed, that is said instead.
#[must_use]
pub fn commands(study: &Study, objects: &str, folder: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut command = |(target, only): (Target, Only)| {
        let server = target.server;
        if server.program().is_none() {
            return format!("none for {server}: it runs already");
        };
        let settings = settings(&target, only);
        let number = names.iter().filter(|name| *name == server.name()).count() + 1;
        names.push(server.name().to_owned());
        let name = match number {
            1 => server.name().to_owned(),
            _ => format!("{server}-{number}"),
        };
        server
            .find(&settings)
            .and_then(|_| {
                targets::command(server, &settings, objects.as_ref(), folder.as_ref(), &name)
            })
            .unwrap_or_else(|| format!("{server}: not installed"))
    };
    study.servers().into_iter().map(|(setup, _)| command(setup)).collect()
}

/// All versions, suites and groups of the server's own choice, where it is to choose: what a cell
/// wants, its client asks for.
fn settings(target: &Target, only: Only) -> Settings {
    let Only { version, suite, group } = only;
    Settings {
        versions: version.map_or_else(|| vec![Version::Tls12, Version::Tls13], |only| vec![only]),
        suites: suite.into_iter().collect(),
        groups: group.into_iter().collect(),
        ..Settings::of(target.clone())
    }
}

fn job(cell: &Cell, target: &ThisTarget, seed: u64) -> Job {
    let plan = Plan { cpus: cell.load.cpus.first(cell.load.connections), ..cell.load.clone() };
    let is_tls = !plan.is_plain();
    let (address, url, objects, known) = match &target.life {
        Life::Started(running) => {
            let address = if is_tls { running.https() } else { running.http() };
            let url = Url::at(is_tls, address, path(&cell.target, &plan));
            let trust = Trust::File(running.certificate().to_owned());
            (address, url, mixed_objects(&cell.target, &plan), trust)
        }
        Life::Elsewhere(found) => (found.address, found.url.clone(), None, Trust::System),
    };
    let trust = plan.trust().unwrap_or(known);
    let files = files(&cell.target, &plan);
    Job { files, plan, url, objects, address, trust, seed, operations: None }
}
