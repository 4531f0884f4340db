//! The machine as a trial sees it: its clock, its CPUs, its counters.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant, SystemTime};

use cpus::CpuList;
use load::Source;
use observe::{
    CpuMeter, CpuSeries, End, EnergyMeter, Fact, Holder, KernelTlsCounters, Link, ListenQueue,
    MemoryTraffic, NamedThread, NetCounters, ObserveError, OpenDescriptors, OpenSockets,
    ProcessTree, QuotaWatch, Sampler, Snapshot, TaskWindow, TcpConnections, ThreadCpu, Transport,
    TreeCpu, TreeMeter,
};
use serde::{Deserialize, Serialize};
use units::Nanos;

use crate::congestion::Connections;
use crate::connection_memory::MemoryReading;
use crate::evidence::Interface;
use crate::neighbours::Neighbours;
use crate::reading::{NetReading, ProcessesChanged, Reading};
use crate::server_cpus;
use crate::usage::TaskReading;

/// What a trial needs of a machine. Tests have one that stands still.
pub trait Machine {
    /// The monotonic clock.
    fn now(&self) -> Instant;
    /// Milliseconds since 1970-01-01 UTC.
    fn unix_ms(&self) -> u64;
    /// Returns at that instant or, busy as the machine may be, soon after; earlier where this thread is
    /// unparked.
    fn sleep_until(&self, instant: Instant);
    /// The frequency of a core now, in cycles per second, if that can be measured.
    fn core_hz(&self, cpu: usize) -> Option<u64>;
    /// Looks which processes the server has now; readings are of these until the next look.
    fn find_server(&mut self);
    /// How the server's processes differ from those that [`find_server`](Self::find_server) found;
    /// `None` where they do not, and where there is no server.
    fn server_change(&self) -> Option<ProcessesChanged>;
    /// The server's threads that may serve, without those of a master process.
    fn server_threads(&self) -> Vec<NamedThread>;
    /// Finds the interfaces on the way to these addresses, from these sources where some were
    /// chosen; readings are of these until the next look.
    fn find_links(&mut self, peers: &[IpAddr], sources: &[Source]);
    /// Finds the server's listeners at this address; readings are of these until the next look.
    fn find_listeners(&mut self, address: SocketAddr);
    /// Who else gets a part of what is sent to the server's address; nobody where there is no server.
    fn sharers(&self, _transport: Transport, _address: SocketAddr) -> Fact<Vec<Holder>> {
        Fact::Known(Vec::new())
    }
    /// The interfaces that were found, in the order of the readings; none on loopback.
    fn interfaces(&self) -> Vec<Interface>;
    /// The descriptors of that process of the server that is nearest to its limit.
    fn server_descriptors(&self) -> Option<OpenDescriptors>;
    /// How many connections the kernel has encrypted by itself, in the server's network namespace
    /// where its process is known.
    ///
    /// # Errors
    /// The kernel has no TLS layer.
    fn kernel_tls(&self) -> Result<KernelTlsCounters, ObserveError>;
    /// What the connections to this address have for congestion control now, as far as their ends are
    /// known to be of this load; nothing where the kernel does not say.
    fn connections(&self, address: SocketAddr) -> Connections;
    /// The CPUs that share a core with one of these.
    fn sibling_cpus(&self, cpus: &CpuList) -> Vec<usize>;
    /// Reads CPU times and counters; `threads` are kernel ids.
    fn read(&self, threads: &[i32]) -> Reading;
    /// Notes how much CPU time each program has had until now.
    fn note_programs(&mut self);
    /// What programs other than server, backend and these threads did since then.
    fn other_programs(&self, threads: &[i32]) -> OtherPrograms;
    /// Begins to record what each CPU does.
    fn start_series(&mut self, interval: Duration);
    /// Ends the record.
    fn take_series(&mut self) -> Result<CpuSeries, ObserveError>;
    /// What the server has of memory now, and its connections at this address; `None` where that is not known,
    /// as of another machine.
    fn server_memory(&self, _address: SocketAddr) -> Option<MemoryReading> {
        None
    }
    /// What the processors take now, in watts; `None` where that is not known, as of another machine. Takes a
    /// while where it is.
    fn watts(&self) -> Option<f64> {
        None
    }
    /// Ends the record of the server's machine, where that is another one.
    fn take_remote_series(&mut self) -> Option<Result<CpuSeries, ObserveError>> {
        None
    }
}

