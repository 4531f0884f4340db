//! Command lines, refusals, and real reports of the programs (in `fixtures/`).

use std::num::NonZeroU32;
use std::path::Path;

use clap::ValueEnum;
use cpus::CpuList;
use load::{
    Arrival, Close, ErrorKind, Files, Http, Job, KeyExchangeMode, Operation, Pace, Plan, Storage,
};
use proptest::prelude::*;
use tls::{Group, OrPlain, Suite, Version};
use units::{Bytes, Nanos};

use crate::program::read;
use crate::report::Report;
use crate::{Offer, Peer, PeerError, ab, check, h2load, refusal, s_time, shb, wrk};

const SECOND: Nanos = Nanos(1_000_000_000);
const FILES: Files = Files { storage: Storage::Disk, size: Bytes(1024), count: NonZeroU32::MIN };

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!("../fixtures/", $name, ".txt"))
    };
}

fn job(path: &str) -> Job {
    let plan = Plan {
        connections: 8,
        cpus: CpuList::from(1),
        duration: SECOND,
        warmup: Some(Nanos(0)),
        ..Plan::default()
    };
    let url = format!("https://127.0.0.1:8443{path}").parse().unwrap();
    Job::new(plan, url, "127.0.0.1:8443".parse().unwrap())
}

fn suite(name: &str) -> Option<OrPlain<&'static Suite>> {
    name.parse().ok()
}

fn arguments(peer: Peer, job: &Job) -> Result<String, PeerError> {
    let duration = refusal::check(peer, job)?;
    let all = match peer {
        Peer::Wrk => wrk::arguments(job, duration, Path::new("SCRIPT")),
        Peer::Ab => ab::arguments(job, duration),
        Peer::H2load => h2load::arguments(job, duration),
        Peer::STime => s_time::arguments(job, duration),
        Peer::Shb => shb::arguments(job, duration),
    }?;
    let words: Vec<String> = all.into_iter().map(|word| word.into_string().unwrap()).collect();
    Ok(words.join(" "))
}

fn counts(report: &Report) -> Vec<(ErrorKind, u64)> {
    report.failures.iter().map(|(kind, count, _)| (*kind, *count)).collect()
}

