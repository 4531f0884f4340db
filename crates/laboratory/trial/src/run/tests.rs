use super::*;
use crate::connection_memory::MemoryReading;
use crate::limit::Limit;
use crate::machine::OtherPrograms;
use crate::neighbours::{Neighbours, NotSteady};
use crate::obtained::Orders;
use crate::ranks::RankReport;
use crate::ranks::{ClientFigures, RankFigures};
use crate::reading::{ProcessesChanged, Reading};
use crate::receipt::RunsOn;
use crate::reports::{Reports, ServerReport};
use crate::testing::{job, outcome, share};
use crate::trial_record::TrialRecord;
use crate::usage::TaskReading;
use crate::warning::WarningKind;
use cpus::CpuList;
use load::{Load, Outcome, Progress};
use observe::{
    CoreTicks, CpuSeries, CpuTime, CpuTimes, EnergyReading, Fact, Holder, MemoryBytes,
    MemorySource, NamedThread, OpenSockets, Transport,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use targets::Target;
use units::Nanos;

/// A clock that only sleeping moves, and what was done when, in ms since the load's start.
#[derive(Clone)]
struct Stage {
    base: Instant,
    elapsed: Rc<Cell<Duration>>,
    log: Rc<RefCell<Vec<(u64, &'static str)>>>,
}

impl Stage {
    fn new() -> Self {
        Self { base: Instant::now(), elapsed: Rc::default(), log: Rc::default() }
    }

    fn note(&self, what: &'static str) {
        self.log.borrow_mut().push((self.elapsed.get().as_millis() as u64, what));
    }
}

struct FakeMachine {
    stage: Stage,
    server_change: Option<ProcessesChanged>,
    sharers: Option<(u64, Fact<Vec<Holder>>)>,
    has_series: bool,
    is_elsewhere: bool,
    compiler_percent: Option<u64>,
}

const NO_BYTES: MemoryBytes = MemoryBytes { read: None, written: None, total: 0 };

/// What the processors take under the load.
const WATTS: u64 = 50;

/// A reading of one package.
fn microjoules(count: u64) -> EnergyReading {
    serde_json::from_value(serde_json::json!([{ "microjoules": count, "range": u64::MAX }]))
        .unwrap()
}

/// The kernel's number of the server's compiler; the next is that of the thread that serves.
const COMPILER: u32 = 7;

/// Three CPUs on which tasks have run for this part of the time until now.
fn cpu_times(at: Instant, elapsed: u64, percent: u64) -> CpuTimes {
    let idle = elapsed / 100 * (100 - percent) / 10_000_000;
    let cpu = CpuTime {
        ticks: CoreTicks { idle, ..CoreTicks::default() },
        programs: Some(Nanos(elapsed / 100 * percent)),
        softirq_thread: Some(Nanos(0)),
    };
    let cpus = [0, 1, 2].map(|number| (number, cpu)).into();
    CpuTimes { at, tick: millis(4), interrupt_time: None, observer: None, cpus }
}

impl Machine for FakeMachine {
    fn now(&self) -> Instant {
        self.stage.base + self.stage.elapsed.get()
    }

    fn unix_ms(&self) -> u64 {
        1_000 + self.stage.elapsed.get().as_millis() as u64
    }

    fn sleep_until(&self, instant: Instant) {
        self.stage.elapsed.set(instant - self.stage.base);
    }

    fn core_hz(&self, cpu: usize) -> Option<u64> {
        assert_eq!(cpu, 0);
        self.stage.note("frequency");
        Some(2_700_000_000)
    }

    /// A server that uses 99% of a CPU, and a load thread that uses 10%.
    fn read(&self, threads: &[i32]) -> Reading {
        assert_eq!(threads, [42]);
        self.stage.note("read");
        let elapsed = self.stage.elapsed.get().as_nanos() as u64;
        let task = |percent: u64| {
            let on_cpu = Nanos(elapsed / 100 * percent);
            Some(TaskReading { at: self.now(), on_cpu, doubt: Nanos(0), waiting: Some(Nanos(0)) })
        };
        let used = |percent: u64| Nanos(elapsed / 100 * percent);
        let server_threads = self
            .compiler_percent
            .map(|percent| [(COMPILER, used(percent)), (COMPILER + 1, used(100 - percent))].into());
        let reading = Reading {
            server: task(99),
            threads: vec![task(10)],
            server_threads: server_threads.unwrap_or_default(),
            memory: Some((MemorySource::Resctrl, MemoryBytes { total: elapsed, ..NO_BYTES })),
            at: Some(self.now()),
            cpus: self.has_series.then(|| cpu_times(self.now(), elapsed, 99)),
            energy: Some(microjoules(elapsed / 1_000 * WATTS)),
            ..Reading::default()
        };
        if !self.is_elsewhere {
            return reading;
        }
        // The other machine's clock is an hour ahead.
        let at = self.now() + AHEAD;
        let cpus = Some(cpu_times(at, elapsed, 40));
        let there = Reading { at: Some(at), cpus, ..reading.clone() };
        let there = Some(Box::new(there));
        Reading { server: None, memory: None, energy: None, there, ..reading }
    }

    /// A server that has 30,000 bytes and 500 in buffers for each of 2,000 connections, once they are open.
    fn server_memory(&self, _: std::net::SocketAddr) -> Option<MemoryReading> {
        self.stage.note("memory");
        let connections =
            if self.stage.elapsed.get() < Duration::from_millis(200) { 0 } else { 2_000 };
        let sockets = OpenSockets { count: connections, buffer_bytes: connections * 500 };
        Some(MemoryReading { process_bytes: (5 << 20) + connections * 30_000, sockets })
    }

    /// Less than with a load.
    fn watts(&self) -> Option<f64> {
        (!self.is_elsewhere).then_some(20.0)
    }

    fn find_links(&mut self, _: &[std::net::IpAddr], _: &[load::Source]) {}

    fn find_listeners(&mut self, _: std::net::SocketAddr) {}

    fn interfaces(&self) -> Vec<crate::evidence::Interface> {
        Vec::new()
    }

    fn server_descriptors(&self) -> Option<observe::OpenDescriptors> {
        None
    }

    fn server_threads(&self) -> Vec<NamedThread> {
        let named = |id, name: &str| NamedThread { id, name: name.to_owned(), is_main: false };
        vec![named(COMPILER, "C2 CompilerThre"), named(COMPILER + 1, "http-exec-")]
    }

    fn kernel_tls(&self) -> Result<observe::KernelTlsCounters, ObserveError> {
        Err(ObserveError::NotAvailable("there is no kernel"))
    }

    fn connections(&self, _: std::net::SocketAddr) -> Connections {
        self.stage.note("connections");
        Connections::default()
    }

    fn sibling_cpus(&self, _: &CpuList) -> Vec<usize> {
        Vec::new()
    }

    fn find_server(&mut self) {
        self.stage.note("find");
    }

    fn server_change(&self) -> Option<ProcessesChanged> {
        self.stage.note("find again");
        self.server_change
    }

    fn sharers(&self, transport: Transport, _: std::net::SocketAddr) -> Fact<Vec<Holder>> {
        assert_eq!(transport, Transport::Tcp);
        let (from, found) = self.sharers.clone().unwrap_or((0, Fact::Known(Vec::new())));
        let is_there = self.stage.elapsed.get().as_millis() as u64 >= from;
        if is_there { found } else { Fact::Known(Vec::new()) }
    }

    fn note_programs(&mut self) {}

    fn other_programs(&self, threads: &[i32]) -> OtherPrograms {
        assert_eq!(threads, [42]);
        let names = ["rustc", "cc1", "ld", "make"].into_iter();
        let busiest =
            names.zip([400, 300, 200, 100]).map(|(name, ms)| (name.to_owned(), millis(ms)));
        OtherPrograms { busiest: busiest.collect(), ..OtherPrograms::default() }
    }

    fn start_series(&mut self, _: Duration) {
        self.stage.note("series");
    }

    fn take_series(&mut self) -> Result<CpuSeries, ObserveError> {
        if !self.has_series {
            return Err(ObserveError::Sampler("it panicked".to_owned()));
        }
        Ok(series(self.stage.base, 99))
    }

    fn take_remote_series(&mut self) -> Option<Result<CpuSeries, ObserveError>> {
        self.is_elsewhere.then(|| Ok(series(self.stage.base + AHEAD, 40)))
    }
}

const AHEAD: Duration = Duration::from_secs(3600);

/// Of ten seconds in which programs had this percentage of three CPUs.
fn series(start: Instant, user: u64) -> CpuSeries {
    let ticks = observe::CoreTicks { user, idle: 100 - user, ..Default::default() };
    CpuSeries {
        start,
        at_ns: vec![0, 10_000_000_000],
        cores: [(0, vec![ticks]), (1, vec![ticks]), (2, vec![ticks])].into(),
    }
}

/// A load with 200 ms of warm-up and a window of 600 ms.
struct FakeLoad {
    stage: Stage,
    lost: Vec<String>,
    stopped: Cell<Option<Duration>>,
}

impl Load for FakeLoad {
    fn window(&self) -> (Instant, Instant) {
        let at = |ms| self.stage.base + Duration::from_millis(ms);
        (at(200), at(800))
    }

    fn thread_ids(&self) -> Vec<i32> {
        vec![42]
    }

    fn progress(&self) -> Progress {
        Progress::default()
    }

    /// A load that loses a thread ends by itself.
    fn is_finished(&self) -> bool {
        !self.lost.is_empty() && self.stage.elapsed.get() >= Duration::from_millis(500)
    }

    fn stop(&self) {
        self.stage.note("stop");
        self.stopped.set(Some(self.stage.elapsed.get()));
    }

    fn join(self) -> Outcome {
        self.stage.note("join");
        let end = self.stopped.get().unwrap().min(Duration::from_millis(800));
        let window = end.saturating_sub(Duration::from_millis(200));
        Outcome {
            window: Nanos(window.as_nanos() as u64),
            interrupted: end < Duration::from_millis(800),
            lost: self.lost,
            ..outcome(window.as_millis() as u64)
        }
    }
}

/// What goes wrong.
#[derive(Default)]
struct Trouble {
    interrupt_at: Option<u64>,
    reports: Option<fn() -> Reports>,
    runs_on: Option<Target>,
    server_change: Option<ProcessesChanged>,
    /// Who shares the server's address, from when on.
    sharers: Option<(u64, Fact<Vec<Holder>>)>,
    lost: &'static [&'static str],
    ramp: Nanos,
    has_no_series: bool,
    is_elsewhere: bool,
    not_steady: Option<NotSteady>,
    compiler_percent: Option<u64>,
    /// Of a server that no load was on before.
    connections: Option<usize>,
}

/// The reports of a server and of a load of which nothing is known.
fn nothing() -> Reports {
    Reports { server: Ok(ServerReport::default()), ranks: None }
}

fn run(trouble: &Trouble) -> (TrialRecord, Stage) {
    let stage = Stage::new();
    let mut job = job("https://localhost/bytes/1MiB");
    job.plan.ramp = trouble.ramp;
    job.plan.connections = trouble.connections.unwrap_or(job.plan.connections);
    let mut trial = Trial::new(job, Some(CpuList::from(0)), Neighbours::Apart);
    trial.not_steady = trouble.not_steady;
    trial.is_first_load = trouble.connections.is_some();
    trial.runs_on = trouble.runs_on.clone().map(|target| RunsOn {
        target,
        system: None,
        quic_api: None,
        libraries: Vec::new(),
        stack: None,
    });
    let interrupt = AtomicBool::new(false);
    let elapsed = stage.elapsed.clone();
    let measured = trial
        .run(
            &mut FakeMachine {
                stage: stage.clone(),
                server_change: trouble.server_change,
                sharers: trouble.sharers.clone(),
                has_series: !trouble.has_no_series,
                is_elsewhere: trouble.is_elsewhere,
                compiler_percent: trouble.compiler_percent,
            },
            &mut Hooks {
                interrupt: &interrupt,
                progress: &mut |_| {
                    let now = elapsed.get().as_millis() as u64;
                    interrupt.store(trouble.interrupt_at.is_some_and(|at| now >= at), Relaxed);
                },
                reports: &mut || trouble.reports.map_or_else(nothing, |reports| reports()),
            },
            |_, begins| {
                begins();
                Ok::<_, ()>(FakeLoad {
                    stage: stage.clone(),
                    lost: trouble.lost.iter().map(ToString::to_string).collect(),
                    stopped: Cell::new(None),
                })
            },
        )
        .unwrap();
    (measured.line, stage)
}

#[test]
fn everything_is_read_over_the_loads_window() {
    let (line, stage) = run(&Trouble::default());
    let (reads, others): (Vec<_>, Vec<_>) =
        stage.log.borrow().iter().copied().partition(|(_, what)| *what == "read");
    let reads: Vec<u64> = reads.into_iter().map(|(at, _)| at).collect();
    // Where none was seen, connections are looked for again.
    let others: Vec<_> = others.into_iter().filter(|(_, what)| *what != "connections").collect();
    assert_eq!(reads, [200, 300, 400, 500, 600, 700, 798, 800, 800]);
    assert_eq!(
        others,
        [
            (0, "frequency"),
            (0, "series"),
            (200, "find"),
            (800, "find again"),
            (800, "stop"),
            (800, "join"),
            (800, "frequency"),
        ]
    );
    assert!(line.valid && !line.interrupted);
    assert_eq!((line.window_ns, line.started_unix_ms), (600_000_000, 1_200));
    assert_eq!((line.rate_per_s, line.goodput_bps), (Some(1000.0), Some(8 * 1000 * (1 << 20))));
    assert_eq!((line.cpu_ns.server, line.cpu_ns.client), (Some(594_000_000), Some(60_000_000)));
    // A byte per ns, from the window's start to its end.
    assert_eq!(line.memory.map(|memory| memory.bytes), Some(600_000_000));
    assert_eq!(line.memory_bandwidth(), Some(1e9));
    assert_eq!(line.limit(), Some(Limit::ServerCpu));
    // CPU 2 is neither the server's nor the client's: it has one step.
    let cpus: Vec<usize> = line.cpu_share.iter().map(|core| core.cpu).collect();
    let steps: Vec<usize> = line.cpu_share.iter().map(|core| core.user.len()).collect();
    assert_eq!((cpus, steps), (vec![0, 1, 2], vec![6, 6, 1]));
    assert_eq!(line.receipt.asked.server_cpus, Some(CpuList::from(0)));
}

#[test]
fn energy_is_that_of_the_window_beyond_an_idle_machine_s() {
    let (line, _) = run(&Trouble::default());
    let energy = line.energy.unwrap();
    // 600 ms at 50 W, of which an idle machine takes 20.
    assert!((energy.joules - 30.0).abs() < 1e-9 && energy.idle_watts == 20.0, "{energy:?}");
    assert!((line.joules().unwrap() - 18.0).abs() < 1e-9);
    // What another machine takes idle is not known, so nothing is said.
    assert_eq!(run(&Trouble { is_elsewhere: true, ..Trouble::default() }).0.energy, None);
}

#[test]
fn memory_of_connections_is_read_before_the_load_and_near_the_windows_end() {
    let (line, stage) = run(&Trouble { connections: Some(2_000), ..Trouble::default() });
    let memory = line.connection_memory.unwrap();
    assert_eq!(
        (memory.connections, memory.each(), memory.each_in_buffers()),
        (2_000, 30_000.0, 500.0)
    );
    let log = stage.log.borrow();
    let at: Vec<u64> =
        log.iter().filter(|(_, what)| *what == "memory").map(|(at, _)| *at).collect();
    assert_eq!(at, [0, 700]);
    // Few connections, and a process that had a load before.
    for trouble in [Trouble { connections: Some(999), ..Trouble::default() }, Trouble::default()] {
        let (line, stage) = run(&trouble);
        assert_eq!(line.connection_memory, None);
        assert!(stage.log.borrow().iter().all(|(_, what)| *what != "memory"));
    }
}

#[test]
fn a_server_elsewhere_is_read_by_the_clock_of_its_machine() {
    let (line, _) = run(&Trouble { is_elsewhere: true, ..Trouble::default() });
    assert_eq!((line.cpu_ns.server, line.cpu_ns.client), (Some(594_000_000), Some(60_000_000)));
    assert_eq!(line.memory.map(|memory| memory.bytes), Some(600_000_000));
    // CPU 0 is the server's there, and another one here.
    assert_eq!(line.evidence().unwrap().server_cpus_idle.unwrap().share, 0.6);
    let cpus = |of: &[crate::CoreSeries]| -> Vec<(usize, f64, usize)> {
        of.iter().map(|core| (core.cpu, core.user[0], core.user.len())).collect()
    };
    assert_eq!(cpus(&line.cpu_share), [(0, 0.99, 1), (1, 0.99, 6), (2, 0.99, 1)]);
    assert_eq!(cpus(&line.server_cpu_share), [(0, 0.4, 6), (1, 0.4, 1), (2, 0.4, 1)]);
}

#[test]
fn the_busiest_programs_are_named_where_others_disturb_the_trial() {
    let (line, _) = run(&Trouble::default());
    // The client's CPU is 99% busy, and the client uses a tenth of it.
    assert!(line.is_disturbed(), "{:?}", line.verdict);
    let programs: Vec<(&str, u64)> =
        line.programs.iter().map(|of| (of.name.as_str(), of.cpu_ns / 1_000_000)).collect();
    assert_eq!(programs, [("rustc", 400), ("cc1", 300), ("ld", 200)]);
    let warning = line.warnings.iter().find(|warning| warning.seen.contains("rustc, cc1, ld"));
    assert!(warning.is_some(), "{:?}", line.warnings);
    // Where what others used is not known, nobody is blamed.
    let (line, _) = run(&Trouble { has_no_series: true, ..Trouble::default() });
    assert!(!line.is_disturbed() && line.programs.is_empty());
}

fn millis(ms: u64) -> Nanos {
    Nanos(ms * 1_000_000)
}

#[test]
fn a_load_that_shrinks_is_waited_for_and_not_counted() {
    let ramp = Nanos(1_000_000_000);
    let (line, stage) = run(&Trouble { ramp, ..Trouble::default() });
    let at = |stage: &Stage, what| {
        stage.log.borrow().iter().rev().find(|(_, done)| *done == what).map(|(at, _)| *at)
    };
    assert_eq!((at(&stage, "read"), at(&stage, "stop")), (Some(800), Some(1800)));
    assert!(line.valid && !line.interrupted);
    assert_eq!((line.window_ns, line.rate_per_s), (600_000_000, Some(1000.0)));
    assert_eq!(line.cpu_ns.server, Some(594_000_000));
    // An interrupt of the window ends the load with it, one of the ramp the ramp.
    let (line, stage) = run(&Trouble { ramp, interrupt_at: Some(500), ..Trouble::default() });
    assert_eq!((at(&stage, "stop"), line.interrupted), (Some(500), true));
    let (line, stage) = run(&Trouble { ramp, interrupt_at: Some(900), ..Trouble::default() });
    assert_eq!((at(&stage, "stop"), line.interrupted), (Some(900), false));
    assert_eq!(line.window_ns, 600_000_000);
}

#[test]
fn an_interrupt_keeps_what_was_measured() {
    let (line, stage) = run(&Trouble { interrupt_at: Some(500), ..Trouble::default() });
    assert!(stage.log.borrow().contains(&(500, "stop")));
    assert!(line.interrupted && line.valid);
    assert_eq!((line.window_ns, line.rate_per_s), (300_000_000, Some(1000.0)));
    assert_eq!(line.cpu_ns.server, Some(297_000_000));
}

#[test]
fn an_interrupt_in_the_warm_up_measured_nothing() {
    let (line, _) = run(&Trouble { interrupt_at: Some(100), ..Trouble::default() });
    assert!(!line.valid);
    assert_eq!((line.operations.completed, line.rate_per_s), (0, Some(0.0)));
    // A journal line of numbers, not of NaN.
    assert_eq!(
        serde_json::from_str::<TrialRecord>(&serde_json::to_string(&line).unwrap()).unwrap(),
        line
    );
}

#[test]
fn a_target_that_died_makes_the_trial_invalid() {
    let died = || Reports { server: Err("nginx died".to_owned()), ..nothing() };
    let (line, _) = run(&Trouble { reports: Some(died), ..Trouble::default() });
    assert!(!line.valid);
    assert_eq!(line.target_error.as_deref(), Some("nginx died"));
}

#[test]
fn what_the_server_reports_is_judged_with_the_rest() {
    let stored = || {
        let orders = Some(Orders { before: 0, after: 1_000 });
        Reports { server: Ok(ServerReport { orders, ..ServerReport::default() }), ..nothing() }
    };
    let (line, _) = run(&Trouble { reports: Some(stored), ..Trouble::default() });
    // Nobody was asked to store any.
    assert!(line.valid && line.receipt.obtained.orders.is_some());
    let target = Target { accelerator: offload::Kind::Model, ..Target::default() };
    let (line, _) = run(&Trouble { runs_on: Some(target), ..Trouble::default() });
    let all: Vec<&str> = line.receipt.mismatch.iter().map(|of| of.what.as_str()).collect();
    assert_eq!((line.valid, all.as_slice()), (false, &["accelerator"][..]));
}

/// Two ranks, of which the second's hypervisor took a fifth of a CPU.
fn two_ranks() -> Reports {
    let rank = |number, steal| RankFigures {
        rank: number,
        host: format!("lg{number}"),
        cpus: CpuList::from(0),
        source: None,
        to: [10, 1, 1, 1].into(),
        connections: 32,
        completed: 300,
        errors: Default::default(),
        body: 300 << 20,
        window_ns: millis(600).0,
        begun_within_ns: 0,
        silence_ns: 0,
        client: ClientFigures { cpu_ns: Some(1_000), steal, ..ClientFigures::default() },
    };
    let figures = vec![rank(1, None), rank(2, share(0.2))];
    let mpi = Some("Open MPI v5.0.11".to_owned());
    Reports { ranks: Some(RankReport { figures, lost: Vec::new(), mpi }), ..nothing() }
}

#[test]
fn what_a_rank_saw_is_in_verdict_and_warnings() {
    let (line, _) = run(&Trouble { reports: Some(two_ranks), ..Trouble::default() });
    assert!(line.valid && line.is_disturbed(), "{line:?}");
    assert_eq!((line.cpu_ns.client, line.ranks.len()), (Some(2_000), 2));
    let warned = |kind| line.warnings.iter().any(|warning| warning.kind == kind);
    assert!(warned(WarningKind::Steal), "{:?}", line.warnings);
    assert_eq!(line.receipt.obtained.mpi.as_deref(), Some("Open MPI v5.0.11"));
}

#[test]
fn a_lost_rank_makes_the_trial_invalid() {
    let lost = || {
        let Reports { ranks, server } = two_ranks();
        let ranks = ranks.map(|of_two| RankReport {
            figures: of_two.figures[..1].to_vec(),
            lost: vec![(2, "rank 2 on lg2: no result".to_owned())],
            mpi: of_two.mpi,
        });
        Reports { ranks, server }
    };
    let (line, _) = run(&Trouble { reports: Some(lost), ..Trouble::default() });
    assert_eq!((line.valid, line.lost_ranks.as_slice()), (false, &[2][..]));
    assert_eq!(line.cpu_ns.client, None);
    assert_eq!(line.why_invalid().unwrap(), "rank 2 on lg2: no result");
}

#[test]
fn a_lost_load_thread_makes_the_trial_invalid() {
    let (line, _) = run(&Trouble { lost: &["no epoll"], ..Trouble::default() });
    assert!(!line.valid && !line.interrupted);
    assert_eq!(line.load_error.as_deref(), Some("a load thread ended early: no epoll"));
    let (line, _) = run(&Trouble { lost: &["no epoll", "panic"], ..Trouble::default() });
    let expected = "2 load threads ended early, the first: no epoll";
    assert_eq!(line.load_error.as_deref(), Some(expected));
}

#[test]
fn an_interrupt_counts_as_one_though_the_load_failed_over_it() {
    let interrupt_at = Some(400);
    let (line, _) = run(&Trouble { lost: &["no report"], interrupt_at, ..Trouble::default() });
    assert!(!line.valid && line.interrupted);
}

#[test]
fn a_server_whose_processes_change_has_no_known_cpu_time() {
    let server_change = Some(ProcessesChanged { before: 1, after: 5, began: None, used: None });
    let (line, _) = run(&Trouble { server_change, ..Trouble::default() });
    assert_eq!((line.cpu_ns.server, line.evidence().unwrap().server_busy), (None, None));
    assert_eq!(line.limit(), Some(Limit::Unknown));
    assert!(line.valid && line.warnings[0].kind == WarningKind::ProcessesChanged);
}

#[test]
fn who_shares_the_servers_connections_makes_the_trial_invalid() {
    let run = |from, found| run(&Trouble { sharers: Some((from, found)), ..Trouble::default() }).0;
    let other = || Fact::Known(vec![Holder { name: "nginx".to_owned(), pid: Some(7) }]);
    // One that was there before the load, and one that came during it.
    for from in [0, 300] {
        let line = run(from, other());
        let mismatch = &line.receipt.mismatch[0];
        assert!(!line.valid && mismatch.what == "listener", "{mismatch}");
        assert!(mismatch.obtained.contains("nginx (process 7)"), "{mismatch}");
    }
    let line = run(0, Fact::unknown("hidden"));
    let warning = line.warnings.iter().find(|of| of.kind == WarningKind::ListenersUnknown);
    assert!(line.valid && warning.unwrap().seen.ends_with("hidden"));
    assert!(run(0, Fact::Known(Vec::new())).receipt.mismatch.is_empty());
}

#[test]
fn a_module_that_the_first_connection_loads_had_taken_over_none() {
    let none = || Err(ObserveError::NoKernelTls);
    let counted = |sent_by_software| {
        Ok(KernelTlsCounters { sent_by_software, ..KernelTlsCounters::default() })
    };
    let since = |before, after| {
        kernel_tls_since(before, after).ok().map(|counted| counted.sent_by_software)
    };
    assert_eq!(since(none(), counted(3)), Some(3));
    assert_eq!(since(counted(1), counted(3)), Some(2));
    assert_eq!((since(none(), none()), since(counted(1), none())), (None, None));
}

#[test]
fn an_unreadable_cpu_by_core_is_reported() {
    let (line, _) = run(&Trouble { has_no_series: true, ..Trouble::default() });
    assert!(line.valid && line.cpu_share.is_empty());
    assert_eq!(line.evidence().unwrap().foreign, None);
    assert_eq!(line.warnings[0].kind, WarningKind::CoresUnknown);
}

#[test]
fn a_server_that_its_warm_up_left_unsteady_is_marked_while_its_compilers_work() {
    let seen = |warmed_up: bool, compiler_percent| {
        let unsteady = NotSteady { after: Nanos(15_000_000_000), spread: Some(0.1) };
        let not_steady = (!warmed_up).then_some(unsteady);
        let line = run(&Trouble { not_steady, compiler_percent, ..Trouble::default() }).0;
        let warning = line.warnings.into_iter().find(|one| one.kind == WarningKind::NotSteady);
        warning.map(|warning| warning.seen)
    };
    assert!(seen(false, Some(4)).unwrap().contains("4.0%"));
    assert_eq!(seen(false, Some(3)), None);
    assert!(seen(false, None).unwrap().ends_with("varied by 10.0%"));
    assert_eq!(seen(true, Some(50)), None);
}

/// The line as `toll load --json` prints it and the journal keeps it.
#[test]
fn a_trial_in_json() {
    let (line, _) = run(&Trouble::default());
    let json = serde_json::to_string_pretty(&line).unwrap();
    support::assert_golden!([("a trial under load, one line of the journal", json)]);
}