/// What programs did that are not measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OtherPrograms {
    /// Their CPU time, the busiest first.
    pub busiest: Vec<(String, Nanos)>,
    /// What their tasks did on which CPUs, where nothing counts that by CPU.
    pub tasks: Option<TaskWindow>,
    /// The same of the server's machine, where that is another one.
    pub tasks_there: Option<TaskWindow>,
}

/// The machine that toll runs on, with the process tree of the server if it runs here too.
#[derive(Debug)]
pub struct ThisMachine {
    server: Option<Server>,
    backend: Option<Server>,
    links: Vec<(Interface, Link)>,
    listeners: Option<ListenQueue>,
    sampler: Option<Result<Sampler, ObserveError>>,
    programs: Option<Snapshot>,
    memory: Option<MemoryTraffic>,
    energy: Option<EnergyMeter>,
    quotas: QuotaWatch,
}

/// How long the processors are watched while the server waits.
const IDLE: Duration = Duration::from_millis(300);

#[derive(Debug)]
struct Server {
    pid: u32,
    tree: ProcessTree,
    /// What it uses from when it was found.
    used: TreeMeter,
    quotas: QuotaWatch,
}

impl Server {
    fn find(pid: u32) -> Result<Self, ObserveError> {
        let tree = ProcessTree::find(pid)?;
        let quotas = QuotaWatch::of(tree.pids());
        Ok(Self { pid, quotas, tree, used: TreeMeter::begin(pid)? })
    }

    /// How its processes differ from those that were found, or what they used is in no account.
    fn change(&self) -> Option<ProcessesChanged> {
        let (tree, used) = (ProcessTree::find(self.pid).ok()?, self.used.read());
        (tree != self.tree || used.is_err()).then(|| ProcessesChanged {
            before: self.tree.pids().len(),
            after: tree.pids().len(),
            began: tree.began_since(&self.tree),
            used: used.ok().map(|used| (reading_of(&used), used.source)),
        })
    }
}

fn reading_of(used: &TreeCpu) -> TaskReading {
    let TreeCpu { at, on_cpu, doubt, waiting, .. } = *used;
    TaskReading { at, on_cpu, doubt, waiting }
}

impl ThisMachine {
    /// With a server whose process is not known, or on another machine.
    pub fn without_server() -> Self {
        Self {
            server: None,
            backend: None,
            links: Vec::new(),
            listeners: None,
            sampler: None,
            programs: None,
            memory: MemoryTraffic::open().ok(),
            energy: EnergyMeter::open().ok(),
            quotas: own_quotas(),
        }
    }

    /// With a server that is the process `pid` and its descendants.
    ///
    /// # Errors
    /// There is no such process.
    pub fn with_server(pid: u32) -> Result<Self, ObserveError> {
        let server = Server::find(pid)?;
        Ok(Self { server: Some(server), ..Self::without_server() })
    }

    /// The same with a backend of the server, whose time is not the server's.
    ///
    /// # Errors
    /// There is no such process.
    pub fn and_backend(self, pid: u32) -> Result<Self, ObserveError> {
        let backend = Server::find(pid)?;
        Ok(Self { backend: Some(backend), ..self })
    }

    /// A process in the server's network namespace, as far as that is known.
    fn pid(&self) -> u32 {
        self.server.as_ref().map_or_else(std::process::id, |server| server.pid)
    }
}

impl Machine for ThisMachine {
    fn now(&self) -> Instant {
        Instant::now()
    }

    fn unix_ms(&self) -> u64 {
        unix_ms()
    }