#[test]
fn each_program_gets_the_plan_as_its_own_options() {
    let mut job = job("/bytes/1KiB");
    assert_eq!(
        arguments(Peer::Wrk, &job).unwrap(),
        "-t1 -c8 -d1s --timeout 10s -s SCRIPT https://127.0.0.1:8443/bytes/1KiB"
    );
    assert_eq!(
        arguments(Peer::Ab, &job).unwrap(),
        "-q -d -S -r -t 1 -n 200000 -c 8 -s 10 -k https://127.0.0.1:8443/bytes/1KiB"
    );
    job.plan.duration = Nanos(1_500_000_000);
    assert_eq!(
        arguments(Peer::Shb, &job).unwrap(),
        "--json --threads=1 --connections=8 --duration=1500ms --timeout=10000ms https://127.0.0.1:8443/bytes/1KiB"
    );
    job.plan.suite = suite("TLS_AES_128_GCM_SHA256");
    job.plan.group = Some(Group::Secp256r1);
    assert_eq!(
        arguments(Peer::H2load, &job).unwrap(),
        "--h1 --threads=1 --clients=8 --duration=1500ms --connection-inactivity-timeout=10000ms \
         --connect-to=127.0.0.1:8443 --tls13-ciphers=TLS_AES_128_GCM_SHA256 --groups=P-256 \
         https://127.0.0.1:8443/bytes/1KiB"
    );
    (job.plan.http, job.plan.streams) = (Some(Http::V2), NonZeroU32::new(32));
    assert!(
        arguments(Peer::H2load, &job)
            .unwrap()
            .starts_with("--npn-list=h2 --max-concurrent-streams=32 --th")
    );
    (job.plan.suite, job.plan.group) = (None, None);
    job.plan.header = vec!["X-Tenant: 7".parse().unwrap()];
    let options = arguments(Peer::Shb, &job).unwrap();
    assert!(options.contains(" --http2 --parallel=32 --header=X-Tenant: 7 https://"), "{options}");
    job.plan.http = Some(Http::V3);
    let options = arguments(Peer::Shb, &job).unwrap();
    assert!(options.contains(" --http3 --parallel=32 "), "{options}");
    let options = arguments(Peer::H2load, &job).unwrap();
    assert!(options.starts_with("--npn-list=h3 --max-concurrent-streams=32 --th"), "{options}");
    let mut job = self::job("/bytes/1KiB");
    job.plan.header = vec!["X-Tenant: 7".parse().unwrap()];
    for peer in [Peer::Wrk, Peer::Ab, Peer::H2load] {
        let options = arguments(peer, &job).unwrap();
        assert!(options.contains(" -H X-Tenant: 7 https://"), "{options}");
    }
    let mut job = self::job("/bytes/1KiB");
    job.plan.operation = Operation::OneRequestPerConnection;
    let options = arguments(Peer::Wrk, &job).unwrap();
    assert!(options.contains(" -H Connection: close https://"), "{options}");
    let options = arguments(Peer::Shb, &job).unwrap();
    assert!(options.contains(" --disable-keepalive https://"), "{options}");
    job.plan.suite = suite("AES128-SHA");
    let options = arguments(Peer::Ab, &job).unwrap();
    assert!(options.contains(" -s 10 -f TLS1.2 -Z AES128-SHA https://"), "{options}");
    job.plan.operation = Operation::Handshakes;
    job.plan.connections = 1;
    assert_eq!(
        arguments(Peer::STime, &job).unwrap(),
        "s_time -new -connect 127.0.0.1:8443 -time 1 -tls1_2 -cipher AES128-SHA"
    );
}

