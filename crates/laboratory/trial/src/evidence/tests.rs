use super::*;
use crate::quic_use::QuicUse;
use crate::reading::{NetReading, Reading};
use crate::usage::TaskReading;
use crate::verdict::Verdict;
use observe::{CoreTicks, CpuTime, CpuTimes, InterruptTime};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// The length of the window.
const WINDOW: Nanos = Nanos(6_000_000_000);

/// What two CPUs of a kernel that counts interrupts apart did in the window, as `/proc/stat` shows it.
fn cpus(at: Instant, cores: [CoreTicks; 2]) -> CpuTimes {
    let cpu = |ticks| CpuTime { ticks, softirq_thread: Some(Nanos(0)), ..CpuTime::default() };
    CpuTimes {
        at,
        tick: Nanos(4_000_000),
        interrupt_time: Some(InterruptTime::Apart),
        observer: None,
        cpus: cores.map(cpu).into_iter().enumerate().collect(),
    }
}

/// Readings of the window: the server's CPU time, and that of one load thread with its waiting, in units of 10 ms.
fn readings(cores: [CoreTicks; 2], server: Option<u64>, client: u64, waiting: u64) -> Readings {
    readings_where(cores, server, client, waiting, |_, _| {})
}

/// The same, with a change to what the CPUs had done at the end.
fn readings_where(
    cores: [CoreTicks; 2],
    server: Option<u64>,
    client: u64,
    waiting: u64,
    change: impl Fn(&mut CpuTimes, u64),
) -> Readings {
    let base = Instant::now();
    let task = |at: u64, on_cpu: u64, waiting: u64| TaskReading {
        at: base + Duration::from_millis(10 * at),
        on_cpu: Nanos(on_cpu * 10_000_000),
        doubt: Nanos(0),
        waiting: Some(Nanos(waiting * 10_000_000)),
    };
    let reading = |at: u64, cores, server: Option<u64>, client, waiting, overflows| {
        let instant = base + Duration::from_millis(10 * at);
        let mut cpus = cpus(instant, cores);
        change(&mut cpus, at);
        Reading {
            at: Some(instant),
            server: server.map(|server| task(at, server, 0)),
            // Two workers, of which one does a tenth of the work.
            server_threads: server.map_or_else(BTreeMap::new, |server| {
                [(7, server * 9 / 10), (8, server / 10)]
                    .map(|(id, time)| (id, Nanos(time * 10_000_000)))
                    .into()
            }),
            threads: vec![Some(task(at, client, waiting))],
            cpus: Some(cpus),
            net: Some(NetReading {
                listen_overflows: overflows,
                listen_drops: overflows + 1,
                ..NetReading::default()
            }),
            listener_drops: Some(overflows.cast_unsigned()),
            ..Reading::default()
        }
    };
    let start = [CoreTicks::default(); 2];
    let mut readings = Readings::begin(reading(0, start, server.map(|_| 0), 0, 0, 7));
    readings.advance(reading(600, cores, server, client, waiting, 9));
    readings
}

/// What a CPU did in the window, by the shares of it.
fn shares(user: f64, softirq: f64, steal: f64) -> CoreTicks {
    let [user, softirq, steal] = [user, softirq, steal].map(|share| (600.0 * share).round() as u64);
    CoreTicks { user, softirq, steal, idle: 600 - user - softirq - steal, ..CoreTicks::default() }
}

/// The share without its error.
fn plain(of: Option<CpuShare>) -> Option<f64> {
    of.map(|of| of.share)
}

fn evidence(readings: &Readings, server: Option<&CpuList>, client: &CpuList) -> Evidence {
    evidence_where(readings, server, client, |_| {})
}

