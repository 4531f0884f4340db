use super::*;
use crate::evidence::Evidence;
use crate::evidence::QuotaEvidence;
use crate::limit::Limit;
use crate::testing::share;

fn kinds(
    neighbours: Neighbours,
    limit: Limit,
    evidence: Evidence,
    core: CoreHz,
) -> Vec<WarningKind> {
    let operations = Operations { completed: evidence.completed, ..Operations::default() };
    let verdict = Verdict { limit, evidence };
    let nouns = Nouns::USUAL;
    let warnings = Warning::of(neighbours, &verdict, &operations, 64, core, &[], nouns);
    warnings.iter().map(|warning| warning.kind).collect()
}

fn calm() -> Evidence {
    Evidence {
        completed: 64,
        failed_share: Some(0.0),
        steal: share(0.09),
        foreign: share(0.09),
        sibling_busy: share(0.24),
        ..Evidence::default()
    }
}

fn hz(before: u64, after: u64) -> CoreHz {
    CoreHz { before: Some(before), after: Some(after) }
}

#[test]
fn a_calm_trial_warns_of_nothing() {
    assert_eq!(kinds(Neighbours::Apart, Limit::ServerCpu, calm(), hz(2000, 2090)), []);
}

#[test]
fn each_reason_to_doubt_is_told() {
    let server = Limit::ServerCpu;
    let none = CoreHz::default();
    let apart = Neighbours::Apart;
    assert_eq!(kinds(Neighbours::Siblings, server, calm(), none), [WarningKind::SiblingCpus]);
    assert_eq!(kinds(Neighbours::Shared, server, calm(), none), [WarningKind::SharedCpus]);
    assert_eq!(
        kinds(apart, server, Evidence { steal: share(0.1), ..calm() }, none),
        [WarningKind::Steal]
    );
    assert_eq!(
        kinds(apart, server, Evidence { foreign: share(0.1), ..calm() }, none),
        [WarningKind::ForeignWork]
    );
    assert_eq!(kinds(apart, server, calm(), hz(2000, 2201)), [WarningKind::FrequencyMoved]);
    assert_eq!(
        kinds(apart, server, Evidence { sibling_busy: share(0.25), ..calm() }, none),
        [WarningKind::BusySibling]
    );
    let one_thread = Evidence {
        server_busy: Some(0.5),
        server_busiest_thread: Some(0.99),
        server_saturated: Some(0.99),
        ..calm()
    };
    assert_eq!(kinds(apart, server, one_thread, none), [WarningKind::FewWorkers]);
    let failed = Evidence { failed: 1, failed_share: Some(0.001), ..calm() };
    assert_eq!(kinds(apart, server, failed, none), [WarningKind::FewErrors]);
    // A thread that sleeps wakes a little late, and a slow server hides more.
    for (late, share, expected) in [
        (2_000_000, 0.9, &[WarningKind::LateClient][..]),
        (100_000, 0.9, &[]),
        (2_000_000, 0.02, &[]),
    ] {
        let (client_late_ns, client_late) = (Some(late), Some(share));
        let late = Evidence { client_late_ns, client_late, ..calm() };
        assert_eq!(kinds(apart, server, late, none), expected);
    }
    // A client that was stopped is late whatever its timers say, and once.
    for (throttled, expected) in [(0.009, &[][..]), (0.01, &[WarningKind::LateClient])] {
        let quota = QuotaEvidence { cpus: 0.3, throttled, is_shared: false };
        let stopped = Evidence { client_quota: Some(quota), ..calm() };
        assert_eq!(kinds(apart, server, stopped, none), expected);
    }
    let few = Evidence { completed: 63, ..calm() };
    assert_eq!(kinds(apart, server, few, none), [WarningKind::FewOperations]);
}

#[test]
fn what_was_not_seen_or_not_in_memory_is_reported_in_three_parts() {
    let change =
        ProcessesChanged { before: 1, after: 5, began: Some(Nanos(800_000_000)), used: None };
    let changed = Warning::processes_changed(change, Nanos(2_000_000_000)).unwrap();
    let unknown = Warning::cores_unknown(&ObserveError::Sampler("it panicked".into())).unwrap();
    let on_disk = Warning::objects_on_disk("the objects lie in /var/tmp").unwrap();
    let varied = NotSteady { after: units::Nanos(90_000_000_000), spread: Some(0.08) };
    let compiling = Warning::not_steady(varied, Some(0.25)).unwrap();
    let varied = Warning::not_steady(varied, None).unwrap();
    let idle = NotSteady { after: units::Nanos(90_000_000_000), spread: None };
    let idle = Warning::not_steady(idle, None).unwrap();
    let all = [&changed, &unknown, &on_disk, &compiling, &varied, &idle];
    support::assert_golden!(all.map(|warning| (format!("{:?}", warning.kind), warning)));
    for (warning, name) in [(&varied, "not-steady"), (&idle, "not-steady")] {
        assert_eq!(serde_json::to_value(warning.kind).unwrap(), name);
    }
    for (warning, name) in
        [(changed, "processes-changed"), (unknown, "cores-unknown"), (on_disk, "objects-on-disk")]
    {
        assert_eq!(serde_json::to_value(warning.kind).unwrap(), name);
    }
}