#[test]
fn a_plan_that_a_program_cannot_carry_out_is_refused_in_one_line() {
    type Change = fn(&mut Job);
    let all: [(Peer, Change, &str); 25] = [
        (Peer::Wrk, |p| p.plan.connections = 0, "0 connections load nothing"),
        (Peer::Wrk, |p| p.operations = Some(9), "can run for a time"),
        (Peer::Ab, |p| p.plan.warmup = Some(SECOND), "contradicts --warmup 1s"),
        (
            Peer::H2load,
            |p| p.plan.arrival = Arrival::Paced { pace: Pace::Every(SECOND) },
            "contradicts --arrival paced 1s",
        ),
        (Peer::Wrk, |p| p.plan.resumption = "70%".parse().unwrap(), "contradicts --resumption 70%"),
        (Peer::Wrk, |p| p.plan.operation = Operation::Handshakes, "use --client s_time"),
        (Peer::STime, |_| (), "add --operation handshakes"),
        (
            Peer::H2load,
            |p| p.plan.operation = Operation::OneRequestPerConnection,
            "use --client wrk or ab",
        ),
        (Peer::Ab, |p| p.plan.cpus = "0-1".parse().unwrap(), "cannot use 2 CPUs"),
        (
            Peer::Wrk,
            |p| p.plan.key_exchange = Some(KeyExchangeMode::Fixed),
            "contradicts --key-exchange fixed",
        ),
        (
            Peer::Ab,
            |p| {
                p.plan.suite = suite("AES128-SHA");
                p.plan.encrypt_then_mac = Some(false);
            },
            "contradicts --encrypt-then-mac false",
        ),
        (
            Peer::Wrk,
            |p| p.plan.duration = Nanos(1_500_000_000),
            "wrk runs for whole seconds, not for 1.5s",
        ),
        (Peer::Ab, |p| p.plan.timeout = Nanos(500_000_000), "whole seconds, not of 500ms"),
        (Peer::Wrk, |p| p.plan.suite = suite("AES128-SHA"), "restrict the server instead"),
        (Peer::Wrk, |p| p.plan.tls = "1.3".parse().ok(), "no option for --tls 1.3"),
        (Peer::Shb, |p| p.plan.suite = suite("AES128-SHA"), "restrict the server instead"),
        (Peer::Shb, |p| p.plan.group = Some(Group::X25519), "no option for --group x25519"),
        (Peer::Shb, |p| p.plan.operation = Operation::Handshakes, "use --client s_time"),
        (
            Peer::Ab,
            |p| p.plan.suite = suite("TLS_AES_128_GCM_SHA256"),
            "no option for --suite TLS_AES",
        ),
        (Peer::Ab, |p| p.plan.group = Some(Group::X25519), "no option for --group x25519"),
        (Peer::Ab, |p| p.plan.ramp = Nanos(1), "contradicts --ramp 1ns"),
        (Peer::Wrk, |p| p.plan.close = Close::Rst, "contradicts --close rst"),
        (Peer::Ab, |p| p.objects = "1KiB".parse().ok(), "leave --object 1KiB out"),
        (Peer::Wrk, |p| p.files = Some(FILES), "leave target.files and target.storage out"),
        (Peer::STime, |p| p.plan.operation = Operation::Handshakes, "add --connections 1"),
    ];
    for (peer, change, expected) in all {
        let mut job = job("/");
        change(&mut job);
        let message = arguments(peer, &job).unwrap_err().to_string();
        assert!(message.contains(expected), "{peer}: {message}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn wrks_counts_are_exact_and_its_errors_leave_its_requests() {
    let report = wrk::read(fixture!("wrk-ok"), &job("/bytes/64KiB")).unwrap();
    assert_eq!((report.completed, report.duration), (4674, Some(Nanos(2_100_230_000))));
    // 307,222,820 with heads, but no more than 4,674 + 8 objects.
    assert_eq!(report.body, (4674 + 8) * 65_536);
    assert!(report.failures.is_empty());
    let unknown = wrk::read(fixture!("wrk-ok"), &job("/index.html")).unwrap();
    assert_eq!(unknown.body, 307_222_820);

    let report = wrk::read(fixture!("wrk-errors"), &job("/x")).unwrap();
    assert_eq!(report.completed, 1808 - 258);
    assert_eq!(counts(&report), [(ErrorKind::Reset, 903), (ErrorKind::Status, 258)]);
    let report = wrk::read(fixture!("wrk-status"), &job("/missing")).unwrap();
    assert_eq!((report.completed, counts(&report)), (0, vec![(ErrorKind::Status, 8570)]));
}

#[test]
fn abs_complete_requests_are_not_all_complete() {
    let report = ab::read(fixture!("ab-ok")).unwrap();
    assert_eq!((report.completed, report.duration), (307, Some(Nanos(3_705_000_000))));
    assert_eq!((report.body, report.failures.len()), (20_119_552, 0));
    let negotiated = report.negotiated.unwrap();
    assert_eq!((negotiated.version, negotiated.group), (Version::Tls13, Some(Group::X25519)));

    // Of a group that is more than a curve it prints none.
    let report = ab::read(fixture!("ab-hybrid")).unwrap();
    assert_eq!((report.completed, report.failures.len()), (100, 0));
    assert_eq!(report.negotiated.map(|of| (of.version, of.group)), Some((Version::Tls13, None)));

    let report = ab::read(fixture!("ab-errors")).unwrap();
    assert_eq!(report.completed, 716 - 307 - 69);
    assert_eq!(counts(&report), [(ErrorKind::ShortBody, 307), (ErrorKind::Status, 69)]);
    assert_eq!(report.negotiated, None);
    // Responses with status 404, some of them after its count had stopped.
    let report = ab::read(fixture!("ab-status")).unwrap();
    assert_eq!((report.completed, counts(&report)), (0, vec![(ErrorKind::Status, 13)]));
    // There is no server; ab counts half of its attempts as complete requests.
    let report = ab::read(fixture!("ab-dead")).unwrap();
    let expected = vec![(ErrorKind::EarlyClose, 361), (ErrorKind::EarlyClose, 361)];
    assert_eq!((report.completed, counts(&report)), (0, expected));
}

#[test]
fn shbs_answers_with_another_status_and_connections_that_failed_are_no_successes() {
    let job = job("/bytes/1KiB");
    let report = shb::read(fixture!("shb-ok"), &job).unwrap();
    assert_eq!((report.completed, report.duration), (54_321, Some(Nanos(1_001_703_194))));
    assert_eq!((report.body, report.http), ((54_321 + 8) * 1024, Http::V1));
    assert_eq!(report.failures, []);
    let report = shb::read(fixture!("shb-http2"), &job).unwrap();
    assert_eq!((report.completed, report.http), (76_168, Http::V2));
    let report = shb::read(fixture!("shb-http3"), &job).unwrap();
    assert_eq!((report.completed, report.http), (193_871, Http::V3));
    let report = shb::read(fixture!("shb-status"), &job).unwrap();
    let wrong = vec![(ErrorKind::Status, 42_569)];
    assert_eq!((report.completed, counts(&report)), (0, wrong));
    // There is no server.
    let report = shb::read(fixture!("shb-dead"), &job).unwrap();
    let refused = vec![(ErrorKind::Refused, 59_112)];
    assert_eq!((report.completed, counts(&report)), (0, refused));
    assert!(shb::read("{\"requests\": 3}", &job).is_err());
}

#[test]
fn h2loads_counts_are_of_responses_with_success() {
    let report = h2load::read(fixture!("h2load-ok")).unwrap();
    assert_eq!((report.completed, report.duration), (2005, Some(Nanos(1_700_000_000))));
    assert_eq!((report.body, report.failures.len()), (131_564_090 - 110_715, 0));
    assert_eq!(report.negotiated.unwrap().group, Some(Group::Secp256r1));
    let report = h2load::read(fixture!("h2load-1.70-hybrid")).unwrap();
    assert_eq!((report.completed, report.duration), (10, Some(Nanos(53_040_000))));
    assert_eq!((report.body, report.http), (10_240, Http::V2));
    assert_eq!(report.negotiated.unwrap().group, Some(Group::X25519MlKem768));
    let report = h2load::read(fixture!("h2load-status")).unwrap();
    assert_eq!((report.completed, counts(&report)), (0, vec![(ErrorKind::Status, 1266)]));
    assert_eq!(report.duration, Some(Nanos(503_680_000)));
    let report = h2load::read(fixture!("h2load-errors")).unwrap();
    assert_eq!((report.completed, counts(&report)), (6, vec![(ErrorKind::Status, 1)]));
}

#[test]
fn s_times_count_is_that_of_its_real_time() {
    let report = s_time::read(fixture!("s_time-ok")).unwrap();
    assert_eq!((report.completed, report.duration), (47, None));
}

#[test]
fn an_unreadable_report_is_an_error_and_not_zero() {
    let job = job("/");
    for &peer in Peer::value_variants() {
        for text in ["", "hello", fixture!("wrk-refused")] {
            assert!(read(peer, text, &job).is_err(), "{peer}");
        }
    }
    // A report without one of its lines, or with a word in place of a number.
    for (peer, text, there, instead) in [
        (Peer::Ab, fixture!("ab-ok"), "Complete requests:", "gone"),
        (Peer::Ab, fixture!("ab-ok"), "Failed requests:", "gone"),
        (Peer::Ab, fixture!("ab-ok"), "HTML transferred:", "HTML transferred: many"),
        (Peer::Ab, fixture!("ab-ok"), "3.705", "-3.705"),
        (Peer::Ab, fixture!("ab-ok"), "3.705", "NaN"),
        (Peer::Ab, fixture!("ab-errors"), "(Connect:", "gone"),
        (Peer::Ab, fixture!("ab-errors"), "Length: 307", "Length: many"),
        (Peer::Ab, fixture!("ab-errors"), "Non-2xx responses:", "Non-2xx responses: many"),
        (Peer::H2load, fixture!("h2load-ok"), "requests:", "gone"),
        (Peer::H2load, fixture!("h2load-ok"), "2005 succeeded", "many succeeded"),
        (Peer::H2load, fixture!("h2load-ok"), "0 timeout", "timeout"),
        (Peer::H2load, fixture!("h2load-ok"), "0 5xx", "gone"),
        (Peer::H2load, fixture!("h2load-ok"), "(131923968) data", "data"),
        (Peer::H2load, fixture!("h2load-ok"), "(131564090) total", "(many) total"),
        (Peer::H2load, fixture!("h2load-ok"), "finished in", "finished in many"),
        (Peer::Wrk, fixture!("wrk-ok"), "timeout=", "gone="),
        (Peer::Wrk, fixture!("wrk-ok"), "requests=", "requests=many"),
        (Peer::STime, fixture!("s_time-ok"), "47 connections in 2", "many connections in 2"),
    ] {
        assert!(read(peer, text, &job).is_ok());
        assert!(text.contains(there), "{there}");
        let damaged = text.replace(there, instead);
        assert!(read(peer, &damaged, &job).is_err(), "{peer}: {there} -> {instead}");
    }
}

/// A real report in which some words are replaced.
fn damaged() -> impl Strategy<Value = String> {
    let reports = prop_oneof![
        Just(fixture!("wrk-errors")),
        Just(fixture!("ab-errors")),
        Just(fixture!("ab-ok")),
        Just(fixture!("h2load-ok")),
        Just(fixture!("s_time-ok")),
    ];
    (reports, prop::collection::vec((any::<prop::sample::Index>(), ".{0,20}"), 1..6)).prop_map(
        |(report, damages)| {
            let mut words: Vec<String> = report.split(' ').map(str::to_owned).collect();
            for (place, word) in damages {
                let place = place.index(words.len());
                words[place] = word;
            }
            words.join(" ")
        },
    )
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in prop_oneof![damaged(), "(?s).{0,300}"]) {
        let job = job("/bytes/64KiB");
        for &peer in Peer::value_variants() {
            let _ = read(peer, &text, &job);
        }
    }

    #[test]
    fn numbers_of_any_size_cause_no_panic(numbers in prop::collection::vec(any::<u64>(), 8)) {
        let line = format!(
            "toll: microseconds={} requests={} bytes={} connect={} read={} write={} timeout={} \
             status={}",
            numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5], numbers[6],
            numbers[7],
        );
        let report = wrk::read(&line, &job("/bytes/64KiB")).unwrap();
        prop_assert!(report.completed <= numbers[1] && report.body <= numbers[2]);
    }
}

/// A setting without an option in the program is refused, unless the server offers nothing else.
#[test]
fn a_missing_option_is_accepted_where_the_server_offers_nothing_else() {
    let mut job = job("/bytes/1KiB");
    (job.plan.suite, job.plan.group) = (suite("TLS_AES_128_GCM_SHA256"), Some(Group::X25519));
    for peer in [Peer::Wrk, Peer::Ab] {
        assert!(check(peer, &job, Offer::Anything).is_err(), "{peer}");
        assert!(check(peer, &job, Offer::AsPlanned).is_ok(), "{peer}");
    }
    // A setting that does not depend on the server is refused all the same.
    job.plan.duration = Nanos(600_000_000);
    let message = check(Peer::Wrk, &job, Offer::AsPlanned).unwrap_err().to_string();
    assert!(message.contains("whole seconds"), "{message}");
}