    fn sleep_until(&self, instant: Instant) {
        std::thread::park_timeout(instant.saturating_duration_since(Instant::now()));
    }

    fn core_hz(&self, cpu: usize) -> Option<u64> {
        observe::core_hz(cpu).ok().map(|hertz| hertz.0.round() as u64)
    }

    fn find_server(&mut self) {
        for server in [&mut self.server, &mut self.backend].into_iter().flatten() {
            // A server that is gone keeps its last tree, of which nothing can be read any more.
            if let Ok(now) = Server::find(server.pid) {
                *server = now;
            }
        }
        self.quotas = own_quotas();
    }

    fn server_change(&self) -> Option<ProcessesChanged> {
        self.server.as_ref()?.change()
    }

    fn server_threads(&self) -> Vec<NamedThread> {
        self.server.as_ref().map_or_else(Vec::new, |server| server.tree.serving_threads())
    }

    fn read(&self, threads: &[i32]) -> Reading {
        // The threads first: they may be about to end.
        let client_cpus =
            threads.iter().map(|tid| observe::allowed_cpus(tid.cast_unsigned())).collect();
        let threads = threads
            .iter()
            .map(|tid| {
                let tid = u32::try_from(*tid).ok()?;
                // Another program's threads have no clocks that this process may read.
                let cpu = ThreadCpu::of(tid).or_else(|_| ThreadCpu::of_any_process(tid)).ok()?;
                let (at, doubt) = (Instant::now(), Nanos(0));
                Some(TaskReading { at, on_cpu: cpu.on_cpu, doubt, waiting: cpu.waiting })
            })
            .collect();
        let of_tree = |server: &Server| server.used.read().ok();
        let server_disk_bytes =
            self.server.as_ref().and_then(|server| server.tree.read_from_disk().ok());
        let of_server = self.server.as_ref().and_then(of_tree);
        let backend = self.backend.as_ref().and_then(of_tree).map(|used| reading_of(&used));
        let server = of_server.as_ref().map(reading_of);
        let server_threads = of_server.map(|used| used.threads).unwrap_or_default();
        let lists = server_threads.keys().copied().filter_map(observe::allowed_cpus);
        let lists: Vec<CpuList> = lists.collect();
        let at = Instant::now();
        let cpus = CpuMeter::machine().read(at).ok();
        let net = NetCounters::of_process(self.pid()).ok().as_ref().and_then(NetReading::of);
        // One that is gone is left out, and with it what was known of it.
        let links = self.links.iter().map_while(|(_, link)| link.read().ok()).collect();
        let memory =
            self.memory.as_ref().and_then(|counted| Some((counted.source(), counted.read().ok()?)));
        Reading {
            at: Some(at),
            server,
            backend,
            server_disk_bytes,
            server_threads,
            threads,
            client_cpus,
            server_cpus: server_cpus::serving(&lists),
            server_throttling: self
                .server
                .as_ref()
                .map(|server| server.quotas.read())
                .unwrap_or_default(),
            client_throttling: self.quotas.read(),
            cpus,
            net,
            listener_drops: self.listeners.as_ref().and_then(|queue| queue.drops().ok().flatten()),
            links,
            memory,
            energy: self.energy.as_ref().and_then(|meter| meter.read().ok()),
            there: None,
        }
    }

    fn server_memory(&self, address: SocketAddr) -> Option<MemoryReading> {
        let Server { pid, tree, .. } = self.server.as_ref()?;
        Some(MemoryReading {
            process_bytes: tree.memory().ok()?,
            sockets: OpenSockets::at(address, *pid).ok()?,
        })
    }

    fn watts(&self) -> Option<f64> {
        let meter = self.energy.as_ref()?;
        let (before, at) = (meter.read().ok()?, Instant::now());
        std::thread::sleep(IDLE);
        let joules = meter.read().ok()?.joules_since(&before)?;
        Some(joules / at.elapsed().as_secs_f64())
    }

