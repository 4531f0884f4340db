use super::*;
use crate::evidence::{NetworkEvidence, QuotaEvidence};
use crate::nouns::Nouns;
use crate::testing::share;

/// A trial that the server limited, with every other candidate far from its threshold.
fn server_bound() -> Evidence {
    Evidence {
        completed: 10_000,
        failed: 0,
        failed_share: Some(0.0),
        descriptors_lacking: 0,
        ports_lacking: 0,
        listen_overflows: Some(0),
        listen_drops: Some(0),
        accept_queue_loss: Some(0.0),
        client_busy: Some(0.2),
        client_waiting: Some(0.01),
        server_busy: Some(0.99),
        server_waiting: Some(0.0),
        server_busiest_thread: Some(0.99),
        server_saturated: Some(1.0),
        server_cpus_idle: share(0.005),
        steal: share(0.0),
        foreign: share(0.0),
        ..Evidence::default()
    }
}

/// That the server is far from busy.
fn idle(e: &mut Evidence) {
    e.server_busy = Some(0.3);
    e.server_busiest_thread = Some(0.3);
    e.server_saturated = Some(0.0);
    e.server_cpus_idle = share(0.7);
}

/// The verdict on a server-bound trial that is changed.
fn judged(change: impl FnOnce(&mut Evidence)) -> Verdict {
    let mut evidence = server_bound();
    change(&mut evidence);
    Verdict::of(evidence)
}

fn limit_of(change: impl FnOnce(&mut Evidence)) -> Limit {
    judged(change).limit
}

fn in_words(verdict: Verdict) -> String {
    format!("{}: {}\n{}", verdict.limit, verdict.reason(Nouns::USUAL), verdict.remedy())
}

