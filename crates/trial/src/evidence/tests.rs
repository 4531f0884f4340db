use super::*;
use crate::reading::{NetReading, Reading, TaskReading};
use std::time::{Duration, Instant};

/// Readings of a window of 600 ms: the server's CPU time, and that of one load thread with
/// its waiting, in ms.
fn readings(server: Option<u64>, client: u64, waiting: u64) -> Readings {
    let base = Instant::now();
    let task = |at: u64, on_cpu: u64, waiting: u64| TaskReading {
        at: base + Duration::from_millis(at),
        on_cpu: Nanos(on_cpu * 1_000_000),
        waiting: Some(Nanos(waiting * 1_000_000)),
    };
    let reading = |at, server: Option<u64>, client, waiting, overflows| Reading {
        at: Some(base + Duration::from_millis(at)),
        server: server.map(|server| task(at, server, 0)),
        // Two workers, of which one does a tenth of the work.
        server_threads: server.map_or_else(BTreeMap::new, |server| {
            [(7, server * 9 / 10), (8, server / 10)]
                .map(|(id, ms)| (id, Nanos(ms * 1_000_000)))
                .into()
        }),
        threads: vec![Some(task(at, client, waiting))],
        softirq_threads: [0, 1].map(|cpu| (cpu, Nanos(at * 100_000))).into(),
        net: Some(NetReading {
            listen_overflows: overflows,
            listen_drops: overflows + 1,
            ..NetReading::default()
        }),
        listener_drops: Some(overflows.cast_unsigned()),
        ..Reading::default()
    };
    let mut readings = Readings::begin(reading(0, server.map(|_| 0), 0, 0, 7));
    readings.advance(reading(600, server, client, waiting, 9));
    readings
}

fn shares(user: f64, softirq: f64, steal: f64) -> CoreShares {
    CoreShares { user, softirq, steal, idle: 1.0 - user - softirq - steal, ..CoreShares::default() }
}

fn evidence(
    readings: &Readings,
    cores: [CoreShares; 2],
    server: Option<&CpuList>,
    client: &CpuList,
) -> Evidence {
    evidence_where(readings, cores, server, client, |_| {})
}

