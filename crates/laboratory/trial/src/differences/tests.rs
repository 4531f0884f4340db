use super::*;
use crate::receipt::Receipt;
use load::{
    ClientSignature, Close, Collected, Count, EndedConnections, ErrorKind, Method, Negotiated,
    Plan, SessionsGiven, Up, Verified,
};
use std::num::NonZeroU32;
use tls::{CertificateKey, Group, OrPlain, Suite, Version};
use units::Nanos;

use crate::testing::{job, negotiated, outcome, peer};

fn suite(name: &str) -> &'static Suite {
    Suite::parse(name).unwrap()
}

/// The mismatches of a load of 10,000 operations where `plan` and `outcome` are changed.
fn all(change: impl FnOnce(&mut Job, &mut Outcome)) -> Vec<Mismatch> {
    let mut job = job("https://localhost/bytes/1MiB");
    job.plan.tls = Some(OrPlain::Tls(Version::Tls13));
    job.plan.suite = Some(OrPlain::Tls(suite("TLS_AES_128_GCM_SHA256")));
    job.plan.group = Some(Group::X25519);
    let mut outcome = outcome(10_000);
    change(&mut job, &mut outcome);
    let key = Some(CertificateKey::EcdsaP256);
    Receipt::of(&job, key, &outcome).mismatch
}

/// What mismatches there.
fn mismatches(change: impl FnOnce(&mut Job, &mut Outcome)) -> Vec<String> {
    all(change).into_iter().map(|mismatch| mismatch.what).collect()
}

#[test]
fn what_was_asked_and_got_is_no_mismatch() {
    assert!(mismatches(|_, _| {}).is_empty());
    assert!(mismatches(|_, outcome| outcome.completed = 0).is_empty());
    // What was left open may be anything.
    assert!(
        mismatches(|job, outcome| {
            job.plan = Plan::default();
            outcome.negotiated[0].0.suite = suite("TLS_CHACHA20_POLY1305_SHA256");
        })
        .is_empty()
    );
}