/// The reason and the remedy of each limit; the other tests look at the limit alone.
#[test]
fn limits_in_words() {
    type Case = (&'static str, fn(&mut Evidence));
    let cases: [Case; 24] = [
        ("a busy server", |_| {}),
        ("a busy client", |e| e.client_busy = Some(0.9)),
        ("a client beside other programs", |e| {
            (e.client_busy, e.client_waiting) = (Some(0.97), Some(0.8));
        }),
        ("a client under a quota", |e| {
            idle(e);
            (e.client_busy, e.client_waiting) = (Some(0.99), Some(0.69));
            e.client_quota = quota(0.3, 0.69);
        }),
        ("a server under a quota", |e| {
            of_server(e, 0.5, 0.48);
            (e.server_waiting, e.server_quota) = (Some(0.5), quota(0.5, 0.48));
        }),
        ("both under one quota", |e| {
            idle(e);
            let shared = quota(0.6, 0.5).map(|quota| QuotaEvidence { is_shared: true, ..quota });
            (e.server_quota, e.client_quota) = (shared, shared);
        }),
        ("a rank under a quota", |e| {
            (e.client_quota, e.client_rank) = (quota(0.3, 0.69), Some("rank 2 on lg1".into()));
        }),
        ("a server that waits for a CPU", |e| {
            of_server(e, 0.5, 0.48);
            e.server_waiting = Some(0.5);
        }),
        ("wrong bodies", |e| {
            (e.failed, e.failed_share) = (12, Some(0.0012));
            (e.wrong_bodies, e.checked_bodies) = (12, 31);
        }),
        ("a handshake that is not authentic", |e| {
            (e.unauthentic_handshakes, e.checked_handshakes) = (1, 16);
        }),
        ("nothing completed", |e| {
            e.completed = 0;
            idle(e);
        }),
        ("descriptors of the server", |e| e.server_descriptors = Some(1.0)),
        ("descriptors of the server, and failures", |e| {
            (e.failed, e.failed_share) = (1_000, Some(0.0909));
            e.server_descriptors = Some(1.0);
        }),
        ("all that was offered", |e| {
            idle(e);
            e.offered_served = Some(0.98);
        }),
        ("a limit that the next load breaks", |e| {
            idle(e);
            e.beyond_limit = Some(1.25);
        }),
        ("other programs and steal", |e| {
            idle(e);
            (e.foreign, e.steal, e.server_cpus_idle) = (share(0.5), share(0.2), share(0.0));
        }),
        ("a busy sibling", |e| {
            idle(e);
            e.sibling_busy = share(0.25);
        }),
        ("fewer threads than CPUs", |e| {
            (e.server_busy, e.server_cpus_idle) = (Some(0.5), share(0.5));
            e.server_saturated = Some(0.97);
        }),
        ("an uneven load", |e| {
            idle(e);
            (e.server_busiest_thread, e.server_saturated) = (Some(0.99), Some(0.6));
        }),
        ("closed windows", |e| {
            idle(e);
            e.window_waiting = Some(0.71);
        }),
        ("full sockets", |e| (e.udp_dropped, e.udp_sends_refused) = (Some(0.03), Some(0.0))),
        ("a busy backend", |e| e.backend_busy = Some(0.95)),
        ("a busy accelerator", |e| e.accelerator_busy = Some(0.95)),
        ("a server that is not seen", |e| {
            idle(e);
            (e.server_busy, e.server_cpus_idle) = (None, None);
        }),
    ];
    support::assert_golden!(cases.map(|(name, change)| (name, in_words(judged(change)))));
}

/// Each limit at the figure where it begins and just before it, and which goes before which; the golden file has what
/// each looks like.
#[test]
fn limits_begin_at_their_thresholds_and_have_their_order() {
    type Row = (Limit, fn(&mut Evidence));
    let rows: [Row; 47] = [
        // A server has its maximum by what it uses, or by what is left of its CPUs: work of interrupts is its own.
        (Limit::ServerCpu, |e| of_server(e, 0.95, 0.06)),
        (Limit::Unknown, |e| of_server(e, 0.949, 0.06)),
        (Limit::ServerCpu, |e| of_server(e, 0.85, 0.04)),
        (Limit::Unknown, |e| of_server(e, 0.85, 0.06)),
        // With fewer threads than CPUs it has these.
        (Limit::ServerCpu, |e| {
            of_server(e, 0.5, 0.5);
            (e.server_busiest_thread, e.server_saturated) = (Some(0.99), Some(0.97));
        }),
        // Where nothing is busy, more load is needed.
        (Limit::Unknown, idle),
        // One wrong answer of a sample is one too many; of other failures one in a hundred.
        (Limit::Errors, |e| e.failed = 102),
        (Limit::ServerCpu, |e| e.failed = 100),
        // Where nothing completed because one side had no CPU time, that is the limit.
        (Limit::ServerCpu, |e| e.completed = 0),
        // What this machine lacks goes before the errors that it causes, and after others.
        (Limit::Descriptors, |e| (e.descriptors_lacking, e.failed) = (5_000, 5_000)),
        (Limit::Descriptors, |e| {
            (e.descriptors_lacking, e.failed, e.completed) = (5_000, 5_000, 0);
        }),
        (Limit::Errors, |e| (e.descriptors_lacking, e.failed) = (5_000, 5_500)),
        (Limit::Ports, |e| (e.ports_lacking, e.failed) = (1, 1)),
        (Limit::ServerCpu, |e| e.server_descriptors = Some(0.99)),
        // An accept queue counts by the time that it costs.
        (Limit::AcceptQueue, |e| e.accept_queue_loss = Some(0.05)),
        (Limit::ServerCpu, |e| e.accept_queue_loss = Some(0.049)),
        // A quota counts by the time that it costs, and goes before those who had it; after what fails.
        (Limit::ServerCpu, |e| e.server_quota = quota(0.9, 0.049)),
        (Limit::CpuQuota, |e| e.server_quota = quota(0.9, 0.05)),
        (Limit::CpuQuota, |e| (e.client_quota, e.client_busy) = (quota(0.3, 0.05), Some(1.0))),
        (Limit::ClientCpu, |e| (e.client_quota, e.client_busy) = (quota(0.3, 0.04), Some(1.0))),
        (Limit::AcceptQueue, |e| {
            (e.accept_queue_loss, e.server_quota) = (Some(0.05), quota(0.5, 0.5))
        }),
        // The client goes before the backend, that before the accelerator, and these before the server.
        (Limit::ServerCpu, |e| e.client_busy = Some(0.899)),
        (Limit::ServerCpu, |e| e.backend_busy = Some(0.949)),
        (Limit::ClientCpu, |e| (e.backend_busy, e.client_busy) = (Some(1.0), Some(0.95))),
        (Limit::ServerCpu, |e| e.accelerator_busy = Some(0.949)),
        (Limit::Backend, |e| (e.accelerator_busy, e.backend_busy) = (Some(1.0), Some(0.95))),
        // Full sockets of UDP go after a busy client, which does not empty them, and before the server.
        (Limit::UdpBuffers, |e| e.udp_dropped = Some(0.01)),
        (Limit::UdpBuffers, |e| (e.udp_sends_refused, e.backend_busy) = (Some(0.01), Some(1.0))),
        (Limit::ServerCpu, |e| (e.udp_dropped, e.udp_sends_refused) = (Some(0.009), Some(0.009))),
        (Limit::ClientCpu, |e| (e.udp_dropped, e.client_busy) = (Some(0.5), Some(0.95))),
        (Limit::ServerCpu, |e| (e.udp_dropped, e.offered_served) = (Some(0.5), Some(1.0))),
        // A limit that the next load breaks goes before the offer, and after what is busy.
        (Limit::LatencyLimit, |e| at_the_limit(e, 0.5, 0.2)),
        (Limit::ServerCpu, |e| at_the_limit(e, 0.96, 0.2)),
        (Limit::ClientCpu, |e| at_the_limit(e, 0.5, 0.95)),
        // Where all that was offered is done no more was asked for, whatever others took.
        (Limit::OfferedLoad, |e| offered(e, 0.98, 0.5)),
        (Limit::Noise, |e| offered(e, 0.97, 0.5)),
        (Limit::ServerCpu, |e| offered(e, 0.99, 0.96)),
        // Closed windows go before these, and after what is busy.
        (Limit::FlowControl, |e| windows(e, 0.5, None)),
        (Limit::FlowControl, |e| windows(e, 0.5, Some(0.9))),
        (Limit::LatencyLimit, |e| windows(e, 0.49, None)),
        (Limit::LatencyLimit, |e| windows(e, 0.9, Some(1.0))),
        (Limit::ServerCpu, |e| e.window_waiting = Some(1.0)),
        // Others leave nothing idle, which must not look like a busy server; a server without CPU left has its
        // limit, though noise lowers it.
        (Limit::Noise, |e| others(e, 0.1, 0.0)),
        (Limit::Noise, |e| others(e, 0.0, 0.1)),
        (Limit::Unknown, |e| beside_sibling(e, 0.24)),
        (Limit::Noise, |e| beside_sibling(e, 0.25)),
        (Limit::ServerCpu, |e| e.sibling_busy = share(1.0)),
    ];
    for (number, (limit, change)) in rows.into_iter().enumerate() {
        assert_eq!(limit_of(change), limit, "row {number}");
    }
}

/// A quota of that many CPUs that stopped its group for this share of the time.
fn quota(cpus: f64, throttled: f64) -> Option<QuotaEvidence> {
    Some(QuotaEvidence { cpus, throttled, is_shared: false })
}

/// Time in which a thread was stopped is not time in which others ran.
#[test]
fn a_stopped_client_does_not_wait_for_other_programs() {
    let waiting = |throttled: f64| {
        let verdict = judged(|e| {
            (e.client_busy, e.client_waiting) = (Some(0.95), Some(0.13));
            e.client_quota = quota(0.8, throttled);
        });
        (verdict.limit, verdict.reason(Nouns::USUAL).contains("other programs"))
    };
    assert_eq!(waiting(0.0), (Limit::ClientCpu, true));
    assert_eq!(waiting(0.04), (Limit::ClientCpu, false));
    assert!(waiting(0.13) == (Limit::CpuQuota, false));
}

#[test]
fn the_server_could_do_more_where_the_clients_quota_was_the_limit() {
    let is_of_client = |change: fn(&mut Evidence)| judged(change).is_of_client();
    assert!(is_of_client(|e| e.client_quota = quota(0.3, 0.5)));
    assert!(is_of_client(|e| e.client_busy = Some(0.95)));
    assert!(is_of_client(|e| e.udp_dropped = Some(0.02)));
    assert!(!is_of_client(|e| e.server_quota = quota(0.3, 0.5)));
    assert!(!is_of_client(
        |e| (e.client_quota, e.server_quota) = (quota(0.3, 0.01), quota(0.3, 0.5))
    ));
    assert!(!is_of_client(|_| {}));
}

/// The share of its CPUs that the server uses, and that is idle.
fn of_server(e: &mut Evidence, busy: f64, is_idle: f64) {
    idle(e);
    (e.server_busy, e.server_cpus_idle) = (Some(busy), share(is_idle));
}

fn at_the_limit(e: &mut Evidence, busy: f64, client: f64) {
    offered(e, 1.0, busy);
    (e.beyond_limit, e.client_busy) = (Some(1.25), Some(client));
}

fn offered(e: &mut Evidence, served: f64, busy: f64) {
    of_server(e, busy, 1.0 - busy);
    (e.offered_served, e.steal) = (Some(served), share(0.2));
}

fn windows(e: &mut Evidence, waiting: f64, offered: Option<f64>) {
    idle(e);
    (e.window_waiting, e.offered_served) = (Some(waiting), offered);
    (e.beyond_limit, e.foreign) = (Some(1.2), share(0.5));
}

fn others(e: &mut Evidence, foreign: f64, steal: f64) {
    of_server(e, 0.3, 0.0);
    (e.foreign, e.steal) = (share(foreign), share(steal));
}

fn beside_sibling(e: &mut Evidence, busy: f64) {
    idle(e);
    e.sibling_busy = share(busy);
}

/// Failures that follow from a lack of descriptors have its remedy, unless bodies were wrong.
#[test]
fn the_remedy_of_failures_is_that_of_their_cause() {
    let of_server = judged(|e| e.server_descriptors = Some(1.0));
    let timed_out = |e: &mut Evidence| {
        (e.failed, e.failed_share) = (1_000, Some(0.0909));
        e.server_descriptors = Some(1.0);
    };
    assert_eq!(judged(timed_out).remedy(), of_server.remedy());
    let wrong = judged(|e| {
        timed_out(e);
        e.wrong_bodies = 1;
    });
    assert_ne!(wrong.remedy(), of_server.remedy());
}

#[test]
fn a_full_or_lossy_network_is_judged_after_the_ends_and_before_the_offer() {
    let with = |network: NetworkEvidence, offered: Option<f64>| {
        judged(|e| {
            idle(e);
            e.foreign = share(0.5);
            e.offered_served = offered;
            e.network = Some(network);
        })
    };
    let veth = NetworkEvidence { interface: "veth1".into(), ..NetworkEvidence::default() };
    let full = NetworkEvidence { queued: 1.0, bits_per_s: 20_000_000, ..veth.clone() };
    let lossy = NetworkEvidence { retransmitted: Some(0.02), ..veth.clone() };
    let verdict = with(full.clone(), None);
    assert_eq!(verdict.limit, Limit::Network);
    let fast = NetworkEvidence { used: Some(0.97), bits_per_s: 970_000_000, ..veth.clone() };
    let found = [with(full.clone(), None), with(fast, None), with(lossy.clone(), None)];
    support::assert_golden!(["packets wait", "full", "lossy"].into_iter().zip(found.map(in_words)));
    assert_eq!(with(full.clone(), Some(1.0)).limit, Limit::Network);
    assert_eq!(with(lossy.clone(), Some(0.5)).limit, Limit::Network);
    assert_eq!(with(lossy, Some(1.0)).limit, Limit::OfferedLoad);
    assert_eq!(with(veth, None).limit, Limit::Noise);
    assert_eq!(limit_of(|e| e.network = Some(full)), Limit::ServerCpu);
}

#[test]
fn the_journals_names_are_those_that_are_printed() {
    for limit in [
        Limit::Errors,
        Limit::Descriptors,
        Limit::Ports,
        Limit::AcceptQueue,
        Limit::CpuQuota,
        Limit::ClientCpu,
        Limit::UdpBuffers,
        Limit::Backend,
        Limit::Accelerator,
        Limit::ServerCpu,
        Limit::Network,
        Limit::FlowControl,
        Limit::LatencyLimit,
        Limit::OfferedLoad,
        Limit::Noise,
        Limit::Unknown,
    ] {
        let json = serde_json::to_value(limit).unwrap();
        assert_eq!(json, limit.to_string());
        let verdict = Verdict { limit, evidence: server_bound() };
        assert!(!verdict.reason(Nouns::USUAL).is_empty() && !verdict.remedy().is_empty());
    }
}

#[test]
fn a_disturbed_trial_is_one_from_which_others_took_a_tenth_of_a_cpu() {
    for (steal, foreign, is_disturbed, sum) in [
        (None, None, false, 0.0),
        (share(0.09), share(0.09), false, 0.18),
        (share(0.1), None, true, 0.1),
        (share(0.0), share(0.1), true, 0.1),
        (share(0.2), share(-0.05), true, 0.2),
    ] {
        let verdict = Verdict::of(Evidence { steal, foreign, ..Evidence::default() });
        assert_eq!(verdict.is_disturbed(), is_disturbed, "{steal:?} {foreign:?}");
        assert!((verdict.disturbance() - sum).abs() < 1e-9);
    }
}