fn evidence_where(
    readings: &Readings,
    server: Option<&CpuList>,
    client: &CpuList,
    change: impl FnOnce(&mut Facts<'_>),
) -> Evidence {
    let mut facts = Facts {
        operations: &Operations { completed: 1000, ..Operations::default() },
        verified: Verified::default(),
        window: WINDOW,
        connections: 64,
        streams: &StreamCounts {
            held_up_for: Nanos(30),
            with_body_for: Nanos(40),
            ..StreamCounts::default()
        },
        quic: Some(&QuicUse { drops: 1, datagrams_received: 7, ..QuicUse::default() }),
        repeated: Some(Repeated { connections: 2, time: Nanos(20_000_000_000) }),
        is_server_read: server.is_some(),
        readings,
        server_cpus: server,
        client_cpus: Some(client),
        backend_cpus: None,
        other_tasks: [None, None],
        siblings: &[],
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
            streams: &StreamCounts::default(),
            quic: None,
            is_server_read: false,
            readings: &nothing,
            server_cpus: None,
            client_cpus: Some(&CpuList::from(0)),
            backend_cpus: None,
            other_tasks: [None, None],
            siblings: &[],
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
        Some(TaskReading { at, on_cpu, doubt: Nanos(0), waiting: None })
    };
    let reading = |at, cores, server, client, backend| Reading {
        server: task(at, server),
        backend: task(at, backend),
        threads: vec![task(at, client)],
        cpus: Some(cpus(base + Duration::from_millis(at), cores)),
        ..Reading::default()
    };
    let mut readings = Readings::begin(reading(0, [CoreTicks::default(); 2], 0, 0, 0));
    let cores = [shares(0.9, 0.0, 0.0), shares(0.7, 0.0, 0.0)];
    readings.advance(reading(6000, cores, 5400, 1800, 2400));
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let found = |backend: &CpuList| {
        Evidence::of(&Facts {
            operations: &Operations::default(),
            verified: Verified::default(),
            window: Nanos(1_000_000_000),
            connections: 64,
            repeated: None,
            streams: &StreamCounts::default(),
            quic: None,
            is_server_read: true,
            readings: &readings,
            server_cpus: Some(&server),
            client_cpus: Some(&client),
            backend_cpus: Some(backend),
            other_tasks: [None, None],
            siblings: &[],
            server_descriptors: None,
            interfaces: &[],
        })
    };
    let beside_client = found(&client);
    assert_eq!(beside_client.server_busy, Some(0.9));
    assert_eq!((beside_client.backend_busy, plain(beside_client.foreign)), (Some(0.4), Some(0.0)));
    // On a CPU of its own it excuses nothing on the others.
    let apart = found(&CpuList::from(2));
    assert_eq!((apart.backend_busy, plain(apart.foreign)), (Some(0.4), Some(0.4)));
}

#[test]
fn every_candidate_has_its_figure() {
    let cores = [shares(0.8, 0.15, 0.0), shares(0.3, 0.0, 0.02)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let found = evidence(&readings(cores, Some(480), 120, 30), Some(&server), &client);
    let sampled =
        |share, error| Some(CpuShare { share, error, source: Some(CpuTimeSource::ProcStat) });
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
            // 20 s of 64 times 6 s.
            accept_queue_loss: Some(0.0521),
            client_quota: None,
            server_quota: None,
            client_busy: Some(0.25),
            client_waiting: Some(0.05),
            client_late_ns: None,
            client_late: None,
            client_rank: None,
            udp_dropped: Some(0.125),
            udp_sends_refused: Some(0.0),
            server_busy: Some(0.8),
            server_waiting: Some(0.0),
            server_busiest_thread: Some(0.72),
            server_saturated: Some(0.0),
            server_cpus_idle: sampled(0.05, 0.0007),
            backend_busy: None,
            accelerator_busy: None,
            window_waiting: Some(0.75),
            offered_served: None,
            beyond_limit: None,
            steal: sampled(0.02, 0.0007),
            // The client's CPU ran programs for 0.3, of which 0.2 was the client.
            foreign: sampled(0.1, 0.0119),
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
            doubt: Nanos(0),
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
        let found = evidence(&readings, None, cpus);
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
    let found = evidence(&readings(cores, None, 120, 0), None, &client);
    assert_eq!((found.server_busy, found.server_cpus_idle, found.foreign), (None, None, None));
    assert_eq!(found.client_busy, Some(0.2));
    // Nor does an accept queue of this machine show it.
    assert_eq!((found.listen_overflows, found.accept_queue_loss), (None, None));
}

#[test]
fn on_shared_cpus_all_programs_are_weighed_together() {
    let cores = [shares(0.9, 0.0, 0.0), shares(0.0, 0.0, 0.0)];
    let cpu = CpuList::from(0);
    let found = evidence(&readings(cores, Some(300), 120, 30), Some(&cpu), &cpu);
    // 0.9 in programs, less 0.5 of the server and 0.2 of the client.
    assert_eq!(plain(found.foreign), Some(0.2));
    assert_eq!(found.server_cpus_idle, None);
    let both: CpuList = "0-1".parse().unwrap();
    let found = evidence(&readings(cores, Some(300), 120, 30), Some(&both), &cpu);
    assert_eq!((plain(found.foreign), found.server_busy), (Some(0.1), Some(0.25)));
}

/// A kernel that leaves the interrupts' time in processes; its own thread had a tenth of each CPU.
fn in_processes(cpus: &mut CpuTimes, at: u64) {
    cpus.interrupt_time = Some(InterruptTime::InProcesses);
    cpus.cpus.values_mut().for_each(|cpu| cpu.softirq_thread = Some(Nanos(at * 1_000_000)));
}

#[test]
fn interrupts_charged_to_the_server_do_not_hide_a_program() {
    // Recorded beside a busy loop at nice 5 and a server of plain HTTP: of the server's 0.75,
    // 0.25 were in soft interrupts, so that programs seem to have run for 0.75 in all.
    let cores = [shares(0.75, 0.25, 0.0), shares(0.2, 0.0, 0.0)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let with = |change: fn(&mut CpuTimes, u64)| {
        let readings = readings_where(cores, Some(450), 120, 0, change);
        plain(evidence(&readings, Some(&server), &client).foreign)
    };
    assert_eq!(with(in_processes), Some(0.15));
    assert_eq!(with(|_, _| {}), Some(0.0));
    assert_eq!(with(|cpus, _| cpus.interrupt_time = None), Some(0.0));
}

#[test]
fn where_the_kernels_threads_are_not_seen_only_what_is_certain_is_foreign() {
    let cores = [shares(0.75, 0.25, 0.0), shares(0.2, 0.0, 0.0)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let foreign = |cores, server_time, is_seen: bool| {
        let readings = readings_where(cores, Some(server_time), 120, 0, |cpus, at| {
            in_processes(cpus, at);
            let unseen = |cpu: &mut CpuTime| cpu.softirq_thread = None;
            cpus.cpus.values_mut().filter(|_| !is_seen).for_each(unseen);
        });
        plain(evidence(&readings, Some(&server), &client).foreign)
    };
    assert_eq!((foreign(cores, 450, true), foreign(cores, 450, false)), (Some(0.15), Some(0.0)));
    // The network's own work is no program's.
    let quiet = [shares(0.4, 0.1, 0.0), shares(0.2, 0.0, 0.0)];
    assert_eq!(foreign(quiet, 240, true), Some(0.0));
}

/// A window of 140 ms, in which the tick saw 35 samples. Both sources read the same
/// window, in which another program had so much of the server's CPU.
fn short(other_ms: u64, has_account: bool) -> Evidence {
    let base = Instant::now();
    let reading = |at_ms: u64, server_ms: u64, other_ms: u64| {
        let at = base + Duration::from_millis(at_ms);
        let task = |ms: u64| TaskReading {
            at,
            on_cpu: Nanos(ms * 1_000_000),
            doubt: Nanos(0),
            waiting: None,
        };
        // The tick missed a part of the server's and the client's idleness.
        let busy = |ms: u64| CoreTicks {
            user: (ms + at_ms / 7).div_ceil(10),
            idle: (at_ms * 6 / 7).saturating_sub(ms) / 10,
            ..CoreTicks::default()
        };
        let cpu = |ms: u64| CpuTime {
            ticks: busy(ms),
            programs: has_account.then_some(Nanos(ms * 1_000_000)),
            softirq_thread: Some(Nanos(0)),
        };
        Reading {
            at: Some(at),
            server: Some(task(server_ms)),
            threads: vec![Some(task(at_ms / 2))],
            cpus: Some(CpuTimes {
                at,
                tick: Nanos(4_000_000),
                interrupt_time: Some(InterruptTime::InProcesses),
                observer: None,
                cpus: [(0, cpu(server_ms + other_ms)), (1, cpu(at_ms / 2 + 1))].into(),
            }),
            ..Reading::default()
        }
    };
    let mut readings = Readings::begin(reading(0, 0, 0));
    readings.advance(reading(140, 90, other_ms));
    evidence(&readings, Some(&CpuList::from(0)), &CpuList::from(1))
}

#[test]
fn a_quiet_machine_is_not_called_noisy_by_either_source() {
    let counted = short(1, true);
    let foreign = counted.foreign.unwrap();
    assert_eq!((foreign.share, foreign.source), (0.0071, Some(CpuTimeSource::Cpuacct)));
    let sampled = short(1, false);
    let foreign = sampled.foreign.unwrap();
    // It looks as if another program had a sixth of a CPU; that is within what sampling makes of nothing.
    assert!(foreign.share > 0.15 && 3.0 * foreign.error > foreign.share, "{foreign:?}");
    assert_eq!(foreign.source, Some(CpuTimeSource::ProcStat));
    for evidence in [counted, sampled] {
        assert!(!evidence.has_foreign_work(), "{evidence:?}");
        assert!(!Verdict::of(evidence).is_disturbed());
    }
}

#[test]
fn a_neighbour_of_15_percent_is_seen_where_it_is_counted() {
    let counted = short(21, true);
    assert_eq!(counted.foreign.unwrap().share, 0.15);
    assert!(counted.has_foreign_work() && Verdict::of(counted).is_disturbed());
    // So much is more than chance for the samples too.
    assert!(short(45, false).has_foreign_work());
}

#[test]
fn a_figure_keeps_its_source_and_error_in_the_journal() {
    let evidence = short(21, true);
    let json = serde_json::to_value(&evidence).unwrap();
    assert_eq!((&json["foreign"], &json["foreign_source"]), (&0.15.into(), &"cpuacct".into()));
    assert!(json["foreign_error"].as_f64() > Some(0.0) && json["steal_source"] == "proc-stat");
    assert_eq!(serde_json::from_value::<Evidence>(json).unwrap(), evidence);
    // Older journals have the figure alone, or nothing.
    let old: Evidence =
        serde_json::from_str(r#"{"completed":1,"foreign":0.18,"steal":0.0}"#).unwrap();
    let plain = |share| Some(CpuShare { share, ..CpuShare::default() });
    assert_eq!((old.foreign, old.steal, old.server_cpus_idle), (plain(0.18), plain(0.0), None));
    assert!(old.has_foreign_work());
}

#[test]
fn one_busy_thread_of_a_server_with_two_cpus_is_seen() {
    let cores = [shares(1.0, 0.0, 0.0), shares(0.0, 0.0, 0.0)];
    let (both, client): (CpuList, _) = ("0-1".parse().unwrap(), CpuList::from(2));
    let found = evidence(&readings(cores, Some(660), 120, 0), Some(&both), &client);
    assert_eq!((found.server_busy, found.server_busiest_thread), (Some(0.55), Some(0.99)));
    assert_eq!(found.server_saturated, Some(0.9));
    assert!(found.has_few_workers());
    let found = evidence(&readings(cores, Some(600), 120, 0), Some(&both), &client);
    assert_eq!((found.server_busiest_thread, found.server_saturated), (Some(0.9), Some(0.0)));
    assert!(!found.has_few_workers());
    // The other tenth of its CPU went to interrupts, which this kernel counts apart.
    let cores = [shares(0.9, 0.1, 0.0), shares(0.0, 0.0, 0.0)];
    let found = evidence(&readings(cores, Some(600), 120, 0), Some(&both), &client);
    assert_eq!(found.server_saturated, Some(0.9));
}

#[test]
fn a_hyperthread_of_somebody_else_is_seen_and_the_clients_is_not() {
    let cores = [shares(0.5, 0.0, 0.0), shares(0.6, 0.1, 0.0)];
    let server = CpuList::from(0);
    let beside = |client: usize| {
        let client = CpuList::from(client);
        let readings = readings(cores, Some(300), 120, 0);
        let change = |facts: &mut Facts<'_>| facts.siblings = &[1];
        plain(evidence_where(&readings, Some(&server), &client, change).sibling_busy)
    };
    assert_eq!((beside(2), beside(1)), (Some(0.7), None));
}

#[test]
fn a_server_without_descriptors_is_seen() {
    let cores = [shares(0.5, 0.0, 0.0), shares(0.2, 0.0, 0.0)];
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let found =
        evidence_where(&readings(cores, Some(300), 120, 0), Some(&server), &client, |facts| {
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
        Some(TaskReading { at, on_cpu, doubt: Nanos(0), waiting: Some(Nanos(0)) })
    };
    // The clock of the other machine is some days ahead.
    const AHEAD_MS: u64 = 200_000_000;
    let instant = |at| base + Duration::from_millis(at);
    let reading = |at, [here, there]: [[CoreTicks; 2]; 2], client, server, overflows| Reading {
        at: Some(instant(at)),
        threads: vec![task(at, client)],
        net: Some(NetReading { listen_drops: 1_000 * at as i64, ..NetReading::default() }),
        cpus: Some(cpus(instant(at), here)),
        there: Some(Box::new(Reading {
            at: Some(instant(AHEAD_MS + at)),
            server: task(AHEAD_MS + at, server),
            net: Some(NetReading { listen_drops: overflows, ..NetReading::default() }),
            cpus: Some(cpus(instant(AHEAD_MS + at), there)),
            ..Reading::default()
        })),
        ..Reading::default()
    };
    let there = [shares(0.85, 0.05, 0.04), shares(0.6, 0.0, 0.0)];
    let here = [shares(0.3, 0.0, 0.02), shares(1.0, 0.0, 0.0)];
    let none = [[CoreTicks::default(); 2]; 2];
    let mut readings = Readings::begin(reading(0, none, 0, 0, 5));
    readings.advance(reading(6000, [here, there], 1200, 4800, 7));
    let cpu = CpuList::from(0);
    let change = |facts: &mut Facts<'_>| facts.siblings = &[0, 1];
    let found = evidence_where(&readings, Some(&cpu), &cpu, change);
    assert_eq!((found.server_busy, found.client_busy), (Some(0.8), Some(0.2)));
    assert_eq!(found.listen_drops, Some(2));
    assert_eq!((plain(found.server_cpus_idle), plain(found.steal)), (Some(0.06), Some(0.04)));
    // Beside the client 0.1 of its CPU, beside the server 0.05 of its own.
    assert_eq!(plain(found.foreign), Some(0.1));
    assert_eq!(plain(found.sibling_busy), Some(0.9));
    // Where the agent is lost, nothing is known of the server, and this machine does not stand in.
    readings.advance(Reading { there: None, ..reading(7000, [here, there], 1400, 0, 0) });
    let found = evidence_where(&readings, Some(&cpu), &cpu, change);
    assert_eq!((found.server_busy, found.listen_drops), (None, None));
}

#[test]
fn only_what_this_loads_own_connections_waited_is_lost_in_the_accept_queue() {
    let (server, client) = (CpuList::from(0), CpuList::from(1));
    let of = |drops: Option<u64>, repeated: Option<u64>| {
        let mut readings =
            Readings::begin(Reading { listener_drops: drops.map(|_| 7), ..Reading::default() });
        readings.advance(Reading {
            listener_drops: drops.map(|drops| 7 + drops),
            ..Reading::default()
        });
        evidence_where(&readings, Some(&server), &client, |facts| {
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

#[test]
fn evidence_is_in_percent_or_counts() {
    let evidence = Evidence { completed: 2640, server_busy: Some(0.9864), ..Evidence::default() };
    let words = evidence.in_words();
    assert!(words.contains(&("completed".into(), "2,640".into())), "{words:?}");
    assert!(words.contains(&("server busy".into(), "98.6%".into())), "{words:?}");
}