    fn find_links(&mut self, peers: &[IpAddr], sources: &[Source]) {
        let interface = |side: &str, link: Link| {
            let name = format!("{side}{}", link.name());
            (Interface { name, speed: link.speed().map(|speed| speed.0) }, link)
        };
        // What cannot be found is not known, and never the limit.
        let to = |peer: IpAddr| {
            let from = move |source: &Source| match source {
                Source::Address(address) => Link::to(peer, Some(*address)),
                Source::Interface(name) => Link::named(name),
            };
            match sources {
                [] => vec![Link::to(peer, None)],
                _ => sources.iter().map(from).collect(),
            }
        };
        let mut ours: Vec<Link> = Vec::new();
        let found = peers.iter().flat_map(|peer| to(*peer));
        for link in found.filter_map(|link| link.ok().flatten()) {
            if ours.iter().all(|known| known.name() != link.name()) {
                ours.push(link);
            }
        }
        let theirs = self.server.as_ref().zip(peers.first()).and_then(|(process, peer)| {
            Some(interface("server:", Link::back_from(process.pid, *peer).ok().flatten()?))
        });
        let ours = ours.into_iter().map(|link| interface("", link));
        self.links = ours.chain(theirs).collect();
    }

    fn find_listeners(&mut self, address: SocketAddr) {
        self.listeners = ListenQueue::of_process(self.pid(), address).ok();
    }

    fn sharers(&self, transport: Transport, address: SocketAddr) -> Fact<Vec<Holder>> {
        let tree = self.server.as_ref().and_then(|server| ProcessTree::find(server.pid).ok());
        let pids: Vec<u32> = tree.map_or_else(Vec::new, |tree| tree.pids().collect());
        observe::sharers(&pids, transport, address)
    }

    fn interfaces(&self) -> Vec<Interface> {
        self.links.iter().map(|(interface, _)| interface.clone()).collect()
    }

    fn server_descriptors(&self) -> Option<OpenDescriptors> {
        let pids = self.server.as_ref()?.tree.pids();
        pids.filter_map(|pid| observe::open_descriptors(pid).ok())
            .min_by_key(|files| files.limit.saturating_sub(files.open))
    }

    fn kernel_tls(&self) -> Result<KernelTlsCounters, ObserveError> {
        KernelTlsCounters::of_process(self.pid())
    }

    fn connections(&self, address: SocketAddr) -> Connections {
        let ends = |end, pid| TcpConnections::at(address, end, pid).unwrap_or_default();
        let is_server_here = self.server.is_some() || address.ip().to_canonical().is_loopback();
        Connections {
            server: if is_server_here {
                ends(End::Local, self.pid())
            } else {
                TcpConnections::default()
            },
            client: ends(End::Remote, std::process::id()),
            loopback_queue: observe::loopback_queue().unwrap_or_default(),
        }
    }

    fn sibling_cpus(&self, cpus: &CpuList) -> Vec<usize> {
        observe::sibling_cpus(cpus)
    }

    fn note_programs(&mut self) {
        self.programs = Some(Snapshot::take(CpuMeter::machine(), self.now()));
    }

    fn other_programs(&self, threads: &[i32]) -> OtherPrograms {
        let Some(before) = &self.programs else { return OtherPrograms::default() };
        let servers = [&self.server, &self.backend].into_iter().flatten();
        // Those that it has begun since are the server's too.
        let now = |server: &Server| ProcessTree::find(server.pid).ok();
        let trees = servers.flat_map(|server| [now(server), Some(server.tree.clone())]);
        let known = trees.flatten().flat_map(|tree| tree.pids().collect::<Vec<u32>>());
        let known = known.chain(threads.iter().map(|thread| thread.cast_unsigned()));
        let known: Vec<u32> = known.chain([std::process::id()]).collect();
        let after = Snapshot::take(CpuMeter::machine(), self.now());
        OtherPrograms {
            busiest: after.programs_since(before, &known),
            tasks: after.tasks_since(before, &known),
            tasks_there: None,
        }
    }

