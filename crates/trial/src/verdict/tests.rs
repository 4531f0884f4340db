use super::*;
use crate::evidence::NetworkEvidence;
use crate::nouns::Nouns;

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
        server_cpus_idle: Some(0.005),
        steal: Some(0.0),
        foreign: Some(0.0),
        ..Evidence::default()
    }
}

/// That the server is far from busy.
fn idle(e: &mut Evidence) {
    e.server_busy = Some(0.3);
    e.server_busiest_thread = Some(0.3);
    e.server_saturated = Some(0.0);
    e.server_cpus_idle = Some(0.7);
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
    let cases: [Case; 18] = [
        ("a busy server", |_| {}),
        ("a busy client", |e| e.client_busy = Some(0.9)),
        ("a client beside other programs", |e| {
            (e.client_busy, e.client_waiting) = (Some(0.97), Some(0.8));
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
            (e.foreign, e.steal, e.server_cpus_idle) = (Some(0.5), Some(0.2), Some(0.0));
        }),
        ("a busy sibling", |e| {
            idle(e);
            e.sibling_busy = Some(0.25);
        }),
        ("fewer threads than CPUs", |e| {
            (e.server_busy, e.server_cpus_idle) = (Some(0.5), Some(0.5));
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
        ("a busy backend", |e| e.backend_busy = Some(0.95)),
        ("a busy accelerator", |e| e.accelerator_busy = Some(0.95)),
        ("a server that is not seen", |e| {
            idle(e);
            (e.server_busy, e.server_cpus_idle) = (None, None);
        }),
    ];
    support::assert_golden!(cases.map(|(name, change)| (name, in_words(judged(change)))));
}

#[test]
fn a_busy_server_and_an_idle_client_is_the_servers_maximum() {
    let verdict = judged(|_| {});
    assert_eq!(verdict.limit, Limit::ServerCpu);
    let idle = |e: &mut Evidence| {
        e.server_cpus_idle = Some(0.06);
        e.server_saturated = Some(0.0);
    };
    assert_eq!(
        limit_of(|e| {
            e.server_busy = Some(0.95);
            idle(e);
        }),
        Limit::ServerCpu
    );
    assert_ne!(
        limit_of(|e| {
            e.server_busy = Some(0.949);
            idle(e);
        }),
        Limit::ServerCpu
    );
}

#[test]
fn one_wrong_answer_of_a_sample_is_one_too_many() {
    let wrong = judged(|e| {
        (e.failed, e.failed_share) = (12, Some(0.0012));
        (e.wrong_bodies, e.checked_bodies) = (12, 31);
    });
    assert_eq!(wrong.limit, Limit::Errors);
    let unauthentic = judged(|e| (e.unauthentic_handshakes, e.checked_handshakes) = (1, 16));
    assert_eq!(unauthentic.limit, Limit::Errors);
}

#[test]
fn where_all_that_was_offered_is_done_no_more_was_asked_for() {
    let offered = |served, busy| {
        judged(|e| {
            e.offered_served = Some(served);
            idle(e);
            e.server_busy = Some(busy);
            e.server_cpus_idle = Some(1.0 - busy);
            e.steal = Some(0.2);
        })
    };
    let verdict = offered(0.98, 0.5);
    assert_eq!(verdict.limit, Limit::OfferedLoad);
    assert_eq!(offered(0.97, 0.5).limit, Limit::Noise);
    assert_eq!(offered(0.99, 0.96).limit, Limit::ServerCpu);
}

#[test]
fn a_limit_that_the_next_load_breaks_is_what_limits_a_server_that_is_not_busy() {
    let at = |beyond, busy, client| {
        judged(|e| {
            e.beyond_limit = beyond;
            idle(e);
            e.server_busy = Some(busy);
            e.server_cpus_idle = Some(1.0 - busy);
            e.client_busy = Some(client);
            e.offered_served = Some(1.0);
            e.steal = Some(0.2);
        })
    };
    let verdict = at(Some(1.25), 0.5, 0.2);
    assert_eq!(verdict.limit, Limit::LatencyLimit);
    assert_eq!(at(None, 0.5, 0.2).limit, Limit::OfferedLoad);
    assert_eq!(at(Some(1.25), 0.96, 0.2).limit, Limit::ServerCpu);
    assert_eq!(at(Some(1.25), 0.5, 0.95).limit, Limit::ClientCpu);
}

#[test]
fn interrupt_work_on_the_servers_cpus_is_the_servers() {
    let with_idle = |share| {
        limit_of(|e| {
            idle(e);
            e.server_busy = Some(0.85);
            e.server_cpus_idle = Some(share);
        })
    };
    assert_eq!(with_idle(0.04), Limit::ServerCpu);
    assert_eq!(with_idle(0.06), Limit::Unknown);
}

#[test]
fn one_failure_in_a_hundred_is_the_limit() {
    assert_eq!(limit_of(|e| e.failed = 102), Limit::Errors);
    assert_eq!(limit_of(|e| e.failed = 100), Limit::ServerCpu);
    let verdict = judged(|e| {
        e.completed = 0;
        idle(e);
    });
    assert_eq!(verdict.limit, Limit::Errors);
    assert_eq!(limit_of(idle), Limit::Unknown);
    // Where nothing completed because one side had no CPU time, that is the limit.
    assert_eq!(limit_of(|e| e.completed = 0), Limit::ServerCpu);
}

#[test]
fn what_this_machine_lacks_is_named_before_the_errors_that_it_causes() {
    let lacking_descriptors = |e: &mut Evidence| {
        e.descriptors_lacking = 5_000;
        e.failed = 5_000;
    };
    assert_eq!(limit_of(lacking_descriptors), Limit::Descriptors);
    assert_eq!(
        limit_of(|e| {
            lacking_descriptors(e);
            e.completed = 0;
        }),
        Limit::Descriptors
    );
    assert_eq!(
        limit_of(|e| {
            lacking_descriptors(e);
            e.failed += 500;
        }),
        Limit::Errors
    );
    assert_eq!(
        limit_of(|e| {
            e.ports_lacking = 1;
            e.failed = 1;
        }),
        Limit::Ports
    );
    assert_eq!(limit_of(|e| e.ports_lacking = 0), Limit::ServerCpu);
    let of_server = judged(|e| e.server_descriptors = Some(1.0));
    assert_eq!(of_server.limit, Limit::Descriptors);
    assert_eq!(limit_of(|e| e.server_descriptors = Some(0.99)), Limit::ServerCpu);
    // What it could not accept has timed out.
    let timed_out = |e: &mut Evidence| {
        (e.failed, e.failed_share) = (1_000, Some(0.0909));
        e.server_descriptors = Some(1.0);
    };
    let failing = judged(timed_out);
    assert_eq!(failing.limit, Limit::Errors);
    assert_eq!(failing.remedy(), of_server.remedy());
    let wrong = judged(|e| {
        timed_out(e);
        e.wrong_bodies = 1;
    });
    assert_ne!(wrong.remedy(), of_server.remedy());
}

#[test]
fn an_overflowing_accept_queue_counts_by_the_time_that_it_costs() {
    assert_eq!(limit_of(|e| e.accept_queue_loss = Some(0.05)), Limit::AcceptQueue);
    assert_eq!(limit_of(|e| e.accept_queue_loss = Some(0.049)), Limit::ServerCpu);
}

#[test]
fn a_busy_client_comes_before_a_busy_server() {
    let verdict = judged(|e| e.client_busy = Some(0.9));
    assert_eq!(verdict.limit, Limit::ClientCpu);
    assert_eq!(limit_of(|e| e.client_busy = Some(0.899)), Limit::ServerCpu);
}

#[test]
fn a_client_that_waits_for_its_cpu_names_the_other_programs() {
    let verdict = judged(|e| {
        e.client_busy = Some(0.97);
        e.client_waiting = Some(0.8);
    });
    assert_eq!(verdict.limit, Limit::ClientCpu);
}

#[test]
fn others_on_the_cpus_are_noise() {
    let beside = |foreign, steal| {
        judged(|e| {
            idle(e);
            e.foreign = Some(foreign);
            e.steal = Some(steal);
            // The others left nothing idle: that must not look like a busy server.
            e.server_cpus_idle = Some(if foreign + steal > 0.0 { 0.0 } else { 0.5 });
        })
    };
    assert_eq!(beside(0.1, 0.0).limit, Limit::Noise);
    assert_eq!(beside(0.0, 0.1).limit, Limit::Noise);
    assert_eq!(beside(0.0, 0.0).limit, Limit::Unknown);
    let beside = |busy| {
        judged(|e| {
            idle(e);
            e.sibling_busy = Some(busy);
        })
    };
    assert_eq!(beside(0.24).limit, Limit::Unknown);
    assert_eq!(beside(0.25).limit, Limit::Noise);
    // A server without CPU left has its limit, though noise lowers it.
    assert_eq!(limit_of(|e| e.sibling_busy = Some(1.0)), Limit::ServerCpu);
}

#[test]
fn a_server_with_fewer_threads_than_cpus_is_limited_by_them() {
    let verdict = judged(|e| {
        idle(e);
        (e.server_busy, e.server_cpus_idle) = (Some(0.5), Some(0.5));
        (e.server_busiest_thread, e.server_saturated) = (Some(0.99), Some(0.97));
    });
    assert_eq!(verdict.limit, Limit::ServerCpu);
    // One of two equal workers is saturated: the load is uneven.
    let uneven = judged(|e| {
        idle(e);
        (e.server_busiest_thread, e.server_saturated) = (Some(0.99), Some(0.6));
    });
    assert_eq!(uneven.limit, Limit::Unknown);
}

#[test]
fn a_full_or_lossy_network_is_judged_after_the_ends_and_before_the_offer() {
    let with = |network: NetworkEvidence, offered: Option<f64>| {
        judged(|e| {
            idle(e);
            e.foreign = Some(0.5);
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
fn closed_windows_are_judged_after_all_that_is_busy() {
    let with = |waiting, offered| {
        judged(|e| {
            idle(e);
            (e.window_waiting, e.offered_served) = (Some(waiting), offered);
            (e.beyond_limit, e.foreign) = (Some(1.2), Some(0.5));
        })
    };
    assert_eq!(with(0.5, None).limit, Limit::FlowControl);
    assert_eq!(with(0.5, Some(0.9)).limit, Limit::FlowControl);
    assert_eq!(with(0.49, None).limit, Limit::LatencyLimit);
    assert_eq!(with(0.9, Some(1.0)).limit, Limit::LatencyLimit);
    assert_eq!(limit_of(|e| e.window_waiting = Some(1.0)), Limit::ServerCpu);
}

#[test]
fn where_nothing_is_busy_more_load_is_needed() {
    let verdict = judged(idle);
    assert_eq!(verdict.limit, Limit::Unknown);
}

#[test]
fn a_busy_backend_is_judged_after_the_client_and_before_the_server() {
    let verdict = judged(|e| e.backend_busy = Some(0.95));
    assert_eq!(verdict.limit, Limit::Backend);
    assert_eq!(limit_of(|e| e.backend_busy = Some(0.949)), Limit::ServerCpu);
    let with_client = limit_of(|e| {
        (e.backend_busy, e.client_busy) = (Some(1.0), Some(0.95));
    });
    assert_eq!(with_client, Limit::ClientCpu);
}

#[test]
fn a_busy_accelerator_is_judged_after_the_backend_and_before_the_server() {
    let verdict = judged(|e| e.accelerator_busy = Some(0.95));
    assert_eq!(verdict.limit, Limit::Accelerator);
    assert_eq!(limit_of(|e| e.accelerator_busy = Some(0.949)), Limit::ServerCpu);
    let with_backend = limit_of(|e| {
        (e.accelerator_busy, e.backend_busy) = (Some(1.0), Some(0.95));
    });
    assert_eq!(with_backend, Limit::Backend);
}

#[test]
fn a_server_that_is_not_seen_is_never_the_limit() {
    let verdict = judged(|e| {
        idle(e);
        e.server_busy = None;
        e.server_cpus_idle = None;
    });
    assert_eq!(verdict.limit, Limit::Unknown);
}

#[test]
fn the_journals_names_are_those_that_are_printed() {
    for limit in [
        Limit::Errors,
        Limit::Descriptors,
        Limit::Ports,
        Limit::AcceptQueue,
        Limit::ClientCpu,
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
        (Some(0.09), Some(0.09), false, 0.18),
        (Some(0.1), None, true, 0.1),
        (Some(0.0), Some(0.1), true, 0.1),
        (Some(0.2), Some(-0.05), true, 0.2),
    ] {
        let verdict = Verdict::of(Evidence { steal, foreign, ..Evidence::default() });
        assert_eq!(verdict.is_disturbed(), is_disturbed, "{steal:?} {foreign:?}");
        assert!((verdict.disturbance() - sum).abs() < 1e-9);
    }
}