#[test]
fn what_latencies_and_costs_per_operation_leave_out_is_reported() {
    let of = |not_taken| Warning::requests_not_taken(not_taken, 1_000);
    assert_eq!(of(50), None);
    let still = StoodStill { operations: 10, at_least_ns: 2_000_000_000 };
    let still = Warning::stood_still(still, Some(6_300_000), Nouns::USUAL).unwrap();
    let all = [of(51).unwrap(), still];
    assert_eq!(serde_json::to_value(all[1].kind).unwrap(), "stood-still");
    support::assert_golden!(all.map(|warning| (format!("{:?}", warning.kind), warning)));
}

#[test]
fn lost_datagrams_are_reported_with_whose_socket_was_full() {
    let of = |change: fn(&mut QuicUse)| {
        let mut quic = QuicUse {
            datagrams_sent: 10_000,
            sends: 1_000,
            datagrams_received: 99_000,
            ..QuicUse::default()
        };
        change(&mut quic);
        assert_eq!(
            Warning::datagrams_lost(&quic, false).is_some(),
            quic.drops + quic.sends_refused > 0
        );
        Warning::datagrams_lost(&quic, true)
    };
    assert_eq!((of(|_| {}), of(|quic| quic.packets_lost = 9)), (None, None));
    let dropped = of(|quic| (quic.drops, quic.packets_lost) = (1_000, 10));
    let refused = of(|quic| (quic.sends_refused, quic.packets_lost) = (1, 10));
    let lost = of(|quic| quic.packets_lost = 10);
    support::assert_golden!([
        ("dropped", dropped.unwrap()),
        ("refused", refused.unwrap()),
        ("lost", lost.unwrap())
    ]);
}

#[test]
fn datagrams_that_are_too_long_for_the_client_or_the_path_are_reported() {
    let fair = QuicUse { datagrams_received: 1_000, longest_sent: 1_452, ..QuicUse::default() };
    assert_eq!((Warning::datagrams_too_long(&fair), Warning::short_path(&fair)), (None, None));
    let long = QuicUse { too_long_received: 1, longest_received: 1_280, ..fair };
    let short = QuicUse { path_payload: Some(1_200), ..fair };
    support::assert_golden!([
        ("too long", Warning::datagrams_too_long(&long).unwrap()),
        ("a short path", Warning::short_path(&short).unwrap())
    ]);
}

#[test]
fn a_mixture_of_what_was_left_open_is_reported() {
    let names = |names: &[(&str, u64)]| {
        names.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    };
    let obtained = |schemes: &[(&str, u64)]| Obtained {
        tls: names(&[("1.3", 64)]),
        signature_scheme: names(schemes),
        ..Obtained::default()
    };
    assert!(Warning::mixed(&obtained(&[("rsa_pss_rsae_sha256", 64)])).is_none());
    let both = [("ecdsa_secp256r1_sha256", 60), ("rsa_pss_rsae_sha256", 4)];
    let warning = Warning::mixed(&obtained(&both)).unwrap();
    let expected = "handshakes differed: ecdsa_secp256r1_sha256 in 60, rsa_pss_rsae_sha256 in 4";
    assert_eq!((warning.kind, warning.seen.as_str()), (WarningKind::Mixed, expected));
}

#[test]
fn full_handshakes_that_need_a_second_client_hello_are_reported() {
    let with = |retried| {
        Warning::hello_retry_requests(&Obtained {
            hello_retry_requests: Some(retried),
            full: Some(100),
            group: [("secp384r1".to_owned(), 200)].into(),
            ..Obtained::default()
        })
    };
    assert_eq!((with(0), with(1)), (None, None));
    let warning = with(100).unwrap();
    assert_eq!(warning.kind, WarningKind::HelloRetryRequests);
    assert!(warning.remedy.contains("--group secp384r1"), "{warning}");
    assert_eq!(Warning::hello_retry_requests(&Obtained::default()), None);
}

#[test]
fn one_connection_per_two_requests_means_not_kept() {
    assert!(Warning::connections_not_kept(64, 128).is_none());
    assert!(Warning::connections_not_kept(0, 0).is_none());
    let warning = Warning::connections_not_kept(1_000, 1_000).unwrap();
    assert_eq!(warning.kind, WarningKind::ConnectionsNotKept);
}