    fn start_series(&mut self, interval: Duration) {
        self.sampler = Some(Sampler::start(interval));
    }

    fn take_series(&mut self) -> Result<CpuSeries, ObserveError> {
        let not_started = || Err(ObserveError::Sampler("it was not started".to_owned()));
        self.sampler.take().unwrap_or_else(not_started)?.stop()
    }
}

/// Those that toll is under, and with it the load that it makes.
fn own_quotas() -> QuotaWatch {
    QuotaWatch::of([std::process::id()])
}

/// The most CPUs of a client of which each is tried against the server's first one.
const MOST_PAIRS: usize = 8;

/// Where server and client run relative to each other, measured where it has to be: about 20 ms
/// for each of the client's first eight CPUs, during which the server should be idle.
pub fn neighbours(server: &CpuList, client: &CpuList) -> Neighbours {
    let overlap = |cpu: &usize| server.as_slice().contains(cpu);
    if client.as_slice().iter().any(overlap) {
        return Neighbours::Shared;
    }
    let first = server.as_slice()[0];
    let share_a_core = |cpu: &usize| {
        format!("{first},{cpu}")
            .parse()
            .ok()
            .and_then(|pair: CpuList| observe::siblings(&pair).ok())
            .is_some_and(|ratios| ratios.iter().any(observe::SiblingRatio::share_a_core))
    };
    if client.as_slice().iter().take(MOST_PAIRS).any(share_a_core) {
        Neighbours::Siblings
    } else {
        Neighbours::Apart
    }
}

/// By the clock of this machine, in milliseconds since 1970-01-01 UTC.
pub(crate) fn unix_ms() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Child, Command, Stdio};

    /// A shell that forks once for a line on its input, and ends with its child when that closes.
    struct Forking(Child);

    impl Forking {
        fn start() -> Self {
            let script = "exec 3<&0; read a; (read b <&3) & read c";
            Self(Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap())
        }

        fn fork(&mut self) {
            self.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
        }
    }

    impl Drop for Forking {
        fn drop(&mut self) {
            drop(self.0.stdin.take());
            let _ = self.0.wait();
        }
    }

    #[test]
    fn a_process_that_is_forked_after_the_look_is_a_change() {
        let mut server = Forking::start();
        let mut machine = ThisMachine::with_server(server.0.id()).unwrap();
        machine.find_server();
        assert_eq!(machine.server_change(), None);
        server.fork();
        let deadline = Instant::now() + Duration::from_secs(30);
        let change = loop {
            if let Some(change) = machine.server_change() {
                break change;
            }
            assert!(Instant::now() < deadline, "it does not fork");
            std::thread::sleep(Duration::from_millis(5));
        };
        assert_eq!((change.before, change.after), (1, 2));
        assert!(change.used.is_some() && change.began < Some(Nanos(30_000_000_000)), "{change:?}");
        machine.find_server();
        assert_eq!(machine.server_change(), None);
        assert!(machine.read(&[]).server.is_some());
    }

    #[test]
    fn a_record_that_was_not_begun_says_so() {
        assert!(ThisMachine::without_server().take_series().is_err());
    }

    #[test]
    fn a_program_that_keeps_a_cpu_busy_is_named() {
        let mut machine = ThisMachine::without_server();
        machine.note_programs();
        let script = "printf busy-loop > /proc/$$/comm; while :; do :; done";
        let mut busy = Command::new("sh").args(["-c", script]).spawn().unwrap();
        let is_named = |threads: &[i32]| {
            machine.other_programs(threads).busiest.iter().any(|(name, _)| name == "busy-loop")
        };
        let end = Instant::now() + Duration::from_secs(20);
        while !is_named(&[]) && Instant::now() < end {
            machine.sleep_until(Instant::now() + Duration::from_millis(10));
        }
        let found = (is_named(&[]), is_named(&[busy.id().cast_signed()]));
        busy.kill().unwrap();
        busy.wait().unwrap();
        assert_eq!(found, (true, false), "known threads are left out");
    }
}