fn evidence_where(
    readings: &Readings,
    cores: [CoreShares; 2],
    server: Option<&CpuList>,
    client: &CpuList,
    change: impl FnOnce(&mut Facts<'_>),
) -> Evidence {
    let mut facts = Facts {
        operations: &Operations { completed: 1000, ..Operations::default() },
        verified: Verified::default(),
        window: Nanos(600_000_000),
        connections: 64,
        http2: &Http2Counts {
            held_up_for: Nanos(30),
            with_body_for: Nanos(40),
            ..Http2Counts::default()
        },
        repeated: Some(Repeated { connections: 2, time: Nanos(2_000_000_000) }),
        is_server_read: server.is_some(),
        readings,
        shares: &cores.into_iter().enumerate().collect(),
        server_cpus: server,
        client_cpus: Some(client),
        backend_cpus: None,
        there: None,
        siblings: &[],
        interrupt_time: Some(InterruptTime::Apart),
        server_descriptors: None,
        interfaces: &[],
    };
    change(&mut facts);
    Evidence::of(&facts)
}

#[test]
fn wrong_bodies_are_a_part_of_those_that_were_checked() {
    let found = |wrong, content| {
        let nothing = Readings::begin(Reading::default());
        let mut operations = Operations { completed: 1000, ..Operations::default() };
        operations.errors.insert("content".to_owned(), content);
        let found = Evidence::of(&Facts {
            operations: &operations,
            verified: Verified { opened: 19, wrong, ..Verified::default() },
            window: Nanos(600_000_000),
            connections: 64,
            repeated: None,
            http2: &Http2Counts::default(),
            is_server_read: false,
            readings: &nothing,
            shares: &BTreeMap::new(),
            server_cpus: None,
            client_cpus: Some(&CpuList::from(0)),
            backend_cpus: None,
            there: None,
            siblings: &[],
            interrupt_time: None,
            server_descriptors: None,
            interfaces: &[],
        });
        (found.wrong_bodies, found.checked_bodies)
    };
    assert_eq!(found(0, 0), (0, 0));
    assert_eq!(found(12, 12), (12, 31));
    // Where a walk found them, all responses were looked at.
    assert_eq!(found(0, 12), (12, 1012));
}

#[test]
fn a_backend_is_no_foreign_program_and_not_the_server() {
    let base = Instant::now();
    let task = |at: u64, on_cpu: u64| {
        let (on_cpu, at) = (Nanos(on_cpu * 1_000_000), base + Duration::from_millis(at));
        Some(TaskReading { at, on_cpu, waiting: None })
    };
    let reading = |at, server, client, backend| Reading {
        server: task(at, server),
        backend: task(at, backend),
        threads: vec![task(at, client)],
        ..Reading::default()
    };
    let mut readings = Readings::begin(reading(0, 0, 0, 0));
    readings.advance(reading(1000, 900, 300, 400));
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let found = |backend: &CpuList| {
        Evidence::of(&Facts {
            operations: &Operations::default(),
            verified: Verified::default(),
            window: Nanos(1_000_000_000),
            connections: 64,
            repeated: None,
            http2: &Http2Counts::default(),
            is_server_read: true,
            readings: &readings,
            shares: &[shares(0.9, 0.0, 0.0), shares(0.7, 0.0, 0.0)]
                .into_iter()
                .enumerate()
                .collect(),
            server_cpus: Some(&server),
            client_cpus: Some(&client),
            backend_cpus: Some(backend),
            there: None,
            siblings: &[],
            interrupt_time: None,
            server_descriptors: None,
            interfaces: &[],
        })
    };
    let beside_client = found(&client);
    assert_eq!(beside_client.server_busy, Some(0.9));
    assert_eq!((beside_client.backend_busy, beside_client.foreign), (Some(0.4), Some(0.0)));
    // On a CPU of its own it excuses nothing on the others.
    let apart = found(&CpuList::from(2));
    assert_eq!((apart.backend_busy, apart.foreign), (Some(0.4), Some(0.4)));
}

#[test]
fn every_candidate_has_its_figure() {
    let cores = [shares(0.8, 0.15, 0.0), shares(0.3, 0.0, 0.02)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let found = evidence(&readings(Some(480), 120, 30), cores, Some(&server), &client);
    assert_eq!(
        found,
        Evidence {
            completed: 1000,
            failed: 0,
            failed_share: Some(0.0),
            wrong_bodies: 0,
            checked_bodies: 0,
            unauthentic_handshakes: 0,
            checked_handshakes: 0,
            descriptors_lacking: 0,
            ports_lacking: 0,
            server_descriptors: None,
            listen_overflows: Some(2),
            listen_drops: Some(2),
            accept_queue_drops: Some(2),
            connects_repeated: Some(2),
            // 2 s of 64 times 0.6 s.
            accept_queue_loss: Some(0.0521),
            client_busy: Some(0.25),
            client_waiting: Some(0.05),
            client_rank: None,
            server_busy: Some(0.8),
            server_waiting: Some(0.0),
            server_busiest_thread: Some(0.72),
            server_saturated: Some(0.0),
            server_cpus_idle: Some(0.05),
            backend_busy: None,
            accelerator_busy: None,
            window_waiting: Some(0.75),
            offered_served: None,
            beyond_limit: None,
            steal: Some(0.02),
            // The client's CPU ran programs for 0.3, of which 0.2 was the client.
            foreign: Some(0.1),
            sibling_busy: None,
            network: None,
        }
    );
}

#[test]
fn threads_that_take_turns_on_a_cpu_are_one_client() {
    let base = Instant::now();
    let task = |at_ms, on_cpu_ms: u64, waiting_ms: u64| {
        Some(TaskReading {
            at: base + Duration::from_millis(at_ms),
            on_cpu: Nanos(on_cpu_ms * 1_000_000),
            waiting: Some(Nanos(waiting_ms * 1_000_000)),
        })
    };
    let busy = |cpus: &CpuList, used: [(u64, u64); 4]| {
        let threads = |at, used: [(u64, u64); 4]| Reading {
            threads: used.map(|(on_cpu, waiting)| task(at, on_cpu, waiting)).into(),
            ..Reading::default()
        };
        let mut readings = Readings::begin(threads(0, [(0, 0); 4]));
        readings.advance(threads(1000, used));
        let found = evidence(&readings, [shares(0.0, 0.0, 0.0); 2], None, cpus);
        (found.client_busy, found.client_waiting)
    };
    // Each had a quarter and wanted all: the four wait for each other and for nothing else.
    let all = [(240, 750), (250, 750), (250, 750), (250, 740)];
    assert_eq!(busy(&CpuList::from(1), all), (Some(1.0), Some(0.01)));
    // Somebody else had half of the CPU.
    let half = [(120, 880), (125, 875), (125, 875), (130, 870)];
    assert_eq!(busy(&CpuList::from(1), half), (Some(1.0), Some(0.5)));
    // The first and the third on one CPU, the second and the fourth on another.
    let apart = [(300, 0), (100, 0), (500, 50), (100, 20)];
    assert_eq!(busy(&"0-1".parse().unwrap(), apart), (Some(0.8), Some(0.0)));
    // One each.
    assert_eq!(busy(&"0-3".parse().unwrap(), apart), (Some(0.55), Some(0.05)));
}

#[test]
fn a_server_that_is_not_known_has_no_figures() {
    let client = CpuList::from(1);
    let cores = [shares(1.0, 0.0, 0.0), shares(0.2, 0.0, 0.0)];
    let found = evidence(&readings(None, 120, 0), cores, None, &client);
    assert_eq!((found.server_busy, found.server_cpus_idle, found.foreign), (None, None, None));
    assert_eq!(found.client_busy, Some(0.2));
    // Nor does an accept queue of this machine show it.
    assert_eq!((found.listen_overflows, found.accept_queue_loss), (None, None));
}

#[test]
fn on_shared_cpus_all_programs_are_weighed_together() {
    let cores = [shares(0.9, 0.0, 0.0), shares(0.0, 0.0, 0.0)];
    let cpu = CpuList::from(0);
    let found = evidence(&readings(Some(300), 120, 30), cores, Some(&cpu), &cpu);
    // 0.9 in programs, less 0.5 of the server and 0.2 of the client.
    assert_eq!(found.foreign, Some(0.2));
    assert_eq!(found.server_cpus_idle, None);
    let both: CpuList = "0-1".parse().unwrap();
    let found = evidence(&readings(Some(300), 120, 30), cores, Some(&both), &cpu);
    assert_eq!((found.foreign, found.server_busy), (Some(0.1), Some(0.25)));
}

const IN_PROCESSES: fn(&mut Facts<'_>) =
    |facts| facts.interrupt_time = Some(InterruptTime::InProcesses);

#[test]
fn interrupts_charged_to_the_server_do_not_hide_a_program() {
    // Recorded beside a busy loop at nice 5 and a server of plain HTTP: of the server's 0.75,
    // 0.25 were in soft interrupts, so that programs seem to have run for 0.75 in all.
    let cores = [shares(0.75, 0.25, 0.0), shares(0.2, 0.0, 0.0)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let with = |change: fn(&mut Facts<'_>)| {
        let readings = readings(Some(450), 120, 0);
        evidence_where(&readings, cores, Some(&server), &client, change).foreign
    };
    // The kernel's own thread had a tenth of each CPU.
    assert_eq!(with(IN_PROCESSES), Some(0.15));
    assert_eq!(with(|_| {}), Some(0.0));
    assert_eq!(with(|facts| facts.interrupt_time = None), Some(0.0));
}

#[test]
fn where_the_kernels_threads_are_not_seen_only_what_is_certain_is_foreign() {
    let cores = [shares(0.75, 0.25, 0.0), shares(0.2, 0.0, 0.0)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let mut readings = readings(Some(450), 120, 0);
    let base = Instant::now();
    let unseen = |ms| Reading { at: Some(base + Duration::from_millis(ms)), ..Reading::default() };
    let seen = evidence_where(&readings, cores, Some(&server), &client, IN_PROCESSES);
    readings.advance(unseen(600));
    let unseen = evidence_where(&readings, cores, Some(&server), &client, IN_PROCESSES);
    assert_eq!((seen.foreign, unseen.foreign), (Some(0.15), None));
    // The network's own work is no program's.
    let quiet = [shares(0.4, 0.1, 0.0), shares(0.2, 0.0, 0.0)];
    let readings = self::readings(Some(240), 120, 0);
    let network = evidence_where(&readings, quiet, Some(&server), &client, IN_PROCESSES);
    assert_eq!(network.foreign, Some(0.0));
}

#[test]
fn one_busy_thread_of_a_server_with_two_cpus_is_seen() {
    let cores = [shares(1.0, 0.0, 0.0), shares(0.0, 0.0, 0.0)];
    let (both, client): (CpuList, _) = ("0-1".parse().unwrap(), CpuList::from(2));
    let found = evidence(&readings(Some(660), 120, 0), cores, Some(&both), &client);
    assert_eq!((found.server_busy, found.server_busiest_thread), (Some(0.55), Some(0.99)));
    assert_eq!(found.server_saturated, Some(0.9));
    assert!(found.has_few_workers());
    let found = evidence(&readings(Some(600), 120, 0), cores, Some(&both), &client);
    assert_eq!((found.server_busiest_thread, found.server_saturated), (Some(0.9), Some(0.0)));
    assert!(!found.has_few_workers());
    // The other tenth of its CPU went to interrupts, which this kernel counts apart.
    let cores = [shares(0.9, 0.1, 0.0), shares(0.0, 0.0, 0.0)];
    let found = evidence(&readings(Some(600), 120, 0), cores, Some(&both), &client);
    assert_eq!(found.server_saturated, Some(0.9));
}

#[test]
fn a_hyperthread_of_somebody_else_is_seen_and_the_clients_is_not() {
    let cores = [shares(0.5, 0.0, 0.0), shares(0.6, 0.1, 0.0)];
    let server = CpuList::from(0);
    let beside = |client: usize| {
        let client = CpuList::from(client);
        let readings = readings(Some(300), 120, 0);
        evidence_where(&readings, cores, Some(&server), &client, |facts| facts.siblings = &[1])
            .sibling_busy
    };
    assert_eq!((beside(2), beside(1)), (Some(0.7), None));
}

#[test]
fn a_server_without_descriptors_is_seen() {
    let cores = [shares(0.5, 0.0, 0.0), shares(0.2, 0.0, 0.0)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let found =
        evidence_where(&readings(Some(300), 120, 0), cores, Some(&server), &client, |facts| {
            facts.server_descriptors = Some(OpenDescriptors { open: 64, limit: 64 });
        });
    assert_eq!(found.server_descriptors, Some(1.0));
}

/// Both use CPU 0, each its own.
#[test]
fn a_server_on_another_machine_is_judged_by_that() {
    let base = Instant::now();
    let task = |at_ms: u64, on_cpu_ms: u64| {
        let (at, on_cpu) = (base + Duration::from_millis(at_ms), Nanos(on_cpu_ms * 1_000_000));
        Some(TaskReading { at, on_cpu, waiting: Some(Nanos(0)) })
    };
    // The clock of the other machine is some days ahead.
    const AHEAD_MS: u64 = 200_000_000;
    let reading = |at, client, server, overflows| Reading {
        at: Some(base + Duration::from_millis(at)),
        threads: vec![task(at, client)],
        net: Some(NetReading { listen_drops: 1_000 * at as i64, ..NetReading::default() }),
        softirq_threads: [(0, Nanos(0))].into(),
        there: Some(Box::new(Reading {
            at: Some(base + Duration::from_millis(AHEAD_MS + at)),
            server: task(AHEAD_MS + at, server),
            net: Some(NetReading { listen_drops: overflows, ..NetReading::default() }),
            softirq_threads: [(0, Nanos(0))].into(),
            ..Reading::default()
        })),
        ..Reading::default()
    };
    let mut readings = Readings::begin(reading(0, 0, 0, 5));
    readings.advance(reading(600, 120, 480, 7));
    let cpu = CpuList::from(0);
    let there = [shares(0.85, 0.05, 0.04), shares(0.6, 0.0, 0.0)].into_iter().enumerate();
    let there: &BTreeMap<_, _> = Box::leak(Box::new(there.collect()));
    let change = |facts: &mut Facts<'_>| {
        let interrupt_time = Some(InterruptTime::Apart);
        facts.there = Some(OtherMachine { shares: there, interrupt_time });
        facts.siblings = &[0, 1];
    };
    let here = [shares(0.3, 0.0, 0.02), shares(1.0, 0.0, 0.0)];
    let found = evidence_where(&readings, here, Some(&cpu), &cpu, change);
    assert_eq!((found.server_busy, found.client_busy), (Some(0.8), Some(0.2)));
    assert_eq!(found.listen_drops, Some(2));
    assert_eq!((found.server_cpus_idle, found.steal), (Some(0.06), Some(0.04)));
    // Beside the client 0.1 of its CPU, beside the server 0.05 of its own.
    assert_eq!(found.foreign, Some(0.1));
    assert_eq!(found.sibling_busy, Some(0.9));
    // Where the agent is lost, nothing is known of the server, and this machine does not stand in.
    readings.advance(Reading { there: None, ..reading(700, 140, 0, 0) });
    let found = evidence_where(&readings, here, Some(&cpu), &cpu, change);
    assert_eq!((found.server_busy, found.listen_drops), (None, None));
}

#[test]
fn only_what_this_loads_own_connections_waited_is_lost_in_the_accept_queue() {
    let cores = [shares(0.8, 0.0, 0.0), shares(0.3, 0.0, 0.0)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let of = |drops: Option<u64>, repeated: Option<u64>| {
        let mut readings =
            Readings::begin(Reading { listener_drops: drops.map(|_| 7), ..Reading::default() });
        readings.advance(Reading {
            listener_drops: drops.map(|drops| 7 + drops),
            ..Reading::default()
        });
        evidence_where(&readings, cores, Some(&server), &client, |facts| {
            let time = |seconds| Nanos(seconds * 1_000_000_000);
            (facts.window, facts.connections) = (time(1), 4);
            facts.repeated =
                repeated.map(|count| Repeated { connections: count, time: time(count) });
        })
        .accept_queue_loss
    };
    // Another program's hundred drops cost this load nothing.
    assert_eq!(of(Some(100), Some(0)), Some(0.0));
    assert_eq!(of(Some(100), Some(1)), Some(0.25));
    // Where its listeners dropped nothing, it was not the server.
    assert_eq!(of(Some(0), Some(1)), Some(0.0));
    assert_eq!(of(None, Some(1)), Some(0.25));
    // Of another client's connections only the drops are known: 2,500% is no share.
    assert_eq!((of(Some(2), None), of(Some(100), None), of(None, None)), (Some(0.5), None, None));
}