#[test]
fn paced_connections_that_are_opened_in_the_window_are_reported() {
    assert!(Warning::still_opening(50, 5_000).is_none());
    let warning = Warning::still_opening(1_547, 5_000).unwrap();
    assert_eq!(warning.kind, WarningKind::StillOpening);
    assert!(warning.seen.contains("1,547") && warning.seen.contains("5,000"), "{warning}");
}

#[test]
fn a_server_that_read_less_than_half_of_what_it_sent_had_it_in_memory() {
    for read in [Some(100), Some(50), Some(1 << 30)] {
        assert_eq!(Warning::objects_in_cache(read, 100), None);
    }
    assert_eq!(Warning::objects_in_cache(Some(0), 0), None);
    let warning = Warning::objects_in_cache(Some(49), 100).unwrap();
    assert_eq!(warning.kind, WarningKind::ObjectsInCache);
    assert!(warning.seen.contains("49.0%"), "{warning}");
    let unknown = Warning::objects_in_cache(None, 100).unwrap();
    assert!(!unknown.seen.contains('%'), "{unknown}");
}

#[test]
fn a_broken_law_names_its_cause() {
    let law = |cause| LittlesLaw {
        users: 1_000,
        rate_per_s: 1e4,
        response_ns: 60_000_000,
        think_ns: Some(30_000_000),
        users_by_law: 900.0,
        deviation: -0.1,
        judged: true,
        cause,
    };
    assert_eq!(Warning::littles_law(&law(None), Nouns::USUAL, false), None);
    for (cause, name) in
        [(Cause::Failures, "failures"), (Cause::Client, "client"), (Cause::Ramp, "ramp")]
    {
        let warning = Warning::littles_law(&law(Some(cause)), Nouns::USUAL, false).unwrap();
        assert_eq!(warning.kind, WarningKind::LittlesLaw);
        for figure in ["900.0", "1,000", "-10.0%"] {
            assert!(warning.seen.contains(figure), "{warning}");
        }
        assert!(warning.likely_cause.contains(&format!("({name})")), "{warning}");
        let counted = Warning::littles_law(&law(Some(cause)), Nouns::USUAL, true).unwrap();
        assert!(!counted.remedy.contains("--warmup"), "{counted}");
    }
}

#[test]
fn responses_that_wait_for_an_acknowledgement_are_named() {
    let of = |first_byte: u64, whole: u64| {
        let in_ns = |milliseconds: u64| Some(milliseconds * 1_000_000);
        Warning::delayed_acknowledgements(in_ns(first_byte), in_ns(whole))
    };
    for (first_byte, whole) in [(1, 42), (0, 41), (300, 344)] {
        let kind = of(first_byte, whole).map(|warning| warning.kind);
        assert_eq!(kind, Some(WarningKind::DelayedAcknowledgements), "{first_byte} {whole}");
    }
    // A server that thinks for so long before it answers, and a long body.
    for (first_byte, whole) in [(41, 42), (1, 30), (1, 200)] {
        assert_eq!(of(first_byte, whole), None, "{first_byte} {whole}");
    }
    assert_eq!(Warning::delayed_acknowledgements(None, None), None);
}

#[test]
fn other_programs_are_named() {
    let evidence = Evidence { foreign: share(0.35), ..Evidence::default() };
    let programs = ["rustc", "cc1"].map(|name| BusyProgram { name: name.to_owned(), cpu_ns: 1 });
    let warning = Warning::foreign_work(&Verdict::of(evidence), &programs).unwrap();
    assert!(warning.seen.contains("35.0%") && warning.seen.contains("rustc, cc1"), "{warning}");
}

#[test]
fn warnings_of_a_session_speak_of_pages_and_users() {
    let failed = Evidence { completed: 63, failed: 1, failed_share: Some(0.001), ..calm() };
    let operations = Operations { completed: 63, ..Operations::default() };
    let words = |nouns| {
        let verdict = Verdict { limit: Limit::ServerCpu, evidence: failed.clone() };
        let core = CoreHz::default();
        let found = Warning::of(Neighbours::Shared, &verdict, &operations, 64, core, &[], nouns);
        let law = LittlesLaw {
            users: 64,
            rate_per_s: 1e4,
            response_ns: 1,
            think_ns: None,
            users_by_law: 60.0,
            deviation: -0.1,
            judged: true,
            cause: Some(Cause::Client),
        };
        let all = found.into_iter().chain(Warning::littles_law(&law, nouns, false));
        all.map(|warning| warning.to_string()).collect::<Vec<_>>().join("\n")
    };
    let session = words(Nouns::OF_SESSION);
    assert!(!session.contains("operation") && !session.contains(" connections"), "{session}");
    support::assert_golden!([("usual", words(Nouns::USUAL)), ("session", session)]);
}