#[test]
fn each_name_that_differs_is_reported_with_its_count() {
    type Case = (&'static str, fn(&mut Job, &mut Outcome));
    let cases: [Case; 13] = [
        ("another suite in some", |_, outcome| {
            let suite = suite("TLS_AES_256_GCM_SHA384");
            outcome.negotiated.push((Negotiated { suite, ..negotiated() }, 3));
        }),
        ("another version", |_, outcome| outcome.negotiated[0].0.version = Version::Tls12),
        ("another group", |_, outcome| outcome.negotiated[0].0.group = Some(Group::Secp384r1)),
        ("no group", |_, outcome| outcome.negotiated[0].0.group = None),
        ("another key", |_, outcome| {
            outcome.negotiated[0].0.certificate_key = Some(CertificateKey::Rsa(2048));
        }),
        ("no key in some", |_, outcome| {
            outcome.negotiated.push((Negotiated { certificate_key: None, ..negotiated() }, 3));
        }),
        ("encrypt-then-MAC", |_, outcome| outcome.negotiated[0].0.encrypt_then_mac = true),
        ("MAC-then-encrypt", |job, _| job.plan.encrypt_then_mac = Some(true)),
        ("one resumed", |_, outcome| {
            outcome.negotiated.push((Negotiated { resumed: true, ..negotiated() }, 1));
        }),
        ("another share of objects", |job, outcome| {
            job.url = "https://localhost/".parse().unwrap();
            job.objects = Some("1KiB 90%, 1MiB 10%".parse().unwrap());
            outcome.objects = vec![8_700, 1_300];
        }),
        ("connections kept open", |job, outcome| {
            job.plan.operation = Operation::OneRequestPerConnection;
            outcome.negotiated[0].1 = 10_000;
            outcome.verified.signatures = 200;
            outcome.not_closed_by_server = 100;
        }),
        ("a connection without its handshake", |job, outcome| {
            job.plan.operation = Operation::Handshakes;
            outcome.negotiated[0].1 = 9_999;
        }),
        ("walked instead of decrypted", |job, outcome| {
            job.plan.receive = Some(Receive::Decrypt);
            (outcome.verified.walked, outcome.verified.opened) = (2, 10_000);
        }),
    ];
    support::assert_golden!(cases.map(|(name, change)| {
        let all: Vec<String> = all(change).iter().map(ToString::to_string).collect();
        (name, all.join("\n"))
    }));
}

/// What mismatches in a load of 10,000 requests over connections of 8 each, where `change` is made.
fn ending(change: impl FnOnce(&mut Job, &mut Outcome)) -> Vec<String> {
    mismatches(|job, outcome| {
        job.plan.requests_per_connection = "8".parse().ok();
        outcome.negotiated[0].1 = 1_250;
        outcome.verified.signatures = 20;
        outcome.ended.by_requests = vec![(8, 1_200)];
        outcome.ended.rests = 64;
        change(job, outcome);
    })
}

#[test]
fn connections_that_end_as_planned_are_no_mismatch_and_others_are() {
    assert!(ending(|_, _| {}).is_empty());
    // Fewer than one in a hundred, such as those that were idle for too long.
    assert!(ending(|_, outcome| outcome.ended.by_server = 12).is_empty());
    let closed = ending(|_, outcome| outcome.ended.by_server = 13);
    assert_eq!(closed, ["requests_per_connection"]);
    let none = |change: fn(&mut Job, &mut Outcome)| {
        ending(|job, outcome| {
            outcome.ended = EndedConnections::default();
            change(job, outcome);
        })
    };
    assert_eq!(none(|_, _| {}), ["requests_per_connection"]);
    // A number of operations may be over before a connection is, as an interrupted load may.
    assert!(none(|job, _| job.plan.count = Count::of(5)).is_empty());
    assert!(none(|_, outcome| outcome.interrupted = true).is_empty());
    assert!(none(|_, outcome| outcome.ended.rests = 1).is_empty());
    // Each connection has its handshake, and one signature in K of these is verified.
    assert_eq!(ending(|_, outcome| outcome.negotiated[0].1 = 1_249), ["operation"]);
    assert_eq!(ending(|_, outcome| outcome.verified.signatures = 0), ["verify"]);
    assert_eq!(ending(|_, outcome| outcome.not_closed_by_server = 100), ["close"]);
    assert!(
        ending(|job, outcome| {
            job.plan.close = Close::Rst;
            outcome.not_closed_by_server = 100;
        })
        .is_empty()
    );
}

#[test]
fn a_server_that_was_given_a_certificate_for_each_name_shows_them() {
    let named = |certificates: u64, change: fn(&mut Job)| {
        mismatches(|job, outcome| {
            job.names = ["a.example", "b.example"].map(|name| name.parse().unwrap()).into();
            change(job);
            (outcome.names, outcome.names_asked) = (vec![30, 34], 2);
            let fingerprint = |n: u64| serde_json::from_value(n.into()).unwrap();
            outcome.certificates = (0..certificates).map(fingerprint).collect();
        })
    };
    assert!(named(2, |_| {}).is_empty());
    assert_eq!(named(1, |_| {}), ["certificates"]);
    // Nobody connected yet; and another's server may have one certificate for all.
    assert!(named(0, |_| {}).is_empty());
    assert!(named(1, |job| job.plan.names = Some("names".into())).is_empty());
}

/// Handshakes that resume show none: those count that a certificate was shown for.
#[test]
fn of_names_that_resume_the_full_handshakes_show_the_certificates() {
    let resuming = |certified: Vec<u64>, certificates: u64| {
        mismatches(|job, outcome| {
            job.names = ["a.example", "b.example"].map(|name| name.parse().unwrap()).into();
            job.plan.resumption = "50%".parse().unwrap();
            let again = Negotiated { resumed: true, certificate_key: None, ..negotiated() };
            outcome.negotiated = vec![(negotiated(), 5_000), (again, 5_000)];
            (outcome.names, outcome.names_asked) = (vec![60, 40], 2);
            outcome.names_certified = certified;
            let fingerprint = |n: u64| serde_json::from_value(n.into()).unwrap();
            outcome.certificates = (0..certificates).map(fingerprint).collect();
        })
    };
    assert!(resuming(vec![30, 20], 2).is_empty());
    assert_eq!(resuming(vec![30, 20], 1), ["certificates"]);
}

#[test]
fn an_object_is_compared_only_where_a_get_expects_200() {
    let uncompared = |change: fn(&mut Job)| {
        mismatches(|job, outcome| {
            outcome.verified.compared = 0;
            change(job);
        })
    };
    assert_eq!(uncompared(|_| {}), ["verify"]);
    assert!(uncompared(|job| job.plan.method = Some(Method::Head)).is_empty());
    assert!(uncompared(|job| job.plan.expect = "200, 404".parse().ok()).is_empty());
    assert_eq!(uncompared(|job| job.plan.expect = "200".parse().ok()), ["verify"]);
}

#[test]
fn with_static_rsa_no_group_is_asked_for() {
    assert!(
        mismatches(|job, outcome| {
            job.plan.tls = Some(OrPlain::Tls(Version::Tls12));
            job.plan.suite = Some(OrPlain::Tls(suite("AES128-SHA")));
            let kind = &mut outcome.negotiated[0].0;
            (kind.version, kind.suite) = (Version::Tls12, suite("AES128-SHA"));
            kind.group = None;
        })
        .is_empty()
    );
}

#[test]
fn objects_that_have_another_share_are_a_mismatch() {
    let with = |small, large| {
        mismatches(|job, outcome| {
            job.url = "https://localhost/".parse().unwrap();
            job.objects = Some("1KiB 90%, 1MiB 10%".parse().unwrap());
            outcome.objects = vec![small, large];
        })
    };
    assert!(with(9_000, 1_000).is_empty());
    // Six standard deviations are 180, and 64 connections may have been cut off.
    assert!(with(8_760, 1_240).is_empty());
    assert_eq!(with(8_700, 1_300), ["objects", "objects"]);
    assert_eq!(with(10_000, 0).len(), 2);
    assert!(with(0, 0).is_empty());
}

#[test]
fn a_server_that_keeps_its_connections_open_is_a_mismatch() {
    let with = |operation, close, kept_open| {
        mismatches(|job, outcome| {
            (job.plan.operation, job.plan.close) = (operation, close);
            outcome.negotiated[0].1 = 10_000;
            outcome.verified.signatures = 200;
            outcome.not_closed_by_server = kept_open;
        })
    };
    let one = Operation::OneRequestPerConnection;
    assert!(with(one, Close::Fin, 99).is_empty());
    assert_eq!(with(one, Close::Fin, 100), ["close"]);
    // Where the client resets, it sees nothing of that; other loads do not ask for it.
    assert!(with(one, Close::Rst, 100).is_empty());
    assert!(with(Operation::Requests, Close::Fin, 100).is_empty());
}

#[test]
fn fewer_handshakes_than_connections_are_a_mismatch() {
    let with = |operation, arrival: &str, completed| {
        mismatches(|job, outcome| {
            (job.plan.operation, job.plan.connections) = (operation, 64);
            job.plan.arrival = arrival.parse().unwrap();
            (outcome.completed, outcome.negotiated[0].1) = (completed, 64);
            outcome.objects = vec![completed];
        })
    };
    assert!(with(Operation::Handshakes, "closed", 64).is_empty());
    assert_eq!(with(Operation::Handshakes, "closed", 63), ["connections"]);
    assert_eq!(with(Operation::OneRequestPerConnection, "closed", 1).len(), 1);
    // A turn that ended in a stall is a failure, which is counted as one.
    let stalled = |stalls| {
        mismatches(|job, outcome| {
            (job.plan.operation, job.plan.connections) = (Operation::Handshakes, 64);
            outcome.failures.add_all(ErrorKind::Stall, stalls, "no progress");
            (outcome.completed, outcome.negotiated[0].1) = (3, 64);
            outcome.objects = vec![3];
        })
    };
    assert!(stalled(61).is_empty());
    assert_eq!(stalled(60), ["connections"]);
    // Nothing at all is an error, and other loads have connections to spare.
    assert!(with(Operation::Handshakes, "closed", 0).is_empty());
    assert!(with(Operation::Handshakes, "uniform 10/s", 63).is_empty());
    assert!(with(Operation::Requests, "closed", 63).is_empty());
}

#[test]
fn a_resumed_handshake_shows_no_certificate_and_in_tls12_no_group() {
    let resumed = |change: fn(&mut Negotiated)| {
        mismatches(|job, outcome| {
            job.plan.resumption = "50%".parse().unwrap();
            job.plan.tls = Some(OrPlain::Tls(Version::Tls12));
            job.plan.suite = Some(OrPlain::Tls(suite("ECDHE-RSA-AES128-GCM-SHA256")));
            let full = Negotiated {
                version: Version::Tls12,
                suite: suite("ECDHE-RSA-AES128-GCM-SHA256"),
                ..negotiated()
            };
            let mut again =
                Negotiated { resumed: true, certificate_key: None, group: None, ..full };
            change(&mut again);
            outcome.negotiated = vec![(full, 10), (again, 10)];
        })
    };
    assert!(resumed(|_| {}).is_empty());
    // And none that resumed.
    assert_eq!(resumed(|again| again.resumed = false).len(), 3);
    assert_eq!(resumed(|again| again.group = Some(Group::Secp256r1)), ["group"]);
}

#[test]
fn encrypt_then_mac_that_was_asked_for_is_no_mismatch() {
    assert!(
        mismatches(|job, outcome| {
            job.plan.encrypt_then_mac = Some(true);
            outcome.negotiated[0].0.encrypt_then_mac = true;
        })
        .is_empty()
    );
}

#[test]
fn a_share_of_resumed_handshakes_is_what_was_asked_for_or_a_mismatch() {
    let differences = |asked: &str, full, resumed| {
        let mut job = job("https://localhost/bytes/1MiB");
        (job.plan.operation, job.plan.connections) = (Operation::OneRequestPerConnection, 16);
        job.plan.resumption = asked.parse().unwrap();
        let mut outcome = outcome(full + resumed);
        let kind = |resumed| Negotiated { resumed, ..negotiated() };
        outcome.negotiated = vec![(kind(false), full), (kind(true), resumed)];
        outcome.verified.signatures = full;
        let all = Receipt::of(&job, None, &outcome).mismatch;
        all.into_iter().map(|mismatch| mismatch.what).collect::<Vec<_>>()
    };
    assert_eq!(differences("70%", 350, 650), Vec::<String>::new());
    assert_eq!(differences("70%", 1_000, 0), ["resumption_percent"]);
    assert_eq!(differences("70%", 100, 900).len(), 1);
    assert_eq!(differences("70%", 100, 0), ["resumption_percent"]);
    // Too few to tell.
    assert_eq!(differences("70%", 20, 0), Vec::<String>::new());
    // The 16 first ones can only be full; of the others two thirds are clearly less than all.
    assert_eq!(differences("100%", 167, 323).len(), 1);
    assert_eq!(differences("100%", 30, 460), Vec::<String>::new());
}

#[test]
fn where_tickets_were_collected_the_first_handshakes_resume_too() {
    let with = |tickets, full, resumed| {
        mismatches(|job, outcome| {
            (job.plan.operation, job.plan.connections) = (Operation::Handshakes, 16);
            job.plan.resumption = "100%".parse().unwrap();
            outcome.completed = full + resumed;
            let given = SessionsGiven { tickets, ids: 0 };
            outcome.collected = Some(Collected { given, connections: 16 });
            outcome.negotiated = vec![(negotiated(), full)];
            outcome.negotiated.push((Negotiated { resumed: true, ..negotiated() }, resumed));
        })
    };
    assert!(with(128, 0, 60).is_empty());
    assert_eq!(with(0, 60, 0), ["resumption_percent"]);
}

#[test]
fn kept_connections_that_were_to_resume_and_did_not_are_a_mismatch() {
    let of_4 = |operation, resumed| {
        mismatches(|job, outcome| {
            (job.plan.operation, job.plan.connections) = (operation, 4);
            job.plan.resumption = "100%".parse().unwrap();
            outcome.completed = 4;
            outcome.negotiated = vec![(negotiated(), 4 - resumed)];
            outcome.negotiated.push((Negotiated { resumed: true, ..negotiated() }, resumed));
        })
    };
    assert_eq!(of_4(Operation::Requests, 0), ["resumption_percent"]);
    assert!(of_4(Operation::Requests, 1).is_empty());
    // More handshakes would have come, and the first ones have nothing to resume.
    assert!(of_4(Operation::OneRequestPerConnection, 0).is_empty());
}

#[test]
fn connections_without_their_handshakes_are_not_what_was_asked() {
    let with = |handshakes| {
        mismatches(|job, outcome| {
            job.plan.operation = Operation::Handshakes;
            outcome.negotiated[0].1 = handshakes;
        })
    };
    assert!(with(10_000).is_empty());
    assert_eq!(with(9_999), ["operation"]);
    let none = mismatches(|_, outcome| outcome.negotiated.clear());
    assert_eq!(none[0], "operation");
}

#[test]
fn signatures_must_have_been_verified_where_a_sample_cannot_have_missed() {
    let with = |completed, scheme| {
        mismatches(|job, outcome| {
            job.plan.operation = Operation::Handshakes;
            outcome.completed = completed;
            outcome.negotiated[0].1 = completed;
            outcome.negotiated[0].0.signature_scheme = scheme;
            outcome.verified.signatures = 0;
        })
    };
    assert_eq!(with(16 * 64, Some(0x0403)), ["verify"]);
    assert!(with(16 * 64 - 1, Some(0x0403)).is_empty());
    assert!(with(16 * 64, None).is_empty());
}

#[test]
fn bodies_must_have_been_opened_and_compared() {
    let with = |verified: Verified, completed| {
        mismatches(|_, outcome| {
            outcome.completed = completed;
            outcome.verified = Verified { signatures: 1, ..verified };
        })
    };
    let all =
        Verified { signatures: 1, walked: 984, opened: 40, compared: 40, ..Verified::default() };
    assert!(with(all, 1024).is_empty());
    assert_eq!(with(Verified { compared: 0, ..all }, 1024), ["verify"]);
    assert!(with(Verified { compared: 0, ..all }, 1023).is_empty());
    assert_eq!(with(Verified { opened: 0, ..all }, 1024).len(), 1);
    assert!(with(Verified { opened: 0, ..all }, 1023).is_empty());
    let nothing = with(Verified::default(), 1);
    assert_eq!(nothing[0], "receive");
    // A page that toll did not generate cannot be compared.
    assert!(
        mismatches(|job, outcome| {
            job.url = "https://localhost/index.html".parse().unwrap();
            outcome.verified.compared = 0;
        })
        .is_empty()
    );
}

#[test]
fn what_should_be_decrypted_must_not_be_walked() {
    let decrypt = |walked| {
        mismatches(|job, outcome| {
            job.plan.receive = Some(Receive::Decrypt);
            outcome.verified.walked = walked;
            outcome.verified.opened = 10_000;
        })
    };
    assert!(decrypt(0).is_empty());
    assert_eq!(decrypt(2), ["receive"]);
}

#[test]
fn a_closed_loop_of_which_only_a_part_is_up_is_a_mismatch() {
    let with = |short, change: fn(&mut Job)| {
        mismatches(|job, outcome| {
            let short = Nanos(short);
            outcome.up =
                Some(Up { at_begin: 20, at_end: 30, short, awaited: Nanos(5_000_000_000) });
            change(job);
        })
        .len()
    };
    // A tenth of 600 ms.
    assert_eq!((with(60_000_000, |_| {}), with(60_000_001, |_| {})), (0, 1));
    // Where arrivals are scheduled, connections are opened as they are needed.
    assert_eq!(with(600_000_000, |job| job.plan.arrival = "uniform 10/s".parse().unwrap()), 0);
    // A load of a number of operations begins with no connection.
    assert_eq!(with(600_000_000, |job| job.plan.count = Count::of(10000)), 0);
}

#[test]
fn another_program_runs_as_long_as_it_is_told_to_and_ends_what_it_begins() {
    let with = |change: fn(&mut PeerClient, &mut Outcome)| {
        let job = job("http://localhost/bytes/1MiB");
        let (mut peer, mut outcome) = (peer(), outcome(100));
        outcome.negotiated.clear();
        change(&mut peer, &mut outcome);
        let mut mismatch = Vec::new();
        compare_peer(&job, &peer, &outcome, &mut mismatch);
        mismatch.into_iter().map(|of| of.what).collect::<Vec<_>>()
    };
    let none: [&str; 0] = [];
    assert_eq!(with(|peer, _| peer.ran = Nanos(1_600_000_000)), none);
    assert_eq!(with(|peer, _| peer.ran = Nanos(1_600_000_001)), ["duration"]);
    assert_eq!(with(|peer, _| peer.ran = Nanos(569_999_999)), ["duration"]);
    assert_eq!(with(|_, outcome| outcome.window = Nanos(569_999_999)), ["duration"]);
    assert_eq!(with(|peer, _| peer.unaccounted = Some(0)), none);
    assert_eq!(with(|peer, _| peer.unaccounted = Some(2)), ["operation"]);
    // Why it ended is said already.
    let ended = |peer: &mut PeerClient, outcome: &mut Outcome| {
        peer.ran = Nanos(0);
        outcome.lost.push("wrk ended with status 1".into());
    };
    assert_eq!(with(ended), none);
}

#[test]
fn handshakes_of_a_server_that_asks_for_a_certificate_are_not_those_of_its_clients() {
    let with = |operation| {
        mismatches(|job, outcome| {
            job.plan.operation = operation;
            outcome.negotiated[0].1 = 10_000;
            outcome.certificate_requests = 10_000;
        })
        .len()
    };
    assert_eq!((with(Operation::Handshakes), with(Operation::Requests)), (1, 0));
}

#[test]
fn http2_without_its_connections_or_streams_is_a_mismatch() {
    let of_connections = |requests: Option<&str>, change: fn(&mut Outcome)| {
        mismatches(|job, outcome| {
            job.plan.http = Some(load::Http::V2);
            job.plan.streams = NonZeroU32::new(8);
            job.plan.requests_per_connection = requests.map(|of| of.parse().unwrap());
            let handshakes = outcome.negotiated.iter().map(|(_, count)| count).sum();
            outcome.streams.connections = handshakes;
            outcome.streams.by_alpn = handshakes;
            outcome.streams.most = 8;
            outcome.verified.opened += std::mem::take(&mut outcome.verified.walked);
            change(outcome);
        })
    };
    let with = |change| of_connections(None, change);
    assert_eq!(with(|_| {}), [""; 0]);
    assert_eq!(with(|outcome| outcome.streams.by_alpn -= 1), ["http"]);
    assert_eq!(with(|outcome| outcome.streams.connections = 0), ["http"]);
    assert_eq!(with(|outcome| outcome.streams.most = 7), ["streams"]);
    // All were open for a moment, then the server allowed fewer.
    assert_eq!(
        with(|outcome| {
            outcome.streams.allowed = Some(2);
            (outcome.streams.open_for, outcome.streams.no_stream_for) = (Nanos(2), Nanos(6));
        }),
        ["streams"]
    );
    // Connections of 6 requests need not have all of them open at once.
    let few = |change: fn(&mut Outcome)| {
        let found = of_connections(Some("6"), change);
        found.contains(&"streams".to_owned())
    };
    assert!(!few(|outcome| outcome.streams.most = 3));
    assert!(few(|outcome| outcome.streams.most = 2));
}

#[test]
fn http3_without_its_connections_or_streams_is_a_mismatch() {
    fn mismatches_over_http3(change: impl Fn(&mut Outcome)) -> Vec<String> {
        mismatches(|job, outcome| {
            job.plan.http = Some(load::Http::V3);
            job.plan.streams = NonZeroU32::new(8);
            let handshakes = outcome.negotiated.iter().map(|(_, count)| count).sum();
            (outcome.streams.connections, outcome.streams.by_alpn) = (handshakes, handshakes);
            outcome.streams.most = 8;
            outcome.verified.opened += std::mem::take(&mut outcome.verified.walked);
            change(outcome);
        })
    }
    let with = |change: fn(&mut Outcome)| mismatches_over_http3(change);
    assert_eq!(with(|_| {}), [""; 0]);
    assert_eq!(with(|outcome| outcome.streams.by_alpn -= 1), ["http"]);
    assert_eq!(with(|outcome| outcome.streams.connections = 0), ["http"]);
    assert_eq!(with(|outcome| outcome.streams.most = 7), ["streams"]);
    // It allows 32 for a moment, which is not known, and then 2; and 8 in all.
    let waits = |open_for, no_stream_for| {
        mismatches_over_http3(|outcome| {
            outcome.streams.allowed = Some(32);
            outcome.streams.open_for = Nanos(open_for);
            outcome.streams.no_stream_for = Nanos(no_stream_for);
        })
    };
    assert_eq!([waits(2, 6), waits(0, 8)], [["streams"], ["streams"]]);
    // It allows others when half of them have ended.
    assert_eq!(waits(6, 2), [""; 0]);
}

#[test]
fn a_datagram_longer_than_was_asked_for_and_a_path_of_less_are_mismatches() {
    let with = |sent, carried: Option<u64>| {
        let mut outcome = outcome(10_000);
        outcome.quic.longest_received = 1_500;
        (outcome.quic.longest_sent, outcome.quic.path_payload) = (sent, carried);
        let mut mismatch = Vec::new();
        let asked = Asked { max_udp_payload: Some(1_300), ..Asked::default() };
        super::compare_datagrams(&outcome, &asked, &mut mismatch);
        mismatch.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(with(1_300, None), [""; 0]);
    let [sent, path] = [with(1_301, None), with(1_300, Some(1_200))].map(|found| found.join("; "));
    support::assert_golden!([("from the client", sent), ("the path", path)]);
}

#[test]
fn each_full_handshake_has_the_client_certificate_that_was_asked_for() {
    let signature = ClientSignature { scheme: 0x0403, key: Some(CertificateKey::EcdsaP256) };
    // Of 10 handshakes, how many have the certificate, and how many of the others are resumed.
    let with = |requests, sent, resumed| {
        let found = mismatches(|job, outcome| {
            job.plan.resumption = "30%".parse().unwrap();
            job.plan.client_certificate = Some("client.crt".into());
            outcome.certificate_requests = requests;
            let own = Negotiated { client: Some(signature), ..negotiated() };
            let again = Negotiated { resumed: true, certificate_key: None, ..negotiated() };
            outcome.negotiated =
                vec![(own, sent), (again, resumed), (negotiated(), 10 - sent - resumed)];
        });
        found.contains(&"client_certificates".to_owned())
    };
    assert!(!with(10, 10, 0));
    assert!(!with(7, 7, 3));
    assert!(with(9, 9, 0), "asked for in nine of ten");
    assert!(with(10, 0, 0), "never sent");
    assert!(with(0, 0, 0), "never asked for");
    assert!(with(10, 6, 3), "one lacks it");
}

#[test]
fn a_key_exchange_that_was_not_retried_is_a_mismatch() {
    let mut job = job("https://localhost/bytes/1MiB");
    job.plan.key_exchange = Some(load::KeyExchangeMode::Retried);
    for (retried, mismatch) in [(64, &[][..]), (63, &["key_exchange"])] {
        let outcome = Outcome { hello_retry_requests: retried, ..outcome(10_000) };
        let found = crate::Receipt::of(&job, None, &outcome).mismatch;
        let found: Vec<_> = found.iter().map(|of| of.what.as_str()).collect();
        assert_eq!(found, mismatch);
    }
}
